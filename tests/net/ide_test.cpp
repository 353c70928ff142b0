// T5, T6: the server inside an editor, over real sockets: found through its lock file, called
// with its token, and only the tools that are meant for a model.
#include "host/ide/ide.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "rpc/channel.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/scripted_server.h"
#include "ws/frames.h"
#include "ws/handshake.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string program = test::built("patchbay");
const std::string token = "s3cr3t-of-the-editor";

// What an editor answers, however it is reached: it knows the session era alone.
std::string editors_answer(const Json& request) {
  const std::string method(request["method"].as_text());
  if (!request.find("id")) return {};
  Json reply{{"jsonrpc", "2.0"}, {"id", request["id"]}};
  if (method == "initialize") {
    reply["result"] = Json{{"protocolVersion", "2025-03-26"},
                           {"capabilities", {{"tools", Json::object()}}},
                           {"serverInfo", {{"name", "editor"}, {"version", "1"}}}};
  } else if (method == "tools/list") {
    Json tools = Json::array();
    for (const char* name : {"openFile", "getDiagnostics", "executeCode", "closeAllDiffTabs"}) {
      tools.push_back(Json{{"name", name}, {"inputSchema", {{"type", "object"}}}});
    }
    reply["result"] = Json{{"tools", std::move(tools)}};
  } else if (method == "tools/call") {
    reply["result"] = Json{
        {"content",
         Json::array({Json{{"type", "text"}, {"text", "did " + std::string(request["params"]["name"].as_text())}}})}};
  } else {
    reply["error"] = Json{{"code", -32601}, {"message", "no such method"}};
  }
  return to_text(reply);
}

// An editor reached by the older pair of endpoints.
class SseEditor {
 public:
  SseEditor()
      : server_([this](ScriptConnection& connection) {
          for (;;) serve(connection);
        }) {}
  ~SseEditor() {
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

  std::uint16_t port() const { return server_.port(); }
  std::vector<std::string> tokens() const {
    std::lock_guard lock(mutex_);
    return tokens_;
  }
  std::vector<std::string> methods() const {
    std::lock_guard lock(mutex_);
    return methods_;
  }

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    {
      std::lock_guard lock(mutex_);
      tokens_.push_back(got.field("X-Claude-Code-Ide-Authorization"));
    }
    if (got.line().starts_with("GET")) return stream(connection);
    const auto request = parse_json(got.body).value_or(Json());
    {
      std::lock_guard lock(mutex_);
      methods_.push_back(std::string(request["method"].as_text()));
      if (auto answer = editors_answer(request); !answer.empty()) outgoing_.push_back(std::move(answer));
      changed_.notify_all();
    }
    connection.answer("202 Accepted", "");
  }
  void stream(ScriptConnection& connection) {
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    std::unique_lock first(mutex_);
    const int mine = ++streams_;
    outgoing_.clear();
    changed_.notify_all();
    first.unlock();
    connection.write("event: endpoint\ndata: /messages\n\n");
    connection.write(
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"selection_changed\",\"params\":{\"text\":\"\"}}\n\n");
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || streams_ != mine || !outgoing_.empty(); });
      if (over_ || streams_ != mine) throw ScriptConnection::Ended();
      const auto answer = std::move(outgoing_.front());
      outgoing_.pop_front();
      lock.unlock();
      connection.write("event: message\ndata: " + answer + "\n\n");
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> outgoing_;
  std::vector<std::string> tokens_;
  std::vector<std::string> methods_;
  int streams_ = 0;  // only the newest is spoken to
  bool over_ = false;
  ScriptedServer server_;
};

// An editor reached by WebSocket, as most are.
class WsEditor {
 public:
  WsEditor() : server_([this](ScriptConnection& connection) { serve(connection); }) {}

  std::uint16_t port() const { return server_.port(); }
  std::vector<std::string> tokens() const {
    std::lock_guard lock(mutex_);
    return tokens_;
  }
  std::vector<std::string> methods() const {
    std::lock_guard lock(mutex_);
    return methods_;
  }

