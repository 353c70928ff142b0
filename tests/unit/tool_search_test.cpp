// Finding tools by words, and which of them a model gets from the start. Rows of docs/requirements.md: W6, N3.
// compat: B6.6
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/search/deferral.h"
#include "catalog/search/terms.h"
#include "catalog/search/tool_hints.h"
#include "catalog/search/tool_query.h"
#include "host/offered_tools.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Terms = std::vector<std::string>;

TEST(SearchTerms, NamesAndSentencesComeToTheSameWords) {
  const std::vector<std::pair<std::string, Terms>> rows{
      {"list_directory", {"list", "directory"}},
      {"listing directories", {"list", "directory"}},
      {"readHTTPFile2", {"read", "http", "file2"}},
      {"get-sum", {"get", "sum"}},
      {"XMLHttpRequest", {"xml", "http", "request"}},
      {"creates, created creating; CREATE", {"creat", "creat", "creat", "creat"}},
      {"stopped stopping stop", {"stop", "stop", "stop"}},
      {"branches boxes buzzes classes", {"branch", "box", "buzz", "class"}},
      {"status bus this", {"status", "bus", "this"}},
      {"Größe 文件 ё", {"größe", "文件", "ё"}},
      {"  __ -- ..", {}},
      {"", {}},
  };
  for (const auto& [text, terms] : rows) EXPECT_EQ(terms_of(text), terms) << text;
}

TEST(SearchTerms, ANameIsAlsoOneWord) {
  EXPECT_EQ(name_terms_of("read_text_file"), (Terms{"read", "text", "file", "readtextfil"}));
  EXPECT_EQ(name_terms_of("readTextFile"), (Terms{"read", "text", "file", "readtextfil"}));
  EXPECT_EQ(name_terms_of("read"), Terms{"read"});
}

TEST(SearchTerms, AQueryLosesWhatEverySentenceHas) {
  EXPECT_EQ(query_terms_of("I want to read a file, please read it", 16), (Terms{"read", "file"}));
  EXPECT_EQ(query_terms_of("what is this", 16), (Terms{"what", "is", "this"})) << "unless nothing else is left";
  EXPECT_THAT(query_terms_of("a1 a2 a3 a4", 3), SizeIs(3));
}

