// One table: every feature of a client (rows) over every way to reach a server in either era
// (columns). The same body runs in all of them; what differs between eras must not show.
// N1, T1, T4, T7
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "client/connect.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "server/serve.h"
#include "support/fails_with.h"
#include "support/fixture_server.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/places.h"
#include "support/ws_door.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Fails;
using test::FailsSaying;
using test::FailsWith;
using test::FailsWithRpc;
using test::ManualClock;
using test::run_task;
using test::settle;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Property;
using testing::SizeIs;

enum class Door { shared, copied, stdio, http, websocket };

struct Column {
  Era era;
  Door door;
};

std::string name_of(const Column& column) {
  static constexpr std::array doors{"shared", "copied", "stdio", "http", "websocket"};
  return fmt::format("{}_{}", to_string(column.era), doors.at(static_cast<std::size_t>(column.door)));
}

// Reaches the fixture in this process, with payloads handed over or written and read again.
class FixtureTransport final : public Transport {
 public:
  FixtureTransport(std::shared_ptr<Server> server, MemoryPayloads payloads)
      : server_(std::move(server)), payloads_(payloads) {}
  Kind kind() const noexcept override { return Kind::memory; }
  std::string describe() const override { return "the fixture"; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_to(server_, payloads_, runtime); }

 private:
  class Door final : public Channel {
   public:
    Door(asio::any_io_executor executor, std::unique_ptr<Channel> inner)
        : inner_(std::move(inner)), scope_(std::move(executor)) {}
    Scope& scope() { return scope_; }
    Result<void> send(Message message) override { return inner_->send(std::move(message)); }
    Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
    Task<Incoming> receive() override { return inner_->receive(); }
    void abandon(const RequestId& id) override { inner_->abandon(id); }
    Task<void> close(CloseMode mode) override {
      co_await inner_->close(mode);
      co_await scope_.join();
    }

   private:
    std::unique_ptr<Channel> inner_;
    Scope scope_;
  };

  static Task<std::unique_ptr<Channel>> open_to(std::shared_ptr<Server> server, MemoryPayloads payloads,
                                                Runtime runtime) {
    auto executor = co_await asio::this_coro::executor;
    auto [near, far] = make_memory_pair(runtime.limits, payloads);
    auto door = std::make_unique<Door>(executor, std::move(near));
    Runtime theirs;
    theirs.limits = runtime.limits;
    door->scope().spawn([](std::shared_ptr<Server> s, std::unique_ptr<Channel> c, Runtime r) -> Task<void> {
      co_await serve(*s, std::move(c), r);
    }(std::move(server), std::move(far), std::move(theirs)));
    co_return door;
  }

  std::shared_ptr<Server> server_;
  MemoryPayloads payloads_;
};

// Reaches the fixture through a socket: each channel has a listener of its own beside it.
class HttpFixtureTransport final : public Transport {
 public:
  explicit HttpFixtureTransport(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  Kind kind() const noexcept override { return Kind::http; }
  std::string describe() const override { return "the fixture behind a url"; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_to(server_, runtime); }

 private:
  class Reached final : public Channel {
   public:
    explicit Reached(asio::any_io_executor executor) : scope_(std::move(executor)) {}
    Task<void> start(std::shared_ptr<Server> server, Runtime runtime) {
      std::string url;
      Event listening;
      ServerHttpOptions options;
      options.on_listening = [&](const std::string& where) {
        url = where;
        listening.notify_all();
      };
      scope_.spawn(serve(std::move(server), std::move(options)));
      while (url.empty()) co_await listening.wait();
      inner_ = co_await http_transport({.url = url, .headers = {}, .proxy = ""})->open(runtime);
    }
    Result<void> send(Message message) override { return inner_->send(std::move(message)); }
    Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
    Task<Incoming> receive() override { return inner_->receive(); }
    void abandon(const RequestId& id) override { inner_->abandon(id); }
    void set_protocol_version(std::string_view version) override { inner_->set_protocol_version(version); }
    Task<void> close(CloseMode mode) override {
      co_await inner_->close(mode);
      scope_.cancel();
      co_await scope_.join();
    }

   private:
    static Task<void> serve(std::shared_ptr<Server> server, ServerHttpOptions options) {
      (void)co_await as_result(server->serve_http(std::move(options)));
    }
    std::unique_ptr<Channel> inner_;
    Scope scope_;
  };

  static Task<std::unique_ptr<Channel>> open_to(std::shared_ptr<Server> server, Runtime runtime) {
    auto reached = std::make_unique<Reached>(co_await asio::this_coro::executor);
    co_await reached->start(std::move(server), std::move(runtime));
    co_return reached;
  }

  std::shared_ptr<Server> server_;
};

// The same by a WebSocket.
class WsFixtureTransport final : public Transport {
 public:
  explicit WsFixtureTransport(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  Kind kind() const noexcept override { return Kind::websocket; }
  std::string describe() const override { return "the fixture behind a WebSocket"; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_to(server_, runtime); }

 private:
  class Reached final : public Channel {
   public:
    Reached(asio::any_io_executor executor, std::shared_ptr<Server> server) : door_(executor, std::move(server)) {}
    Task<void> start(Runtime runtime) {
      inner_ = co_await ws_transport({.url = door_.url(), .headers = {}, .proxy = ""})->open(runtime);
    }
    Result<void> send(Message message) override { return inner_->send(std::move(message)); }
    Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
    Task<Incoming> receive() override { return inner_->receive(); }
    std::optional<Incoming> received() override { return inner_->received(); }
    void abandon(const RequestId& id) override { inner_->abandon(id); }
    Task<void> close(CloseMode mode) override {
      co_await inner_->close(mode);
      co_await door_.stop();
    }

   private:
    test::WsDoor door_;
    std::unique_ptr<Channel> inner_;
  };

  static Task<std::unique_ptr<Channel>> open_to(std::shared_ptr<Server> server, Runtime runtime) {
    auto reached = std::make_unique<Reached>(co_await asio::this_coro::executor, std::move(server));
    co_await reached->start(std::move(runtime));
    co_return reached;
  }

  std::shared_ptr<Server> server_;
};

class Scenario : public ::testing::TestWithParam<Column> {
 protected:
  using Body = std::function<Task<void>(Session)>;

  std::shared_ptr<Transport> transport() const {
    if (GetParam().door == Door::stdio) {
      return stdio_transport({.command = test::built("scenario-server"), .args = {}, .env = {}, .cwd = {}});
    }
    if (GetParam().door == Door::http) return std::make_shared<HttpFixtureTransport>(test::make_fixture_server());
    if (GetParam().door == Door::websocket) return std::make_shared<WsFixtureTransport>(test::make_fixture_server());
    return std::make_shared<FixtureTransport>(
        test::make_fixture_server(), GetParam().door == Door::shared ? MemoryPayloads::share : MemoryPayloads::copy);
  }

  ClientOptions options() const {
    ClientOptions made;
    made.info = {.name = "scenario", .version = "1"};
    made.protocol = modern() ? std::string(modern_versions().front()) : "legacy";
    return made;
  }

  bool modern() const { return GetParam().era == Era::modern; }