 private:
  using Opcode = WebSocketOpcode;

  static void put(ScriptConnection& connection, Opcode opcode, std::string_view payload) {
    std::string bytes;
    append_frame(bytes, opcode, payload, std::nullopt);
    connection.write(bytes);
  }
  // A frame of the client: whole, masked, and shorter than 64 KiB.
  static std::pair<Opcode, std::string> take(ScriptConnection& connection) {
    const auto head = connection.read_exactly(2);
    std::size_t size = static_cast<std::uint8_t>(head[1]) & 0x7F;
    if (size == 126) {
      const auto length = connection.read_exactly(2);
      size = static_cast<std::size_t>(static_cast<std::uint8_t>(length[0])) << 8 | static_cast<std::uint8_t>(length[1]);
    }
    const auto mask = connection.read_exactly(4);
    auto payload = connection.read_exactly(size);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ mask[i % 4]);
    return {static_cast<Opcode>(head[0] & 0x0F), std::move(payload)};
  }

  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    const auto given = got.field("X-Claude-Code-Ide-Authorization");
    {
      std::lock_guard lock(mutex_);
      tokens_.push_back(given);
    }
    if (given != token) return connection.answer("401 Unauthorized", "", "Connection: close\r\n");
    connection.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
        handshake_accept(got.field("Sec-WebSocket-Key")) + "\r\n\r\n");
    put(connection, Opcode::text, R"({"jsonrpc":"2.0","method":"at_mentioned","params":{"filePath":"/a"}})");
    for (;;) {
      const auto [opcode, payload] = take(connection);
      if (opcode == Opcode::close) {
        put(connection, Opcode::close, payload);
        return connection.wait_for_end();
      }
      if (opcode != Opcode::text) continue;
      const auto request = parse_json(payload).value_or(Json());
      {
        std::lock_guard lock(mutex_);
        methods_.push_back(std::string(request["method"].as_text()));
      }
      if (const auto answer = editors_answer(request); !answer.empty()) put(connection, Opcode::text, answer);
    }
  }

  mutable std::mutex mutex_;
  std::vector<std::string> tokens_;
  std::vector<std::string> methods_;
  ScriptedServer server_;
};

// A home with lock files, and a project in it.
struct Desk {
  Desk() { std::filesystem::create_directories(project()); }

  std::string project() const { return home.path() + "/project"; }
  void lock(std::uint16_t port, const std::string& transport, std::int64_t pid = ::getpid()) const {
    std::filesystem::create_directories(home.path() + "/ide");
    home.write(fmt::format("ide/{}.lock", port), to_text(Json{{"pid", pid},
                                                              {"workspaceFolders", Json::array({project()})},
                                                              {"ideName", "Test Editor"},
                                                              {"transport", transport},
                                                              {"authToken", token}}));
  }
  void unlock(std::uint16_t port) const { std::filesystem::remove(fmt::format("{}/ide/{}.lock", home.path(), port)); }
  IdeSearch search() const {
    return {.folder = home.path() + "/ide", .cwd = project(), .port = "", .owner = ::geteuid()};
  }
  CommandResult run(std::vector<std::string> words, std::map<std::string, std::string> env = {}) const {
    words.insert(words.begin(), {program, "--ide"});
    env.emplace("CLAUDE_CONFIG_DIR", home.path());
    env.emplace("HOME", home.path());
    env.emplace("CLAUDE_CODE_SSE_PORT", "");
    return run_program(words, {.cwd = project(), .input = "", .env = env});
  }

  TemporaryDirectory home;
};

HostOptions no_other_servers() {
  HostOptions options;
  options.config = LoadedConfig{};
  return options;
}

