// What the program says about the model it uses, or does not have. G1.
#include "cli/chosen_model.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/start/stored_secrets.h"
#include "settings/settings_layers.h"
#include "support/temp_tree.h"

namespace patchbay::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A store of secrets with a key file, in a directory of its own.
struct Kept {
  test::TempTree files;
  SecretVault vault{{.state_directory = (files.path() / "state").string(),
                     .config_directory = (files.path() / "config").string(),
                     .variables = [](std::string_view name) {
                       return name == "PATCHBAY_SECRET_STORE" ? std::optional<std::string>("file") : std::nullopt;
                     }}};
};

LoadedConfig config(const std::string& own) {
  LoadedConfig loaded;
  loaded.settings = settings_layers({parse_settings(own, SettingsSource::own, "/config.json")});
  // Nothing of the machine's own environment counts.
  for (const auto* name : {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY",
                           "OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"}) {
    loaded.environment.push_back({.name = name});
  }
  return loaded;
}

TEST(ChosenModel, IsThatOfTheConfigurationWithAKeptKey) {
  Kept kept;
  ASSERT_TRUE(kept.vault.write(vault_name("OPENAI_API_KEY"), Secret("kept"), {}));
  const auto configured = chosen_model({}, config(R"({"model": "openai:gpt-5"})"), kept.vault);
  ASSERT_TRUE(configured) << configured.error().error.message();
  EXPECT_EQ(model_line(*configured), "openai:gpt-5 (\"model\" in /config.json:1)");
  EXPECT_EQ(configured->key.reveal(), "kept");
  EXPECT_EQ(model_line(*chosen_model({}, config("{}"), kept.vault)),
            "openai:gpt-5.5 (there is a secret OPENAI_API_KEY)");
  EXPECT_EQ(model_line(*chosen_model("ollama:qwen3", config("{}"), kept.vault)), "ollama:qwen3");
}

// Build 1 of the agent: the environment, the configuration (its "env" counts before what a shell has set), the store.
TEST(ChosenModel, AKeyIsThatOfTheConfigurationBeforeOneThatIsKept) {
  Kept kept;
  for (const auto* name : {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}) {
    ASSERT_TRUE(kept.vault.write(vault_name(name), Secret("kept"), {}));
  }
  struct Case {
    const char* words;
    const char* key;
    const char* base;
  };
  for (const auto& one : {Case{"anthropic:claude-x", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
                          Case{"openai:gpt-x", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
                          Case{"openai-chat:x", "OPENAI_API_KEY", "OPENAI_BASE_URL"},
                          Case{"gemini:gemini-x", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"}}) {
    auto loaded = config("{}");
    auto choice = chosen_model(one.words, loaded, kept.vault);
    ASSERT_TRUE(choice) << one.words;
    EXPECT_EQ(model_line(*choice), one.words);
    EXPECT_EQ(choice->key.reveal(), "kept");
    EXPECT_TRUE(choice->key_is_secret);
    EXPECT_FALSE(choice->own_base);
    const auto set = [&](std::string_view name, std::string value) {
      std::ranges::find(loaded.environment, name, &SettingsVariable::name)->value = std::move(value);
    };
    set(one.key, "of the settings");
    EXPECT_FALSE(chosen_model(one.words, loaded, kept.vault)) << "a key has no blanks";
    set(one.key, "set");
    set(one.base, "http://127.0.0.1:7/v1");
    choice = chosen_model(one.words, loaded, kept.vault);
    ASSERT_TRUE(choice) << one.words;
    EXPECT_EQ(choice->key.reveal(), "set");
    EXPECT_FALSE(choice->key_is_secret);
    EXPECT_EQ(choice->base, "http://127.0.0.1:7/v1");
  }
}

TEST(ChosenModel, SaysHowToSetOne) {
  Kept kept;
  const auto none = chosen_model({}, config("{}"), kept.vault);
  ASSERT_FALSE(none);
  EXPECT_THAT(no_model_words(none.error()), HasSubstr("patchbay secret set ANTHROPIC_API_KEY"));
  EXPECT_THAT(no_model_words(none.error()), HasSubstr("--model script:FILE"));
  EXPECT_THAT(no_model_words(none.error(), TypedWhere::chat),
              AllOf(HasSubstr("/model script:FILE"), HasSubstr("/model ollama:NAME"), Not(HasSubstr("--model"))));
  EXPECT_THAT(no_model_words(chosen_model("gemini", config("{}"), kept.vault).error()),
              HasSubstr("Set GEMINI_API_KEY, or keep it: patchbay secret set GEMINI_API_KEY"));
  EXPECT_THAT(no_model_words(chosen_model("what", config("{}"), kept.vault).error()), HasSubstr("whose model it is"));
}

}  // namespace
}  // namespace patchbay::cli