  // Requests the client sent, by method.
  std::size_t sent(std::string_view method) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        trace_, [&](const auto& line) { return line.find(fmt::format(R"("method":"{}")", method)) != line.npos; }));
  }
  std::size_t sent_containing(std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(trace_, [&](const auto& line) { return line.find(text) != line.npos; }));
  }

  Runtime runtime() {
    Runtime made;
    made.limits.task_poll_least = 1ms;
    made.trace = [this](std::string_view direction, std::string_view message) {
      if (direction == "->") trace_.emplace_back(message);
    };
    return made;
  }

  void run(ClientOptions client, Body body) { run(std::move(client), runtime(), std::move(body)); }
  void run(ClientOptions client, Runtime with, Body body) {
    run_task(clock_, [&]() -> Task<void> {
      auto session = co_await connect(Client(client), transport(), with);
      auto outcome = co_await as_result(body(session));
      co_await session.close();
      value_or_throw(std::move(outcome));
    });
  }
  void run(Body body) { run(options(), std::move(body)); }

  std::vector<std::string> trace_;
  ManualClock clock_{ManualClock::Passes::by_itself};
};

INSTANTIATE_TEST_SUITE_P(Columns, Scenario,
                         ::testing::Values(Column{Era::legacy, Door::shared}, Column{Era::legacy, Door::copied},
                                           Column{Era::legacy, Door::stdio}, Column{Era::modern, Door::shared},
                                           Column{Era::modern, Door::copied}, Column{Era::modern, Door::stdio},
                                           Column{Era::legacy, Door::http}, Column{Era::modern, Door::http},
                                           Column{Era::legacy, Door::websocket}, Column{Era::modern, Door::websocket}),
                         [](const auto& column) { return name_of(column.param); });

// What only a process can do.
class StdioScenario : public Scenario {};
INSTANTIATE_TEST_SUITE_P(Columns, StdioScenario,
                         ::testing::Values(Column{Era::legacy, Door::stdio}, Column{Era::modern, Door::stdio}),
                         [](const auto& column) { return name_of(column.param); });

std::vector<std::string> names_of(const Listing<Tool>& listing) {
  std::vector<std::string> names;
  for (const auto& tool : listing.items) names.push_back(tool.name);
  return names;
}

// Something the session tells by a callback, to be waited for.
template <class T>
struct Heard {
  std::vector<T> all;
  Event more;
  void add(T value) {
    all.push_back(std::move(value));
    more.notify_all();
  }
  Task<void> wait(std::size_t count) {
    while (all.size() < count) co_await more.wait();
  }
};

TEST_P(Scenario, TheServerSaysWhoItIs) {
  run([this](Session session) -> Task<void> {
    const auto& server = session.server();
    EXPECT_EQ(server.info.name, "fixture");
    EXPECT_EQ(server.instructions, "Use with care.");
    EXPECT_TRUE(server.capabilities.tools && server.capabilities.resources && server.capabilities.prompts);
    EXPECT_EQ(session.is_legacy(), !modern());
    EXPECT_EQ(server.protocol_version, modern() ? modern_versions().front() : legacy_versions().front());
    EXPECT_FALSE(session.closed());
    co_return;
  });
}

TEST_P(Scenario, TheEraIsFoundWithoutBeingTold) {
  auto client = options();
  client.protocol = "auto";
  run(client, [](Session session) -> Task<void> {
    EXPECT_FALSE(session.is_legacy());  // the fixture speaks both, and the newer one wins
    co_return;
  });
}

TEST_P(Scenario, ToolsAreListedOverAllPages) {
  run([this](Session session) -> Task<void> {
    auto listing = co_await session.list_tools();
    EXPECT_FALSE(listing.cut);
    EXPECT_THAT(listing.problems, SizeIs(0));
    auto names = names_of(listing);
    EXPECT_GT(names.size(), 30u);
    EXPECT_GE(sent(method::list_tools), 8u);  // the fixture's pages hold four
    for (auto expected : {"echo", "hang", "ask_form", "filler_00", "filler_19"}) {
      EXPECT_EQ(std::ranges::count(names, expected), 1) << expected;
    }
    // Page by page it is the same list.
    std::vector<std::string> paged;
    std::optional<std::string> cursor;
    do {
      auto page = co_await session.list_tools_page(cursor);
      EXPECT_LE(page.items.size(), 4u);
      for (const auto& tool : page.items) paged.push_back(tool.name);
      cursor = page.next_cursor;
    } while (cursor);
    EXPECT_EQ(paged, names);
  });
}

// X1
TEST_P(Scenario, EveryKindOfContentArrivesAsItWasSent) {
  run([](Session session) -> Task<void> {
    auto result = co_await session.call_tool("blocks", {});
    CallToolResult expected;
    expected.content.push_back(TextContent{.text = "hello"});
    expected.content.push_back(ImageContent{.data = "aGk=", .mime_type = "image/png"});
    expected.content.push_back(AudioContent{.data = "aGk=", .mime_type = "audio/wav"});
    expected.content.push_back(ResourceLink{.uri = "file:///a", .name = "a"});
    expected.content.push_back(
        EmbeddedResource{.resource = {.uri = "file:///e", .mime_type = "text/plain", .text = "inside"}});
    EXPECT_EQ(result, expected);

    auto structured = co_await session.call_tool("structured_only", {});
    EXPECT_EQ(structured.structured_content, (Json{{"n", 1}}));
    EXPECT_EQ(text_of(structured), R"({"n":1})");
  });
}

// X1
TEST_P(Scenario, AToolThatFailsIsAValueAndARefusalIsAnError) {
  run([](Session session) -> Task<void> {
    auto failed = co_await session.call_tool("is_error", {});
    EXPECT_TRUE(failed.is_error);
    EXPECT_EQ(text_of(failed), "no luck");
    auto threw = co_await session.call_tool("fails", {});
    EXPECT_TRUE(threw.is_error);
    EXPECT_EQ(text_of(threw), "it broke");
    auto refused = co_await as_result(session.call_tool("refuses", {}));
    EXPECT_THAT(refused, FailsWith(Error::rpc(1234, "refused", R"({"why":"because"})")));
    auto unknown = co_await as_result(session.call_tool("nonesuch", {}));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
    // Neither harms the connection.
    auto after = co_await session.call_tool("echo", Json{{"a", 1}});
    EXPECT_EQ(text_of(after), R"({"a":1})");
  });
}

