// What ModelTools is made of: the cache of resources, what a model is shown, answers about skills. Rows of
// docs/requirements.md: R1, R2, R4, W6, W7.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/signature.h"
#include "host/model/for_model.h"
#include "host/model/own_tools.h"
#include "host/model/resource_cache.h"
#include "host/model/skill_answers.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::shared_ptr<const ReadResourceResult> read_of(std::string text) {
  ReadResourceResult out;
  out.contents.push_back({.uri = "mem://x", .text = std::move(text)});
  return std::make_shared<const ReadResourceResult>(std::move(out));
}

using Keys = std::vector<ResourceCache::Key>;

TEST(ResourceCache, WhatWasUsedLongestAgoGoesFirst) {
  ResourceCache cache(1 << 20, 3);
  for (const auto* uri : {"a", "b", "c"}) EXPECT_THAT(cache.store("s", uri, read_of("x"), true, 0), IsEmpty());
  EXPECT_NE(cache.find("s", "a"), nullptr);
  EXPECT_EQ(cache.store("s", "d", read_of("x"), true, 0), (Keys{{"s", "b"}}));
  EXPECT_EQ(cache.find("s", "b"), nullptr);
  EXPECT_NE(cache.find("s", "a"), nullptr);
  EXPECT_EQ(cache.find("other", "a"), nullptr) << "another server's resource of that URI is another one";
}

TEST(ResourceCache, BytesAreBounded) {
  ResourceCache cache(10'000, 100);
  for (int i = 0; i < 50; ++i) {
    (void)cache.store("s", fmt::format("r{}", i), read_of(std::string(1000, 'x')), true, 0);
    EXPECT_LE(cache.bytes(), 10'000u);
  }
  EXPECT_THAT(cache.size(), AllOf(testing::Gt(3u), testing::Lt(10u)));
  EXPECT_EQ(cache.store("s", "large", read_of(std::string(3000, 'x')), true, 0), (Keys{{"s", "large"}}));
  EXPECT_EQ(cache.find("s", "large"), nullptr);
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(ResourceCache, AChangeIsAboutWhatIsAboveAndBelowAsWell) {
  ResourceCache cache(1 << 20, 10);
  for (const auto* uri : {"f:///a", "f:///a/b", "f:///ab"}) (void)cache.store("s", uri, read_of("x"), true, 0);
  (void)cache.store("t", "f:///a", read_of("x"), true, 0);
  EXPECT_THAT(cache.set_stale("s", "f:///a"), SizeIs(2));
  EXPECT_FALSE(cache.find("s", "f:///a")->usable());
  EXPECT_FALSE(cache.find("s", "f:///a/b")->usable());
  EXPECT_TRUE(cache.find("s", "f:///ab")->usable());
  EXPECT_TRUE(cache.find("t", "f:///a")->usable());
  EXPECT_THAT(cache.set_stale("s", "f:///a/b"), IsEmpty()) << "nobody needs to hear of it twice";
  EXPECT_THAT(cache.set_stale("s", "f:///ab/deep/file"), ElementsAre(ResourceCache::Key{"s", "f:///ab"}));
}

TEST(ResourceCache, WhatWasReadBeforeAChangeIsKeptAsOld) {
  ResourceCache cache(1 << 20, 10);
  const auto generation = cache.generation();
  (void)cache.set_stale("s", "mem://x");
  (void)cache.store("s", "mem://x", read_of("old"), true, generation);
  EXPECT_FALSE(cache.find("s", "mem://x")->usable());
  (void)cache.store("s", "mem://x", read_of("new"), true, cache.generation());
  EXPECT_TRUE(cache.find("s", "mem://x")->usable());
  cache.unwatch("s");
  EXPECT_FALSE(cache.find("s", "mem://x")->usable()) << "nobody tells of changes any more";
}

std::string text_of_result(const CallToolResult& result) { return text_of(result.content.at(0)); }
Json json_of_result(const CallToolResult& result) { return *parse_json(text_of_result(result)); }

ServerStatus status(std::string name, ServerState state, ServerReason reason) {
  ServerStatus out;
  out.name = std::move(name);
  out.state = state;
  out.reason = reason;
  return out;
}

// W6: what is looked for may be a server's that is not there yet.
TEST(FoundTools, NameServersThatAreConnectingFailedOrNeedASignIn) {
  const Catalog catalog;
  const std::vector statuses{status("a", ServerState::connected, ServerReason::none),
                             status("b", ServerState::pending, ServerReason::connecting),
                             status("c", ServerState::failed, ServerReason::connect_failed),
                             status("d", ServerState::needs_auth, ServerReason::wants_credentials),
                             status("e", ServerState::disabled, ServerReason::disabled)};
  ToolMatches none;
  const auto answer = json_of_result(found_tools(none, statuses, ModelApi::anthropic));
  EXPECT_EQ(to_text(answer["serversNotReady"]),
            R"([{"name":"b","state":"pending","reason":"connecting"},)"
            R"({"name":"c","state":"failed","reason":"connect failed"},)"
            R"({"name":"d","state":"needs-auth","reason":"the person has to sign in first"}])");
  EXPECT_THAT(answer["note"].as_text(), HasSubstr("not ready"));
}

TEST(FoundTools, HaveWholeSchemasAsTheApiWantsThem) {
  Tool tool;
  tool.name = "read";
  tool.description = "Reads\x1b[31m it";
  tool.input_schema = *parse_json(R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]})");
  const CatalogEntry entry{"mcp__s__read", "s", std::make_shared<const Tool>(tool), NamePrefix::server};
  ToolMatches matches;
  matches.tools.push_back(&entry);
  matches.unknown.emplace_back("nobody");
  const auto answer = json_of_result(found_tools(matches, {}, ModelApi::anthropic));
  EXPECT_EQ(to_text(answer["tools"]),
            R"([{"name":"mcp__s__read","description":"Reads it","input_schema":)"
            R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}])");
  EXPECT_EQ(to_text(answer["unknown"]), R"(["nobody"])");
}

