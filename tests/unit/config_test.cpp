// Rows of docs/requirements.md: C2, C5.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "servers/merge.h"
#include "settings/files.h"
#include "text/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ConfigOrigin origin{".mcp.json", 0, ConfigScope::project, ConfigTrust::needs_approval, 0};

std::vector<std::string> texts(const std::vector<ConfigProblem>& problems, Severity severity) {
  std::vector<std::string> out;
  for (const auto& problem : problems) {
    if (problem.severity == severity) out.push_back(problem.text());
  }
  return out;
}
std::vector<std::string> names(const std::vector<ServerConfig>& servers) {
  std::vector<std::string> out;
  for (const auto& server : servers) out.push_back(server.name);
  return out;
}
// An entry of its own, followed by a good one that must survive whatever it says.
ParsedServers parse_entry(std::string_view entry, std::string_view name = "bad") {
  return parse_servers(
      R"({"mcpServers": {")" + std::string(name) + R"(": )" + std::string(entry) + R"(, "good": {"command": "true"}}})",
      origin);
}

TEST(Places, PointAtKeysAndValues) {
  std::string_view text = R"( {"a" : [1, {"x":[[]]}, "q\"]"], "b":{"c":true},"d":null} )";
  auto root = places_in(text, 2);
  auto from = [&](std::size_t offset) { return text.substr(offset, 3); };
  ASSERT_EQ(root.children.size(), 3u);
  EXPECT_EQ(from(root.value), "{\"a");
  EXPECT_EQ(from(root.children[0].key), "\"a\"");
  EXPECT_EQ(from(root.children[0].value), "[1,");
  ASSERT_EQ(root.children[0].children.size(), 3u);
  EXPECT_EQ(from(root.children[0].children[1].value), "{\"x");
  EXPECT_THAT(root.children[0].children[1].children, IsEmpty());
  EXPECT_EQ(from(root.children[0].children[2].key), "\"q\\");
  EXPECT_EQ(from(root.children[1].children[0].key), "\"c\"");
  EXPECT_EQ(from(root.children[1].children[0].value), "tru");
  EXPECT_EQ(from(root.children[2].key), "\"d\"");
}

TEST(Places, CounterAgreesWithCountingFromTheStartInAnyOrder) {
  std::string text =
      "a\xC3\xA9\n\nb\xE2\x82\xAC"
      "c\nlong line\n";
  PositionCounter counter(text);
  for (std::size_t step : {1u, 3u, 5u, 7u, 11u}) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto offset = i * step % (text.size() + 1);
      EXPECT_EQ(counter.at(offset), position_of(text, offset)) << offset;
    }
  }
  EXPECT_EQ(counter.at(1000), position_of(text, text.size()));
}

// compat: B3.2, B3.3, B3.6, B3.7, B3.8, B3.21, C2.c
TEST(Config, ReadsEveryKeyOfAStdioEntry) {
  auto parsed = parse_servers(R"({
  "mcpServers": {
    "db": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "db"],
      "env": {"B": "${X}", "A": "1"},
      "envFile": ".env",
      "cwd": "sub",
      "timeout": 30000,
      "request_timeout_ms": 5000,
      "disabled": true,
      "required": true,
      "alwaysLoad": true,
      "protocol": "legacy",
      "enabledTools": ["a", "b*"],
      "disabledTools": ["c"]
    }
  }
})",
                              origin);
  ServerConfig db;
  db.name = "db";
  db.command = "npx";
  db.args = {"-y", "db"};
  db.env = {{"B", "${X}"}, {"A", "1"}};
  db.env_file = ".env";
  db.cwd = "sub";
  db.timeout = std::chrono::seconds(30);
  db.request_timeout = std::chrono::seconds(5);
  db.disabled = true;
  db.required = true;
  db.always_load = true;
  db.protocol = "legacy";
  db.enabled_tools = {"a", "b*"};
  db.disabled_tools = {"c"};
  db.origin = origin;
  db.origin.line = 3;
  db.origin.column = 5;
  EXPECT_EQ(parsed, (ParsedServers{{db}, {}, {}, {{"db", db.origin, "X", "env.B", 7, 20}}}));
}

// compat: B3.1, B3.4, C2.b
TEST(Config, ReadsRemoteEntriesOfEveryType) {
  struct Case {
    std::string_view type;
    ServerKind kind;
  };
  for (auto [type, kind] : std::initializer_list<Case>{
           {R"("type":"http")", ServerKind::http},
           {R"("type":"streamable-http")", ServerKind::http},
           {R"("type":"streamableHttp")", ServerKind::http},  // compat: B3.29
           {R"("type":"sse")", ServerKind::sse},
           {R"("type":"ws")", ServerKind::websocket},
           {R"("transport":"sse")", ServerKind::sse},
           {R"("type":"http","transport":"streamable-http")", ServerKind::http},
       }) {
    const std::string url = kind == ServerKind::websocket ? "wss://h/mcp" : "https://h/mcp";
    auto parsed = parse_servers(
        R"({"mcpServers":{"r":{)" + std::string(type) + R"(,"url":")" + url + R"(","headers":{"X-A":"b"}}}})", origin);
    EXPECT_THAT(parsed.problems, IsEmpty()) << type;
    ASSERT_EQ(parsed.servers.size(), 1u) << type;
    EXPECT_EQ(parsed.servers[0].kind, kind) << type;
    EXPECT_EQ(parsed.servers[0].url, url);
    EXPECT_EQ(parsed.servers[0].headers, (NamedTexts{{"X-A", "b"}}));
  }
}

