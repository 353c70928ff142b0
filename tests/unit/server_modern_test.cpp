// The server as clients of the stateless era see it, message by message.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/raw_client.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::RawClient;
using test::run_task;
using test::sample_server;
using test::text_result;

constexpr std::string_view info = R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"1.0"}})";

std::string meta(std::string_view capabilities = "{}", std::string_view more = "",
                 std::string_view version = "2026-07-28") {
  return fmt::format(
      R"("_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientCapabilities":{}{}}})",
      version, capabilities, more);
}

// `members` without braces; the envelope is added.
std::string request(std::string_view method, std::string_view members = "", std::string_view with_meta = "",
                    std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{}{}{}}}}})", id, method, members,
                     members.empty() ? "" : ",", with_meta.empty() ? meta() : std::string(with_meta));
}

// The result with its envelope.
std::string complete(std::string_view members, std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{},"resultType":"complete",{}}}}})", id, members, info);
}
std::string cacheable(std::string_view members, std::string_view ttl = "0", std::string_view scope = "private") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"result":{{{},"resultType":"complete","ttlMs":{},"cacheScope":"{}",{}}}}})", members,
      ttl, scope, info);
}

std::string error(int code, std::string_view message, std::string_view data = "", std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"{}"{}{}}}}})", id, code, message,
                     data.empty() ? "" : R"(,"data":)", data);
}

const std::string done = complete(R"("content":[{"type":"text","text":"done"}])");

