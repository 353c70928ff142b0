// Rows of docs/requirements.md: C10.
#include "entries/server_argument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::Fails;
using testing::ElementsAre;

TEST(ServerArgument, CommandLinesAreSplitAsAShellWouldWithoutBeingOne) {
  struct Case {
    std::string_view line;
    std::vector<std::string> words;
  };
  for (const auto& [line, words] : std::initializer_list<Case>{
           {"", {}},
           {"  \t ", {}},
           {"npx -y  x", {"npx", "-y", "x"}},
           {"'a b' \"c d\" e\\ f", {"a b", "c d", "e f"}},
           {"a'b'\"c\"d", {"abcd"}},
           {"'' \"\"", {"", ""}},
           {R"("a\"b\\c\d")", {R"(a"b\c\d)"}},
           {R"('a\b')", {R"(a\b)"}},
           {"echo $HOME * `x` ; rm", {"echo", "$HOME", "*", "`x`", ";", "rm"}},
           {"a\nb", {"a", "b"}},
       }) {
    EXPECT_EQ(split_command_line(line), words) << line;
  }
  EXPECT_THAT(split_command_line("a 'b"), Fails("the quote ' is not closed"));
  EXPECT_THAT(split_command_line("a \"b"), Fails("the quote \" is not closed"));
  EXPECT_THAT(split_command_line("a \\"), Fails("the command ends with a backslash"));
}

// compat: C10.a
TEST(ServerArgument, TakesAUrlJsonOrACommand) {
  struct Case {
    std::string_view argument;
    ServerKind kind;
    std::string_view command;  // or the URL
    std::vector<std::string> args;
  };
  for (const auto& [argument, kind, command, args] : std::initializer_list<Case>{
           {"s=https://h/mcp?a=b", ServerKind::http, "https://h/mcp?a=b", {}},
           {"s=HTTP://h", ServerKind::http, "HTTP://h", {}},
           {"s=wss://h", ServerKind::websocket, "wss://h", {}},
           {"s=npx -y 'a b'", ServerKind::stdio, "npx", {"-y", "a b"}},
           {"s=./x", ServerKind::stdio, "./x", {}},
           {R"(s={"command":"x","args":["="],})", ServerKind::stdio, "x", {"="}},
           {R"(s= {"type":"sse","url":"https://h"} )", ServerKind::sse, "https://h", {}},
       }) {
    auto parsed = parse_server_argument(argument, "--mcp-server");
    ASSERT_EQ(parsed.servers.size(), 1u) << argument << (parsed.problems.empty() ? "" : parsed.problems[0].text());
    const auto& server = parsed.servers[0];
    EXPECT_EQ(server.name, "s");
    EXPECT_EQ(server.kind, kind) << argument;
    EXPECT_EQ(kind == ServerKind::stdio ? server.command : server.url, command) << argument;
    EXPECT_EQ(server.args, args) << argument;
    EXPECT_EQ(server.origin.scope, ConfigScope::dynamic);
    EXPECT_EQ(server.origin.file, "--mcp-server");
    EXPECT_TRUE(parsed.problems.empty());
  }
}

TEST(ServerArgument, WhatIsWrongWithItIsReported) {
  struct Case {
    std::string_view argument, problem;
  };
  for (auto [argument, problem] : std::initializer_list<Case>{
           {"https://h",
            "--mcp-server: \"https://h\" has no \"=\"; write NAME=URL, NAME='{\"command\": …}' or NAME='command "
            "arguments'"},
           {"s=",
            "--mcp-server: MCP server \"s\": there is nothing after the \"=\"; write NAME=URL, NAME='{\"command\": …}' "
            "or NAME='command arguments'"},
           {"s=x 'y",
            "--mcp-server: MCP server \"s\": the quote ' is not closed; write NAME=URL, NAME='{\"command\": …}' or "
            "NAME='command arguments'"},
           {"=x", "--mcp-server: MCP server \"\": the name is empty"},
           {"workspace=x", "--mcp-server: MCP server \"workspace\": the name is reserved; choose another name"},
           {R"(s={"url":"https://h"})",
            "--mcp-server:1:2: MCP server \"s\" has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / "
            "\"ws\") "
            "to this entry"},
           {R"(s={"command" "x"})", "--mcp-server:1:12: MCP server \"s\": expected ':'"},
           {"s=\xFF", "--mcp-server: the argument is not valid UTF-8"},
       }) {
    auto parsed = parse_server_argument(argument, "--mcp-server");
    ASSERT_EQ(parsed.problems.size(), 1u) << argument;
    EXPECT_TRUE(parsed.problems[0].text().starts_with(problem)) << parsed.problems[0].text();
    EXPECT_TRUE(parsed.servers.empty());
  }
}

}  // namespace
}  // namespace patchbay