// compat: B3.5, B3.9
TEST(Config, ReadsEveryKeyOfARemoteEntry) {
  auto parsed = parse_entry(
      R"({"type":"http","url":"https://h/mcp","headers":{"X-A":"b"},"headersHelper":"./token.sh","protocol":"auto",)"
      R"("oauth":{"clientId":"c","callbackPort":8080,"scopes":"a b","authServerMetadataUrl":"https://as/m","xaa":true,)"
      R"("idp":{"x":1}}})",
      "r");
  OAuthConfig oauth;
  oauth.client_id = "c";
  oauth.callback_port = 8080;
  oauth.scopes = "a b";
  oauth.auth_server_metadata_url = "https://as/m";
  oauth.xaa = true;
  oauth.extra = Json{{"idp", Json{{"x", 1}}}};
  ASSERT_EQ(parsed.servers.size(), 2u);
  EXPECT_EQ(parsed.servers[0].oauth, oauth);
  EXPECT_EQ(parsed.servers[0].headers_helper, "./token.sh");
  EXPECT_EQ(parsed.servers[0].protocol, "");
  EXPECT_EQ(parse_entry(R"({"command":"x","protocol":"2000-01-01"})").servers[0].protocol, "2000-01-01");
}

// compat: B3.21
TEST(Config, CommentsAndCommasAtTheEndAreFine) {
  auto parsed = parse_servers(
      "\xEF\xBB\xBF// mine\n{\n  /* all */ \"mcpServers\": {\n"
      "    \"a\": {\"command\": \"http://x//y\", \"args\": [\"/*\", ], }, // last\n"
      "    \"b\": {\"command\": 1,},\n  },\n}\n",
      origin);
  ASSERT_EQ(parsed.servers.size(), 1u);
  EXPECT_EQ(parsed.servers[0].command, "http://x//y");
  EXPECT_THAT(parsed.servers[0].args, ElementsAre("/*"));
  EXPECT_EQ(parsed.servers[0].origin.line, 4u);
  EXPECT_THAT(texts(parsed.problems, Severity::error),
              ElementsAre(".mcp.json:5:22: MCP server \"b\": \"command\" must be a string, found a number"));
}

TEST(Config, AFileThatMustWrapItsServersSaysSo) {
  auto parsed = parse_servers(R"({"a":{"command":"x"}})", origin, ServerMap::required);
  EXPECT_THAT(parsed.servers, IsEmpty());
  EXPECT_THAT(texts(parsed.problems, Severity::error),
              ElementsAre(".mcp.json:1:1: \"mcpServers\" is missing; put the servers into an object with this name"));
  EXPECT_EQ(parse_servers(R"({"servers":{}})", origin, ServerMap::required).problems.at(0).message,
            "\"servers\" is not read here; rename it to \"mcpServers\"");
}

TEST(Config, AcceptsTheMapBareOrWrapped) {
  EXPECT_THAT(names(parse_servers(R"({"b":{"command":"x"},"a":{"command":"y"}})", origin).servers),
              ElementsAre("b", "a"));
  EXPECT_THAT(names(parse_servers(R"({"$schema":"s","a":{"command":"y"}})", origin).servers), ElementsAre("a"));
  EXPECT_THAT(names(parse_servers(R"({"servers":{"command":"y"}})", origin).servers), ElementsAre("servers"));
  EXPECT_THAT(names(parse_servers(R"({"other":1,"mcpServers":{"a":{"command":"y"}}})", origin).servers),
              ElementsAre("a"));
  EXPECT_EQ(parse_servers("{}", origin), ParsedServers{});
  EXPECT_EQ(parse_servers(R"({"mcpServers":{}})", origin), ParsedServers{});
  // In a settings file only the wrapped form is looked for.
  EXPECT_EQ(parse_servers(R"({"a":{"command":"y"},"model":"m"})", origin, ServerMap::wrapped), ParsedServers{});
}

