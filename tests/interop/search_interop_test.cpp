// Finding the right tool among those of real servers from npm, and their resources, prompts and completion as a model
// and a person get them. W6 R1 R2 R3. ./test installs the servers and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/model_tools.h>

#include "base/as_result.h"
#include "catalog/search/tool_query.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::run_task;
using testing::AllOf;
using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

ServerConfig npm_entry(std::string name, const std::string& script, std::vector<std::string> args = {},
                       std::vector<std::pair<std::string, std::string>> env = {}) {
  ServerConfig config;
  config.name = std::move(name);
  config.kind = ServerKind::stdio;
  config.command = environment("PATCHBAY_NODE");
  config.args = {environment("PATCHBAY_NPM_DIR") + "/node_modules/" + script};
  config.args.insert(config.args.end(), args.begin(), args.end());
  config.env = std::move(env);
  return config;
}

ServerConfig everything() {
  return npm_entry("everything", "@modelcontextprotocol/server-everything/dist/index.js", {"stdio"});
}

// What somebody would ask for, in words of their own, and the tool that does it.
struct Row {
  const char* query;
  const char* tool;
};
constexpr Row rows[] = {
    {"read the contents of a text file", "mcp__files__read_text_file"},
    {"show me what is in this folder", "mcp__files__list_directory"},
    {"list files with their sizes", "mcp__files__list_directory_with_sizes"},
    {"rename a file", "mcp__files__move_file"},
    {"make a new folder", "mcp__files__create_directory"},
    {"find files by name pattern", "mcp__files__search_files"},
    {"replace some lines in a file", "mcp__files__edit_file"},
    {"save text to a file", "mcp__files__write_file"},
    {"read an image or audio file", "mcp__files__read_media_file"},
    {"read several files at once", "mcp__files__read_multiple_files"},
    {"when was this file modified", "mcp__files__get_file_info"},
    {"recursive tree view of a directory as JSON", "mcp__files__directory_tree"},
    {"which directories may I access", "mcp__files__list_allowed_directories"},
    {"remember a fact about a person", "mcp__memory__add_observations"},
    {"add entities to the knowledge graph", "mcp__memory__create_entities"},
    {"connect two entities", "mcp__memory__create_relations"},
    {"forget an entity", "mcp__memory__delete_entities"},
    {"remove a relation", "mcp__memory__delete_relations"},
    {"search the knowledge graph", "mcp__memory__search_nodes"},
    {"show the whole knowledge graph", "mcp__memory__read_graph"},
    {"think step by step about a problem", "mcp__thinking__sequentialthinking"},
    {"documentation of a library", "mcp__context7__query-docs"},
    {"find the id of a library", "mcp__context7__resolve-library-id"},
    {"add two numbers", "mcp__everything__get-sum"},
    {"environment variables of the server", "mcp__everything__get-env"},
    {"a tiny image", "mcp__everything__get-tiny-image"},
    {"weather as structured content", "mcp__everything__get-structured-content"},
    {"operation that takes long and reports progress", "mcp__everything__trigger-long-running-operation"},
    {"say the same thing back", "mcp__everything__echo"},
    {"links to resources", "mcp__everything__get-resource-links"},
    {"compress files with gzip", "mcp__everything__gzip-file-as-resource"},
    {"subscribe to updates of resources", "mcp__everything__toggle-subscriber-updates"},
    {"simulated log messages", "mcp__everything__toggle-simulated-logging"},
    {"run a snippet of code", "mcp__runner__run-code"},
};

