// `patchbay secret` and what ${secret:NAME} comes to: from the store, else from secrets.json, which is left step by
// step. Over the encrypted file; the keyring is in secret_places_test.cpp. A2.
#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::Household;
using test::json_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* old_file = "home/.config/patchbay/secrets.json";

class SecretCommand : public testing::Test {
 protected:
  void old_secrets(const std::string& text) {
    house.tree.file(old_file, text);
    ::chmod((house.tree.path() / old_file).c_str(), 0600);
  }
  // What a server gets as ${secret:NAME}: it prints it to stderr and ends, and the log hides it; so it goes to a file.
  std::string handed_out(const std::string& name) {
    const auto seen = (house.tree.path() / "seen").string();
    fs::remove(seen);
    house.tree.file("project/.empty", "");
    house.run({"remove", "printer"});
    const auto added = house.run({"add", "printer", "--env", "VALUE=${secret:" + name + "}", "--", "/bin/sh", "-c",
                                  "printf %s \"$VALUE\" > " + seen});
    EXPECT_EQ(added.code, 0) << added.err;
    last = house.run({"tools", "printer"});
    return fs::exists(seen) ? house.tree.read("seen") : "not started";
  }

  Household house;
  test::CommandResult last;
};

TEST_F(SecretCommand, ValueFromStdin_IsStoredEncryptedAndHandedToAServer) {
  const auto set = house.run({"secret", "set", "TOKEN"}, {}, "s3cret-value\n");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.out, AllOf(HasSubstr("Stored \"TOKEN\" in an encrypted file"), HasSubstr("${secret:TOKEN}")));
  EXPECT_THAT(set.err, HasSubstr("not from somebody who can read your home directory"));
  EXPECT_THAT(set.out + set.err, Not(HasSubstr("s3cret")));
  for (const auto& file : house.files_at_home()) {
    EXPECT_THAT(house.tree.read("home/" + file), Not(HasSubstr("s3cret"))) << file;
  }
  EXPECT_EQ(handed_out("TOKEN"), "s3cret-value");
  EXPECT_EQ(json_of(house.run({"secret", "list", "--json"})),
            (Json{{"secrets", Json::array({Json{{"name", "TOKEN"}, {"place", "file"}}})}}));
  EXPECT_EQ(json_of(house.run({"secret", "set", "TOKEN", "--json"}, {}, "other")),
            (Json{{"name", "TOKEN"}, {"place", "file"}}));
  EXPECT_EQ(handed_out("TOKEN"), "other");
  EXPECT_EQ(house.run({"secret", "remove", "TOKEN"}).code, 0);
  EXPECT_EQ(house.run({"secret", "remove", "TOKEN"}).code, 2);
  EXPECT_EQ(handed_out("TOKEN"), "not started");
  EXPECT_THAT(last.err, HasSubstr("no secret called \"TOKEN\" is stored"));
}

TEST_F(SecretCommand, OldFile_IsReadAndLeftAtTheNextWrite) {
  old_secrets(R"({"version": 1, "secrets": {"A": "old-a", "B": "old-b"}})");
  EXPECT_EQ(handed_out("A"), "old-a");
  EXPECT_EQ(house.run({"secret", "list"}).out, "A  secrets.json\nB  secrets.json\n");
  ASSERT_EQ(house.run({"secret", "set", "A"}, {}, "new-a").code, 0);
  EXPECT_THAT(house.tree.read(old_file), AllOf(Not(HasSubstr("old-a")), HasSubstr("old-b")));
  EXPECT_EQ(handed_out("A"), "new-a");
  EXPECT_EQ(handed_out("B"), "old-b");
  EXPECT_EQ(house.run({"secret", "list"}).out, "A  file\nB  secrets.json\n");
  ASSERT_EQ(house.run({"secret", "remove", "B"}).code, 0);
  EXPECT_THAT(house.tree.read(old_file), Not(HasSubstr("old-b")));
}

TEST_F(SecretCommand, StoreThatCannotBeOpened_IsExitCode3AndNeverTheOldValue) {
  ASSERT_EQ(house.run({"secret", "set", "A"}, {}, "new-a").code, 0);
  old_secrets(R"({"version": 1, "secrets": {"A": "old-a"}})");
  fs::remove(house.home() + "/.config/patchbay/secrets.key");
  EXPECT_EQ(handed_out("A"), "not started");
  EXPECT_EQ(last.code, 3) << last.err;
  EXPECT_THAT(last.err, HasSubstr("can only be opened with its key file"));
  EXPECT_EQ(house.run({"secret", "set", "A"}, {}, "x").code, 3);
}

TEST_F(SecretCommand, WrongWords_AreExplained) {
  struct Case {
    std::vector<std::string> words;
    const char* input;
    const char* said;
  };
  const Case cases[] = {
      {{"secret"}, "", "set, list, remove or passphrase"},
      {{"secret", "show", "A"}, "", "show"},
      {{"secret", "set"}, "x", "needs a name"},
      {{"secret", "set", "A", "value"}, "", "value"},
      {{"secret", "set", "A"}, "", "empty"},
      {{"secret", "set", "A"}, "\xff", "not valid UTF-8"},
      {{"secret", "set", "a}b"}, "x", "cannot contain }"},
      {{"secret", "list", "A"}, "", "takes no name"},
      {{"secret", "list", "--remove"}, "", "--remove belongs to"},
  };
  for (const auto& [words, input, said] : cases) {
    const auto result = house.run(words, {}, input);
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(said));
  }
  EXPECT_FALSE(fs::exists(house.home() + "/.local/state/patchbay/secrets"));
}

TEST_F(SecretCommand, OnATerminal_ValueAndPassphraseAreAskedForAndNotShown) {
  const auto program = test::built("patchbay");
  {
    test::Terminal terminal({program, "secret", "set", "TOKEN"}, house.project(), house.options().env);
    ASSERT_TRUE(terminal.wait_for("Value of \"TOKEN\"")) << terminal.seen();
    terminal.type("s3cret\n");
    EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
    EXPECT_THAT(terminal.seen(), Not(HasSubstr("s3cret")));
  }
  test::Terminal terminal({program, "secret", "passphrase"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for("New passphrase")) << terminal.seen();
  terminal.type("correct horse\n");
  ASSERT_TRUE(terminal.wait_for("The same again")) << terminal.seen();
  terminal.type("correct horse\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(Not(HasSubstr("horse")), HasSubstr("protected by your passphrase")));
}

}  // namespace
}  // namespace patchbay
