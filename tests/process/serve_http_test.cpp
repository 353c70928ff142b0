// `patchbay serve --http` as people start it: where it listens, whom it lets in, how it ends.
#include <signal.h>

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/http_wire.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/running_program.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::HttpWire;
using test::run_program;
using test::run_task;
using testing::HasSubstr;

const std::string binary = test::built("patchbay");

// `patchbay serve` with these flags, as long as the object lives.
class Serving : public test::RunningProgram {
 public:
  explicit Serving(std::vector<std::string> flags) : RunningProgram(with_program(std::move(flags))) {}

 private:
  static std::vector<std::string> with_program(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {binary, "serve"});
    return flags;
  }
};

std::string list_tools(std::string_view more = "") {
  return test::post_text(
      "/mcp",
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})",
      fmt::format("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n{}", more));
}

TEST(ServeHttp, ItServesUntilItIsAskedToStop) {
  for (int signal : {SIGINT, SIGTERM}) {
    test::TemporaryDirectory root;
    Serving program({"--http", "127.0.0.1:0", "--json", "--root", root.path()});
    const auto url = test::served_url(program);
    EXPECT_THAT(url, testing::StartsWith("http://127.0.0.1:"));
    run_task([&]() -> Task<void> {
      HttpWire wire(co_await asio::this_coro::executor);
      co_await wire.connect(url);
      co_await wire.send(list_tools());
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, 200);
      EXPECT_THAT(answer.body, HasSubstr("read_file"));
      EXPECT_EQ(program.end(signal), 0);
      EXPECT_EQ(co_await wire.rest(), "");
    });
  }
}

TEST(ServeHttp, ATokenInAFileIsAskedFor) {
  test::TemporaryDirectory root;
  const auto file = root.write("token", "s3cret\n");
  Serving program({"--http", "localhost:0", "--json", "--root", root.path(), "--bearer-file", file});
  const auto url = test::served_url(program);
  run_task([&]() -> Task<void> {
    HttpWire wire(co_await asio::this_coro::executor);
    co_await wire.connect(url);
    co_await wire.send(list_tools("Authorization: Bearer s3cret\r\n"));
    EXPECT_EQ((co_await wire.answer()).status, 200);
    co_await wire.send(list_tools());
    EXPECT_EQ((co_await wire.answer()).status, 401);
  });
  EXPECT_EQ(program.end(SIGTERM), 0);
}

// What anybody could do who reaches the port: run commands, or write files from another machine.
TEST(ServeHttp, WhereATokenIsNeeded_OneIsMadeForTheRun) {
  test::TemporaryDirectory root;
  for (const auto& flags : {std::vector<std::string>{"--http", "127.0.0.1:0", "--allow-run"},
                            std::vector<std::string>{"--http", "0.0.0.0:0"},
                            std::vector<std::string>{"--http", "0.0.0.0:0", "--allow-run"}}) {
    SCOPED_TRACE(testing::PrintToString(flags));
    test::TempTree tree;
    const auto log = (tree.path() / "log").string();
    std::set<std::string> tokens;
    for (int i = 0; i < 2; ++i) {
      auto words = flags;
      words.insert(words.end(), {"--json", "--root", root.path(), "--log-file", log, "--log-level", "trace"});
      Serving program(words);
      const auto said = parse_json(program.wait_for("\"url\"")).value();
      EXPECT_TRUE(said["token"].is_string()) << program.output();
      const auto token = said["token"].is_string() ? said["token"].as_text() : "";
      EXPECT_GE(token.size(), 43u);
      tokens.emplace(token);
      const auto port = test::port_of(said["url"].as_text());
      run_task([&]() -> Task<void> {
        HttpWire wire(co_await asio::this_coro::executor);
        co_await wire.connect(fmt::format("127.0.0.1:{}", port));
        co_await wire.send(list_tools());
        EXPECT_EQ((co_await wire.answer()).status, 401);
        HttpWire with(co_await asio::this_coro::executor);
        co_await with.connect(fmt::format("127.0.0.1:{}", port));
        co_await with.send(list_tools(fmt::format("Authorization: Bearer {}\r\n", token)));
        EXPECT_EQ((co_await with.answer()).status, 200);
      });
      EXPECT_EQ(program.end(SIGTERM), 0);
      EXPECT_THAT(tree.read("log"), AllOf(HasSubstr("event=http_listening"), testing::Not(HasSubstr(token))));
    }
    EXPECT_EQ(tokens.size(), 2u);
  }
}