Task<void> use_tools(Host& host) {
  co_await host.start();
  std::vector<std::string> names;
  for (const auto& tool : host.catalog()->tools()) names.push_back(tool.name);
  EXPECT_THAT(names, ElementsAre("mcp__ide__executeCode", "mcp__ide__getDiagnostics"));
  EXPECT_EQ(text_of(co_await host.call("mcp__ide__getDiagnostics")), "did getDiagnostics");
  EXPECT_EQ(text_of(co_await host.call("mcp__ide__executeCode")), "did executeCode");
  for (const std::string name : {"mcp__ide__openFile", "ide/openFile", "openFile", "mcp__ide__closeAllDiffTabs"}) {
    auto refused = co_await as_result(host.call(name));
    EXPECT_FALSE(refused) << name;
  }
}

template <class Editor>
void use_editor(const std::string& transport) {
  Editor editor;
  Desk desk;
  desk.lock(editor.port(), transport);
  run_task([&]() -> Task<void> {
    Host host(no_other_servers());
    host.add_server(ide_server("--ide"), ide_transport(desk.search()));
    auto used = co_await as_result(use_tools(host));
    EXPECT_THAT(host.status().at(0).transport, AllOf(HasSubstr("Test Editor"), Not(HasSubstr(token))));
    co_await host.stop();
    value_or_throw(std::move(used));
  });
  EXPECT_THAT(editor.tokens(), AllOf(Not(testing::IsEmpty()), Each(token)));
  // Editors do not know the newer era, and are not asked about it.
  EXPECT_EQ(editor.methods().front(), "initialize");
}

TEST(Ide, OverSseTheTwoToolsAreListedAndCallable) { use_editor<SseEditor>("sse"); }
TEST(Ide, OverAWebSocketTheTwoToolsAreListedAndCallable) { use_editor<WsEditor>("ws"); }

TEST(Ide, AnEditorThatWasStartedAgainIsFoundAgain) {
  Desk desk;
  auto first = std::make_unique<SseEditor>();
  desk.lock(first->port(), "sse");
  const auto transport = std::shared_ptr<Transport>(ide_transport(desk.search()));
  ClientOptions options;
  options.protocol = "legacy";
  run_task([&]() -> Task<void> {
    auto session = co_await Client(options).connect(transport);
    co_await session.close();
    SseEditor second;
    const auto old_port = first->port();
    first.reset();  // its lock stays behind, as after a crash
    desk.lock(second.port(), "sse");
    session = co_await Client(options).connect(transport);
    EXPECT_EQ(second.methods().front(), "initialize");
    EXPECT_THAT(transport->describe(),
                AllOf(HasSubstr(fmt::to_string(second.port())), Not(HasSubstr(fmt::to_string(old_port)))));
    co_await session.close();
  });
}

TEST(Ide, StaleLocksAreNotTriedAndNamedInTheError) {
  Desk desk;
  std::uint16_t closed_port = 0;
  {
    SseEditor ended;
    closed_port = ended.port();
  }
  desk.lock(closed_port, "sse");
  desk.lock(1, "sse", 0x7ffffffe);
  run_task([&]() -> Task<void> {
    auto opened = co_await as_result(ide_transport(desk.search())->open(Runtime{}));
    EXPECT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Errc::connect);
    EXPECT_THAT(opened.error().message(), AllOf(HasSubstr(desk.project()), HasSubstr(desk.home.path() + "/ide"),
                                                HasSubstr("CLAUDE_CODE_SSE_PORT"),
                                                HasSubstr(fmt::format("nothing listens on port {}", closed_port)),
                                                HasSubstr("process 2147483646 no longer runs"), Not(HasSubstr(token))));
  });
}

