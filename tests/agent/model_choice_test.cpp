// Which model a conversation is held with. G1.
#include "agent/models/model_choice.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;

using Texts = std::map<std::string, std::string, std::less<>>;

VariableLookup variables(Texts texts) {
  return [texts = std::move(texts)](std::string_view name) -> std::optional<std::string> {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  };
}

KeptSecretLookup secrets(Texts texts) {
  return [texts = std::move(texts)](const std::string& name) -> Result<std::optional<Secret>> {
    const auto found = texts.find(name);
    if (found == texts.end()) return std::nullopt;
    return Secret(found->second);
  };
}

struct Case {
  std::string words;
  Texts set;
  std::string chosen;  // "provider:name base key", or what is in the message
  Texts kept = {};
  std::string reason = {};
};

std::string shown(const ModelChoice& choice) {
  return choice.text() + " " + choice.base + " " + std::string(choice.key.reveal());
}

TEST(ModelChoice, IsWhatWasAskedForOrWhatThereIsAKeyFor) {
  const Texts anthropic{{"ANTHROPIC_API_KEY", "a"}};
  const Texts all{{"ANTHROPIC_API_KEY", "a"}, {"OPENAI_API_KEY", "o"}, {"GEMINI_API_KEY", "g"}, {"OLLAMA_HOST", "box"}};
  const auto cases = std::to_array<Case>({
      {"anthropic:claude-opus-5", anthropic, "anthropic:claude-opus-5 https://api.anthropic.com a"},
      {"anthropic", anthropic, "anthropic:claude-sonnet-5 https://api.anthropic.com a"},
      {"anthropic:", anthropic, "anthropic:claude-sonnet-5 https://api.anthropic.com a"},
      {" claude-x ", anthropic, "anthropic:claude-x https://api.anthropic.com a"},
      {"opus[1m]", anthropic, "anthropic:claude-opus-5 https://api.anthropic.com a"},
      {"gpt-4o", all, "openai:gpt-4o https://api.openai.com/v1 o"},
      {"o3", all, "openai:o3 https://api.openai.com/v1 o"},
      {"openai-chat:llama", all, "openai-chat:llama https://api.openai.com/v1 o"},
      {"gemini-2.5-pro", all, "gemini:gemini-2.5-pro https://generativelanguage.googleapis.com g"},
      {"ollama:qwen3:8b", {}, "ollama:qwen3:8b http://127.0.0.1:11434 "},
      {"script:a:b.json", {}, "script:a:b.json  "},
      // nobody says which
      {"", all, "anthropic:claude-sonnet-5 https://api.anthropic.com a", {}, "ANTHROPIC_API_KEY is set"},
      {"",
       {{"OPENAI_API_KEY", "o"}, {"GEMINI_API_KEY", "g"}},
       "openai:gpt-5.5 https://api.openai.com/v1 o",
       {},
       "OPENAI_API_KEY is set"},
      {"",
       {{"OPENAI_BASE_URL", "http://box:8080/v1/"}},
       "openai-chat:gpt-5.5 http://box:8080/v1 ",
       {},
       "OPENAI_BASE_URL is set"},
      {"", {{"OLLAMA_HOST", "box"}}, "ollama:qwen3 http://box:11434 ", {}, "OLLAMA_HOST is set"},
      {"",
       {{"ANTHROPIC_API_KEY", " "}, {"GEMINI_API_KEY", "g\n"}},
       "gemini:gemini-3.5-flash https://generativelanguage.googleapis.com g",
       {},
       "GEMINI_API_KEY is set"},
      {"",
       {},
       "gemini:gemini-3.5-flash https://generativelanguage.googleapis.com kept",
       {{"GEMINI_API_KEY", "kept"}},
       "there is a secret GEMINI_API_KEY"},
      // a variable counts before a secret, a key before a token
      {"anthropic:x", anthropic, "anthropic:x https://api.anthropic.com a", {{"ANTHROPIC_API_KEY", "kept"}}},
      {"anthropic:x",
       {{"ANTHROPIC_API_KEY", "a"}, {"ANTHROPIC_AUTH_TOKEN", "t"}},
       "anthropic:x https://api.anthropic.com a"},
      {"anthropic:x", {{"ANTHROPIC_AUTH_TOKEN", "t"}}, "anthropic:x https://api.anthropic.com t"},
      // a server of somebody's own may do without a key
      {"anthropic:x", {{"ANTHROPIC_BASE_URL", "http://localhost:4000"}}, "anthropic:x http://localhost:4000 "},
  });
  for (const auto& one : cases) {
    const auto choice =
        choose_model({.words = one.words, .variables = variables(one.set), .secrets = secrets(one.kept)});
    ASSERT_TRUE(choice) << one.words << ": " << choice.error().error.message();
    EXPECT_EQ(shown(*choice), one.chosen) << one.words;
    EXPECT_EQ(reason_text(*choice), one.reason) << one.words;
  }
}