TEST_P(Scenario, ArgumentsTravelByteForByte) {
  struct Row {
    std::string name;
    std::string arguments;
    std::string expected;  // as the server read them
  };
  const std::vector<Row> rows{
      {"an escaped NUL", R"({"a":"x\u0000y"})", R"({"a":"x\u0000y"})"},
      {"beyond the basic plane", "{\"a\":\"\xf0\x9f\x98\x80 \xc3\xa9 \xe2\x80\xa8\"}",
       "{\"a\":\"\xf0\x9f\x98\x80 \xc3\xa9 \xe2\x80\xa8\"}"},
      {"numbers exactly",
       R"({"i":9223372036854775807,"u":18446744073709551615,"big":123456789012345678901234567890,"d":0.1})",
       R"({"i":9223372036854775807,"u":18446744073709551615,"big":123456789012345678901234567890,"d":0.1})"},
      {"line breaks inside", R"({"a":"1\n2\r\n3"})", R"({"a":"1\n2\r\n3"})"},
      {"line breaks between tokens", "{\n\t\"a\" : [ 1 ,\r\n 2 ]\n}", R"({"a":[1,2]})"},
      {"the order of keys", R"({"z":1,"a":2,"m":3})", R"({"z":1,"a":2,"m":3})"},
      {"an empty object", "{}", "{}"},
      {"a long text", R"({"a":")" + std::string(300'000, 'x') + R"("})",
       R"({"a":")" + std::string(300'000, 'x') + R"("})"},
  };
  run([&](Session session) -> Task<void> {
    for (const auto& row : rows) {
      auto result = co_await session.call_tool("echo", *Payload::parse(row.arguments));
      EXPECT_EQ(text_of(result), row.expected) << row.name;
    }
    // None at all, in both spellings.
    EXPECT_EQ(text_of(co_await session.call_tool("echo", {})), "{}");
    EXPECT_EQ(text_of(co_await session.call_tool("echo", Json())), "{}");
  });
}

TEST_P(Scenario, ArgumentsThatAreNotAnObjectAreRefusedHere) {
  run([this](Session session) -> Task<void> {
    const auto before = sent(method::call_tool);
    for (auto text : {"[]", "5", R"("x")", "true", " [1] "}) {
      auto result = co_await as_result(session.call_tool("echo", *Payload::parse(text)));
      EXPECT_THAT(result, FailsWith(Errc::invalid_argument)) << text;
    }
    EXPECT_EQ(sent(method::call_tool), before);
  });
}

// W3
TEST_P(Scenario, BothSidesKeepToWhatAToolDeclares) {
  run([this](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    auto good = co_await session.call_tool("area", Json{{"width", 2}, {"height", 3}});
    EXPECT_EQ(good.structured_content, (Json{{"area", 6}}));
    const auto before = sent(method::call_tool);
    const Json wrong{{"width", 0}, {"depth", 1}};
    auto refused = co_await as_result(session.call_tool("area", wrong));
    EXPECT_THAT(refused, FailsWith(Errc::invalid_argument, AllOf(HasSubstr("\"area\""), HasSubstr("/width: "),
                                                                 HasSubstr("(minimum)"), HasSubstr("\"height\""))));
    EXPECT_EQ(sent(method::call_tool), before);
    // A server does not rely on its clients: the model reads the same reasons.
    auto answered = co_await session.call_tool("area", wrong, {.check_arguments = false});
    EXPECT_TRUE(answered.is_error);
    EXPECT_THAT(refused, FailsSaying(text_of(answered)));
    // Nor does it send what it did not promise.
    for (const auto& [unit, says] :
         {std::pair("m", "/area: expected integer"), std::pair("", "no structured content")}) {
      Json arguments{{"width", 1}, {"height", 1}};
      if (*unit) arguments["unit"] = unit;
      auto broken = co_await as_result(session.call_tool("bad_area", arguments));
      EXPECT_THAT(broken, FailsWithRpc(-32603));
      EXPECT_THAT(broken, FailsSaying(HasSubstr(says)));
    }
    auto failed = co_await session.call_tool("bad_area", Json{{"width", 1}, {"height", 1}, {"unit", "ft"}});
    EXPECT_TRUE(failed.is_error);
  });
}

// A handler's slip does not reach the server as the user's answer.
TEST_P(Scenario, AnswersThatDoNotFitTheFormAreNotSent) {
  auto client = options();
  Json content;
  client.elicit = [&content](ElicitRequest, CallContext) -> Task<ElicitResult> {
    co_return ElicitResult{.action = ElicitResult::Action::accept, .content = content};
  };
  run(client, [&, this](Session session) -> Task<void> {
    for (const auto& [answer, path] : std::vector<std::pair<Json, std::string>>{
             {Json{{"name", 5}}, "/name"}, {Json{{"size", "big"}}, "/size"}, {Json{{"mail", "nobody"}}, "/mail"}}) {
      content = answer;
      auto outcome = co_await as_result(session.call_tool("ask_form", {}));
      // Where the server asks by a request, it hears that there is no answer and the tool fails.
      const bool failed = outcome ? outcome->is_error : outcome.error().code() == Errc::invalid_argument;
      EXPECT_TRUE(failed) << path;
      EXPECT_EQ(outcome.has_value(), !modern());
      EXPECT_THAT(outcome ? text_of(*outcome) : outcome.error().message(), HasSubstr(path));
      EXPECT_EQ(sent_containing(to_text(answer)), 0u);
    }
    content = Json{{"name", "Ada"}, {"mail", "ada@example.com"}};
    auto good = co_await session.call_tool("ask_form", {});
    EXPECT_EQ(text_of(good), R"(accept {"name":"Ada","mail":"ada@example.com","size":7})");
  });
}

// X3
TEST_P(Scenario, ProgressIsHeardInOrder) {
  run([](Session session) -> Task<void> {
    std::vector<Progress> heard;
    CallOptions call;
    call.on_progress = [&](const Progress& progress) { heard.push_back(progress); };
    auto result = co_await session.call_tool("count_up", Json{{"to", 3}}, call);
    EXPECT_EQ(text_of(result), "counted to 3");
    EXPECT_THAT(heard, ElementsAre(Progress{1, 3, "step 1"}, Progress{2, 3, "step 2"}, Progress{3, 3, "step 3"}));
    // Nobody asked, nothing is sent.
    (void)co_await session.call_tool("count_up", Json{{"to", 3}});
    EXPECT_EQ(heard.size(), 3u);
  });
}

TEST_P(Scenario, AnIdleLimitAsksForProgressByItself) {
  run([this](Session session) -> Task<void> {
    (void)co_await session.call_tool("count_up", Json{{"to", 2}}, {.total = {}, .idle = 1h, .on_progress = {}});
    EXPECT_EQ(sent_containing("progressToken"), 1u);
  });
}

// X3
TEST_P(Scenario, ACallCancelledHereIsCancelledThere) {
  run([](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Result<CallToolResult>> outcome;
    auto running = scope.spawn([](Session s, std::optional<Result<CallToolResult>>& out) -> Task<void> {
      out = co_await as_result(s.call_tool("hang", {}));
    }(session, outcome));
    for (std::string seen; seen != "1 began, 0 were cancelled";)
      seen = text_of(co_await session.call_tool("hangs", {}));
    running.cancel();
    co_await scope.join();
    EXPECT_EQ(outcome->error().code(), Errc::cancelled);
    for (std::string seen; seen != "1 began, 1 were cancelled";)
      seen = text_of(co_await session.call_tool("hangs", {}));
  });
}

