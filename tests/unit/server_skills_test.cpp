// R4: skills that a server offers: entries, directories, and what it refuses to offer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "protocol/skills.h"
#include "server/skills.h"
#include "support/loop.h"
#include "support/raw_client.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using test::RawClient;
using test::run_task;
using test::sample_server;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string header(std::string_view name) {
  return fmt::format("---\nname: {}\ndescription: About {}.\n---\n", name, name);
}

SkillFile file(std::string path, std::string content = "x") {
  return {.path = std::move(path), .content = std::move(content)};
}

std::vector<SkillFile> files_of(std::string_view name, std::vector<SkillFile> more = {}) {
  more.insert(more.begin(), file("SKILL.md", header(name)));
  return more;
}

std::vector<std::string> uris_of(const std::shared_ptr<const Skill>& skill) {
  std::vector<std::string> uris;
  if (!skill) return {"no skill"};
  for (const auto& resource : *skill->resources) uris.push_back(resource.uri);
  return uris;
}

std::vector<std::string> children_of(const SkillShelf& shelf, std::string_view uri) {
  auto page = shelf.directory(uri, {}, 100);
  if (!page) return {page.error().message()};
  std::vector<std::string> names;
  for (const auto& child : page->items)
    names.push_back(child.name + (child.mime_type == directory_mime_type ? "/" : ""));
  return names;
}

TEST(SkillShelf, TheEntryIsMadeFromTheFiles) {
  SkillShelf shelf;
  EXPECT_FALSE(shelf.ever_used());
  auto changed =
      shelf.add("office/pdf", files_of("pdf", {file("a b.md", "\xff\xfe"), file("scripts/x.py", "print(1)\n")}));
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_TRUE(shelf.ever_used());

  Skill expected;
  expected.uri = "skill://office/pdf/SKILL.md";
  expected.frontmatter = Json{{"name", "pdf"}, {"description", "About pdf."}};
  expected.resources.emplace();
  for (auto [uri, content] : {std::pair<std::string, std::string>("skill://office/pdf/SKILL.md", header("pdf")),
                              {"skill://office/pdf/a%20b.md", "\xff\xfe"},
                              {"skill://office/pdf/scripts/x.py", "print(1)\n"}}) {
    expected.resources->push_back(
        {.uri = uri, .digest = digest_of(content), .size = static_cast<std::int64_t>(content.size())});
  }
  ASSERT_TRUE(shelf.find(expected.uri));
  EXPECT_EQ(*shelf.find(expected.uri), expected);
  EXPECT_FALSE(shelf.find("skill://office/pdf"));
  EXPECT_FALSE(shelf.find("skill://office/pdf/scripts/x.py"));

  EXPECT_THAT(changed->before, IsEmpty());
  const auto& served = changed->after;
  ASSERT_EQ(served.size(), 3u);
  const auto& skill = *served.at("skill://office/pdf/SKILL.md");
  EXPECT_EQ(skill.resource.name, "pdf");
  EXPECT_EQ(skill.resource.description, "About pdf.");
  EXPECT_EQ(skill.resource.mime_type, "text/markdown");
  EXPECT_EQ(skill.contents.text, header("pdf"));
  const auto& bytes = *served.at("skill://office/pdf/a%20b.md");
  EXPECT_EQ(bytes.resource.name, "a b.md");
  EXPECT_EQ(bytes.contents.blob, "//4=");
  EXPECT_EQ(bytes.contents.text, std::nullopt);
  EXPECT_EQ(served.at("skill://office/pdf/scripts/x.py")->resource.mime_type, "text/x-python");
}