TEST(FoundTools, AreABoundedAnswer) {
  std::vector<CatalogEntry> entries;
  for (int i = 0; i < 20; ++i) {
    Tool tool;
    tool.name = fmt::format("tool{}", i);
    tool.input_schema = Json{{"type", "object"}, {"description", std::string(100'000, 'x')}};
    entries.push_back({"mcp__s__" + tool.name, "s", std::make_shared<const Tool>(tool), NamePrefix::server});
  }
  ToolMatches matches;
  for (const auto& entry : entries) matches.tools.push_back(&entry);
  const auto answer = json_of_result(found_tools(matches, {}, ModelApi::anthropic));
  EXPECT_EQ(answer["tools"].size(), 3u);
  EXPECT_EQ(answer["leftOut"].size(), 17u);
  EXPECT_THAT(matches.tools, SizeIs(3)) << "what the model was not given is not loaded";
}

TEST(ListedSkills, AreABoundedAnswerWithoutThoseThatWereRejected) {
  std::vector<ServerSkill> all;
  for (int i = 0; i < 1000; ++i) {
    ServerSkill one;
    one.server = "s";
    one.skill.frontmatter = Json{{"name", fmt::format("skill{}", i)}, {"description", std::string(5000, 'd')}};
    one.approval = i == 0 ? SkillApproval::rejected : SkillApproval::pending;
    all.push_back(std::move(one));
  }
  const auto result = listed_skills(all);
  EXPECT_LE(text_of_result(result).size(), longest_list + 1000);
  const auto answer = json_of_result(result);
  EXPECT_EQ(answer["skills"].as_array()[0]["name"], Json("skill1"));
  EXPECT_THAT(answer["note"].as_text(), HasSubstr("more are not shown"));
}

TEST(ListedResources, CarryTheirServerAndAreCleaned) {
  std::vector<ServerResources> all(2);
  all[0].server = "docs";
  all[0].resources.push_back({.uri = "file:///a",
                              .name = "a\xe2\x80\xae"
                                      "b",
                              .size = 7});
  all[0].resources.push_back({.uri = "file:///\xe2\x80\x8b", .name = "hidden"});
  all[0].templates.push_back({.uri_template = "note:///{name}", .name = "notes"});
  all[1].server = "broken";
  all[1].problem = "it does not answer";
  const auto answer = json_of_result(listed_resources(all, {}, 0));
  EXPECT_EQ(to_text(answer), R"({"resources":[{"server":"docs","uri":"file:///a","name":"ab","size":7}],)"
                             R"("resourceTemplates":[{"server":"docs","uriTemplate":"note:///{name}","name":"notes"}],)"
                             R"("leftOut":"1 with a URI that cannot be shown",)"
                             R"("problems":[{"server":"broken","problem":"it does not answer"}]})");
}

TEST(ListedResources, ALongListIsReadInParts) {
  std::vector<ServerResources> all(1);
  all[0].server = "docs";
  for (int i = 0; i < 3000; ++i) all[0].resources.push_back({.uri = fmt::format("mem://{}", i), .name = "one of many"});
  std::size_t seen = 0;
  std::size_t next = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const auto result = listed_resources(all, {}, next);
    EXPECT_LE(text_of_result(result).size(), longest_list + 1000);
    const auto answer = json_of_result(result);
    EXPECT_EQ(answer["resources"].as_array()[0]["uri"], Json(fmt::format("mem://{}", next)));
    seen += answer["resources"].size();
    if (answer["next"].is_null()) break;
    next = static_cast<std::size_t>(answer["next"].as_int());
    EXPECT_EQ(next, seen);
  }
  EXPECT_EQ(seen, 3000u);
}

TEST(ContentsForModel, TextIsCleanedAndReadInParts) {
  const std::string whole = "ä" + std::string(50, 'x') + "\x1b[31mred\xe2\x80\xae!";
  std::vector<ResourceContents> contents{{.uri = "mem://x", .text = whole}};
  EXPECT_EQ(text_of(contents_for_model(contents, 0, 1000).at(0)), "ä" + std::string(50, 'x') + "red!");
  EXPECT_EQ(text_of(contents_for_model(contents, 0, 10).at(0)),
            fmt::format("äxxxxxxxx\n[cut at byte 10 of {}; to read on: \"offset\": 10]", whole.size()));
  EXPECT_THAT(text_of(contents_for_model(contents, 1, 5).at(0)), testing::StartsWith("xxxxx\n"))
      << "not within a character";
  EXPECT_EQ(text_of(contents_for_model(contents, 5000, 5).at(0)), fmt::format("[it ends at byte {}]", whole.size()));
  EXPECT_EQ(*contents[0].text, whole);
}

TEST(ContentsForModel, BlobsAreShownAsWhatTheyAre) {
  const std::vector<ResourceContents> contents{
      {.uri = "mem://p", .mime_type = "image/png", .blob = "aGk="},
      {.uri = "mem://s", .mime_type = "audio/wav", .blob = "aGk="},
      {.uri = "mem://z", .mime_type = "application/zip", .blob = "aGlo"},
      {.uri = "mem://l", .mime_type = "image/png", .blob = std::string(longest_blob + 4, 'A')}};
  const auto shown = contents_for_model(contents, 0, 1000);
  ASSERT_THAT(shown, SizeIs(6));
  EXPECT_EQ(text_of(shown[0]), "[mem://p, image/png]\n");
  EXPECT_EQ(std::get<ImageContent>(shown[1]).data, "aGk=");
  EXPECT_EQ(std::get<AudioContent>(shown[3]).mime_type, "audio/wav");
  EXPECT_THAT(text_of(shown[4]), HasSubstr("[application/zip, 3 bytes; not text, so it is not shown]"));
  EXPECT_THAT(text_of(shown[5]), HasSubstr("not shown"));
  EXPECT_EQ(text_of(contents_for_model({}, 0, 10).at(0)), "(no content)");
}

TEST(ContentsForModel, ManyContentsAreOneBoundedAnswer) {
  const std::vector<ResourceContents> contents(10'000,
                                               ResourceContents{.uri = "mem://x", .text = std::string(100, 'x')});
  const auto shown = contents_for_model(contents, 0, 1000);
  EXPECT_THAT(shown, SizeIs(101));
  EXPECT_EQ(text_of(shown.back()), "[9900 more contents are not shown]");
}

TEST(OwnTools, AreKnownByShortNamesToo) {
  EXPECT_EQ(own_tool("ListMcpResourcesTool"), OwnTool::list_resources);
  EXPECT_EQ(own_tool("ListMcpResources"), OwnTool::list_resources);
  EXPECT_EQ(own_tool("ReadMcpResource"), OwnTool::read_resource);
  EXPECT_EQ(own_tool("ToolSearch"), OwnTool::search);
  EXPECT_EQ(own_tool("mcp__s__tool_search"), std::nullopt);
  for (const auto which :
       {OwnTool::search, OwnTool::list_resources, OwnTool::read_resource, OwnTool::list_skills, OwnTool::read_skill}) {
    EXPECT_EQ(describe(which).name, name_of(which));
    EXPECT_TRUE(only_reads(describe(which)));
  }
}

Skill skill(std::string digest = "sha256:1") {
  Skill out;
  out.uri = "skill://a/SKILL.md";
  out.frontmatter = Json{{"name", "a"}, {"description", "d"}};
  out.resources.emplace();
  out.resources->push_back({.uri = "skill://a/x.md", .digest = std::move(digest), .size = 1});
  out.resources->push_back({.uri = "skill://a/SKILL.md", .digest = "sha256:2", .size = 2});
  return out;
}

TEST(SkillAnswers, AreAboutOneContent) {
  const SkillAnswer yes{{}, skill_digest(skill()), true};
  const SkillAnswer no{{}, skill_digest(skill()), false};
  EXPECT_EQ(approval_of(skill(), std::nullopt), SkillApproval::pending);
  EXPECT_EQ(approval_of(skill(), yes), SkillApproval::approved);
  EXPECT_EQ(approval_of(skill(), no), SkillApproval::rejected);
  EXPECT_EQ(approval_of(skill("sha256:9"), yes), SkillApproval::changed);
  EXPECT_EQ(approval_of(skill("sha256:9"), no), SkillApproval::pending);
  auto other = skill();
  other.frontmatter["description"] = "something else";
  EXPECT_EQ(approval_of(other, yes), SkillApproval::changed) << "the header is a part of it";
  auto turned = skill();
  std::swap(turned.resources->at(0), turned.resources->at(1));
  EXPECT_EQ(approval_of(turned, yes), SkillApproval::approved) << "the order of files is not";
  auto dynamic = skill();
  dynamic.resources.reset();
  EXPECT_EQ(approval_of(dynamic, yes), SkillApproval::changed);
}

TEST(SkillAnswers, BelongToTheEntryOfAServer) {
  ServerConfig one;
  one.name = "docs";
  one.command = "a";
  auto two = one;
  two.command = "b";
  EXPECT_EQ(skill_key("docs", &one, "u"), skill_key("docs", &one, "u"));
  EXPECT_NE(skill_key("docs", &one, "u"), skill_key("docs", &two, "u"));
  EXPECT_NE(skill_key("docs", &one, "u"), skill_key("docs", nullptr, "u"));
  EXPECT_NE(skill_key("docs", &one, "u"), skill_key("docs", &one, "v"));
  EXPECT_NE(skill_key("docs", nullptr, "u"), skill_key("other", nullptr, "u"));
}

TEST(SkillAnswers, AreKeptFromRunToRun) {
  test::TempTree tree;
  const auto file = skill_answers_file(tree.path());
  EXPECT_EQ(skill_answers_file(""), "");
  EXPECT_THAT(read_skill_answers(file), IsEmpty());
  const auto key = skill_key("docs", nullptr, "u");
  const std::chrono::sys_seconds now{std::chrono::seconds(1'800'000'000)};
  const SkillAnswer yes{now, skill_digest(skill()), true};
  ASSERT_TRUE(remember_skill_answer(file, key, yes, now));
  EXPECT_THAT(read_skill_answers(file), ElementsAre(std::pair(key, yes)));
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
  ASSERT_TRUE(remember_skill_answer(file, key, std::nullopt, now));
  EXPECT_THAT(read_skill_answers(file), IsEmpty());
  std::ofstream(file) << "{\"version\":1,\"servers\":{\"x\":1}}";
  EXPECT_THAT(read_skill_answers(file), IsEmpty()) << "a broken file approves nothing";
}

}  // namespace
}  // namespace patchbay