// L4
TEST_P(Scenario, ACallThatTakesTooLongEndsHereAndThere) {
  // Over HTTP, where each message may have a connection of its own, the end must not overtake the beginning.
  const bool in_order = GetParam().door != Door::http;
  const auto limit = in_order ? 20ms : 1000ms;
  const std::string shown = in_order ? "20 ms" : "1 s";
  run([&](Session session) -> Task<void> {
    auto late = co_await as_result(session.call_tool("hang", {}, {.total = limit, .idle = {}, .on_progress = {}}));
    EXPECT_THAT(late, FailsWith(Error(Errc::timeout, "no answer to tools/call within " + shown)));
    auto idle = co_await as_result(session.call_tool("hang", {}, {.total = {}, .idle = limit, .on_progress = {}}));
    EXPECT_THAT(idle, FailsWith(Error(Errc::timeout, "no answer and no progress on tools/call for " + shown)));
    // On a busy machine the time may be over before anything was sent, and what is taken back before the server has
    // begun is not begun there. What it began it has ended.
    int began = -1, cancelled = 0;
    while (began != cancelled) {
      const auto seen = text_of(co_await session.call_tool("hangs", {}));
      if (std::sscanf(seen.c_str(), "%d began, %d were cancelled", &began, &cancelled) != 2) {
        ADD_FAILURE() << seen;
        break;
      }
    }
    EXPECT_LE(began, 2);
    // The longest time there is does not wrap around.
    auto patient = co_await session.call_tool(
        "echo", {}, {.total = std::chrono::milliseconds::max(), .idle = {}, .on_progress = {}});
    EXPECT_EQ(text_of(patient), "{}");
  });
}

// X3
TEST_P(Scenario, AHundredCallsAtOnceEachGetTheirOwnAnswer) {
  run([](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    int right = 0;
    for (int i = 0; i < 100; ++i) {
      scope.spawn([](Session s, int n, int& count) -> Task<void> {
        auto result = co_await s.call_tool("echo", Json{{"n", n}});
        if (text_of(result) == fmt::format(R"({{"n":{}}})", n)) ++count;
      }(session, i, right));
    }
    co_await scope.join();
    EXPECT_EQ(right, 100);
  });
}

