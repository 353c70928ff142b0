// The command `skills` as people and scripts use it. R4
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/places.h"

namespace patchbay {
namespace {

using test::CommandResult;
using test::json_of;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

CommandResult patchbay(std::vector<std::string> words) {
  const auto config = test::server_file({{"desk", {{"command", test::built("scenario-server")}}}});
  words.insert(words.begin(), {test::built("patchbay"), "--quiet", "--mcp-config", config, "--strict-mcp-config"});
  return run_program(words, {});
}

TEST(CliSkills, AreListedPerServer) {
  auto listed = patchbay({"skills"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out,
            "desk\n"
            "  pdf  Works on PDF files.\n"
            "  changed  Not what it seems.\n"
            "  longer  Not what it seems.\n");
  EXPECT_EQ(listed.err, "");
  const auto json = json_of(patchbay({"skills", "desk", "--json"}));
  EXPECT_EQ(json["servers"].as_array().at(0)["state"], Json("connected"));
  const auto& first = json["skills"].as_array().at(0);
  EXPECT_EQ(first["server"], Json("desk"));
  EXPECT_EQ(first["uri"], Json("skill://office/pdf/SKILL.md"));
  EXPECT_EQ(first["resources"].size(), 9u);
}

TEST(CliSkills, OneIsPrintedByteForByteWhenItIsWhatItsEntrySays) {
  auto by_name = patchbay({"skills", "desk", "pdf"});
  EXPECT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_THAT(by_name.out, AllOf(StartsWith("---\nname: pdf\n"), HasSubstr("Pick a template.\n")));
  EXPECT_EQ(patchbay({"skills", "desk", "skill://office/pdf/SKILL.md"}).out, by_name.out);
  EXPECT_EQ(patchbay({"skills", "desk", "pdf", "templates/2.md"}).out, "template 2\n");
  EXPECT_EQ(patchbay({"skills", "desk", "pdf", "logo.bin"}).out, std::string("\x00\xff\xfe", 3));
  const auto json = json_of(patchbay({"skills", "desk", "pdf", "--json"}));
  EXPECT_EQ(json["server"], Json("desk"));
  EXPECT_EQ(json["skill"]["frontmatter"]["name"], Json("pdf"));
  EXPECT_EQ(json["contents"]["text"], Json(by_name.out));
}

TEST(CliSkills, WhatCannotBeVerifiedIsNotPrinted) {
  struct Row {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  for (const auto& row : std::vector<Row>{{{"changed"}, 3, "its digest is different"},
                                          {{"longer"}, 3, "bytes instead of"},
                                          {{"pdf", "other.md"}, 3, "it is not listed there"},
                                          {{"pdf", "../../changed/SKILL.md"}, 2, "is not a file of the skill"},
                                          {{"pdd"}, 2, "did you mean \"pdf\"?"},
                                          {{"nothing-like-it"}, 2, "run `patchbay skills desk`"},
                                          {{"skill://office/word/SKILL.md"}, 1, "this server has no skill at"}}) {
    auto words = row.words;
    words.insert(words.begin(), {"skills", "desk"});
    const auto refused = patchbay(words);
    EXPECT_EQ(refused.code, row.code) << row.says;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr(row.says));
  }
  const auto json = json_of(patchbay({"skills", "desk", "changed", "--json"}));
  EXPECT_EQ(json["error"]["code"], Json("protocol"));
  EXPECT_THAT(json["error"]["message"].as_text(), Not(HasSubstr("Evil")));
}

TEST(CliSkills, ServersWithoutThemSaySo) {
  const auto config = test::mode_server_file("good");
  auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {test::built("patchbay"), "--quiet", "--mcp-config", config, "--strict-mcp-config", "skills"});
    return run_program(words, {});
  };
  EXPECT_EQ(run({}).err, "No connected server has skills.\n");
  EXPECT_EQ(run({"fake"}).err, "\"fake\" has no skills.\n");
  EXPECT_EQ(run({"fake"}).code, 0);
  const auto one = run({"fake", "pdf"});
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.err, HasSubstr("the server has no skills"));
}

}  // namespace
}  // namespace patchbay