// S26-01, S26-06, S26-09, S26-15
TEST(ServerModern, EveryMethodAnswersAsTheSpecificationSays) {
  struct Case {
    std::string method;
    std::string members;
    std::string answer;
  };
  const std::vector<Case> cases{
      {"server/discover", "",
       cacheable(
           R"("supportedVersions":["2026-07-28"],"capabilities":{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"instructions":"be nice")",
           "60000", "public")},
      {"tools/list", "",
       cacheable(
           R"("tools":[{"name":"echo","description":"Says it back.","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"refuse","inputSchema":{"type":"object"}},{"name":"numbers","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}])",
           "60000", "public")},
      {"tools/call", R"("name":"echo","arguments":{"a":1})",
       complete(R"("content":[{"type":"text","text":"{\"a\":1}"}])")},
      {"tools/call", R"("name":"echo")", complete(R"("content":[{"type":"text","text":"{}"}])")},
      {"tools/call", R"("name":"echo","arguments":[1])",
       error(-32602, "arguments: expected an object, found an array")},
      {"tools/call", R"("name":"nope")", error(-32602, "unknown tool: nope")},
      {"tools/call", R"("name":"fail")",
       complete(R"("content":[{"type":"text","text":"the door is locked"}],"isError":true)")},
      {"tools/call", R"("name":"refuse")", error(-31000, "not today", R"({"day":"monday"})")},
      {"tools/call", R"("name":"numbers")",
       complete(R"("content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2])")},
      {"resources/list", "", cacheable(R"("resources":[{"uri":"mem://a","name":"a"}])", "60000", "public")},
      {"resources/templates/list", "",
       cacheable(R"("resourceTemplates":[{"uriTemplate":"mem://item/{id}","name":"item"}])", "60000", "public")},
      {"resources/read", R"("uri":"mem://a")", cacheable(R"("contents":[{"uri":"mem://a","text":"alpha"}])")},
      {"resources/read", R"("uri":"mem://item/7")",
       cacheable(R"("contents":[{"uri":"mem://item/7","text":"item 7"}])")},
      {"resources/read", R"("uri":"mem://b")", error(-32602, "resource not found: mem://b", R"({"uri":"mem://b"})")},
      {"prompts/list", "",
       cacheable(R"("prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}])", "60000", "public")},
      {"prompts/get", R"("name":"greet","arguments":{"who":"you"})",
       complete(R"("messages":[{"role":"user","content":{"type":"text","text":"hello you"}}])")},
      {"prompts/get", R"("name":"greet")", error(-32602, "missing argument: who")},
      {"completion/complete", R"("ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"x"})",
       complete(R"("completion":{"values":["x0","x1"]})")},
      // What this era left behind.
      {"initialize", R"("protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"})",
       error(-32601, "unknown method: initialize")},
      {"ping", "", error(-32601, "unknown method: ping")},
      {"logging/setLevel", R"("level":"info")", error(-32601, "unknown method: logging/setLevel")},
      {"resources/subscribe", R"("uri":"mem://a")", error(-32601, "unknown method: resources/subscribe")},
      {"resources/unsubscribe", R"("uri":"mem://a")", error(-32601, "unknown method: resources/unsubscribe")},
      {"no/such", "", error(-32601, "unknown method: no/such")},
  };
  run_task([&]() -> Task<void> {
    auto server = sample_server({.instructions = "be nice", .cache = {.ttl_ms = 60000, .scope = CacheScope::shared}});
    RawClient client(co_await asio::this_coro::executor, *server);
    for (const auto& c : cases) {
      EXPECT_EQ(co_await client.ask(request(c.method, c.members)), c.answer) << c.method << " " << c.members;
    }
    co_await client.close();
  });
}

// S26-02, S26-03: in this order, whatever else is wrong.
TEST(ServerModern, RequestsAreCheckedInOrder) {
  struct Case {
    std::string method;
    std::string meta;
    std::string answer;
  };
  const std::string version = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
  const std::string unsupported = error(-32022, "protocol version 2027-01-01 is not supported",
                                        R"({"supported":["2026-07-28"],"requested":"2027-01-01"})");
  const std::vector<Case> cases{
      {"no/such", R"("_meta":{)" + version + "}",
       error(-32602, "_meta has no io.modelcontextprotocol/clientCapabilities")},
      {"tools/list",
       R"("_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}})",
       error(-32602, "_meta.io.modelcontextprotocol/protocolVersion is not a string")},
      {"tools/list", meta("{}", R"(,"io.modelcontextprotocol/logLevel":"loud")"),
       error(-32602, "_meta.io.modelcontextprotocol/logLevel is not a logging level")},
      {"tools/list", meta("{}", R"(,"progressToken":[])"),
       error(-32602, "_meta.progressToken is neither a string nor an integer")},
      {"no/such", meta("{}", "", "2027-01-01"), unsupported},
      {"server/discover", meta("{}", "", "2027-01-01"), unsupported},
      {"server/discover", meta("{}", "", "2025-11-25"),
       error(-32022, "protocol version 2025-11-25 is not supported",
             R"({"supported":["2026-07-28"],"requested":"2025-11-25"})")},
      {"no/such", meta(), error(-32601, "unknown method: no/such")},
  };
  run_task([&]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    for (const auto& c : cases) EXPECT_EQ(co_await client.ask(request(c.method, "", c.meta)), c.answer) << c.meta;
    co_await client.close();
  });
}

TEST(ServerModern, OnlyWhatIsRegisteredIsDeclaredAndServed) {
  run_task([]() -> Task<void> {
    Server server({.info = {.name = "sample", .version = "1.0"}});
    RawClient client(co_await asio::this_coro::executor, server);
    EXPECT_EQ(co_await client.ask(request("server/discover")),
              cacheable(R"("supportedVersions":["2026-07-28"],"capabilities":{"logging":{}})"));
    EXPECT_EQ(co_await client.ask(request("tools/list")), error(-32601, "unknown method: tools/list"));
    co_await client.close();
  });
}

TEST(ServerModern, TheHandlerSeesWhoAsksPerRequest) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "who"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      co_return text_result((context.client() ? context.client()->name : "nobody") +
                            (context.client_capabilities().roots ? " with roots" : ""));
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(co_await client.ask(request(
                  "tools/call", R"("name":"who")",
                  meta(R"({"roots":{}})", R"(,"io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"})"))),
              complete(R"("content":[{"type":"text","text":"me with roots"}])"));
    // S26-05: nothing is remembered.
    EXPECT_EQ(co_await client.ask(request("tools/call", R"("name":"who")")),
              complete(R"("content":[{"type":"text","text":"nobody"}])"));
    co_await client.close();
  });
}

// S26-11
TEST(ServerModern, ProgressAndLogBelongToTheRequestThatAskedForThem) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "talk"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      context.progress(1, 2);
      context.log(LoggingLevel::info, "normal");
      context.log(LoggingLevel::error, "loud");
      co_return text_result("done");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(co_await client.ask(request("tools/call", R"("name":"talk")")), done);
    client.send(request("tools/call", R"("name":"talk")",
                        meta("{}", R"(,"progressToken":"p","io.modelcontextprotocol/logLevel":"warning")")));
    EXPECT_EQ(
        co_await client.next(),
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}})");
    EXPECT_EQ(co_await client.next(),
              R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"loud"}})");
    EXPECT_EQ(co_await client.next(), done);
    EXPECT_EQ(co_await client.ask(request("tools/call", R"("name":"talk")")), done);
    co_await client.close();
  });
}