// compat: B3.1, C2.b, C5.b
TEST(Config, ABadEntryIsLeftOutAloneAndReportedWithItsPlace) {
  struct Case {
    std::string_view entry;
    std::string_view error;  // behind ".mcp.json:1:"
  };
  for (auto [entry, error] : std::initializer_list<Case>{
           {R"({"url": "https://h"})",
            "25: MCP server \"bad\" has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to "
            "this "
            "entry"},
           {"{}", "24: MCP server \"bad\": expected a \"command\" to start, or a \"type\" and a \"url\" to connect to"},
           {"3", "24: MCP server \"bad\": expected an object with a \"command\" or a \"url\", found a number"},
           {"null", "24: MCP server \"bad\": expected an object with a \"command\" or a \"url\", found null"},
           {R"(["npx"])", "24: MCP server \"bad\": expected an object with a \"command\" or a \"url\", found an array"},
           {R"({"command": ""})", "36: MCP server \"bad\": \"command\" is empty; write the program to start"},
           {R"({"command": ["x"]})", "36: MCP server \"bad\": \"command\" must be a string, found an array"},
           {R"({"command": "a\u0000b"})", "36: MCP server \"bad\": \"command\" contains a NUL character"},
           {R"({"command": "x", "args": "y"})",
            "49: MCP server \"bad\": \"args\" must be an array of strings, found a string"},
           {R"({"command": "x", "args": ["y", 2]})",
            "55: MCP server \"bad\": \"args[1]\" must be a string, found a number"},
           {R"({"command": "x", "args": ["a\u0000"]})", "50: MCP server \"bad\": \"args[0]\" contains a NUL character"},
           {R"({"command": "x", "env": []})",
            "48: MCP server \"bad\": \"env\" must be an object of strings, found an array"},
           {R"({"command": "x", "env": {"PORT": 80}})",
            "57: MCP server \"bad\": \"env.PORT\" must be a string, found a number"},
           {R"({"command": "x", "env": {"A=B": ""}})",
            "49: MCP server \"bad\": \"A=B\" in \"env\" is not a valid name of a variable: it contains \"=\" or NUL"},
           {R"({"command": "x", "env": {"": ""}})", "49: MCP server \"bad\": a variable in \"env\" has an empty name"},
           {R"({"command": "x", "cwd": 1})", "48: MCP server \"bad\": \"cwd\" must be a string, found a number"},
           {R"({"command": "x", "disabled": "yes"})",
            "53: MCP server \"bad\": \"disabled\" must be true or false, found a string"},
           {R"({"command": "x", "timeout": "1s"})",
            "52: MCP server \"bad\": \"timeout\" must be a number of milliseconds, found a string"},
           {R"({"command": "x", "timeout": 1500.5})",
            "52: MCP server \"bad\": \"timeout\" must be a whole number of milliseconds, found 1500.5"},
           {R"({"command": "x", "request_timeout_ms": null})",
            "63: MCP server \"bad\": \"request_timeout_ms\" must be a number of milliseconds, found null"},
           {R"({"command": "x", "required": 1})",
            "53: MCP server \"bad\": \"required\" must be true or false, found a number"},
           {R"({"command": "x", "alwaysLoad": []})",
            "55: MCP server \"bad\": \"alwaysLoad\" must be true or false, found an array"},
           {R"({"command": "x", "envFile": {}})",
            "52: MCP server \"bad\": \"envFile\" must be a string, found an object"},
           {R"({"command": "x", "protocol": 1})",
            "53: MCP server \"bad\": \"protocol\" must be a string, found a number"},
           {R"({"command": "x", "protocol": "modern"})",
            "53: MCP server \"bad\": unknown protocol \"modern\"; use \"auto\", \"legacy\" or one of the revisions "
            "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"},
           {R"({"type": "http", "url": "http://h", "headersHelper": []})",
            "77: MCP server \"bad\": \"headersHelper\" must be a string, found an array"},
           {R"({"type": "http", "url": "http://h", "oauth": true})",
            "69: MCP server \"bad\": \"oauth\" must be an object, found a boolean"},
           {R"({"type": "http", "url": "http://h", "oauth": {"clientId": 1}})",
            "82: MCP server \"bad\": \"oauth.clientId\" must be a string, found a number"},
           {R"({"type": "http", "url": "http://h", "oauth": {"callbackPort": 70000}})",
            "86: MCP server \"bad\": \"oauth.callbackPort\" must be a port from 1 to 65535, found 70000"},
           {R"({"type": "http", "url": "http://h", "oauth": {"scopes": ["a"]}})",
            "80: MCP server \"bad\": \"oauth.scopes\" must be one string with blanks between the scopes, found an "
            "array"},
           {R"({"type": "http", "url": "http://h", "oauth": {"authServerMetadataUrl": "http://a"}})",
            "95: MCP server \"bad\": \"oauth.authServerMetadataUrl\" must begin with https://"},
           {R"({"type": "http", "url": "http://h", "oauth": {"xaa": "yes"}})",
            "77: MCP server \"bad\": \"oauth.xaa\" must be true or false, found a string"},
           {R"({"command": "x", "timeout": -1})",
            "52: MCP server \"bad\": \"timeout\" must be a whole number of milliseconds, found -1"},
           {R"({"command": "x", "enabledTools": {}})",
            "57: MCP server \"bad\": \"enabledTools\" must be an array of strings, found an object"},
           {R"({"type": "stdio"})", "24: MCP server \"bad\": a server of type \"stdio\" needs a \"command\""},
           {R"({"type": "ws"})", "24: MCP server \"bad\": a server of type \"ws\" needs a \"url\""},
           {R"({"type": 1})", "33: MCP server \"bad\": \"type\" must be a string, found a number"},
           {R"({"type": "htpp"})",
            "33: MCP server \"bad\": unknown type \"htpp\"; use \"stdio\", \"http\", \"sse\" or \"ws\""},
           {R"({"type": "sdk"})",
            "33: MCP server \"bad\": type \"sdk\" cannot be used in a file: it is only for servers that a program "
            "registers in its own process"},
           {R"({"type": "sse-ide", "url": "http://127.0.0.1"})",
            "33: MCP server \"bad\": type \"sse-ide\" cannot be used in a file: editors are found by their lock files, "
            "not in configuration files"},
           {R"({"transport": "ws-ide"})",
            "38: MCP server \"bad\": type \"ws-ide\" cannot be used in a file: editors are found by their lock files, "
            "not in configuration files"},
           {R"({"type": "claudeai-proxy"})",
            "33: MCP server \"bad\": type \"claudeai-proxy\" cannot be used in a file: connectors come from the "
            "connector directory after sign-in"},
           {R"({"type": "http", "transport": "sse", "url": "https://h"})",
            "54: MCP server \"bad\": \"transport\" is \"sse\" and \"type\" is \"http\"; they mean the same, so keep "
            "only one"},
           {R"({"type": "http", "url": 5})", "48: MCP server \"bad\": \"url\" must be a string, found a number"},
           {R"({"type": "http", "url": "http://h", "headers": {"A B": "c"}})",
            "72: MCP server \"bad\": \"A B\" in \"headers\" is not a valid name of a header; use letters, digits and "
            "\"-\""},
           {R"({"type": "http", "url": "http://h", "headers": {"A": "b\r\nC: d"}})",
            "72: MCP server \"bad\": the value of the header \"A\" contains a line break"},
           {R"({"type": "http", "url": "http://h", "headers": {"A": 1}})",
            "77: MCP server \"bad\": \"headers.A\" must be a string, found a number"},
           {R"({"type": "http", "url": "http://h", "tls": true})",
            "67: MCP server \"bad\": \"tls\" must be an object of file names, found a boolean"},
           {R"({"type": "http", "url": "http://h", "tls": {"caFile": "x"}})",
            "68: MCP server \"bad\": unknown key \"caFile\" in \"tls\"; the keys are \"ca\", \"cert\", \"key\" and "
            "\"passphrase\""},
           {R"({"type": "http", "url": "http://h", "tls": {"ca": 1}})",
            "74: MCP server \"bad\": \"tls.ca\" must be a string, found a number"},
           {R"({"type": "ws", "url": "wss://hh", "tls": {"key": "k"}})",
            "65: MCP server \"bad\": \"tls\" has a \"key\" without a \"cert\"; add the file of the certificate"},
       }) {
    auto parsed = parse_entry(entry);
    EXPECT_THAT(texts(parsed.problems, Severity::error), ElementsAre(".mcp.json:1:" + std::string(error))) << entry;
    EXPECT_THAT(names(parsed.servers), ElementsAre("good")) << entry;
    ASSERT_EQ(parsed.broken.size(), 1u) << entry;
    EXPECT_EQ(parsed.broken[0].name, "bad");
    EXPECT_EQ(parsed.broken[0].origin.line, 1u);
    EXPECT_TRUE(parsed.problems[0].message.ends_with(parsed.broken[0].reason)) << parsed.broken[0].reason;
    ASSERT_FALSE(parsed.problems.empty());
    EXPECT_EQ(parsed.problems[0].server, "bad");
  }
}