TEST_P(Scenario, ResourcesAreListedAndRead) {
  run([this](Session session) -> Task<void> {
    auto resources = co_await session.list_resources();
    EXPECT_EQ(std::ranges::count_if(resources.items, [](const auto& each) { return each.uri.starts_with("file://"); }),
              11);
    auto templates = co_await session.list_resource_templates();
    EXPECT_THAT(templates.items, SizeIs(1));
    EXPECT_EQ(templates.items.at(0).uri_template, "note:///{name}");
    auto text = co_await session.read_resource("file:///a");
    EXPECT_THAT(text.contents,
                ElementsAre(ResourceContents{.uri = "file:///a", .mime_type = "text/plain", .text = "text of a"}));
    auto blob = co_await session.read_resource("file:///b");
    EXPECT_THAT(blob.contents, ElementsAre(ResourceContents{.uri = "file:///b", .blob = "aGk="}));
    auto note = co_await session.read_resource("note:///today");
    EXPECT_EQ(note.contents.at(0).text, "note today");
    auto missing = co_await as_result(session.read_resource("file:///none"));
    EXPECT_THAT(missing, FailsWithRpc(modern() ? -32602 : -32002));
    EXPECT_THAT(missing, Fails(Property(&Error::rpc_data, R"({"uri":"file:///none"})")));
  });
}

Skill skill_named(const Listing<Skill>& listing, std::string_view name) {
  for (const auto& skill : listing.items) {
    if (skill.frontmatter["name"] == Json(name)) return skill;
  }
  ADD_FAILURE() << "no skill is called " << name;
  return {};
}

// R4
TEST_P(Scenario, SkillsAreListedAndNothingIsReadWithThem) {
  run([this](Session session) -> Task<void> {
    auto skills = co_await session.list_skills();
    EXPECT_THAT(skills.items, SizeIs(3));
    EXPECT_THAT(skills.problems, SizeIs(0));
    EXPECT_FALSE(skills.cut);
    const auto pdf = skill_named(skills, "pdf");
    EXPECT_EQ(pdf.uri, "skill://office/pdf/SKILL.md");
    EXPECT_EQ(pdf.frontmatter,
              (Json{{"name", "pdf"}, {"description", "Works on PDF files."}, {"metadata", {{"version", "1.0"}}}}));
    EXPECT_THAT(*pdf.resources, SizeIs(9));
    // A listing that is still fresh is not asked for again; one skill's entry always is.
    (void)co_await session.list_skills();
    EXPECT_EQ(sent(method::list_skills), modern() ? 1u : 2u);
    for (int i = 0; i < 2; ++i) {
      auto again = co_await session.get_skill(pdf.uri);
      EXPECT_EQ(again, pdf);
    }
    EXPECT_EQ(sent(method::get_skill), 2u);
    EXPECT_EQ(sent(method::read_resource), 0u);
    auto unknown = co_await as_result(session.get_skill("skill://office/word/SKILL.md"));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
  });
}

// R4
TEST_P(Scenario, FilesOfASkillAreReadWhenTheyAreWhatTheEntrySays) {
  run([this](Session session) -> Task<void> {
    auto skills = co_await session.list_skills();
    const auto pdf = skill_named(skills, "pdf");
    auto skill = co_await session.read_skill(pdf);
    EXPECT_THAT(skill.text.value_or(""), HasSubstr("Pick a template."));
    EXPECT_EQ(skill.mime_type, "text/markdown");
    auto forms = co_await session.read_skill(pdf, "references/forms.md");
    EXPECT_EQ(forms.text, "All about forms.\n");
    auto logo = co_await session.read_skill(pdf, "skill://office/pdf/logo.bin");
    EXPECT_EQ(logo.blob, "AP/+");
    const auto reads = sent(method::read_resource);
    EXPECT_EQ(reads, 3u);

    // What the entry does not have is not even asked for.
    for (auto [file, code] : {std::pair("other.md", Errc::protocol),
                              {"templates", Errc::protocol},
                              {"../../changed/SKILL.md", Errc::invalid_argument},
                              {"skill://changed/SKILL.md", Errc::invalid_argument},
                              {"file:///a", Errc::invalid_argument},
                              {"/etc/passwd", Errc::invalid_argument},
                              {"%2e%2e/x", Errc::invalid_argument}}) {
      auto refused = co_await as_result(session.read_skill(pdf, file));
      EXPECT_FALSE(refused);
      if (!refused) EXPECT_EQ(refused.error().code(), code) << file;
    }
    EXPECT_EQ(sent(method::read_resource), reads);

    auto changed = co_await as_result(session.read_skill(skill_named(skills, "changed")));
    EXPECT_THAT(changed,
                FailsWith(Error(Errc::protocol,
                                "skill://changed/SKILL.md is not what the server's list of skills says: its digest "
                                "is different; if the skill changed, list the skills again")));
    auto longer = co_await as_result(session.read_skill(skill_named(skills, "longer")));
    EXPECT_THAT(longer, FailsSaying(HasSubstr("bytes instead of")));
    // As a plain resource it is what the server says it is.
    auto plain = co_await session.read_resource("skill://changed/SKILL.md");
    EXPECT_THAT(plain.contents.at(0).text.value_or(""), HasSubstr("Evil."));
  });
}

// R4
TEST_P(Scenario, ASkillThatChangedIsReadUnderItsNewEntryOnly) {
  run([](Session session) -> Task<void> {
    auto skills = co_await session.list_skills();
    const auto old = skill_named(skills, "pdf");
    (void)co_await session.call_tool("change_skill", Json{{"text", "Other things.\n"}});
    auto stale = co_await as_result(session.read_skill(old, "references/forms.md"));
    EXPECT_THAT(stale, FailsWith(Errc::protocol));
    auto fresh = co_await session.get_skill(old.uri);
    EXPECT_NE(fresh, old);
    auto forms = co_await session.read_skill(fresh, "references/forms.md");
    EXPECT_EQ(forms.text, "Other things.\n");
    // The listing that was kept showed the old entry.
    auto listed = co_await session.list_skills();
    EXPECT_EQ(skill_named(listed, "pdf"), fresh);
  });
}

// R4
TEST_P(Scenario, DirectoriesTellWhatIsInThem) {
  run([this](Session session) -> Task<void> {
    auto root = co_await session.read_directory("skill://office/pdf");
    std::vector<std::string> names;
    for (const auto& child : root.items) {
      names.push_back(child.mime_type == "inode/directory" ? child.name + "/" : child.name);
    }
    EXPECT_THAT(names, ElementsAre("pdf", "logo.bin", "references/", "templates/"));
    auto templates = co_await session.read_directory("skill://office/pdf/templates");
    EXPECT_THAT(templates.items, SizeIs(6));
    EXPECT_EQ(sent(method::read_directory), 3u);  // four on a page
    auto file = co_await as_result(session.read_directory("skill://office/pdf/SKILL.md"));
    EXPECT_THAT(file, FailsWithRpc(-32602));
    auto nothing = co_await as_result(session.read_directory("skill://office/word"));
    EXPECT_THAT(nothing, FailsWithRpc(-32602));
  });
}

TEST_P(Scenario, PromptsAreListedAndFilled) {
  run([](Session session) -> Task<void> {
    auto prompts = co_await session.list_prompts();
    EXPECT_THAT(prompts.items, SizeIs(2));
    auto filled = co_await session.get_prompt("greet", {{"who", "Ann"}});
    EXPECT_EQ(filled.description, "a greeting");
    EXPECT_EQ(std::get<TextContent>(filled.messages.at(0).content).text, "greet Ann");
    auto lacking = co_await as_result(session.get_prompt("greet", {}));
    EXPECT_THAT(lacking, FailsWithRpc(-32602));
    auto unknown = co_await as_result(session.get_prompt("nonesuch", {}));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
  });
}

TEST_P(Scenario, ArgumentsAreCompleted) {
  run([](Session session) -> Task<void> {
    CompleteRequest request;
    request.ref = {.kind = CompletionReference::Kind::prompt, .name = "greet"};
    request.argument = {.name = "who", .value = "A"};
    request.context = {{"how", "warmly"}};
    // What the caller says about the request goes along with what the protocol says.
    request.meta = Json{{"traceparent", "00-1"}};
    auto result = co_await session.complete(request);
    EXPECT_THAT(result.values, ElementsAre("Alice", "Anna", "warmly"));
    EXPECT_EQ(result.total, 2);
    request.ref.name = "nonesuch";
    auto unknown = co_await as_result(session.complete(request));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
  });
}

TEST_P(Scenario, LogMessagesArriveFromTheWantedLevelOn) {
  auto client = options();
  Heard<std::string> heard;
  client.server = "docs";
  client.on_log = [&](const LogMessage& message, const CallContext& context) {
    EXPECT_EQ(context.server, "docs");
    EXPECT_EQ(context.method, method::call_tool);
    EXPECT_EQ(context.tool, "speak");
    EXPECT_NE(context.call_id, 0u);
    heard.add(std::string(to_string(message.level)));
  };
  client.log_level = LoggingLevel::warning;
  run(client, [&](Session session) -> Task<void> {
    (void)co_await session.call_tool("speak", {});
    EXPECT_THAT(heard.all, ElementsAre("warning", "error"));
    heard.all.clear();
    co_await session.set_log_level(LoggingLevel::error);
    (void)co_await session.call_tool("speak", {});
    EXPECT_THAT(heard.all, ElementsAre("error"));
    heard.all.clear();
    co_await session.set_log_level(LoggingLevel::debug);
    (void)co_await session.call_tool("speak", {});
    EXPECT_THAT(heard.all, ElementsAre("debug", "info", "warning", "error"));
  });
}

TEST_P(Scenario, APingIsAnswered) {
  run([](Session session) -> Task<void> {
    co_await session.ping();
    co_await session.ping({.total = 1h, .idle = {}, .on_progress = {}});
  });
}

// Asking back --------------------------------------------------------------------------

ClientOptions with_answers(ClientOptions client, std::vector<ElicitRequest>& asked, ElicitResult answer) {
  client.elicit = [&asked, answer](ElicitRequest request, CallContext) -> Task<ElicitResult> {
    asked.push_back(std::move(request));
    return [](ElicitResult given) -> Task<ElicitResult> { co_return given; }(answer);
  };
  client.elicit_by_url = true;
  return client;
}

TEST_P(Scenario, AFormIsAnsweredAndUntouchedFieldsCarryTheirDefault) {
  std::vector<ElicitRequest> asked;
  auto client =
      with_answers(options(), asked, {.action = ElicitResult::Action::accept, .content = Json{{"name", "Ann"}}});
  run(client, [&](Session session) -> Task<void> {
    auto result = co_await session.call_tool("ask_form", {});
    EXPECT_EQ(text_of(result), R"(accept {"name":"Ann","size":7})");
    EXPECT_THAT(asked, SizeIs(1));
    EXPECT_EQ(asked.at(0).message, "who are you?");
    EXPECT_EQ(asked.at(0).mode, ElicitRequest::Mode::form);
  });
}

TEST_P(Scenario, WhoeverIsAskedKnowsTheServerAndTheCall) {
  auto client = options();
  client.server = "docs";
  std::vector<CallContext> asked;
  client.elicit = [&](ElicitRequest, CallContext context) -> Task<ElicitResult> {
    asked.push_back(std::move(context));
    return []() -> Task<ElicitResult> { co_return ElicitResult{.action = ElicitResult::Action::decline}; }();
  };
  client.sample = [&](CreateMessageRequest, CallContext context) -> Task<CreateMessageResult> {
    asked.push_back(std::move(context));
    return []() -> Task<CreateMessageResult> { co_return CreateMessageResult{.model = "m"}; }();
  };
  client.roots = [&](CallContext context) -> Task<std::vector<Root>> {
    asked.push_back(std::move(context));
    return []() -> Task<std::vector<Root>> { co_return std::vector<Root>{}; }();
  };
  run(client, [&](Session session) -> Task<void> {
    std::vector<CallContext> expected;
    for (const std::string tool : {"ask_form", "ask_sample", "ask_roots"}) {
      CallOptions call;
      call.principal = "ann";
      call.call_id = 7 + expected.size();
      expected.push_back({"docs", std::string(method::call_tool), tool, call.principal, call.call_id});
      (void)co_await session.call_tool(tool, {}, std::move(call));
    }
    EXPECT_EQ(asked, expected);
  });
}

TEST_P(Scenario, ARefusalIsAnAnswer) {
  for (auto action : {ElicitResult::Action::decline, ElicitResult::Action::cancel}) {
    std::vector<ElicitRequest> asked;
    // Content beside a refusal is not sent.
    auto client = with_answers(options(), asked, {.action = action, .content = Json{{"name", "Ann"}}});
    run(client, [&](Session session) -> Task<void> {
      EXPECT_EQ(text_of(co_await session.call_tool("ask_form", {})), fmt::format("{} -", to_string(action)));
      EXPECT_EQ(text_of(co_await session.call_tool("ask_url", {})), fmt::format("{} -", to_string(action)));
    });
  }
}

TEST_P(Scenario, AnAddressIsShownAndAgreedTo) {
  std::vector<ElicitRequest> asked;
  auto client = with_answers(options(), asked, {.action = ElicitResult::Action::accept});
  run(client, [&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("ask_url", {})), "accept -");
    EXPECT_THAT(asked, SizeIs(1));
    EXPECT_EQ(asked.at(0).mode, ElicitRequest::Mode::url);
    EXPECT_EQ(asked.at(0).url, "https://example.com/sign-in");
  });
}

TEST_P(Scenario, TwoQuestionsInOneCall) {
  std::vector<ElicitRequest> asked;
  auto client = with_answers(options(), asked,
                             {.action = ElicitResult::Action::accept, .content = Json{{"name", "Ann"}, {"size", 1}}});
  run(client, [&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("ask_both", {})),
              R"(accept {"name":"Ann","size":1} then accept {"name":"Ann","size":1})");
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked.at(0).message, "first?");
    EXPECT_EQ(asked.at(1).message, "second?");
  });
}