TEST(ToolSearch, FindsTheToolsOfRealServersByWhatPeopleAskFor) {
  test::TempTree tree;
  Host host(test::empty_options());
  host.add_server(everything());
  host.add_server(npm_entry("files", "@modelcontextprotocol/server-filesystem/dist/index.js", {tree.path().string()}));
  host.add_server(npm_entry("memory", "@modelcontextprotocol/server-memory/dist/index.js", {},
                            {{"MEMORY_FILE_PATH", (tree.path() / "memory.jsonl").string()}}));
  host.add_server(npm_entry("thinking", "@modelcontextprotocol/server-sequential-thinking/dist/index.js"));
  host.add_server(npm_entry("context7", "@upstash/context7-mcp/dist/index.js"));
  host.add_server(npm_entry("runner", "mcp-server-code-runner/dist/cli.js"));
  run_task([&]() -> Task<void> {
    co_await host.start();
    const auto catalog = host.catalog();
    EXPECT_THAT(catalog->size(), Ge(35u));
    ToolIndexes indexes;
    const auto& index = indexes.of(catalog);
    std::size_t first = 0;
    std::size_t among_five = 0;
    for (const auto& row : rows) {
      EXPECT_NE(catalog->at(row.tool), nullptr) << row.tool << ": the table names a tool that is not there";
      const auto found = match_tools(*catalog, index, row.query, 5).tools;
      const auto at = std::ranges::find(found, std::string_view(row.tool), &CatalogEntry::name);
      if (at == found.begin() && !found.empty()) ++first;
      if (at != found.end()) {
        ++among_five;
        continue;
      }
      std::string got;
      for (const auto* entry : found) got += " " + entry->name;
      std::printf("not among five: \"%s\" -> %s, but%s\n", row.query, row.tool, got.c_str());
    }
    std::printf("tool search over %zu tools of real servers: recall@5 %zu of %zu (%.2f), first %zu\n", catalog->size(),
                among_five, std::size(rows), static_cast<double>(among_five) / static_cast<double>(std::size(rows)),
                first);
    EXPECT_GE(among_five * 100, std::size(rows) * 80) << "four of five of these questions lead to their tool";
    co_await host.stop();
  });
}

TEST(ModelTools, ServerEverythingAsAModelAndAPersonGetIt) {
  auto options = test::empty_options();
  std::unique_ptr<ModelTools> own;
  options.on_event = [&](const HostEvent& event) {
    if (own) own->heard(event);
  };
  Host host(std::move(options));
  host.add_server(everything());
  own = std::make_unique<ModelTools>(host, ModelToolsOptions{});
  run_task([&]() -> Task<void> {
    co_await own->begin();
    co_await host.start();
    const auto listed = co_await own->call("ListMcpResourcesTool", Json::object());
    EXPECT_FALSE(listed.is_error) << text_of(listed);
    const auto all = parse_json(text_of(listed)).value_or(Json());
    EXPECT_THAT(all["resources"].size(), Ge(5u));
    EXPECT_EQ(all["resourceTemplates"].size(), 2u);
    const auto uri = std::string(all["resources"].as_array()[0]["uri"].as_text());
    const auto read = co_await own->call("ReadMcpResourceTool", Json{{"server", "everything"}, {"uri", uri}});
    EXPECT_FALSE(read.is_error) << text_of(read);
    EXPECT_THAT(text_of(read), testing::Not(testing::IsEmpty()));
    // It tells of changes, so it is asked once.
    const auto once = co_await own->read("everything", uri);
    const auto twice = co_await own->read("everything", uri);
    EXPECT_EQ(once.result, twice.result);

    const auto mentioned = co_await own->mentioned("what does @everything:" + uri + " say?");
    EXPECT_EQ(mentioned.size(), 1u);
    if (!mentioned.empty()) EXPECT_FALSE(mentioned[0].error);
    const auto made = co_await own->call("ReadMcpResourceTool",
                                         Json{{"server", "everything"}, {"uri", "demo://resource/dynamic/text/3"}});
    EXPECT_FALSE(made.is_error) << text_of(made);
    const auto completed = co_await own->complete_mention("@everything:demo://resource/");
    EXPECT_THAT(completed, Contains(HasSubstr("@everything:demo://resource/")));

    const auto prompt = co_await own->prompt("/mcp__everything__args-prompt Ulm state='Baden-Württemberg'");
    EXPECT_THAT(text_of(prompt.messages.at(0).content), AllOf(HasSubstr("Ulm"), HasSubstr("Baden-Württemberg")));
    const auto missing = co_await as_result(own->prompt("/mcp__everything__args-prompt"));
    EXPECT_FALSE(missing);
    if (!missing) EXPECT_THAT(std::string(missing.error().message()), HasSubstr("also needs city"));
    co_await own->stop();
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