// T4: TLS is configured alike for every type that has a URL.
TEST(Config, TlsFilesAreReadForEveryTypeWithAUrl) {
  for (const char* type : {"http", "sse", "ws"}) {
    auto parsed = parse_servers(
        R"({"mcpServers":{"r":{"type":")" + std::string(type) +
            R"(","url":"${U}","tls":{"ca":"/ca.pem","cert":"${C}","key":"k.pem","passphrase":"${P:-words}"}}}})",
        origin);
    ASSERT_EQ(parsed.servers.size(), 1u);
    EXPECT_THAT(parsed.problems, IsEmpty());
    EXPECT_EQ(parsed.servers[0].tls, (TlsConfig{"/ca.pem", "${C}", "k.pem", "${P:-words}"}));
    auto expanded = expand_server(parsed.servers[0], [](std::string_view name) {
      return name == "C" ? std::optional<std::string>("/c.pem") : std::nullopt;
    });
    EXPECT_EQ(expanded.tls, (TlsConfig{"/ca.pem", "/c.pem", "k.pem", "words"}));
  }
  auto local = parse_servers(R"({"mcpServers":{"r":{"command":"c","tls":{"ca":"x"}}}})", origin);
  ASSERT_EQ(local.problems.size(), 1u);
  EXPECT_THAT(local.problems[0].message, HasSubstr("\"tls\" is not used by a server of type \"stdio\""));
}