TEST(Ide, ARedirectDoesNotCarryTheToken) {
  std::mutex mutex;
  std::vector<std::string> seen;
  ScriptedServer elsewhere([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    {
      std::lock_guard lock(mutex);
      seen.push_back(got.head);
    }
    if (!got.line().starts_with("GET")) return connection.answer("202 Accepted", "", "Connection: close\r\n");
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    connection.write("event: endpoint\ndata: /messages\n\n");
    connection.wait_for_end();
  });
  ScriptedServer editor([&](ScriptConnection& connection) {
    for (;;) {
      (void)connection.read_request();
      connection.answer("307 Temporary Redirect", "", "Location: " + elsewhere.url("/sse") + "\r\n");
    }
  });
  Desk desk;
  desk.lock(editor.port(), "sse");
  run_task([&]() -> Task<void> {
    auto opened = co_await as_result(ide_transport(desk.search())->open(Runtime{}));
    EXPECT_FALSE(opened);
  });
  std::lock_guard lock(mutex);
  EXPECT_THAT(seen, testing::IsEmpty());
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(IdeCli, ToolsOfTheEditorAreListedAndCalled) {
  SseEditor editor;
  Desk desk;
  desk.lock(editor.port(), "sse");
  // No proxy is asked to carry what is on this machine.
  const std::map<std::string, std::string> proxies{
      {"http_proxy", "http://127.0.0.1:1"}, {"HTTP_PROXY", "http://127.0.0.1:1"}, {"ALL_PROXY", "http://127.0.0.1:1"}};
  auto listed = desk.run({"tools", "--json"}, proxies);
  EXPECT_EQ(listed.code, 0) << listed.out << listed.err;
  auto json = parse_json(listed.out).value_or(Json());
  ASSERT_EQ(json["tools"].as_array().size(), 2u) << listed.out;
  EXPECT_EQ(json["tools"].as_array().at(0)["name"], Json("mcp__ide__executeCode"));
  EXPECT_EQ(desk.run({"call", "mcp__ide__getDiagnostics"}).out, "did getDiagnostics\n");
  auto refused = desk.run({"call", "mcp__ide__openFile"});
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(listed.out + listed.err + refused.err, Not(HasSubstr(token)));
}

TEST(IdeCli, AnEditorBehindAWebSocketIsCalled) {
  WsEditor editor;
  Desk desk;
  desk.lock(editor.port(), "ws");
  auto called = desk.run({"call", "mcp__ide__executeCode"}, {{"ALL_PROXY", "http://127.0.0.1:1"}});
  EXPECT_EQ(called.out, "did executeCode\n") << called.err;
  EXPECT_THAT(editor.tokens(), ElementsAre(token));
}

TEST(IdeCli, TheTerminalsEditorIsTaken) {
  SseEditor here, other;
  Desk desk;
  desk.lock(here.port(), "sse");
  desk.lock(other.port(), "sse");
  EXPECT_EQ(desk.run({"call", "executeCode"}, {{"CLAUDE_CODE_SSE_PORT", fmt::to_string(here.port())}}).code, 0);
  EXPECT_EQ(other.methods().size(), 0u);
  EXPECT_EQ(desk.run({"call", "executeCode"}, {{"CLAUDE_CODE_SSE_PORT", fmt::to_string(other.port())}}).code, 0);
  EXPECT_NE(other.methods().size(), 0u);
}

TEST(IdeCli, WithoutAnEditorItReportsWhatWasLookedFor) {
  Desk desk;
  auto result = desk.run({"tools"});
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.err, AllOf(HasSubstr("\"ide\""), HasSubstr(desk.home.path() + "/ide"), HasSubstr(desk.project()),
                                HasSubstr("CLAUDE_CODE_SSE_PORT")));
  // Other servers do not suffer.
  auto beside = desk.run({"--builtin", "tools", "--json"});
  EXPECT_EQ(beside.code, 0);
  EXPECT_THAT(beside.out, HasSubstr("mcp__patchbay__read_file"));
}

// Nobody gets the editor's place by having its name.
TEST(IdeCli, AServerOfAProjectCalledIdeDoesNotReplaceTheEditor) {
  SseEditor editor;
  Desk desk;
  desk.lock(editor.port(), "sse");
  desk.home.write("project/.mcp.json", R"({"mcpServers":{"ide":{"command":"/bin/false"}}})");
  auto result = desk.run({"--trust-project", "call", "mcp__ide__executeCode"});
  EXPECT_EQ(result.out, "did executeCode\n") << result.err;
}

}  // namespace
}  // namespace patchbay::test