TEST(ModelChoice, SaysWhyThereIsNone) {
  using Why = NoModel::Why;
  const std::vector<std::tuple<std::string, Texts, Why, std::string>> cases{
      {"", {}, Why::nothing_set_up, "no key and no address"},
      {"anthropic:x", {}, Why::no_key, "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"},
      {"gpt-5", {}, Why::no_key, "openai:gpt-5 needs a key"},
      {"llama3", {}, Why::wrong, "anthropic, openai, openai-chat, gemini, ollama, script"},
      {"gpt-oss:20b", {}, Why::wrong, "does not say whose model it is"},
      {"antropic:x", {}, Why::wrong, "did you mean \"anthropic\""},
      {"script:", {}, Why::wrong, "needs a file"},
      {"ollama:x", {{"OLLAMA_HOST", "ftp://box"}}, Why::wrong, "OLLAMA_HOST"},
      {"openai:x", {{"OPENAI_BASE_URL", "box:80"}}, Why::wrong, "OPENAI_BASE_URL"},
      {"openai:x", {{"OPENAI_BASE_URL", "https://u:p@box"}}, Why::wrong, "nothing else"},
      {"openai:x", {{"OPENAI_API_KEY", "a b"}}, Why::wrong, "characters"},
  };
  for (const auto& [words, set, why, message] : cases) {
    const auto choice = choose_model({.words = words, .variables = variables(set), .secrets = secrets({})});
    ASSERT_FALSE(choice) << words;
    EXPECT_EQ(choice.error().why, why) << words;
    EXPECT_EQ(choice.error().error.code(), Errc::config) << words;
    EXPECT_THAT(choice.error().error.message(), HasSubstr(message));
    EXPECT_THAT(choice.error().error.message(), Not(HasSubstr("u:p")));
  }
  EXPECT_EQ(choose_model({.words = "gpt-5"}).error().variable, "OPENAI_API_KEY");
}

TEST(ModelChoice, TakesASettingWhenNothingIsAskedFor) {
  const auto set = variables({{"OPENAI_API_KEY", "o"}});
  const auto with = [&](std::string text, bool shared, std::string words = {}) {
    return choose_model(
        {.words = std::move(words),
         .setting = ModelSetting{.text = std::move(text), .file = "/c.json", .line = 3, .shared = shared},
         .variables = set});
  };
  EXPECT_EQ(with("openai:gpt-4o", false)->text(), "openai:gpt-4o");
  EXPECT_EQ(reason_text(*with("openai:gpt-4o", false)), "\"model\" in /c.json:3");
  EXPECT_EQ(with("openai:gpt-4o", false, "gpt-5")->text(), "openai:gpt-5");
  EXPECT_THAT(with("opus", false).error().error.message(), HasSubstr("/c.json:3: anthropic:claude-opus-5 needs a key"));
  // Another program reads the same file, and means its own models.
  for (const auto* theirs : {"opus", "default", "us.anthropic.claude-opus-4-v1:0"}) {
    EXPECT_EQ(with(theirs, true)->text(), "openai:gpt-5.5") << theirs;
  }
  EXPECT_EQ(with("gpt-5", true)->text(), "openai:gpt-5");
  EXPECT_FALSE(with("anthropic:claude-x", true));
}