// S26-12
TEST(ServerModern, ACancelledCallIsNotAnswered) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event never;
    server->add_tool({.name = "wait"}, [&](RequestContext& context, Json) -> Task<CallToolResult> {
      context.progress(1);
      co_await never.wait();
      co_return text_result("woken");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await client.ask(request("tools/call", R"("name":"wait")", meta("{}", R"(,"progressToken":1)"), R"("a")"));
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})");
    EXPECT_EQ(co_await client.ask(request("no/such")), error(-32601, "unknown method: no/such"));
    EXPECT_FALSE(never.has_waiters());
    co_await client.close();
  });
}

TEST(ServerModern, BothErasMayShareAConnection) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    const auto legacy_call = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}})";
    const auto legacy_answer = R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{}"}]}})";
    const auto modern_answer = complete(R"("content":[{"type":"text","text":"{}"}])");
    EXPECT_EQ(co_await client.ask(request("tools/call", R"("name":"echo")")), modern_answer);
    co_await client.ask(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"0"}}})");
    client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    EXPECT_EQ(co_await client.ask(legacy_call), legacy_answer);
    EXPECT_EQ(co_await client.ask(request("tools/call", R"("name":"echo")")), modern_answer);
    EXPECT_EQ(co_await client.ask(legacy_call), legacy_answer);
    // The session's version is not an excuse for a modern request to use its methods.
    EXPECT_EQ(co_await client.ask(request("ping")), error(-32601, "unknown method: ping"));
    co_await client.close();
  });
}

// subscriptions/listen ------------------------------------------------------------------

std::string listen(std::string_view filter, std::string_view id) {
  return request("subscriptions/listen", fmt::format(R"("notifications":{})", filter), "", id);
}
std::string tag(std::string_view id) {
  return fmt::format(R"("_meta":{{"io.modelcontextprotocol/subscriptionId":{}}})", id);
}
std::string acknowledged(std::string_view filter, std::string_view id) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{},{}}}}})",
      filter, tag(id));
}
std::string notified(std::string_view what, std::string_view members, std::string_view id) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}","params":{{{}{}}}}})", what, members, tag(id));
}

void change_everything(Server& server) {
  server.add_tool({.name = "new"}, [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result(""); });
  server.remove_prompt("greet");
  server.remove_resource("mem://a");
  server.resource_updated("mem://item/1");
  server.resource_updated("mem://item/2");
}

// S26-10
TEST(ServerModern, ListenIsAcknowledgedAndHearsWhatItAskedForTaggedWithItsId) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(co_await client.ask(listen(R"({"toolsListChanged":true,"resourceSubscriptions":["mem://item/1"]})", "1")),
              acknowledged(R"({"toolsListChanged":true,"resourceSubscriptions":["mem://item/1"]})", "1"));
    EXPECT_EQ(co_await client.ask(listen(
                  R"({"promptsListChanged":true,"resourcesListChanged":true,"toolsListChanged":false})", R"("1")")),
              acknowledged(R"({"promptsListChanged":true,"resourcesListChanged":true})", R"("1")"));
    change_everything(*server);
    EXPECT_EQ(co_await client.next(), notified("tools/list_changed", "", "1"));
    EXPECT_EQ(co_await client.next(), notified("prompts/list_changed", "", R"("1")"));
    EXPECT_EQ(co_await client.next(), notified("resources/list_changed", "", R"("1")"));
    EXPECT_EQ(co_await client.next(), notified("resources/updated", R"("uri":"mem://item/1",)", "1"));
    EXPECT_EQ(co_await client.ask(request("no/such", "", "", "3")), error(-32601, "unknown method: no/such", "", "3"));

    // Cancelled subscriptions end in silence; the other goes on.
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    EXPECT_EQ(co_await client.ask(request("no/such", "", "", "3")), error(-32601, "unknown method: no/such", "", "3"));
    change_everything(*server);
    server->add_resource({.uri = "mem://z", .name = "z"},
                         [](RequestContext&, std::string) -> Task<std::vector<ResourceContents>> {
                           co_return std::vector<ResourceContents>{};
                         });
    EXPECT_EQ(co_await client.next(), notified("resources/list_changed", "", R"("1")"));
    EXPECT_EQ(co_await client.ask(request("no/such", "", "", "3")), error(-32601, "unknown method: no/such", "", "3"));
    co_await client.close();
  });
}

TEST(ServerModern, ListenAcknowledgesOnlyWhatTheServerCanSend) {
  run_task([]() -> Task<void> {
    Server server({.info = {.name = "sample", .version = "1.0"}});
    server.add_tool({.name = "t"}, [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result(""); });
    RawClient client(co_await asio::this_coro::executor, server);
    EXPECT_EQ(
        co_await client.ask(listen(
            R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x"],"taskIds":["t"]})",
            "1")),
        acknowledged(R"({"toolsListChanged":true})", "1"));
    EXPECT_EQ(co_await client.ask(request("subscriptions/listen", "", "", "2")),
              error(-32602, "notifications: expected an object, found nothing", "", "2"));
    EXPECT_EQ(co_await client.ask(request("subscriptions/listen", R"("notifications":[])", "", "2")),
              error(-32602, "notifications: expected an object, found an array", "", "2"));
    co_await client.close();
  });
}

TEST(ServerModern, WhoDoesNotListenHearsNothing) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await client.ask(request("tools/list"));
    change_everything(*server);
    EXPECT_EQ(co_await client.ask(request("no/such")), error(-32601, "unknown method: no/such"));
    co_await client.close();
  });
}