TEST(ServeHttp, ATokenThatWasMade_IsToldToThePersonAndOneThatWasGivenIsNot) {
  test::TemporaryDirectory root;
  Serving told({"--http", "127.0.0.1:0", "--allow-run", "--root", root.path()});
  (void)told.wait_for("serving on");
  EXPECT_EQ(told.end(SIGTERM), 0);
  EXPECT_THAT(told.output(), HasSubstr("patchbay: the token for this run is "));

  const auto file = root.write("token", "s3cret\n");
  Serving given({"--http", "127.0.0.1:0", "--allow-run", "--json", "--root", root.path(), "--bearer-file", file});
  const auto url = test::served_url(given);
  EXPECT_EQ(given.end(SIGTERM), 0);
  EXPECT_THAT(given.output(), testing::Not(HasSubstr("token")));
  EXPECT_THAT(given.output(), testing::Not(HasSubstr("s3cret")));
}

TEST(ServeHttp, AnEmptyTokenInTheEnvironmentIsReported) {
  test::TemporaryDirectory root;
  const auto result = run_program({binary, "serve", "--http", "example.org:80", "--root", root.path()},
                                  {.env = {{"PATCHBAY_SERVE_TOKEN", " "}}});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("PATCHBAY_SERVE_TOKEN is empty and is ignored"));
}

TEST(ServeHttp, OnLoopbackWithoutCommands_NoTokenIsAskedFor) {
  test::TemporaryDirectory root;
  Serving program({"--http", "127.0.0.1:0", "--json", "--root", root.path()});
  const auto said = parse_json(program.wait_for("\"url\"")).value();
  EXPECT_EQ(said.find("token"), nullptr);
  EXPECT_EQ(program.end(SIGTERM), 0);
}

TEST(ServeHttp, APageOfAnAllowedOriginPassesTheBrowsersQuestion) {
  test::TemporaryDirectory root;
  Serving program({"--http", "127.0.0.1:0", "--json", "--root", root.path(), "--allow-origin", "https://app.example",
                   "--allow-origin", "http://localhost:5173"});
  const auto url = test::served_url(program);
  run_task([&]() -> Task<void> {
    HttpWire wire(co_await asio::this_coro::executor);
    co_await wire.connect(url);
    for (const std::string origin : {"https://app.example", "http://localhost:5173"}) {
      co_await wire.send(
          fmt::format("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\n"
                      "Access-Control-Request-Method: POST\r\n\r\n",
                      origin));
      auto asked = co_await wire.answer();
      EXPECT_EQ(asked.status, 204);
      EXPECT_EQ(asked.headers.get("access-control-allow-origin"), origin);
      co_await wire.send(list_tools(fmt::format("Origin: {}\r\n", origin)));
      auto answer = co_await wire.answer();
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.headers.get("access-control-allow-origin"), origin);
    }
    co_await wire.send(list_tools("Origin: http://localhost:1\r\n"));
    auto stranger = co_await wire.answer();
    EXPECT_EQ(stranger.status, 403);
    EXPECT_EQ(stranger.headers.find("access-control-allow-origin"), nullptr);
  });
  EXPECT_EQ(program.end(SIGTERM), 0);
}