// compat: B2.5
TEST(Config, SomeNamesCannotBeUsed) {
  struct Case {
    std::string_view name, error;
  };
  for (auto [name, error] : std::initializer_list<Case>{
           {"", "\"\": the name is empty"},
           {"workspace", "\"workspace\": the name is reserved; choose another name"},
           {"claude-in-chrome", "\"claude-in-chrome\": the name is reserved; choose another name"},
           {"computer-use", "\"computer-use\": the name is reserved; choose another name"},
           {"Claude Preview", "\"Claude Preview\": the name is reserved; choose another name"},
           {"Claude Browser", "\"Claude Browser\": the name is reserved; choose another name"},
           {"a\\u001b[2J", "\"a\\u001b[2J\": the name contains a control character"},
           {"a\\u0000", "\"a\\u0000\": the name contains a control character"},
           {"git\u200Bhub",
            "\"git\\u200bhub\": the name contains an invisible character, or one that changes the direction of the "
            "text"},
           // Also those that a cleaned text may hold: a filler, a joiner between letters, a tag, a selector.
           {"git\u3164hub",
            "\"git\\u3164hub\": the name contains an invisible character, or one that changes the direction of the "
            "text"},
           {"\u0646\u200D\u0646",
            "\"\u0646\\u200d\u0646\": the name contains an invisible character, or one that changes the direction of "
            "the text"},
           {"git\uFE0Fhub",
            "\"git\\ufe0fhub\": the name contains an invisible character, or one that changes the direction of the "
            "text"},
           {"git\U000E0131hub",
            "\"git\\udb40\\udd31hub\": the name contains an invisible character, or one that changes the direction of "
            "the text"},
       }) {
    auto parsed = parse_entry(R"({"command":"x"})", name);
    EXPECT_THAT(texts(parsed.problems, Severity::error),
                ElementsAre(".mcp.json:1:17: MCP server " + std::string(error)));
    EXPECT_THAT(names(parsed.servers), ElementsAre("good")) << name;
  }
  EXPECT_EQ(server_name_fault("Workspace"), "");
  EXPECT_EQ(server_name_fault("with space and \xC3\xA9"), "");
  // Two names must not look alike: nothing that a terminal leaves out.
  for (std::string_view name : {"git\u200Bhub", "b\u202Ec", "a\u2066b", "soft\u00ADhyphen", "\uFEFFx", "tag\U000E0061",
                                "a\u0085", "a\u2028b", "a\xFF"}) {
    EXPECT_NE(server_name_fault(name), "") << name;
  }
  for (std::string_view name : {"数据库", "база", "plugin:a:b", "claude.ai Gmail"})
    EXPECT_EQ(server_name_fault(name), "") << name;
}

