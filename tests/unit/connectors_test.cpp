// Rows of docs/requirements.md: C9.
#include "settings/connectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/naming.h"
#include "settings/own_file.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Fails;
using testing::ElementsAre;
using testing::IsEmpty;

ConnectorDirectory directory() {
  ConnectorDirectory out;
  out.url = "https://directory.example/v1/servers";
  out.bearer = "${secret:token}";
  return out;
}

// compat: C9.a
TEST(Connectors, TheDirectoryIsReadFromOurFile) {
  auto own =
      read_own_file(R"({"connectors":{"url":"https://d/","bearer":"${file:t}","timeout":2000,"enabled":false}})", "f");
  ASSERT_TRUE(own.connectors);
  EXPECT_EQ(own.connectors->url, "https://d/");
  EXPECT_EQ(own.connectors->bearer, "${file:t}");
  EXPECT_EQ(own.connectors->timeout, 2s);
  EXPECT_FALSE(own.connectors->enabled);
  EXPECT_THAT(own.problems, IsEmpty());
  struct Case {
    std::string_view text, problem;
  };
  for (auto [text, problem] : std::initializer_list<Case>{
           {R"({"connectors":1})", "f:1:15: \"connectors\" must be an object, found a number"},
           {R"({"connectors":{"url":1}})", "f:1:22: \"connectors.url\" must be a string, found a number"},
           {R"({"connectors":{"url":"http://d"}})",
            "f:1:15: \"connectors.url\" must be the URL of a connector directory and begin with https://"},
           {R"({"connectors":{}})",
            "f:1:15: \"connectors.url\" must be the URL of a connector directory and begin with https://"},
           {R"({"connectors":{"url":"https://d","timeout":5}})",
            "f:1:44: \"connectors.timeout\" must be from 100 to 60000 milliseconds, found 5"},
           {R"({"connectors":{"url":"https://d","enabled":1}})",
            "f:1:44: \"connectors.enabled\" must be true or false, found a number"},
       }) {
    auto wrong = read_own_file(text, "f");
    EXPECT_FALSE(wrong.connectors) << text;
    ASSERT_EQ(wrong.problems.size(), 1u) << text;
    EXPECT_TRUE(wrong.problems[0].text().starts_with(problem)) << wrong.problems[0].text();
  }
  EXPECT_TRUE(read_own_file(R"({"connectors":{"url":"http://127.0.0.1:1/"}})", "f").connectors);
  // A name that begins like an address of this machine is anybody's.
  EXPECT_FALSE(read_own_file(R"({"connectors":{"url":"http://127.evil.example/"}})", "f").connectors);
}

TEST(Connectors, AnAnswerIsTakenForWhatItIs) {
  EXPECT_EQ(parse_connector_page(R"({"data":[{"type":"mcp_server","id":"1","display_name":"Issues","url":"https://i/"},
      {"id":"2","name":"Mail","url":"https://m/"}, 7, {"display_name":"No url"}, {"display_name":"","url":"https://n/"},
      {"display_name":"Plain","url":"http://p/"}, {"display_name":"a\u0007","url":"https://x/"}],
      "has_more":true,"next_page":"p2"})")
                .value(),
            (ConnectorPage{{{"1", "Issues", "https://i/"}, {"2", "Mail", "https://m/"}}, "p2"}));
  EXPECT_EQ(parse_connector_page(R"({"data":[],"next_page":null})").value(), ConnectorPage{});
  EXPECT_THAT(parse_connector_page("[]"), Fails("the answer has no list \"data\""));
  EXPECT_THAT(parse_connector_page("<html>"), Fails(testing::StartsWith("the answer is not JSON")));
}

// compat: C9.a
TEST(Connectors, WhatIsKeptIsForOneDirectoryAndForAWeek) {
  const std::chrono::sys_seconds now(1'800'000'000s);
  ConnectorCache cache{{{"1", "Issues", "https://i/"}}, now};
  const auto text = connector_cache_text(directory(), cache);
  EXPECT_EQ(read_connector_cache(text, directory(), now), cache);
  EXPECT_EQ(read_connector_cache(text, directory(), now + std::chrono::days(7)), cache);
  EXPECT_EQ(read_connector_cache(text, directory(), now + std::chrono::days(7) + 1s), std::nullopt);
  EXPECT_EQ(read_connector_cache(text, directory(), now - 2min), std::nullopt);
  auto other = directory();
  other.bearer = "another";
  EXPECT_EQ(read_connector_cache(text, other, now), std::nullopt);
  EXPECT_EQ(read_connector_cache("{", directory(), now), std::nullopt);
  for (const char* other_text : {"{}", "[]", "1", R"({"version":1})"}) {
    EXPECT_EQ(read_connector_cache(other_text, directory(), now), std::nullopt) << other_text;
  }
  auto written_out = directory();
  written_out.bearer = "sk-the-token-itself";
  EXPECT_EQ(connector_cache_text(written_out, cache).find("the-token"), std::string::npos);
}

// compat: B7.2
TEST(Connectors, TheirServersAreNamedAfterTheDirectory) {
  auto parsed = connector_servers(directory(), {{"1", "My Issues", "https://i/"}, {"2", "My Issues", "https://j/"}});
  ASSERT_EQ(parsed.servers.size(), 2u);
  EXPECT_EQ(parsed.servers[0].name, "claude.ai My Issues");
  EXPECT_EQ(parsed.servers[1].name, "claude.ai My Issues (2)");
  EXPECT_EQ(parsed.servers[0].kind, ServerKind::http);
  EXPECT_EQ(parsed.servers[0].url, "https://i/");
  EXPECT_EQ(parsed.servers[0].origin.scope, ConfigScope::connector);
  EXPECT_EQ(normalise_name(parsed.servers[0].name), "claude_ai_My_Issues");
}

}  // namespace
}  // namespace patchbay