TEST_P(Scenario, WhatCannotBeAnsweredFailsTheCallAndNothingElse) {
  run([](Session session) -> Task<void> {
    for (auto tool : {"ask_form", "ask_url", "ask_sample", "ask_roots"}) {
      auto result = co_await as_result(session.call_tool(tool, {}));
      if (result) {
        EXPECT_TRUE(result->is_error) << tool;
      } else {
        EXPECT_EQ(result.error().rpc_code(), -32021) << tool;
      }
    }
    EXPECT_EQ(text_of(co_await session.call_tool("echo", {})), "{}");
  });
}

TEST_P(Scenario, AnAddressIsNotShownToAClientThatOnlyTakesForms) {
  std::vector<ElicitRequest> asked;
  auto client = with_answers(options(), asked, {.action = ElicitResult::Action::accept});
  client.elicit_by_url = false;
  run(client, [&](Session session) -> Task<void> {
    auto result = co_await as_result(session.call_tool("ask_url", {}));
    EXPECT_TRUE(!result || result->is_error);
    EXPECT_THAT(asked, SizeIs(0));
  });
}

TEST_P(Scenario, AHandlerThatThrowsFailsTheCallAndNothingElse) {
  auto client = options();
  client.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> {
    throw Error(Errc::denied, "the person left");
    co_return ElicitResult{};
  };
  run(client, [](Session session) -> Task<void> {
    auto result = co_await as_result(session.call_tool("ask_form", {}));
    if (result) {
      EXPECT_TRUE(result->is_error);
      EXPECT_THAT(text_of(*result), HasSubstr("the person left"));
    } else {
      EXPECT_EQ(result.error(), Error(Errc::denied, "the person left"));
    }
    EXPECT_EQ(text_of(co_await session.call_tool("echo", {})), "{}");
  });
}

TEST_P(Scenario, AModelIsAskedForText) {
  auto client = options();
  std::vector<CreateMessageRequest> asked;
  client.sample = [&](CreateMessageRequest request, CallContext) -> Task<CreateMessageResult> {
    asked.push_back(std::move(request));
    return []() -> Task<CreateMessageResult> {
      CreateMessageResult result;
      result.model = "m-1";
      result.content.push_back(TextContent{.text = "something"});
      result.stop_reason = "endTurn";
      co_return result;
    }();
  };
  run(client, [&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("ask_sample", {})), "m-1 said something");
    EXPECT_THAT(asked, SizeIs(1));
    EXPECT_EQ(asked.at(0).max_tokens, 10);
  });
}

TEST_P(Scenario, RootsAreGivenWhenAsked) {
  auto client = options();
  client.roots = [](CallContext) -> Task<std::vector<Root>> {
    std::vector<Root> roots;
    roots.push_back({.uri = "file:///home"});
    roots.push_back({.uri = "file:///work"});
    co_return roots;
  };
  run(client, [this](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("ask_roots", {})), "file:///home file:///work ");
    session.roots_changed();
    co_await session.ping();
    EXPECT_EQ(sent(method::roots_changed), modern() ? 0u : 1u);
  });
}

// L4: a person's time is not the server's.
TEST_P(Scenario, TheTimeTheUserTakesDoesNotCount) {
  auto client = options();
  client.elicit = [this](ElicitRequest, CallContext) -> Task<ElicitResult> {
    clock_.skip(9min);  // a server waits ten for an answer
    return []() -> Task<ElicitResult> {
      co_await settle();
      co_return ElicitResult{.action = ElicitResult::Action::decline};
    }();
  };
  run(client, [](Session session) -> Task<void> {
    auto result = co_await session.call_tool("ask_both", {}, {.total = 8min, .idle = 4min, .on_progress = {}});
    EXPECT_EQ(text_of(result), "decline - then decline -");
  });
}

TEST_P(Scenario, AServerThatKeepsAskingIsStopped) {
  if (!modern()) {
    // Here the server's questions are requests of their own, and it may ask as long as the call may take.
    std::vector<ElicitRequest> asked;
    run(with_answers(options(), asked, {.action = ElicitResult::Action::decline}), [&](Session session) -> Task<void> {
      EXPECT_EQ(text_of(co_await session.call_tool("ask_times", Json{{"times", 12}})), "asked 12 times");
      EXPECT_EQ(asked.size(), 12u);
    });
    return;
  }
  std::vector<ElicitRequest> asked;
  auto with = runtime();
  with.limits.input_rounds = 3;
  run(with_answers(options(), asked, {.action = ElicitResult::Action::decline}), with,
      [&](Session session) -> Task<void> {
        EXPECT_EQ(text_of(co_await session.call_tool("ask_times", Json{{"times", 3}})), "asked 3 times");
        EXPECT_EQ(asked.size(), 3u);
        asked.clear();
        auto result = co_await as_result(session.call_tool("ask_times", Json{{"times", 4}}));
        EXPECT_THAT(
            result,
            FailsWith(Error(Errc::limit, "the server asked for input 4 times during one tools/call; the limit is 3")));
        EXPECT_EQ(asked.size(), 3u);
      });
}

// Changes ------------------------------------------------------------------------------

TEST_P(Scenario, AChangeOfTheToolsIsHeardAndTheListIsNew) {
  auto client = options();
  Heard<Change> heard;
  client.on_change = [&](const Change& change, const CallContext&) { heard.add(change); };
  run(client, [&](Session session) -> Task<void> {
    SubscriptionFilter filter;
    filter.tools_list_changed = true;
    auto watch = co_await session.watch(filter);
    EXPECT_TRUE(watch.honoured().tools_list_changed);
    EXPECT_FALSE(watch.honoured().prompts_list_changed);
    auto before = names_of(co_await session.list_tools());
    (void)co_await session.call_tool("add_tool", Json{{"name", "brand_new"}});
    co_await heard.wait(1);
    EXPECT_EQ(heard.all.at(0), (Change{Change::Kind::tools, {}}));
    auto after = names_of(co_await session.list_tools());
    EXPECT_EQ(after.size(), before.size() + 1);
    EXPECT_EQ(std::ranges::count(after, "brand_new"), 1);
    EXPECT_EQ(text_of(co_await session.call_tool("brand_new", {})), "new");
    (void)co_await session.call_tool("remove_tool", Json{{"name", "brand_new"}});
    co_await heard.wait(2);
    EXPECT_EQ(names_of(co_await session.list_tools()), before);
    co_await watch.stop();
    co_await watch.stop();
  });
}