// compat: B3.4, B3.6, B3.10, B3.20, B3.21
TEST(Config, DoubtsAreWarningsAndTheEntryStays) {
  struct Case {
    std::string_view entry;
    std::string_view position;
    std::string_view warning;
  };
  for (auto [entry, position, warning] : std::initializer_list<Case>{
           {R"({"command": " npx"})", "1:36", "\"command\" begins or ends with a blank, and the blank is kept"},
           {R"({"command": "x", "args": ["a "]})", "1:50",
            "\"args[0]\" begins or ends with a blank, and the blank is kept"},
           {R"({"command": "x", "env": {"A": "\t1"}})", "1:54",
            "\"env.A\" begins or ends with a blank, and the blank is kept"},
           {R"({"command": "x", "env": {"A ": "1"}})", "1:49",
            "the name \"A \" in \"env\" begins or ends with a blank, and the blank is part of the name"},
           {R"({"type":"http", "url": "https://h\n"})", "1:47",
            "\"url\" begins or ends with a blank, and the blank is left out when connecting"},
           {R"({"type":"http", "url": ""})", "1:47", "\"url\" is empty, so there is no server to connect to"},
           {R"({"command": "x", "cwd": ""})", "1:48", "\"cwd\" is empty and ignored"},
           {R"({"command": "x", "url": "https://h"})", "1:41", "\"url\" is not used by a server of type \"stdio\""},
           {R"({"type":"sse", "url": "http://h", "command": "x"})", "1:58",
            "\"command\" is not used by a server of type \"sse\""},
           {R"({"command": "x", "timeout": 30})", "1:52",
            "\"timeout\" is in milliseconds, and 30 is less than a second; it is ignored"},
           {R"({"command": "x", "envFile": ""})", "1:52", "\"envFile\" is empty and ignored"},
           {R"({"command": "x", "headersHelper": "h"})", "1:41",
            "\"headersHelper\" is not used by a server of type \"stdio\""},
           {R"({"command": "x", "request_timeout_ms": 5})", "1:63",
            "\"request_timeout_ms\" is in milliseconds, and 5 is less than a second; it is ignored"},
           {R"({"type":"http", "url": "http://h", "headersHelper": ""})", "1:76",
            "\"headersHelper\" is empty and ignored"},
           {R"({"type":"http", "url": "http://h", "oauth": {"clientSecret": "s"}})", "1:69",
            "\"oauth.clientSecret\" is ignored: this file must not contain secrets; give it when you add the server"},
           {R"({"type":"http", "url": "http://h", "oauth": {"clientID": "s"}})", "1:69",
            "unknown key \"oauth.clientID\" has no effect; did you mean \"oauth.clientId\"?"},
           {R"({"command": "x", "colour": "red"})", "1:41", "unknown key \"colour\" has no effect"},
           {R"({"command": "x", "enviro": {}})", "1:41", "unknown key \"enviro\" has no effect; did you mean \"env\"?"},
           {R"({"command": "x", "arg": []})", "1:41", "unknown key \"arg\" has no effect; did you mean \"args\"?"},
       }) {
    auto parsed = parse_entry(entry);
    EXPECT_THAT(texts(parsed.problems, Severity::warning),
                ElementsAre(".mcp.json:" + std::string(position) + ": MCP server \"bad\": " + std::string(warning)))
        << entry;
    EXPECT_THAT(names(parsed.servers), ElementsAre("bad", "good")) << entry;
    ASSERT_FALSE(parsed.servers.empty());
    EXPECT_THAT(parsed.servers[0].warnings, ElementsAre(std::string(warning))) << entry;
  }
  auto padded = parse_entry(R"({"command":" x "})", " name ");
  EXPECT_EQ(padded.servers.at(0).name, " name ");
  EXPECT_EQ(padded.servers.at(0).command, " x ");
  EXPECT_EQ(padded.servers.at(0).warnings.size(), 2u);
}

TEST(Config, UnknownKeysAreKept) {
  auto parsed = parse_entry(R"({"command":"x","auto":{"approve":"c"},"n":1})");
  EXPECT_EQ(parsed.servers.at(0).extra, (Json{{"auto", Json{{"approve", "c"}}}, {"n", 1}}));
  EXPECT_TRUE(parsed.servers.at(1).extra.is_null());
}

TEST(Config, EverythingWrongWithAnEntryIsReportedAtOnce) {
  auto parsed = parse_entry(R"({"command": 1, "args": 2, "timeout": "x", "what": 3})");
  EXPECT_EQ(texts(parsed.problems, Severity::error).size(), 3u);
  EXPECT_EQ(texts(parsed.problems, Severity::warning).size(), 1u);
}

TEST(Config, ABrokenFileIsOneProblemWithItsPosition) {
  struct Case {
    std::string_view text;
    std::string_view position;
  };
  for (auto [text, position] : std::initializer_list<Case>{
           {"", "1:1"},
           {" \n ", "1:1"},
           {"{\n \"a\": \"\xC3\xA9\xFF\"}", "2:9"},
           {"[]", "1:1"},
           {" \"x\"", "1:2"},
           {"{} /* forever", "1:4"},
           {"// nothing", "1:1"},
           {"{\"a\": [,]}", "1:8"},
           {"{\"mcpServers\": []}", "1:16"},
           {"{\n  \"servers\": {\"a\": {\"command\": \"x\"}}\n}", "2:3"},
           {"{\"mcpservers\": {}}", "1:2"},
           {"{\"mcpServer\": {}}", "1:2"},
       }) {
    auto parsed = parse_servers(text, origin);
    ASSERT_EQ(parsed.problems.size(), 1u) << text;
    EXPECT_TRUE(parsed.problems[0].text().starts_with(".mcp.json:" + std::string(position) + ": "))
        << parsed.problems[0].text();
    EXPECT_EQ(parsed.problems[0].severity, Severity::error);
    EXPECT_THAT(parsed.servers, IsEmpty());
  }
}

TEST(Config, ASyntaxErrorSaysWhatWasExpectedAndWhatToDo) {
  auto parsed = parse_servers("{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\" \"x\"\n    }\n  }\n}", origin);
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_TRUE(parsed.problems[0].text().starts_with(".mcp.json:4:17: expected ")) << parsed.problems[0].text();
  EXPECT_TRUE(parsed.problems[0].text().ends_with("; fix the file"));
}

TEST(Config, ANameGivenTwiceIsReportedAtTheSecond) {
  auto parsed =
      parse_servers("{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"a\": {\"command\": \"y\"}\n}}", origin);
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_TRUE(parsed.problems[0].text().starts_with(".mcp.json:3:3: ")) << parsed.problems[0].text();
  EXPECT_THAT(parsed.servers, IsEmpty());
}

TEST(Config, AnyPrefixOfAFileYieldsServersOrAPositionedProblem) {
  std::string text =
      R"({"mcpServers": {"a": {"command": "x", "args": ["\u00e9", "b"], "env": {"K": "v"}, "n": [1e3, null]}}})";
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto parsed = parse_servers(std::string_view(text).substr(0, i), origin);
    ASSERT_EQ(parsed.problems.size(), 1u) << i;
    EXPECT_EQ(parsed.problems[0].line, 1u);
    EXPECT_GE(parsed.problems[0].column, 1u);
    EXPECT_LE(parsed.problems[0].column, i + 1);
  }
}

LoadedConfig merged_of(const std::vector<ParsedServers>& sources) {
  const VariableLookup unset = [](std::string_view) { return std::nullopt; };
  const SettlePolicy policy{{}, false, unset, unset};
  return merge_sources(sources, [](const ServerConfig&) { return EntryAnswers(); }, policy);
}