TEST(ServerModern, AServerThatEndsAnswersItsSubscriptionsFirst) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await client.ask(listen(R"({"toolsListChanged":true})", R"("s")"));
    client.stop_server();
    EXPECT_EQ(
        co_await client.next(),
        R"({"jsonrpc":"2.0","id":"s","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s","io.modelcontextprotocol/serverInfo":{"name":"sample","version":"1.0"}},"resultType":"complete"}})");
    EXPECT_EQ(co_await client.next(),
              R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}})");
    auto end = co_await as_result(client.next());
    EXPECT_THAT(end, FailsWith(Errc::closed));
    co_await client.close();
  });
}

// Questions -----------------------------------------------------------------------------

constexpr std::string_view every_capability = R"({"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}})";

// Asks for a name, a place to sample and roots, one after the other, and tells all three.
void add_interview(Server& server) {
  server.add_tool({.name = "interview"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
    auto name = co_await context.elicit({.message = "Name?", .requested_schema = Json{{"type", "object"}}});
    if (name.action != ElicitResult::Action::accept) co_return text_result("no name");
    auto city = co_await context.elicit({.message = "City?", .requested_schema = Json{{"type", "object"}}});
    auto roots = co_await context.list_roots();
    co_return text_result(std::string((*name.content)["v"].as_text()) + " " +
                          std::string((*city.content)["v"].as_text()) + " " + roots.at(0).uri);
  });
}

std::string call(std::string_view name, std::string_view more = "", std::string_view capabilities = every_capability) {
  return request("tools/call", fmt::format(R"("name":"{}"{})", name, more), meta(capabilities));
}
std::string carry(std::string_view responses, std::string_view state) {
  return fmt::format(R"(,"inputResponses":{},"requestState":"{}")", responses, state);
}
// Takes the state out of an answer that asks, leaving the rest to compare.
std::string take_state(std::string& answer) {
  auto value = *parse_json(answer);
  std::string state(value["result"]["requestState"].as_text());
  value["result"].as_object().erase("requestState");
  answer = to_text(value);
  return state;
}
std::string asks(std::string_view key, std::string_view question) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"{}":{}}},{}}}}})", key,
      question, info);
}
constexpr std::string_view ask_name =
    R"({"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object"}}})";
constexpr std::string_view ask_city =
    R"({"method":"elicitation/create","params":{"message":"City?","requestedSchema":{"type":"object"}}})";