TEST(SkillShelf, WhatAClientWouldRefuseIsNotOffered) {
  std::vector<SkillFile> many;
  for (int i = 0; i < 512; ++i) many.push_back(file(std::to_string(i), ""));
  struct Row {
    std::string name;
    std::string path;
    std::vector<SkillFile> files;
    std::string reason;
  };
  for (const auto& row : std::vector<Row>{
           {"no files", "pdf", {}, "skill \"pdf\": it has no SKILL.md"},
           {"no SKILL.md", "pdf", {file("README.md")}, "it has no SKILL.md"},
           {"one elsewhere", "pdf", {file("docs/SKILL.md", header("pdf"))}, "it has no SKILL.md"},
           {"no header", "pdf", {file("SKILL.md", "# PDF")}, "SKILL.md: it does not begin with a header"},
           {"a broken header", "pdf", {file("SKILL.md", "---\nname: pdf\na: b: c\n---\n")}, "SKILL.md: line 3: "},
           {"no description", "pdf", {file("SKILL.md", "---\nname: pdf\n---\n")}, "description is missing"},
           {"not UTF-8", "pdf", {file("SKILL.md", header("pdf") + "\xff")}, "the file \"SKILL.md\" is not valid UTF-8"},
           {"another name", "pdf", files_of("word"), "is not called word"},
           {"no name for a skill", "PDF", files_of("PDF"), "is not a valid name of a skill"},
           {"no path", "", files_of("pdf"), "\"\" cannot be a path in a skill: write names"},
           {"an absolute path", "/pdf", files_of("pdf"), "\"/pdf\" cannot be a path"},
           {"a path above", "../pdf", files_of("pdf"), "\"../pdf\" cannot be a path"},
           {"a file above", "pdf", files_of("pdf", {file("../x")}), "\"../x\" cannot be a path"},
           {"an absolute file", "pdf", files_of("pdf", {file("/x")}), "\"/x\" cannot be a path"},
           {"a backslash", "pdf", files_of("pdf", {file("a\\b")}), "cannot be a path"},
           {"a line break", "pdf", files_of("pdf", {file("a\nb")}), "cannot be a path"},
           {"a directory", "pdf", files_of("pdf", {file("a/")}), "cannot be a path"},
           {"twice", "pdf", files_of("pdf", {file("a"), file("a")}), "the file \"a\" occurs twice"},
           {"file and directory", "pdf", files_of("pdf", {file("a"), file("a/b")}),
            "would be both a file and a directory"},
           {"too many", "pdf", files_of("pdf", many), "has 513 files, more than 512"},
           {"too large", "pdf", files_of("pdf", {file("a", std::string(16u << 20, 'x'))}),
            "larger than 16777216 bytes"}}) {
    SCOPED_TRACE(row.name);
    SkillShelf shelf;
    const auto added = shelf.add(row.path, row.files);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code(), Errc::invalid_argument);
    EXPECT_THAT(added.error().message(), HasSubstr(row.reason));
    EXPECT_FALSE(shelf.ever_used());
  }
}

TEST(SkillShelf, ASkillInsideAnotherBelongsToBoth) {
  SkillShelf shelf;
  ASSERT_TRUE(shelf.add("a", files_of("a", {file("x")})));
  ASSERT_TRUE(shelf.add("a/b", files_of("b", {file("y")})));
  EXPECT_THAT(uris_of(shelf.find("skill://a/SKILL.md")),
              ElementsAre("skill://a/SKILL.md", "skill://a/b/SKILL.md", "skill://a/b/y", "skill://a/x"));
  EXPECT_THAT(uris_of(shelf.find("skill://a/b/SKILL.md")), ElementsAre("skill://a/b/SKILL.md", "skill://a/b/y"));
  // The same file from both is one file; another content is none that could be served.
  EXPECT_TRUE(shelf.add("a", files_of("a", {file("x"), file("b/y")})));
  const auto other = shelf.add("a", files_of("a", {file("b/y", "other")}));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(),
              HasSubstr("another skill already has the file \"skill://a/b/y\" with different content"));
  EXPECT_THAT(children_of(shelf, "skill://a"), ElementsAre("a", "b/", "x"));

  auto removed = shelf.remove("a/b");
  ASSERT_TRUE(removed);
  EXPECT_THAT(uris_of(shelf.find("skill://a/SKILL.md")),
              ElementsAre("skill://a/SKILL.md", "skill://a/b/y", "skill://a/x"));
  EXPECT_FALSE(shelf.find("skill://a/b/SKILL.md"));
  EXPECT_TRUE(removed->before.contains("skill://a/b/SKILL.md"));
  EXPECT_FALSE(removed->after.contains("skill://a/b/SKILL.md"));
  EXPECT_FALSE(shelf.remove("a/b"));
  EXPECT_FALSE(shelf.remove(".."));
  EXPECT_TRUE(shelf.remove("a"));
  EXPECT_THAT(children_of(shelf, "skill://a"), ElementsAre("skill://a is not served here"));
  EXPECT_TRUE(shelf.ever_used());
}