TEST_P(Scenario, AResourceThatIsWatchedIsHeardOfAndOthersAreNot) {
  auto client = options();
  Heard<Change> heard;
  client.on_change = [&](const Change& change, const CallContext&) { heard.add(change); };
  run(client, [&](Session session) -> Task<void> {
    SubscriptionFilter filter;
    filter.resource_subscriptions = {"file:///a"};
    auto watch = co_await session.watch(filter);
    auto second = co_await session.watch(filter);
    EXPECT_THAT(watch.honoured().resource_subscriptions, ElementsAre("file:///a"));
    (void)co_await session.call_tool("touch", Json{{"uri", "file:///b"}});
    (void)co_await session.call_tool("touch", Json{{"uri", "file:///a"}});
    co_await heard.wait(1);
    EXPECT_EQ(heard.all.at(0), (Change{Change::Kind::resource_updated, "file:///a"}));
    // One watch less is still one watch.
    co_await watch.stop();
    co_await session.ping();
    heard.all.clear();
    (void)co_await session.call_tool("touch", Json{{"uri", "file:///a"}});
    co_await heard.wait(1);
    co_await second.stop();
    co_await session.ping();
    co_await settle();
    heard.all.clear();
    (void)co_await session.call_tool("touch", Json{{"uri", "file:///a"}});
    co_await session.ping();
    co_await settle();
    EXPECT_THAT(heard.all, SizeIs(0));
  });
}

TEST_P(Scenario, AListIsAskedForAgainOnlyWhenItIsOutOfDate) {
  run([this](Session session) -> Task<void> {
    auto first = names_of(co_await session.list_tools());
    const auto pages = sent(method::list_tools);
    EXPECT_EQ(names_of(co_await session.list_tools()), first);
    // The fixture says its lists stay fresh for a minute; older revisions cannot say so.
    EXPECT_EQ(sent(method::list_tools), modern() ? pages : 2 * pages);
    co_await clock_.advance(61s);
    const auto before = sent(method::list_tools);
    EXPECT_EQ(names_of(co_await session.list_tools()), first);
    EXPECT_EQ(sent(method::list_tools), before + pages);
  });
}

// The end --------------------------------------------------------------------------------

// L9
TEST_P(Scenario, CallsThatArePendingWhenTheSessionIsClosedEndAtOnce) {
  run([](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Error> errors;
    for (int i = 0; i < 5; ++i) {
      scope.spawn([](Session s, std::vector<Error>& out) -> Task<void> {
        auto result = co_await as_result(s.call_tool("hang", {}));
        out.push_back(test::failure_of(result));
      }(session, errors));
    }
    for (std::string seen; seen != "5 began, 0 were cancelled";)
      seen = text_of(co_await session.call_tool("hangs", {}));
    co_await session.close();
    co_await scope.join();
    EXPECT_THAT(errors, testing::Each(Error(Errc::closed, "this session was closed")));
    EXPECT_THAT(errors, SizeIs(5));
    EXPECT_TRUE(session.closed());
    auto after = co_await as_result(session.list_tools());
    EXPECT_THAT(after, FailsWith(Errc::closed));
    SubscriptionFilter filter;
    filter.tools_list_changed = true;
    auto watch = co_await as_result(session.watch(filter));
    if (!watch) EXPECT_EQ(watch.error().code(), Errc::closed);
    co_await session.close();
    co_await session.close_quickly();
  });
}

TEST_P(Scenario, TheLastHandleClosesTheConnection) {
  run_task(clock_, [this]() -> Task<void> {
    int lost = 0;
    auto client = options();
    client.on_lost = [&](const Error&) { ++lost; };
    auto session = co_await connect(Client(client), transport(), runtime());
    auto copy = session;
    session = Session();
    EXPECT_EQ(text_of(co_await copy.call_tool("echo", {})), "{}");
    copy = Session();  // run_task fails when anything is left running
    EXPECT_EQ(lost, 0);
  });
}

// L9
TEST_P(StdioScenario, ACallPendingWhenTheServerDiesFailsAtOnceWithTheReason) {
  auto client = options();
  std::vector<Error> lost;
  client.on_lost = [&](const Error& error) { lost.push_back(error); };
  run(client, [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Error> errors;
    for (auto tool : {"hang", "hang", "end_process"}) {
      scope.spawn([](Session s, std::string name, std::vector<Error>& out) -> Task<void> {
        auto result = co_await as_result(s.call_tool(name, {}));
        out.push_back(test::failure_of(result));
      }(session, tool, errors));
    }
    co_await scope.join();
    EXPECT_THAT(errors, SizeIs(3));
    for (const auto& error : errors) {
      EXPECT_EQ(error.code(), Errc::closed);
      EXPECT_THAT(error.message(), HasSubstr("7"));
    }
    EXPECT_TRUE(session.closed());
    EXPECT_THAT(lost, SizeIs(1));
  });
}

// Tasks --------------------------------------------------------------------------------

// Calls task_release when the tool under test says that it waits.
struct Releaser {
  explicit Releaser(Session s) : session(std::move(s)) {}
  Session session;
  Heard<RemoteTask> states;
  std::vector<double> steps;
  Event waiting;
  bool waits = false;

  CallOptions options(TaskUse use = TaskUse::automatic) {
    CallOptions made;
    made.task = use;
    made.on_task = [this](const RemoteTask& task) {
      states.add(task);
      if (task.status_message) note();
    };
    made.on_progress = [this](const Progress& progress) {
      steps.push_back(progress.progress);
      note();
    };
    return made;
  }
  void note() {
    waits = true;
    waiting.notify_all();
  }
  Task<void> release() {
    while (!waits) co_await waiting.wait();
    (void)co_await session.call_tool("task_release", {});
  }
  Task<CallToolResult> call(std::string tool, TaskUse use = TaskUse::automatic) {
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn(release());
    auto result = co_await session.call_tool(std::move(tool), {}, options(use));
    co_await scope.join();
    co_return result;
  }
};

// C11-22, X3
TEST_P(Scenario, ACallThatBecomesATaskReturnsItsResult) {
  run([this](Session session) -> Task<void> {
    Releaser us(session);
    auto result = co_await us.call("task_held");
    EXPECT_EQ(text_of(result), "released");
    EXPECT_EQ(us.states.all.front().status, TaskStatus::working);
    EXPECT_FALSE(us.states.all.front().id.empty());
    EXPECT_EQ(us.states.all.front().poll_interval_ms, 100);
    EXPECT_EQ(us.states.all.back().status, TaskStatus::completed);
    EXPECT_EQ(us.states.all.back().status_message, "waiting to be released");
    // Newer servers do not report progress of tasks; older ones go on until the end.
    EXPECT_EQ(us.steps, modern() ? std::vector<double>() : std::vector<double>({1, 2}));
    EXPECT_EQ(sent(method::task_result), modern() ? 0u : 1u);
  });
}