TEST(SearchTerms, DataIsNoWord) { EXPECT_THAT(terms_of(std::string(100'000, 'x')), IsEmpty()); }

Tool tool(std::string name, std::string description = {}, std::string_view schema = R"({"type":"object"})",
          Json meta = {}) {
  Tool out;
  out.name = std::move(name);
  if (!description.empty()) out.description = std::move(description);
  out.input_schema = *parse_json(schema);
  out.meta = std::move(meta);
  return out;
}

ServerTools server(std::string name, std::vector<Tool> tools) {
  ServerTools out{std::move(name), {}, NamePrefix::server};
  for (auto& one : tools) out.tools.push_back(std::make_shared<const Tool>(std::move(one)));
  return out;
}

std::vector<std::string> found(const Catalog& catalog, std::string_view query, std::size_t most = 5) {
  ToolIndexes indexes;
  const auto shared = std::make_shared<const Catalog>(catalog);
  std::vector<std::string> names;
  for (const auto* entry : match_tools(*shared, indexes.of(shared), query, most).tools) names.push_back(entry->name);
  return names;
}

Catalog ordinary() {
  const std::vector servers{
      server("files",
             {tool("read_text_file", "Read the complete contents of a file as text.",
                   R"({"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number"}}})"),
              tool("list_directory", "Get a detailed listing of all files and directories in a path."),
              tool("move_file", "Move or rename files and directories.",
                   R"({"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}}})")}),
      server("hub",
             {tool("createIssue", "Open a new ticket in a repository.",
                   R"({"type":"object","properties":{"fields":{"type":"object","properties":{"assignee":{}}}}})"),
              tool("merge_pull_request", "Merges."), tool("search_code", "Search for code across projects.")}),
      server("shots", {tool("capture", "Takes it.", R"({"type":"object"})",
                            Json{{"anthropic/searchHint", "screenshot of the screen or a window"}}),
                       tool("browser_navigate", "Goes to a page.")})};
  return Catalog(servers);
}

TEST(ToolIndex, FindsByNamesDescriptionsHintsAndParameters) {
  const auto catalog = ordinary();
  const std::vector<std::pair<std::string, std::string>> rows{
      {"read a file", "mcp__files__read_text_file"},
      {"listing directories", "mcp__files__list_directory"},
      {"rename", "mcp__files__move_file"},
      {"destination", "mcp__files__move_file"},
      {"create issue", "mcp__hub__createIssue"},
      {"open a ticket", "mcp__hub__createIssue"},
      {"assignee", "mcp__hub__createIssue"},
      {"pull request merge", "mcp__hub__merge_pull_request"},
      {"mergepullrequest", "mcp__hub__merge_pull_request"},
      {"screenshots", "mcp__shots__capture"},
      {"shots navigate", "mcp__shots__browser_navigate"},
      {"navig", "mcp__shots__browser_navigate"},
      {"mcp__hub__search_code", "mcp__hub__search_code"},
  };
  for (const auto& [query, name] : rows) {
    const auto names = found(catalog, query);
    ASSERT_FALSE(names.empty()) << query;
    EXPECT_EQ(names.front(), name) << query;
  }
}

TEST(ToolIndex, FindsNothingWhereNoWordIsThere) {
  for (const auto* query : {"zebra", "", "   ", "\x01\xff", "@#$"}) EXPECT_THAT(found(ordinary(), query), IsEmpty());
  EXPECT_THAT(found(Catalog(), "read"), IsEmpty());
}

TEST(ToolIndex, EqualToolsComeInTheOrderOfTheirNames) {
  std::vector<ServerTools> servers;
  for (const auto* name : {"c", "a", "b"}) servers.push_back(server(name, {tool("same", "Does the same.")}));
  EXPECT_THAT(found(Catalog(servers), "same"), ElementsAre("mcp__a__same", "mcp__b__same", "mcp__c__same"));
}

// N3: what is found depends on the tools alone.
TEST(ToolIndex, OneServersChangeMakesOnePartAnew) {
  std::mt19937 random(7);
  const std::vector<std::string> words{"read", "write", "file", "issue", "page", "list", "merge", "image", "query"};
  const auto any = [&] { return words[random() % words.size()]; };
  const auto some_tools = [&](int count) {
    OfferedTools::Tools out;
    for (int i = 0; i < count; ++i) {
      out.push_back(std::make_shared<const Tool>(
          tool(fmt::format("{}_{}_{}", any(), any(), i), fmt::format("{} the {} of a {}", any(), any(), any()))));
    }
    return out;
  };
  OfferedTools offered;
  const Permissions rules;
  std::map<std::string, OfferedTools::Tools> now;
  for (int i = 0; i < 20; ++i) {
    const auto name = fmt::format("server{}", i);
    offered.set(name, NamePrefix::server, now[name] = some_tools(10));
  }
  ToolIndexes indexes;
  (void)indexes.of(offered.shown(rules));
  EXPECT_EQ(indexes.built(), 20u);
  for (int turn = 0; turn < 10; ++turn) {
    const auto name = fmt::format("server{}", random() % 20);
    offered.set(name, NamePrefix::server, now[name] = some_tools(3 + static_cast<int>(random() % 9)));
    const auto catalog = offered.shown(rules);
    const auto& index = indexes.of(catalog);
    EXPECT_EQ(indexes.built(), 20u + static_cast<std::size_t>(turn) + 1);
    EXPECT_EQ(&indexes.of(catalog), &index);
    ToolIndexes fresh;
    for (const auto& query : {any(), any() + " " + any(), any() + " " + any() + " " + any()}) {
      const auto left = index.find(query, 100);
      const auto right = fresh.of(catalog).find(query, 100);
      ASSERT_EQ(left.size(), right.size());
      for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_EQ(left[i].entry, right[i].entry);
        EXPECT_EQ(left[i].score, right[i].score) << "to the last bit";
      }
    }
  }
}

TEST(ToolIndex, OneHugeToolCostsBoundedWork) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i < 5000; ++i) schema += fmt::format(R"({}"parameter{}":{{"type":"string"}})", i ? "," : "", i);
  schema += "}}";
  std::string nested = R"({"type":"object"})";
  for (int i = 0; i < 40; ++i)
    nested = fmt::format(R"({{"type":"object","properties":{{"level{}":{}}}}})", 39 - i, nested);
  std::string said;
  for (int i = 0; i < 100'000; ++i) said += fmt::format("word{} ", i);
  const Catalog catalog(std::vector{server("s", {tool("huge", said, schema), tool("deep", "x", nested)})});
  EXPECT_THAT(found(catalog, "parameter255"), SizeIs(1));
  EXPECT_THAT(found(catalog, "parameter4999 word99999"), IsEmpty());
  EXPECT_THAT(found(catalog, "level1"), ElementsAre("mcp__s__deep"));
  EXPECT_THAT(found(catalog, "level30"), IsEmpty());
}

TEST(ToolQuery, NamesCanBeSelected) {
  const auto catalog = std::make_shared<const Catalog>(ordinary());
  ToolIndexes indexes;
  const auto matches = match_tools(*catalog, indexes.of(catalog),
                                   "select: mcp__hub__createIssue, files/move_file ,capture, nobody,,", 1);
  std::vector<std::string> names;
  for (const auto* entry : matches.tools) names.push_back(entry->name);
  EXPECT_THAT(names, ElementsAre("mcp__hub__createIssue", "mcp__files__move_file", "mcp__shots__capture"));
  EXPECT_THAT(matches.unknown, ElementsAre("nobody"));
}

TEST(ToolQuery, ToolsThatAreNotForModelsAreNotFound) {
  const Catalog catalog(std::vector{server("s", {tool("paint", "Paints", R"({"type":"object"})",
                                                      Json{{"ui", Json{{"visibility", Json::array({"app"})}}}})})});
  EXPECT_THAT(found(catalog, "paint"), IsEmpty());
  EXPECT_THAT(found(catalog, "mcp__s__paint"), IsEmpty());
}

TEST(ToolSearchMode, IsReadAsItIsWritten) {
  using When = ToolSearchMode::When;
  const std::vector<std::pair<std::string, ToolSearchMode>> rows{
      {"auto", {When::automatic, 10}},  {" AUTO ", {When::automatic, 10}},    {"auto:25", {When::automatic, 25}},
      {"auto:0", {When::automatic, 0}}, {"auto:100", {When::automatic, 100}}, {"true", {When::always, 0}},
      {"1", {When::always, 0}},         {"false", {When::never, 0}},
  };
  for (const auto& [text, mode] : rows) {
    const auto read = parse_tool_search_mode(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, mode) << text;
  }
  for (const auto* text : {"", "auto:", "auto:101", "auto:-1", "auto:1x", "sometimes"}) {
    const auto read = parse_tool_search_mode(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(std::string(read.error().message()), AllOf(HasSubstr("ENABLE_TOOL_SEARCH"), HasSubstr("auto:N")));
  }
}

TEST(Deferral, BeginsBeyondAShareOfTheContext) {
  std::vector<Tool> tools;
  for (int i = 0; i < 10; ++i) tools.push_back(tool(fmt::format("tool{}", i), std::string(1000, 'd')));
  const auto catalog = std::make_shared<const Catalog>(std::vector{server("s", tools)});
  ToolIndexes indexes;
  const auto& index = indexes.of(catalog);
  const auto decided = [&](std::string_view mode, std::size_t context) {
    return decide_deferral(index,
                           {.mode = *parse_tool_search_mode(mode), .context_tokens = context, .always_load = {}});
  };
  const auto tokens = decided("auto", 1).tokens;
  EXPECT_THAT(tokens, AllOf(Gt(2500u), testing::Lt(3000u))) << "about four bytes are a token";
  EXPECT_TRUE(decided("auto", 10'000).searching);
  EXPECT_FALSE(decided("auto", 200'000).searching);
  EXPECT_EQ(decided("auto", 200'000).limit, 20'000u);
  EXPECT_TRUE(decided("auto:1", 200'000).searching);
  EXPECT_TRUE(decided("auto:0", 200'000).searching);
  EXPECT_TRUE(decided("true", 100'000'000).searching);
  EXPECT_FALSE(decided("false", 1).searching);
}

TEST(Deferral, ToolsThatAreAlwaysLoadedAreNotCounted) {
  const auto meta = [](bool always) { return Json{{"anthropic/alwaysLoad", always}}; };
  const Catalog catalog(
      std::vector{server("s", {tool("plain"), tool("asks", "", R"({"type":"object"})", meta(true))}),
                  server("always", {tool("plain"), tool("declines", "", R"({"type":"object"})", meta(false)),
                                    tool("odd", "", R"({"type":"object"})", Json{{"anthropic/alwaysLoad", "yes"}})})});
  std::vector<std::string> deferred;
  for (const auto& entry : catalog.tools()) {
    if (may_be_deferred(entry, {"always"})) deferred.push_back(entry.name);
  }
  EXPECT_THAT(deferred, ElementsAre("mcp__always__declines", "mcp__s__plain"));
  const auto all = std::make_shared<const Catalog>(
      std::vector{server("s", {tool("asks", std::string(2000, 'x'), R"({"type":"object"})", meta(true))})});
  ToolIndexes indexes;
  const auto decided = decide_deferral(indexes.of(all), {.mode = *parse_tool_search_mode("true"), .always_load = {}});
  EXPECT_FALSE(decided.searching) << "there would be nothing to search for";
  EXPECT_EQ(decided.tokens, 0u);
}

}  // namespace
}  // namespace patchbay