// S26-07, S26-08
TEST(ServerModern, QuestionsEndTheCallAndAnswersAreCarriedFromRoundToRound) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_interview(*server);
    auto executor = co_await asio::this_coro::executor;
    RawClient client(executor, *server);
    auto answer = co_await client.ask(call("interview"));
    auto state = take_state(answer);
    EXPECT_EQ(answer, asks("elicitation-1", ask_name));

    answer = co_await client.ask(
        call("interview", carry(R"({"elicitation-1":{"action":"accept","content":{"v":"Ann"}}})", state)));
    state = take_state(answer);
    EXPECT_EQ(answer, asks("elicitation-2", ask_city));

    // Any connection of this server will do: the state is all there is.
    RawClient other(executor, *server);
    answer = co_await other.ask(
        call("interview", carry(R"({"elicitation-2":{"action":"accept","content":{"v":"Rom"}}})", state)));
    state = take_state(answer);
    EXPECT_EQ(answer, asks("roots-1", R"({"method":"roots/list"})"));

    // An answer given earlier cannot be changed later, and unknown ones are ignored.
    EXPECT_EQ(co_await client.ask(call(
                  "interview",
                  carry(R"({"roots-1":{"roots":[{"uri":"file:///r"}]},"elicitation-1":{"action":"cancel"},"other":7})",
                        state))),
              complete(R"("content":[{"type":"text","text":"Ann Rom file:///r"}])"));
    co_await client.close();
    co_await other.close();
  });
}

TEST(ServerModern, AMissingAnswerIsAskedForAgain) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_interview(*server);
    RawClient client(co_await asio::this_coro::executor, *server);
    auto answer = co_await client.ask(call("interview"));
    auto state = take_state(answer);
    for (auto responses : {"{}", R"({"wrong":{"action":"accept","content":{}}})"}) {
      answer = co_await client.ask(call("interview", carry(responses, state)));
      state = take_state(answer);
      EXPECT_EQ(answer, asks("elicitation-1", ask_name));
    }
    EXPECT_EQ(co_await client.ask(call("interview", carry(R"({"elicitation-1":{"action":"decline"}})", state))),
              complete(R"("content":[{"type":"text","text":"no name"}])"));
    co_await client.close();
  });
}

TEST(ServerModern, AMalformedAnswerIsAnError) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_interview(*server);
    RawClient client(co_await asio::this_coro::executor, *server);
    auto answer = co_await client.ask(call("interview"));
    const auto state = take_state(answer);
    for (auto responses : {R"({"elicitation-1":{"action":"perhaps"}})", R"({"elicitation-1":{}})",
                           R"({"elicitation-1":7})", R"({"elicitation-1":{"action":"accept"}})",
                           R"({"elicitation-1":{"action":"accept","content":[]}})", R"([])"}) {
      answer = co_await client.ask(call("interview", carry(responses, state)));
      EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)")) << answer;
    }
    co_await client.close();
  });
}

TEST(ServerModern, StateIsRefusedWhenAlteredForeignOrOfAnotherRequest) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_interview(*server);
    auto foreign = sample_server();
    add_interview(*foreign);
    RawClient client(co_await asio::this_coro::executor, *server);
    RawClient stranger(co_await asio::this_coro::executor, *foreign);
    auto answer = co_await client.ask(call("interview", R"(,"arguments":{"a":1,"b":{"c":2,"d":3}})"));
    const auto state = take_state(answer);
    const auto refused = error(
        -32602,
        "requestState was not issued by this server, or was altered; send the request again without requestState");
    const auto responses = R"({"elicitation-1":{"action":"decline"}})";

    for (std::size_t i = 0; i < state.size(); i += 7) {
      auto altered = state;
      altered[i] = altered[i] == 'A' ? 'B' : 'A';
      EXPECT_EQ(co_await client.ask(
                    call("interview", R"(,"arguments":{"a":1,"b":{"c":2,"d":3}})" + carry(responses, altered))),
                refused)
          << i;
    }
    for (auto bad : {std::string(), std::string("x"), state + "AAAA", state.substr(0, state.size() - 4)}) {
      EXPECT_EQ(
          co_await client.ask(call("interview", R"(,"arguments":{"a":1,"b":{"c":2,"d":3}})" + carry(responses, bad))),
          refused)
          << bad;
    }
    EXPECT_EQ(
        co_await client.ask(call("interview", R"(,"arguments":{"a":2,"b":{"c":2,"d":3}})" + carry(responses, state))),
        refused);
    EXPECT_EQ(co_await client.ask(call("echo", R"(,"arguments":{"a":1,"b":{"c":2,"d":3}})" + carry(responses, state))),
              refused);
    EXPECT_EQ(
        co_await stranger.ask(call("interview", R"(,"arguments":{"a":1,"b":{"c":2,"d":3}})" + carry(responses, state))),
        refused);
    EXPECT_EQ(co_await client.ask(call("interview", R"(,"requestState":7)")),
              error(-32602, "requestState is not a string"));
    // The same request, its members in another order.
    EXPECT_EQ(
        co_await client.ask(call("interview", R"(,"arguments":{"b":{"d":3,"c":2},"a":1})" + carry(responses, state))),
        complete(R"("content":[{"type":"text","text":"no name"}])"));
    co_await client.close();
    co_await stranger.close();
  });
}