TEST_P(Scenario, ATaskFailsLikeTheCallItIs) {
  run([](Session session) -> Task<void> {
    auto refused = co_await as_result(session.call_tool("task_fails", {}));
    EXPECT_THAT(refused, FailsWith(Error::rpc(1234, "refused", R"({"why":"because"})")));
    auto result = co_await session.call_tool("task_is_error", {});
    EXPECT_TRUE(result.is_error);
    EXPECT_EQ(text_of(result), "no luck");
    EXPECT_EQ(result.meta["k"], Json(1));
  });
}

TEST_P(Scenario, QuestionsInsideATaskAreAnsweredOnceEach) {
  std::vector<ElicitRequest> asked;
  auto client =
      with_answers(options(), asked, {.action = ElicitResult::Action::accept, .content = Json{{"name", "Ann"}}});
  run(client, [&](Session session) -> Task<void> {
    auto result = co_await session.call_tool("task_asks", {});
    EXPECT_EQ(text_of(result), R"(accept {"name":"Ann","size":7} then accept {"name":"Ann","size":7})");
    EXPECT_THAT(asked, SizeIs(2));
    EXPECT_EQ(asked.at(0).message, "first?");
    EXPECT_EQ(sent(method::update_task), modern() ? 2u : 0u);
    auto after = co_await session.call_tool("task_after_question", {});
    EXPECT_EQ(text_of(after), R"(as a task accept {"name":"Ann","size":7})");
    EXPECT_THAT(asked, SizeIs(3));
  });
}

TEST_P(Scenario, ATaskThatCannotAskFailsAsAToolDoes) {
  run([](Session session) -> Task<void> {
    auto result = co_await as_result(session.call_tool("task_asks", {}));
    EXPECT_TRUE(result ? result->is_error : result.error().rpc_code() == -32021);
  });
}

TEST_P(Scenario, WhetherACallIsATaskCanBeChosen) {
  run([this](Session session) -> Task<void> {
    struct Row {
      TaskUse use;
      bool legacy;
      bool modern;
    };
    for (auto row :
         {Row{TaskUse::automatic, false, true}, Row{TaskUse::prefer, true, true}, Row{TaskUse::avoid, false, false}}) {
      SCOPED_TRACE(static_cast<int>(row.use));
      Releaser us(session);
      auto result = co_await us.call("task_optional", row.use);
      EXPECT_EQ(text_of(result), "released");
      EXPECT_EQ(us.states.all.empty(), modern() ? !row.modern : !row.legacy);
    }
    auto refused = co_await as_result(session.call_tool("task_held", {}, {.task = TaskUse::avoid}));
    EXPECT_THAT(refused, FailsWithRpc(modern() ? -32021 : -32601));
  });
}

TEST_P(Scenario, GivingUpACallEndsItsTask) {
  run([](Session session) -> Task<void> {
    Releaser us(session);
    {
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([](Releaser& r) -> Task<void> {
        (void)co_await as_result(r.session.call_tool("task_held", {}, r.options()));
      }(us));
      while (!us.waits) co_await us.waiting.wait();
      scope.cancel();
      co_await scope.join();
    }
    // Long enough for the task to be known here: what has no name cannot be cancelled.
    auto late = co_await as_result(session.call_tool("task_held", {}, {.total = 1s}));
    EXPECT_THAT(late, FailsWith(Errc::timeout));
    std::string counts;
    while (counts != "0 running, 2 cancelled") counts = text_of(co_await session.call_tool("task_counts", {}));
  });
}

TEST_P(Scenario, ATaskIsKnownByItsId) {
  auto client = options();
  Heard<std::string> heard;
  client.on_change = [&](const Change& change, const CallContext&) {
    if (change.kind == Change::Kind::task) heard.add(change.uri);
  };
  run(client, [&](Session session) -> Task<void> {
    auto started = co_await session.start_tool("task_held", {}, {.task_ttl = 60s});
    const auto task = std::get<RemoteTask>(started);
    EXPECT_EQ(task.ttl_ms, modern() ? 3'600'000 : 60'000);  // where the server decides, it does
    auto other = std::get<RemoteTask>(co_await session.start_tool("task_held", {}));
    EXPECT_NE(task.id, other.id);
    auto watch = co_await session.watch({.task_ids = {task.id, other.id}});
    EXPECT_THAT(watch.honoured().task_ids, ElementsAre(task.id, other.id));

    auto state = co_await session.get_task(task.id);
    EXPECT_EQ(state.status, TaskStatus::working);
    auto listed = co_await as_result(session.list_tasks());
    if (modern()) {
      EXPECT_THAT(listed, FailsWith(Errc::unsupported));
    } else {
      EXPECT_THAT(listed->items, SizeIs(2));
    }
    heard.all.clear();
    co_await session.cancel_task(other.id);
    EXPECT_EQ((co_await session.get_task(other.id)).status, TaskStatus::cancelled);
    co_await heard.wait(1);
    EXPECT_EQ(heard.all.front(), other.id);
    auto cancelled = co_await as_result(session.await_task(other.id));
    EXPECT_THAT(cancelled, FailsWith(Errc::rpc, HasSubstr("cancelled")));

    Releaser us(session);
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn(us.release());
    auto result = co_await session.await_task(task.id, us.options());
    co_await scope.join();
    EXPECT_EQ(text_of(result), "released");
    // Fetching it again gets it again.
    EXPECT_EQ(text_of(co_await session.await_task(task.id)), "released");
    auto unknown = co_await as_result(session.await_task("no-such-task"));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
    EXPECT_THAT(unknown, FailsSaying(HasSubstr("no-such-task")));
    co_await watch.stop();

    // One that was not a task answers at once.
    auto echo = co_await session.start_tool("echo", Json{{"a", 1}});
    EXPECT_EQ(text_of(std::get<CallToolResult>(echo)), R"({"a":1})");
  });
}

TEST_P(Scenario, ATaskOutlivesTheConnectionButNotTheServer) {
  run_task(clock_, [&]() -> Task<void> {
    auto way = transport();
    auto first = co_await connect(Client(options()), way, runtime());
    auto task = std::get<RemoteTask>(co_await first.start_tool("task_held", {}));
    co_await first.close();
    auto second = co_await connect(Client(options()), way, runtime());
    auto state = co_await as_result(second.get_task(task.id));
    // The listener of the first connection was the server's only way in, as stdin is.
    if (GetParam().door == Door::stdio || GetParam().door == Door::http) {
      EXPECT_THAT(state, FailsWithRpc(-32602));
    } else {
      EXPECT_EQ(state->status, TaskStatus::working);
      (void)co_await second.call_tool("task_release", {});
      EXPECT_EQ(text_of(co_await second.await_task(task.id)), "released");
      // This one is left to the server's end.
      (void)co_await second.start_tool("task_held", {});
    }
    co_await second.close();
  });
}

}  // namespace
}  // namespace patchbay