TEST(SkillShelf, ANeighbourWithALongerNameIsNotInside) {
  SkillShelf shelf;
  ASSERT_TRUE(shelf.add("a", files_of("a")));
  ASSERT_TRUE(shelf.add("a-b", files_of("a-b")));
  ASSERT_TRUE(shelf.add("a0", files_of("a0")));
  EXPECT_THAT(uris_of(shelf.find("skill://a/SKILL.md")), ElementsAre("skill://a/SKILL.md"));
  EXPECT_TRUE(shelf.remove("a"));
  EXPECT_THAT(uris_of(shelf.find("skill://a-b/SKILL.md")), ElementsAre("skill://a-b/SKILL.md"));
  EXPECT_THAT(uris_of(shelf.find("skill://a0/SKILL.md")), ElementsAre("skill://a0/SKILL.md"));
}

TEST(SkillShelf, EveryDirectoryTellsItsChildren) {
  SkillShelf shelf;
  ASSERT_TRUE(shelf.add("office/pdf", files_of("pdf", {file("t/1.md"), file("t/2.md"), file("t/eu/3.md"), file("z")})));
  EXPECT_THAT(children_of(shelf, "skill://office"), ElementsAre("pdf/"));
  EXPECT_THAT(children_of(shelf, "skill://office/pdf"), ElementsAre("pdf", "t/", "z"));
  EXPECT_THAT(children_of(shelf, "skill://office/pdf/t"), ElementsAre("1.md", "2.md", "eu/"));
  EXPECT_THAT(children_of(shelf, "skill://office/pdf/t/eu"), ElementsAre("3.md"));
  for (std::string_view uri : {"skill://office/pdf/z", "skill://office/pdf/SKILL.md"}) {
    EXPECT_THAT(children_of(shelf, uri), ElementsAre(HasSubstr("is not a directory"))) << uri;
  }
  for (std::string_view uri : {"", "skill:/", "skill://", "skill://off", "skill://office/", "skill://office/pdf/t/",
                               "skill://office/pdf/../pdf", "file://office"}) {
    EXPECT_THAT(children_of(shelf, uri), ElementsAre(HasSubstr("is not served here"))) << uri;
  }
}

TEST(SkillShelf, DirectoriesComeInPagesThatStayRight) {
  SkillShelf shelf;
  ASSERT_TRUE(shelf.add("a", files_of("a", {file("1"), file("2"), file("3/x"), file("4")})));
  auto first = shelf.directory("skill://a", {}, 2);
  ASSERT_TRUE(first && first->next_cursor);
  EXPECT_EQ(first->items.at(1).name, "2");
  // What was shown goes, something comes: the next page begins where the last one ended.
  ASSERT_TRUE(shelf.add("a", files_of("a", {file("0"), file("3/x"), file("4")})));
  auto second = shelf.directory("skill://a", first->next_cursor, 2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->items.at(0).name, "3");
  EXPECT_EQ(second->items.at(1).name, "4");
  auto third = shelf.directory("skill://a", second->next_cursor, 2);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->items.at(0).name, "a");
  EXPECT_FALSE(third->next_cursor);
  for (std::string cursor : {"", "!", "c2tpbGw6Ly9iL3g"}) {
    EXPECT_FALSE(shelf.directory("skill://a", cursor, 2)) << cursor;
  }
}

std::string modern(std::string_view method, std::string_view members) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})",
      method, members);
}
std::string legacy(std::string_view method, std::string_view members) {
  if (members.ends_with(',')) members.remove_suffix(1);
  return fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}}}}})", method, members);
}
constexpr auto initialize =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}})";

Json result_of(const std::string& answer) {
  const Json message = *parse_json(answer);
  return message["result"];
}
std::optional<std::int64_t> code_of(const std::string& answer) {
  const Json message = *parse_json(answer);
  return message["error"]["code"].to_int();
}