TEST(ModelChoice, ReportsAStoreOfSecretsThatCannotBeReadWhenNothingElseThereIs) {
  const KeptSecretLookup broken = [](const std::string&) -> Result<std::optional<Secret>> {
    return fail(Errc::connect, "the keyring does not answer");
  };
  EXPECT_THAT(choose_model({.secrets = broken}).error().error.message(), HasSubstr("does not answer"));
  EXPECT_TRUE(choose_model({.variables = variables({{"OLLAMA_HOST", "box"}}), .secrets = broken}));
}

TEST(ModelChoice, ReadsTheAddressOfOllamaAsOllamaDoes) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "http://127.0.0.1:11434"},        {"box", "http://box:11434"},
      {"box:99", "http://box:99"},           {":99", "http://127.0.0.1:99"},
      {"0.0.0.0", "http://127.0.0.1:11434"}, {"0.0.0.0:99", "http://127.0.0.1:99"},
      {"http://box", "http://box"},          {"https://box:99/ollama/", "https://box:99/ollama"},
      {"[::1]:99", "http://[::1]:99"},       {"::1", "http://[::1]:11434"},
      {"[::]", "http://127.0.0.1:11434"},    {"ollama.com", "https://ollama.com"},
  };
  for (const auto& [said, base] : cases) {
    const auto choice = choose_model({.words = "ollama:x", .variables = variables({{"OLLAMA_HOST", said}})});
    ASSERT_TRUE(choice) << said << ": " << choice.error().error.message();
    EXPECT_EQ(choice->base, base) << said;
  }
}

TEST(ModelChoice, KnowsWhatModelsCanRead) {
  const auto info = [](std::string words, Texts set = {{"OPENAI_BASE_URL", "http://box"}}) {
    return choose_model({.words = std::move(words), .variables = variables(std::move(set))})->info;
  };
  EXPECT_EQ(info("openai:gpt-4o").context_tokens, 128'000u);
  EXPECT_EQ(info("openai:gpt-4o").api, ModelApi::openai_responses);
  EXPECT_EQ(info("openai-chat:what").api, ModelApi::local);
  EXPECT_EQ(info("openai-chat:what", {{"OPENAI_API_KEY", "o"}}).api, ModelApi::openai_chat);
  EXPECT_EQ(info("openai-chat:what").context_tokens, 128'000u);
  EXPECT_EQ(info("openai-chat:what", {{"OPENAI_BASE_URL", "http://localhost:8080/v1"}}).context_tokens, 32'768u);
  EXPECT_FALSE(info("openai-chat:what", {{"OPENAI_BASE_URL", "http://localhost:8080/v1"}}).takes_images);
  EXPECT_EQ(info("openai-chat:gpt-5", {{"OPENAI_BASE_URL", "http://localhost:8080/v1"}}).context_tokens, 272'000u);
  EXPECT_EQ(info("ollama:what").context_tokens, 32'768u);
  EXPECT_FALSE(info("ollama:what").takes_images);
  EXPECT_TRUE(info("ollama:llava:7b").takes_images);
  EXPECT_EQ(info("ollama:what", {{"OLLAMA_CONTEXT_LENGTH", "65536"}}).context_tokens, 65'536u);
  EXPECT_EQ(info("ollama:what", {{"OLLAMA_CONTEXT_LENGTH", "many"}}).context_tokens, 32'768u);
  // What stands between a model and us may know nothing of deferred tools.
  const std::string gateway = "http://box";
  EXPECT_TRUE(info("claude-opus-5", {{"ANTHROPIC_API_KEY", "a"}}).holds_deferred);
  EXPECT_FALSE(info("claude-3-5-haiku", {{"ANTHROPIC_API_KEY", "a"}}).holds_deferred);
  EXPECT_FALSE(info("claude-opus-5", {{"ANTHROPIC_BASE_URL", gateway}}).holds_deferred);
  EXPECT_TRUE(info("claude-opus-5", {{"ANTHROPIC_BASE_URL", gateway}, {"ENABLE_TOOL_SEARCH", "true"}}).holds_deferred);
}

}  // namespace
}  // namespace patchbay
