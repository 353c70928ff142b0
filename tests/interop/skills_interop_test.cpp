// Skills between us and the TypeScript SDK of the extension, in both eras. R4 N1.
// ./test installs it and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/patchbay.h>

#include "base/as_result.h"
#include "support/command.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FailsWithRpc;
using test::run_program;
using test::run_task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const std::string script = test::in_sources("tests/interop/skills_peer.mjs");

std::string node() {
  const char* value = std::getenv("PATCHBAY_NODE");
  EXPECT_NE(value, nullptr) << "PATCHBAY_NODE is not set; run this through ./test";
  return value ? value : "";
}

// Headers in the styles people write, bytes that are not text, a skill inside another.
const std::map<std::string, std::string> tree{
    {"acme/refunds/SKILL.md",
     "---\n"
     "name: refunds\n"
     "description: >\n"
     "  Handles refunds: use it when a customer\n"
     "  wants money back.\n"
     "license: Apache-2.0   # a comment\n"
     "allowed-tools:\n"
     "- Bash\n"
     "- Read\n"
     "metadata: {version: 1.0, author: \"A: B\", \"since\": 2024-01-01}\n"
     "---\n"
     "\n"
     "# Refunds\n"},
    {"acme/refunds/templates/email.md", "Dear customer,\n"},
    {"acme/refunds/partial/SKILL.md", "---\nname: partial\ndescription: 'It''s only a part.'\n---\n"},
    {"pdf-tools/SKILL.md", "---\nname: pdf-tools\ndescription: \"PDF \\u00e9 tools\"\n---\nbody\n"},
    {"pdf-tools/docs/a.md", "x\n"},
    {"pdf-tools/logo.png", std::string("\x89PNG\x00\xff", 6)}};

class SkillsOfOthers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Eras, SkillsOfOthers, testing::Values("legacy", "both"),
                         [](const auto& era) { return std::string(era.param); });

TEST_P(SkillsOfOthers, AreListedReadAndVerified) {
  test::TempTree directory;
  for (const auto& [path, content] : tree) directory.file(path, content);
  run_task([&]() -> Task<void> {
    ClientOptions options;
    options.info = {.name = "patchbay-interop", .version = "1"};
    auto session = co_await Client(options).connect(
        stdio_transport({.command = node(), .args = {script, "serve", directory.path().string(), GetParam()}}));
    EXPECT_EQ(session.is_legacy(), GetParam() == std::string_view("legacy"));
    auto skills = co_await session.list_skills();
    EXPECT_THAT(skills.problems, IsEmpty());
    std::map<std::string, std::size_t> files;
    for (const auto& skill : skills.items) {
      auto entry = co_await session.get_skill(skill.uri);
      EXPECT_EQ(entry, skill);
      if (!skill.resources) continue;
      files[skill.uri] = skill.resources->size();
      for (const auto& file : *skill.resources) {
        auto read = co_await as_result(session.read_skill(skill, file.uri));
        EXPECT_TRUE(read) << file.uri << ": " << (read ? "" : read.error().message());
      }
    }
    EXPECT_THAT(files, UnorderedElementsAre(std::pair("skill://acme/refunds/SKILL.md", 3u),
                                            std::pair("skill://acme/refunds/partial/SKILL.md", 1u),
                                            std::pair("skill://pdf-tools/SKILL.md", 3u)));
    auto refunds = co_await session.get_skill("skill://acme/refunds/SKILL.md");
    EXPECT_EQ(refunds.frontmatter["metadata"], (Json{{"version", 1}, {"author", "A: B"}, {"since", "2024-01-01"}}));
    auto pdf = co_await session.get_skill("skill://pdf-tools/SKILL.md");
    auto odd = co_await session.read_skill(pdf, "docs/a.md");
    EXPECT_EQ(odd.text, "x\n");
    auto children = co_await session.read_directory("skill://acme/refunds");
    std::set<std::string> names;
    for (const auto& child : children.items) names.insert(child.uri);
    EXPECT_THAT(names, ElementsAre("skill://acme/refunds/SKILL.md", "skill://acme/refunds/partial",
                                   "skill://acme/refunds/templates"));
    auto unknown = co_await as_result(session.get_skill("skill://none/SKILL.md"));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
    co_await session.close();
  });
}

class SkillsOfOurs : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Modes, SkillsOfOurs, testing::Values("legacy", "auto"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST_P(SkillsOfOurs, AreReadAndVerifiedByAnotherClient) {
  const auto ran = run_program({node(), script, "read", GetParam(), test::built("scenario-server")}, {});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json found = *parse_json(ran.out);
  EXPECT_EQ(found["directories"], Json(true));
  ASSERT_EQ(found["skills"].size(), 3u) << ran.out;
  const Json& pdf = found["skills"]["pdf"];
  EXPECT_EQ(pdf.find("refused"), nullptr) << ran.out;
  EXPECT_EQ(pdf["files"].size(), 9u);
  EXPECT_EQ(pdf["children"], Json::array({"skill://office/pdf/SKILL.md", "skill://office/pdf/logo.bin",
                                          "skill://office/pdf/references", "skill://office/pdf/templates"}));
  for (const auto* name : {"changed", "longer"}) {
    EXPECT_TRUE(found["skills"][name]["refused"].is_string()) << ran.out;
    EXPECT_EQ(found["skills"][name]["files"].size(), 0u);
  }
}

}  // namespace
}  // namespace patchbay