// T2: the program at both ends.
TEST(ServeHttp, AnEntryWithAUrlIsCalledLikeAnyOther) {
  test::TemporaryDirectory root;
  const auto note = root.write("note.txt", "written elsewhere\n");
  const auto token = root.write("token", "s3cret");
  Serving program({"--http", "127.0.0.1:0", "--json", "--root", root.path(), "--bearer-file", token});
  const auto url = test::served_url(program);
  auto ask = [&](const Json& headers, std::vector<std::string> words) {
    const Json entry{{"type", "http"}, {"url", url}, {"headers", headers}};
    words.insert(words.begin(), {binary, "--strict-mcp-config", "--mcp-config", to_text(Json{{"far", entry}})});
    return run_program(words, {});
  };
  const Json bearer{{"Authorization", "Bearer s3cret"}};
  auto called = ask(bearer, {"call", "far/read_file", "path=note.txt"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(called.out, HasSubstr("written elsewhere"));
  auto listed = ask(bearer, {"tools", "--json"});
  EXPECT_EQ((*parse_json(listed.out))["servers"].as_array().at(0)["era"], Json("modern")) << listed.out;
  auto refused = ask(Json::object(), {"tools", "--json"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ((*parse_json(refused.out))["servers"].as_array().at(0)["state"], Json("needs-auth")) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("401 Unauthorized"));
  auto told = ask(Json::object(), {"tools"});
  EXPECT_EQ(told.code, 3);
  EXPECT_THAT(told.err, HasSubstr("Failed to connect to \"far\": http://"));
  EXPECT_THAT(told.out, HasSubstr("far  needs-auth  wants credentials\n"));
  EXPECT_THAT(ask(Json::object(), {"mcp", "list"}).out,
              HasSubstr("! Needs authentication: " + url + " needs you to sign in"));
  // Said once, and to what the server said nothing is added.
  const Json wrong{{"type", "http"}, {"url", url + "c"}};
  auto lost =
      run_program({binary, "--strict-mcp-config", "--mcp-config", to_text(Json{{"far", wrong}}), "call", "far/x"});
  EXPECT_EQ(lost.code, 3);
  EXPECT_EQ(lost.err, fmt::format("[mcp] Failed to connect to \"far\": {}c answered 404 Not Found: There is nothing at "
                                  "this address. The MCP endpoint is /mcp; check the path of its url\n",
                                  url));
  EXPECT_EQ(program.end(SIGTERM), 0);
  auto gone = ask(bearer, {"call", "far/read_file", "path=note.txt"});
  EXPECT_EQ(gone.code, 3);
  EXPECT_THAT(gone.err, HasSubstr(url));
}

TEST(ServeHttp, WhatCannotWorkIsReported) {
  test::TemporaryDirectory root;
  Serving first({"--http", "127.0.0.1:0", "--json", "--root", root.path()});
  const auto url = test::served_url(first);
  const auto port = url.substr(url.rfind(':') + 1, url.rfind('/') - url.rfind(':') - 1);
  const auto empty = root.write("empty", "\n");
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string message;
  };
  const std::vector<Case> cases{
      {{"--http", "127.0.0.1:" + port}, 3, fmt::format("port {} on 127.0.0.1 is in use by another program", port)},
      {{"--bearer-file", empty}, 2, "add --http 127.0.0.1:8080"},
      {{"--http", "nowhere"}, 2, "is not ADDRESS:PORT; write for example --http 127.0.0.1:8080"},
      {{"--http", "example.org:80"}, 2, "is not an address to listen on"},
      {{"--http", "127.0.0.1:0", "--bearer-file", empty}, 2, "contains no token"},
      {{"--http", "127.0.0.1:0", "--allow-origin", "https://app.example/"}, 2, "is not an origin; write scheme, host"},
      {{"--http", "127.0.0.1:0", "--allow-origin", "*"}, 2, "is not an origin"},
      {{"--http", "127.0.0.1:0", "--allow-origin", "app.example"}, 2, "is not an origin"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> words{binary, "serve", "--root", root.path()};
    words.insert(words.end(), c.words.begin(), c.words.end());
    auto result = run_program(words);
    EXPECT_EQ(result.code, c.code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.message));
  }
  EXPECT_EQ(first.end(SIGTERM), 0);
}

}  // namespace
}  // namespace patchbay