TEST(ServerModern, StateExpires) {
  test::ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto server = sample_server({.request_state_seconds = 600});
    add_interview(*server);
    RawClient client(co_await asio::this_coro::executor, *server, Runtime{});
    auto answer = co_await client.ask(call("interview"));
    const auto state = take_state(answer);
    const auto repeat = call("interview", carry(R"({"elicitation-1":{"action":"decline"}})", state));
    clock.skip(std::chrono::milliseconds(599'999));
    EXPECT_EQ(co_await client.ask(repeat), complete(R"("content":[{"type":"text","text":"no name"}])"));
    clock.skip(std::chrono::milliseconds(1));
    EXPECT_EQ(co_await client.ask(repeat),
              error(-32602, "requestState has expired; send the request again without requestState"));
    co_await client.close();
  });
}

// S26-04
TEST(ServerModern, AQuestionTheClientCannotAnswerFailsTheCallOrIsHandled) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_interview(*server);
    server->add_tool({.name = "polite"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      auto answer = co_await as_result(context.elicit({.message = "Name?", .requested_schema = Json::object()}));
      co_return text_result(answer ? "asked" : std::string(to_string(answer.error().code())));
    });
    server->add_prompt({.name = "ask"},
                       [](RequestContext& context, std::map<std::string, std::string>) -> Task<GetPromptResult> {
                         (void)co_await context.sample({.max_tokens = 1});
                         co_return GetPromptResult{};
                       });
    RawClient client(co_await asio::this_coro::executor, *server);
    const std::string message = "the client does not have a capability that this request needs";
    EXPECT_EQ(co_await client.ask(call("interview", "", "{}")),
              error(-32021, message, R"({"requiredCapabilities":{"elicitation":{"form":{}}}})"));
    EXPECT_EQ(co_await client.ask(call("interview", "", R"({"elicitation":{"url":{}}})")),
              error(-32021, message, R"({"requiredCapabilities":{"elicitation":{"form":{}}}})"));
    EXPECT_EQ(co_await client.ask(request("prompts/get", R"("name":"ask")")),
              error(-32021, message, R"({"requiredCapabilities":{"sampling":{}}})"));
    EXPECT_EQ(co_await client.ask(call("polite", "", "{}")),
              complete(R"("content":[{"type":"text","text":"unsupported"}])"));
    co_await client.close();
  });
}

TEST(ServerModern, AHandlerThatSwallowsEverythingStillAsks) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "stubborn"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      auto answer =
          co_await as_result(context.elicit({.message = "Name?", .requested_schema = Json{{"type", "object"}}}));
      co_return text_result(answer ? "answered" : "gave up");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    auto answer = co_await client.ask(call("stubborn"));
    auto state = take_state(answer);
    EXPECT_EQ(answer, asks("elicitation-1", ask_name));
    EXPECT_EQ(co_await client.ask(call("stubborn", carry(R"({"elicitation-1":{"action":"decline"}})", state))),
              complete(R"("content":[{"type":"text","text":"answered"}])"));
    co_await client.close();
  });
}

