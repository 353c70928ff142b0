// The command `search`, resources as @server:uri, prompts as a line of an agent, answers about skills. R1, R3, R4, W6
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::CommandResult;
using test::json_of;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Search : public testing::Test {
 protected:
  CommandResult patchbay(std::vector<std::string> words) {
    words.insert(words.begin(), {test::built("patchbay"), "--mcp-config", config_, "--strict-mcp-config"});
    test::CommandOptions options;
    options.env = {{"HOME", tree_.path()},
                   {"XDG_STATE_HOME", (tree_.path() / "state").string()},
                   {"XDG_CACHE_HOME", (tree_.path() / "cache").string()},
                   {"XDG_CONFIG_HOME", (tree_.path() / "config").string()}};
    return run_program(words, options);
  }

  test::TempTree tree_;
  std::string config_ = test::server_file({{"desk", {{"command", test::built("scenario-server")}}}});
};

TEST_F(Search, FindsToolsByWhatTheyDo) {
  const auto found = patchbay({"search", "count", "up"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, StartsWith("  mcp__desk__count_up("));
  const auto json = json_of(patchbay({"search", "count", "--json", "--limit", "1"}));
  ASSERT_EQ(json["tools"].size(), 1u);
  EXPECT_EQ(json["tools"].as_array()[0]["name"], Json("mcp__desk__count_up"));
  EXPECT_TRUE(json["tools"].as_array()[0]["inputSchema"].is_object());
  EXPECT_EQ(json["servers"].as_array()[0]["state"], Json("connected"));
  const auto none = patchbay({"search", "zebra"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("No tool was found for \"zebra\""));
  const auto selected = json_of(patchbay({"search", "select:desk/echo,nobody", "--json"}));
  EXPECT_EQ(selected["tools"].as_array()[0]["name"], Json("mcp__desk__echo"));
  EXPECT_EQ(to_text(selected["unknown"]), R"(["nobody"])");
  for (const auto* limit : {"0", "101", "x"}) EXPECT_EQ(patchbay({"search", "x", "--limit", limit}).code, 2) << limit;
  EXPECT_EQ(patchbay({"search"}).code, 2);
}

TEST_F(Search, AnEarlierRunCanBeSearched) {
  const auto before = patchbay({"search", "--cached", "count"});
  EXPECT_EQ(before.code, 3) << "nothing is known yet";
  EXPECT_EQ(before.out, "");
  EXPECT_EQ(patchbay({"tools"}).code, 0);
  const auto found = patchbay({"search", "--cached", "count"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, StartsWith("  mcp__desk__count_up("));
  const auto json = json_of(patchbay({"search", "--cached", "count", "--json"}));
  EXPECT_EQ(json["tools"].as_array()[0]["name"], Json("mcp__desk__count_up"));
  EXPECT_TRUE(json["cached"]["age"].is_number());
  EXPECT_THAT(patchbay({"search", "--cached", "zebra"}).err, HasSubstr("No tool was found"));
}

TEST_F(Search, ToolsThatRulesDenyAreNotFound) {
  const auto denied = patchbay({"search", "--disallowedTools", "mcp__desk__count_up", "count_up"});
  EXPECT_THAT(denied.out, Not(HasSubstr("count_up")));
}

TEST_F(Search, AResourceIsReadAsItIsMentioned) {
  EXPECT_EQ(patchbay({"read", "@desk:file:///a"}).out, "text of a");
  EXPECT_EQ(patchbay({"read", "@desk:note:///{name}", "name=x"}).out, "note x");
  const auto unknown = patchbay({"read", "@desc:file:///a"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"desk\"?"));
}

TEST_F(Search, APromptIsShownAsAnAgentTakesIt) {
  const auto said = patchbay({"prompts", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto prompts = json_of(said)["prompts"];
  for (const auto& prompt : prompts.items()) {
    auto line = "/" + std::string(prompt["name"].as_text());
    std::vector<std::string> named{"prompt", line.substr(1)};
    for (const auto& argument : prompt["arguments"].items()) {
      line += " 'a value'";
      named.push_back(std::string(argument["name"].as_text()) + "=a value");
    }
    const auto shown = patchbay({"prompt", line});
    EXPECT_EQ(shown.code, 0) << line << shown.err;
    EXPECT_EQ(shown.out, patchbay(named).out) << line;
  }
  const auto wrong = patchbay({"prompt", "/mcp__desk__plain one two"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("takes no arguments"));
  EXPECT_THAT(patchbay({"prompt", "/mcp__desk__plain 'x"}).err, HasSubstr("opened and not closed"));
}

TEST_F(Search, ASkillIsApprovedUntilItChanges) {
  const auto standing = [&] {
    return std::string(json_of(patchbay({"skills", "desk", "--json"}))["skills"].as_array()[0]["approval"].as_text());
  };
  EXPECT_EQ(standing(), "pending");
  const auto approved = patchbay({"skills", "approve", "desk", "pdf"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_THAT(approved.err, HasSubstr("Undo: patchbay skills reject desk pdf"));
  EXPECT_EQ(standing(), "approved");
  EXPECT_THAT(patchbay({"skills"}).out, HasSubstr("  pdf  Works on PDF files. (approved)\n"));
  EXPECT_EQ(json_of(patchbay({"skills", "reject", "desk", "pdf", "--json"}))["approval"], Json("rejected"));
  EXPECT_EQ(standing(), "rejected");
  EXPECT_EQ(patchbay({"skills", "approve", "desk", "nothing"}).code, 2);
  EXPECT_THAT(patchbay({"skills", "approve", "dest", "pdf"}).err, HasSubstr("did you mean \"desk\"?"));
}

}  // namespace
}  // namespace patchbay