TEST(ServerSkills, BothErasHaveTheMethodsOnceThereIsASkill) {
  for (const bool is_modern : {true, false}) {
    SCOPED_TRACE(is_modern ? "modern" : "legacy");
    run_task([&]() -> Task<void> {
      auto server = sample_server({.page_size = 2, .cache = {.ttl_ms = 5000, .scope = CacheScope::shared}});
      RawClient client(co_await asio::this_coro::executor, *server);
      auto ask = [&](std::string_view method, std::string_view members = "") {
        return client.ask(is_modern ? modern(method, members) : legacy(method, members));
      };
      auto greet = [&] { return client.ask(is_modern ? modern("server/discover", "") : initialize); };
      auto before = co_await greet();
      EXPECT_EQ(result_of(before)["capabilities"].find("extensions"), nullptr);
      for (auto method : {"skills/list", "skills/get", "resources/directory/read"}) {
        auto refused = co_await ask(method, R"("uri":"skill://pdf",)");
        EXPECT_EQ(code_of(refused), -32601) << method;
      }

      server->add_skill("pdf", files_of("pdf", {file("t/1")}));
      server->add_skill("word", files_of("word"));
      server->add_skill("cell", files_of("cell"));
      auto found = is_modern ? co_await greet() : std::string();
      if (is_modern) {
        EXPECT_EQ(result_of(found)["capabilities"]["extensions"],
                  (Json{{"io.modelcontextprotocol/skills", {{"directoryRead", true}}}}));
      }
      auto listed = co_await ask("skills/list");
      const auto page = result_of(listed);
      EXPECT_EQ(page["skills"].size(), 2u);
      EXPECT_EQ(page["skills"].as_array().at(0)["uri"], Json("skill://pdf/SKILL.md"));
      EXPECT_EQ(page["ttlMs"], is_modern ? Json(5000) : Json());
      auto rest = co_await ask("skills/list", fmt::format(R"("cursor":{},)", to_text(page["nextCursor"])));
      EXPECT_EQ(result_of(rest)["skills"].as_array().at(0)["uri"], Json("skill://cell/SKILL.md"));

      auto got = co_await ask("skills/get", R"("uri":"skill://pdf/SKILL.md",)");
      EXPECT_EQ(result_of(got)["skill"], page["skills"].as_array().at(0));
      EXPECT_EQ(result_of(got)["cacheScope"], is_modern ? Json("public") : Json());
      for (auto uri : {"skill://none/SKILL.md", "skill://pdf", "skill://pdf/t/1", ""}) {
        auto unknown = co_await ask("skills/get", fmt::format(R"("uri":"{}",)", uri));
        EXPECT_EQ(code_of(unknown), -32602) << uri;
      }
      auto nameless = co_await ask("skills/get");
      EXPECT_EQ(code_of(nameless), -32602);

      auto directory = co_await ask("resources/directory/read", R"("uri":"skill://pdf",)");
      const auto children = result_of(directory)["resources"];
      EXPECT_EQ(children.as_array().at(0)["uri"], Json("skill://pdf/SKILL.md"));
      EXPECT_EQ(children.as_array().at(1),
                (Json{{"uri", "skill://pdf/t"}, {"name", "t"}, {"mimeType", "inode/directory"}}));
      EXPECT_EQ(result_of(directory).find("ttlMs"), nullptr);
      auto no_directory = co_await ask("resources/directory/read", R"("uri":"skill://pdf/t/1",)");
      EXPECT_EQ(code_of(no_directory), -32602);
      auto bad_cursor = co_await ask("resources/directory/read", R"("uri":"skill://pdf","cursor":"x",)");
      EXPECT_EQ(code_of(bad_cursor), -32602);

      auto read = co_await ask("resources/read", R"("uri":"skill://pdf/t/1",)");
      EXPECT_EQ(result_of(read)["contents"].as_array().at(0)["text"], Json("x"));
      server->remove_skill("pdf");
      auto gone = co_await ask("resources/read", R"("uri":"skill://pdf/t/1",)");
      EXPECT_EQ(code_of(gone), is_modern ? -32602 : -32002);
      co_await client.close();
    });
  }
}

TEST(ServerSkills, WhoSubscribedHearsOfFilesThatChanged) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_skill("pdf", files_of("pdf", {file("a"), file("b")}));
    RawClient client(co_await asio::this_coro::executor, *server);
    (void)co_await client.ask(initialize);
    client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    (void)co_await client.ask(legacy("resources/subscribe", R"("uri":"skill://pdf",)"));
    server->add_skill("pdf", files_of("pdf", {file("a"), file("b", "new")}));
    auto list = co_await client.next();
    EXPECT_THAT(list, HasSubstr("notifications/resources/list_changed"));
    auto updated = co_await client.next();
    EXPECT_EQ(updated,
              R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"skill://pdf/b"}})");
    EXPECT_THROW(server->add_skill("pdf", {}), Error);
    auto read = co_await client.ask(legacy("resources/read", R"("uri":"skill://pdf/b",)"));
    EXPECT_THAT(read, HasSubstr(R"("text":"new")"));
    co_await client.close();
  });
}

}  // namespace
}  // namespace patchbay