TEST(ServerModern, ResourcesAndPromptsMayAskAndCompletionsMayNot) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_resource({.uri = "mem://ask", .name = "ask"},
                         [](RequestContext& context, std::string uri) -> Task<std::vector<ResourceContents>> {
                           auto answer = co_await context.sample({.max_tokens = 1});
                           std::vector<ResourceContents> contents;
                           contents.push_back({.uri = std::move(uri), .text = answer.model});
                           co_return contents;
                         });
    server->add_prompt(
        {.name = "ask"}, [](RequestContext& context, std::map<std::string, std::string>) -> Task<GetPromptResult> {
          ElicitRequest ask{.mode = ElicitRequest::Mode::url, .message = "Go", .url = "https://example.com/"};
          auto answer = co_await context.elicit(std::move(ask));
          GetPromptResult result;
          result.description = std::string(to_string(answer.action));
          co_return result;
        });
    server->set_completion([](RequestContext& context, CompleteRequest) -> Task<CompleteResult> {
      (void)co_await context.list_roots();
      co_return CompleteResult{};
    });
    RawClient client(co_await asio::this_coro::executor, *server);

    auto answer = co_await client.ask(request("resources/read", R"("uri":"mem://ask")", meta(every_capability)));
    auto state = take_state(answer);
    EXPECT_EQ(answer,
              asks("sampling-1", R"({"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}})"));
    EXPECT_EQ(
        co_await client.ask(request(
            "resources/read",
            R"("uri":"mem://ask")" +
                carry(R"({"sampling-1":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}})", state),
            meta(every_capability))),
        cacheable(R"("contents":[{"uri":"mem://ask","text":"m"}])"));

    answer = co_await client.ask(request("prompts/get", R"("name":"ask")", meta(every_capability)));
    state = take_state(answer);
    EXPECT_EQ(
        answer,
        asks("elicitation-1",
             R"({"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://example.com/"}})"));
    EXPECT_EQ(co_await client.ask(request("prompts/get",
                                          R"("name":"ask")" + carry(R"({"elicitation-1":{"action":"accept"}})", state),
                                          meta(every_capability))),
              complete(R"("description":"accept","messages":[])"));

    EXPECT_EQ(
        co_await client.ask(request("completion/complete",
                                    R"("ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"x","value":"y"})",
                                    meta(every_capability))),
        error(-32603, "the client can be asked only during tools/call, resources/read and prompts/get"));
    co_await client.close();
  });
}

TEST(ServerModern, SeveralQuestionsMayBeAskedAtOnce) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "both"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      using asio::experimental::awaitable_operators::operator&&;
      auto name = as_result(context.elicit({.message = "Name?", .requested_schema = Json{{"type", "object"}}}));
      auto roots = as_result(context.list_roots());
      auto answers = co_await (std::move(name) && std::move(roots));
      const auto& listed = std::get<1>(answers);
      co_return text_result(listed ? listed->at(0).uri : "nothing yet");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    auto answer = co_await client.ask(call("both"));
    auto state = take_state(answer);
    EXPECT_EQ(answer, asks("elicitation-1", std::string(ask_name) + R"(,"roots-1":{"method":"roots/list"})"));
    EXPECT_EQ(co_await client.ask(call(
                  "both",
                  carry(R"({"elicitation-1":{"action":"decline"},"roots-1":{"roots":[{"uri":"file:///r"}]}})", state))),
              complete(R"("content":[{"type":"text","text":"file:///r"}])"));
    co_await client.close();
  });
}

TEST(ServerModern, AQuestionMayHaveANameOfItsOwn) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "named"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      auto roots = co_await context.list_roots("places");
      co_return text_result(roots.at(0).uri);
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    auto answer = co_await client.ask(call("named"));
    auto state = take_state(answer);
    EXPECT_EQ(answer, asks("places", R"({"method":"roots/list"})"));
    EXPECT_EQ(co_await client.ask(call("named", carry(R"({"places":{"roots":[{"uri":"file:///r"}]}})", state))),
              complete(R"("content":[{"type":"text","text":"file:///r"}])"));
    co_await client.close();
  });
}

TEST(ServerModern, AThousandCallsAtOnceAreAllAnswered) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event go;
    server->add_tool({.name = "gate"}, [&](RequestContext&, Json arguments) -> Task<CallToolResult> {
      co_await go.wait();
      co_return text_result(to_text(arguments["n"]));
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    for (int i = 0; i < 1000; ++i) {
      client.send(
          request("tools/call", fmt::format(R"("name":"gate","arguments":{{"n":{}}})", i), "", std::to_string(i)));
    }
    EXPECT_EQ(co_await client.ask(request("no/such", "", "", "1000")),
              error(-32601, "unknown method: no/such", "", "1000"));
    go.notify_all();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(co_await client.next(),
                complete(fmt::format(R"("content":[{{"type":"text","text":"{}"}}])", i), std::to_string(i)));
    }
    co_await client.close();
  });
}

}  // namespace
}  // namespace patchbay