TEST(Merge, TheHigherSourceWinsWholeAndABrokenEntryHoldsItsName) {
  auto mine = origin;
  mine.trust = ConfigTrust::trusted;
  auto high = parse_servers(R"({"a":{"command":"high"},"b":{"command":""}})", mine);
  auto low = parse_servers(R"({"a":{"command":"low","args":["x"]},"b":{"command":"low"},"c":{"command":"low"}})", mine);
  std::vector<ParsedServers> sources{high, low};
  auto merged = merged_of(sources);
  EXPECT_THAT(names(merged.servers), ElementsAre("a", "b", "c"));
  auto a = high.servers[0];
  a.shadows = {low.servers[0].origin};
  EXPECT_EQ(merged.servers[0], a);
  EXPECT_EQ(merged.servers[1].standing, ServerStanding::broken);
  EXPECT_EQ(merged.servers[1].reason, "\"command\" is empty; write the program to start");
  EXPECT_EQ(merged.servers[2], low.servers[2]);
  EXPECT_THAT(names(merged.shadowed), ElementsAre("a", "b"));
  EXPECT_THAT(texts(merged.problems, Severity::error), ElementsAre(texts(high.problems, Severity::error)[0]));
}

// compat: B2.2, C3.b, C3.c
TEST(Merge, CopiesOfAServerAreFoundByWhatTheyReach) {
  auto at = [](ConfigScope scope, std::string_view entries) {
    return parse_servers(entries, {std::string(to_string(scope)), 0, scope, ConfigTrust::trusted, 0});
  };
  std::vector<ParsedServers> sources{
      at(ConfigScope::user, R"({"hand":{"command":"x","args":["1"]},"off":{"command":"y","disabled":true},)"
                            R"("web":{"type":"http","url":"https://h/"}})"),
      at(ConfigScope::plugin,
         R"({"plugin:p:hand":{"command":"x","args":["1"]},"plugin:p:env":{"command":"x","args":["1"],)"
         R"("env":{"A":"1"}},"plugin:p:off":{"command":"y"},"plugin:q:off":{"command":"y"}})"),
      at(ConfigScope::connector,
         R"({"c":{"type":"http","url":"https://h/"},"d":{"type":"http","url":"https://other/"}})")};
  auto merged = merged_of(sources);
  std::map<std::string, std::string> standings;
  for (const auto& server : merged.servers) standings[server.name] = to_string(server.standing);
  EXPECT_EQ(standings,
            (std::map<std::string, std::string>{{"hand", "active"},
                                                {"off", "disabled"},
                                                {"web", "active"},
                                                {"plugin:p:hand", "duplicate"},
                                                {"plugin:p:env", "active"},
                                                // What is switched off is not a reason to leave the copy out.
                                                {"plugin:p:off", "active"},
                                                {"plugin:q:off", "duplicate"},
                                                {"c", "duplicate"},
                                                {"d", "active"}}));
  auto copy = std::ranges::find(merged.servers, "c", &ServerConfig::name);
  EXPECT_EQ(copy->reason, "it has the same URL as \"web\", the user entry in user:1");
  EXPECT_THAT(merged.problems, IsEmpty());
}

class ConfigFiles : public testing::Test {
 protected:
  ConfigFiles() {
    std::string pattern = (fs::temp_directory_path() / "patchbay-config-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~ConfigFiles() override { fs::remove_all(root_); }

  std::string path(std::string_view name) const { return (root_ / name).string(); }
  void write(std::string_view name, std::string_view text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  LoadedConfig load(std::string_view directory, std::vector<std::string> configs = {}, bool strict = false) const {
    LoadRequest request;
    request.cwd = path(directory);
    request.mcp_configs = std::move(configs);
    request.strict = strict;
    request.home = path("home");
    request.enterprise_dir = path("etc");
    request.variables = [](std::string_view) { return std::nullopt; };
    return load_servers(request);
  }

  fs::path root_;
};

TEST_F(ConfigFiles, ReadsOnlyRegularFilesAndNeverWaits) {
  write("file", "text");
  fs::create_symlink("file", root_ / "link");
  fs::create_symlink("loop", root_ / "loop");
  fs::create_symlink("nowhere", root_ / "dangling");
  fs::create_directory(root_ / "directory");
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", root_ / "to-fifo");
  int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);

  EXPECT_EQ(read_config_file(path("file")).value(), "text");
  EXPECT_EQ(read_config_file(path("link")).value(), "text");
  struct Case {
    std::string_view name, reason;
  };
  for (auto [name, reason] : std::initializer_list<Case>{
           {"missing", "there is no such file"},
           {"dangling", "there is no such file"},
           {"loop", "its symbolic links form a circle; make the links point to a file, or remove them"},
           {"directory", "it is a directory, not a file; replace it with a file"},
           {"fifo", "it is a pipe, not a file; replace it with a file"},
           {"to-fifo", "it is a pipe, not a file; replace it with a file"},
           {"socket", "it is a socket, not a file; replace it with a file"},
           {"file/x", "Not a directory"},
       }) {
    auto result = read_config_file(path(name));
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error(), Error(Errc::config, path(name) + " cannot be read: " + std::string(reason)));
  }
  auto device = read_config_file("/dev/zero");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message(), "/dev/zero cannot be read: it is a device, not a file; replace it with a file");
}

TEST_F(ConfigFiles, ReadsUpToTheLimitAndNotAByteMore) {
  write("most", std::string(config_file_limit, ' '));
  write("more", std::string(config_file_limit + 1, ' '));
  EXPECT_EQ(read_config_file(path("most")).value().size(), config_file_limit);
  auto more = read_config_file(path("more"));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message(),
            path("more") + " cannot be read: it is larger than 10 MiB; make it smaller, or move it away");
}

TEST_F(ConfigFiles, SearchesUpToTheRepositoryRootOnly) {
  fs::create_directories(root_ / "repo/a/b/c");
  // Not in a repository: the directory itself, nothing above it.
  EXPECT_THAT(project_directories(path("repo")), ElementsAre(path("repo")));
  EXPECT_THAT(project_directories(path("repo/a")), ElementsAre(path("repo/a")));
  write("repo/.git", "gitdir: elsewhere");  // a work tree has a file
  EXPECT_THAT(project_directories(path("repo")), ElementsAre(path("repo")));
  EXPECT_THAT(project_directories(path("repo/a/b/c/")),
              ElementsAre(path("repo/a/b/c"), path("repo/a/b"), path("repo/a"), path("repo")));
  EXPECT_THAT(project_directories("/"), ElementsAre("/"));
  EXPECT_EQ(main_checkout(path("repo")), std::nullopt);
  EXPECT_EQ(main_checkout(path("repo/a")), std::nullopt);
}

TEST_F(ConfigFiles, TheNearestProjectFileWinsPerName) {
  fs::create_directories(root_ / "repo/.git");
  write("repo/.mcp.json", R"({"mcpServers":{"a":{"command":"far"},"b":{"command":"far"}}})");
  write("repo/sub/.mcp.json", R"({"mcpServers":{"a":{"command":"near"}}})");
  auto loaded = load("repo/sub");
  EXPECT_THAT(names(loaded.servers), ElementsAre("a", "b"));
  EXPECT_EQ(loaded.servers.at(0).command, "near");
  EXPECT_EQ(loaded.servers.at(0).origin,
            (ConfigOrigin{path("repo/sub/.mcp.json"), 1, ConfigScope::project, ConfigTrust::needs_approval, 16}));
  EXPECT_THAT(names(loaded.shadowed), ElementsAre("a"));
  EXPECT_THAT(texts(loaded.problems, Severity::error), IsEmpty());
}

TEST_F(ConfigFiles, FlagsBeatTheProjectAndALaterFlagAnEarlier) {
  write(".mcp.json", R"({"a":{"command":"project"},"b":{"command":"project"},"c":{"command":"project"}})");
  write("one.json", R"({"mcpServers":{"a":{"command":"one"},"b":{"command":"one"}}})");
  std::vector<std::string> flags{"one.json", " \n{\"a\":{\"command\":\"two\"}}"};
  auto loaded = load("", flags);
  EXPECT_THAT(names(loaded.servers), ElementsAre("a", "b", "c"));
  EXPECT_EQ(loaded.servers.at(0).command, "two");
  EXPECT_EQ(loaded.servers.at(0).origin,
            (ConfigOrigin{"mcp_configs", 2, ConfigScope::dynamic, ConfigTrust::trusted, 2}));
  EXPECT_EQ(loaded.servers.at(1).origin,
            (ConfigOrigin{path("one.json"), 1, ConfigScope::dynamic, ConfigTrust::trusted, 38}));
  EXPECT_THAT(names(load("", flags, true).servers), ElementsAre("a", "b"));
  EXPECT_THAT(load("", {}, true).servers, IsEmpty());
}

TEST_F(ConfigFiles, WhatCannotBeReadIsAProblemAndTheRestLoads) {
  write(".mcp.json", "{\n  \"a\": }");
  write("good.json", R"({"mcpServers":{"g":{"command":"x"}}})");
  auto loaded = load("", {"missing.json", "good.json", "{\"h\":1}"});
  EXPECT_THAT(names(loaded.servers), ElementsAre("h", "g"));
  EXPECT_EQ(loaded.servers[0].standing, ServerStanding::broken);
  auto all = texts(loaded.problems, Severity::error);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1],
            "mcp_configs:1:6: MCP server \"h\": expected an object with a \"command\" or a \"url\", found a number");
  EXPECT_EQ(all[0], "missing.json: cannot be read: there is no such file");
  EXPECT_TRUE(all[2].starts_with(".mcp.json:2:8: ")) << all[2];
  EXPECT_THAT(load("empty").problems, IsEmpty());
}

TEST(Document, AKeyThatIsWrittenTwiceIsReportedWithBothLines) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{\"a\": 1,\n\"a\": 2}", "2:1: duplicate key \"a\" (it already occurs in line 1)"},
      // Not the one in another object, in a text or in a list.
      {"{\"x\": {\"a\": [\"a\", {\"a\": 1}]},\n\"t\": \"a\\\"\", // \"a\":\n\"a\": 1,\n\"a\": 2}",
       "4:1: duplicate key \"a\" (it already occurs in line 3)"},
      {"{\"x\": [{\"a\": 1,\n\"b\": {\"a\": 1},\n\"a\": 2}]}",
       "3:1: duplicate key \"a\" (it already occurs in line 1)"},
  };
  for (const auto& [text, expected] : cases) {
    const auto document = read_document(text, "f", "an object");
    ASSERT_FALSE(document) << text;
    EXPECT_THAT(document.error().text(), testing::HasSubstr(expected));
  }
}

}  // namespace
}  // namespace patchbay
