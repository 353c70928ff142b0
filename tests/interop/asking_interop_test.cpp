// Questions of real servers from npm, on a terminal and answered beforehand, and the folders they are told. E1.
// ./test installs them and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

std::vector<std::string> server(const std::string& package) {
  return {environment("PATCHBAY_NODE"),
          environment("PATCHBAY_NPM_DIR") + "/node_modules/@modelcontextprotocol/" + package + "/dist/index.js"};
}

void add(const Household& house, const std::string& name, const std::string& package, const std::string& more = {}) {
  std::vector<std::string> words{"add", name, "--"};
  for (const auto& word : server(package)) words.push_back(word);
  if (!more.empty()) words.push_back(more);
  const auto added = house.run(words);
  ASSERT_EQ(added.code, 0) << added.err;
}

// E1: every primitive that a form may have, all of them typed or given as text.
TEST(AskingRealServers, AFormWithEveryKindOfFieldIsAnsweredBeforehand) {
  const Household house;
  add(house, "everything", "server-everything");
  house.tree.file("project/answers.json", R"({"name":"Ada","check":"yes","email":"ada@example.com",
      "homepage":"https://example.com/","birthdate":"1815-12-10","integer":"7","number":2.5,
      "untitledSingleSelectEnum":"Ross","untitledMultipleSelectEnum":["Piano","Bass"],
      "titledSingleSelectEnum":"Green Lantern","titledMultipleSelectEnum":"Tuna, fish-3","legacyTitledEnum":"Birds"})");
  const auto called = house.run({"call", "everything/trigger-elicitation-request", "--answers", "answers.json"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(called.out, AllOf(HasSubstr("- Name: Ada"), HasSubstr("- Agreed to terms: true"),
                                HasSubstr("- Favorite Integer: 7"), HasSubstr("- Favorite Number: 2.5"),
                                HasSubstr("\"firstLine\": \"It was a dark and stormy night.\""),
                                HasSubstr("\"titledSingleSelectEnum\": \"hero-2\""),
                                HasSubstr("\"legacyTitledEnum\": \"pet-3\""), HasSubstr("\"fish-3\"")));
  const auto wrong =
      house.run({"call", "everything/trigger-elicitation-request", "--answers", R"({"name":"Ada","integer":101})"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("the field \"integer\": expected a whole number from 1 to 100"));
  EXPECT_THAT(wrong.out, HasSubstr("cancelled"));
}

// E1
TEST(AskingRealServers, AFormWithEveryKindOfFieldIsFilledInOnATerminal) {
  const Household house;
  add(house, "everything", "server-everything");
  Terminal terminal({built("patchbay"), "call", "everything/trigger-elicitation-request"}, house.project(),
                    house.options().env, 80);
  const std::pair<const char*, const char*> steps[] = {
      {"Answer (13 fields)?", "y\n"},
      {"String (a text): ", "Ada\n"},
      {"Boolean (yes or no; Enter: leave it out): ", "y\n"},
      {"String with default (", "\n"},
      {"String with email format (", "ada\n"},
      {"like name@example.com\r\n", "ada@example.com\n"},
      {"String with uri format (", "\n"},
      {"String with date format (", "1815-12-10\n"},
      {"Integer (a whole number from 1 to 100; Enter: 42): ", "101\n"},
      {"  expected a whole number from 1 to 100", "7\n"},
      {"Number in range 1-1000 (", "\n"},
      {"Untitled Single Select Enum (one of the 6 choices", "6\n"},
      {"Untitled Multiple Select Enum (", "1,2,3,4\n"},
      {"expected 1 to 3 choices, found 4", "Piano, bass\n"},
      {"Titled Single Select Enum (", "superman\n"},
      {"Titled Multiple Select Enum (", "\n"},
      {"Legacy Titled Single Select Enum (", "cats\n"},
      {"Send them?", "y\n"},
  };
  for (const auto& [shown, typed] : steps) {
    ASSERT_TRUE(terminal.wait_for(shown)) << shown << "\n" << terminal.seen();
    terminal.forget();
    terminal.type(typed);
  }
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(),
              AllOf(HasSubstr("- Favorite Integer: 7"), HasSubstr("\"untitledSingleSelectEnum\": \"Phoebe\""),
                    HasSubstr("\"titledSingleSelectEnum\": \"hero-1\""), HasSubstr("\"legacyTitledEnum\": \"pet-1\"")));
}

// E1: the page is named by an error first, then by a request.
TEST(AskingRealServers, APageIsNotOpenedWithoutAYes) {
  const Household house;
  add(house, "everything", "server-everything");
  Terminal terminal({built("patchbay"), "call", "everything/trigger-url-elicitation", "url=https://example.com/go"},
                    house.project(), house.options().env, 80);
  ASSERT_TRUE(terminal.wait_for("Open it in your browser?")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("Host: example.com"), HasSubstr("Page: https://example.com/go")));
  terminal.type("n\n");
  (void)terminal.wait_for_end();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("You declined."), Not(HasSubstr("was opened"))));
}

// E1: roots decide what this server may touch, as with other hosts.
TEST(AskingRealServers, TheFileServerUsesTheFoldersOfTheUser) {
  const Household house;
  add(house, "files", "server-filesystem", house.project());
  EXPECT_THAT(house.run({"call", "files/list_allowed_directories"}).out, HasSubstr(house.project()));
}

}  // namespace
}  // namespace patchbay::test
