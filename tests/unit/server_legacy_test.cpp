// The server as clients of the session era see it, message by message.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/raw_client.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::RawClient;
using test::run_task;
using test::sample_server;
using test::text_result;

std::string initialize(std::string_view version = "2025-11-25", std::string_view capabilities = "{}") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"t","version":"0"}}}}}})",
      version, capabilities);
}

std::string request(std::string_view method, std::string_view params = "", std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}"{}{}}})", id, method,
                     params.empty() ? "" : R"(,"params":)", params);
}

std::string result(std::string_view value, std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, value);
}

std::string error(int code, std::string_view message, std::string_view data = "", std::string_view id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"{}"{}{}}}}})", id, code, message,
                     data.empty() ? "" : R"(,"data":)", data);
}

constexpr std::string_view initialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

Task<void> open(RawClient& client, std::string version = "2025-11-25", std::string capabilities = "{}") {
  co_await client.ask(initialize(version, capabilities));
  client.send(initialized);
}

TEST(ServerLegacy, InitializeAgreesOnARevision) {
  struct Case {
    std::string_view asked;
    std::string_view answered;
  };
  // S11-01: the same when it is spoken, else the newest of this era.
  for (const auto& c : std::vector<Case>{{"2024-11-05", "2024-11-05"},
                                         {"2025-03-26", "2025-03-26"},
                                         {"2025-06-18", "2025-06-18"},
                                         {"2025-11-25", "2025-11-25"},
                                         {"2026-07-28", "2025-11-25"},
                                         {"1999-01-01", "2025-11-25"}}) {
    run_task([&]() -> Task<void> {
      auto server = sample_server({.instructions = "be nice"});
      RawClient client(co_await asio::this_coro::executor, *server);
      EXPECT_EQ(
          co_await client.ask(initialize(c.asked)),
          result(
              fmt::format(
                  R"({{"protocolVersion":"{}","capabilities":{{"logging":{{}},"completions":{{}},"prompts":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"sample","version":"1.0"}},"instructions":"be nice"}})",
                  c.answered),
              "0"));
      co_await client.close();
    });
  }
}

TEST(ServerLegacy, OnlyWhatIsRegisteredIsDeclaredAndServed) {
  run_task([]() -> Task<void> {
    Server server({.info = {.name = "bare", .version = "1"}});
    RawClient client(co_await asio::this_coro::executor, server);
    EXPECT_EQ(
        co_await client.ask(initialize()),
        result(
            R"({"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"bare","version":"1"}})",
            "0"));
    for (auto method : {"tools/list", "tools/call", "resources/list", "resources/read", "resources/subscribe",
                        "prompts/get", "completion/complete"}) {
      EXPECT_EQ(co_await client.ask(request(method, "{}")), error(-32601, fmt::format("unknown method: {}", method)));
    }
    co_await client.close();
  });
}

// S11-03, S11-09, S11-12
TEST(ServerLegacy, EveryMethodAnswersAsTheSpecificationSays) {
  struct Case {
    std::string method;
    std::string params;
    std::string answer;
  };
  const std::vector<Case> cases{
      {"ping", "", result("{}")},
      {"tools/list", "",
       result(
           R"({"tools":[{"name":"echo","description":"Says it back.","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},{"name":"refuse","inputSchema":{"type":"object"}},{"name":"numbers","inputSchema":{"type":"object"}}]})")},
      {"tools/call", R"({"name":"echo","arguments":{"a":[1,2.5,"x"]}})",
       result(R"({"content":[{"type":"text","text":"{\"a\":[1,2.5,\"x\"]}"}]})")},
      {"tools/call", R"({"name":"echo"})", result(R"({"content":[{"type":"text","text":"{}"}]})")},
      {"tools/call", R"({"name":"echo","arguments":null})", result(R"({"content":[{"type":"text","text":"{}"}]})")},
      {"tools/call", R"({"name":"echo","arguments":[1]})",
       error(-32602, "arguments: expected an object, found an array")},
      {"tools/call", R"({"name":"echo","arguments":"a"})",
       error(-32602, "arguments: expected an object, found a string")},
      {"tools/call", R"({"name":"nope"})", error(-32602, "unknown tool: nope")},
      {"tools/call", R"({})", error(-32602, "name: expected a string, found nothing")},
      {"tools/call", R"([1])", error(-32602, "params: expected an object, found an array")},
      {"tools/call", R"({"name":"fail"})",
       result(R"({"content":[{"type":"text","text":"the door is locked"}],"isError":true})")},
      {"tools/call", R"({"name":"refuse"})", error(-31000, "not today", R"({"day":"monday"})")},
      // Structured content of these revisions is an object; an array survives as text.
      {"tools/call", R"({"name":"numbers"})", result(R"({"content":[{"type":"text","text":"[1,2]"}]})")},
      {"resources/list", "{}", result(R"({"resources":[{"uri":"mem://a","name":"a"}]})")},
      {"resources/templates/list", "{}",
       result(R"({"resourceTemplates":[{"uriTemplate":"mem://item/{id}","name":"item"}]})")},
      {"resources/read", R"({"uri":"mem://a"})", result(R"({"contents":[{"uri":"mem://a","text":"alpha"}]})")},
      {"resources/read", R"({"uri":"mem://item/7"})",
       result(R"({"contents":[{"uri":"mem://item/7","text":"item 7"}]})")},
      // A handler that finds nothing need not say so itself.
      {"resources/read", R"({"uri":"mem://item/none"})",
       error(-32002, "resource not found: mem://item/none", R"({"uri":"mem://item/none"})")},
      {"resources/read", R"({"uri":"mem://b"})", error(-32002, "resource not found: mem://b", R"({"uri":"mem://b"})")},
      {"resources/subscribe", R"({"uri":"mem://a"})", result("{}")},
      {"resources/unsubscribe", R"({"uri":"mem://a"})", result("{}")},
      {"resources/subscribe", R"({})", error(-32602, "uri: expected a string, found nothing")},
      {"prompts/list", "{}", result(R"({"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]})")},
      {"prompts/get", R"({"name":"greet","arguments":{"who":"you"}})",
       result(R"({"messages":[{"role":"user","content":{"type":"text","text":"hello you"}}]})")},
      {"prompts/get", R"({"name":"greet"})", error(-32602, "missing argument: who")},
      {"prompts/get", R"({"name":"nope"})", error(-32602, "unknown prompt: nope")},
      {"completion/complete", R"({"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"x"}})",
       result(R"({"completion":{"values":["x0","x1"]}})")},
      {"completion/complete",
       R"({"ref":{"type":"ref/resource","uri":"mem://item/{id}"},"argument":{"name":"id","value":"x"}})",
       result(R"({"completion":{"values":["x0","x1"]}})")},
      {"completion/complete", R"({"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"who","value":"x"}})",
       error(-32602, R"(there is no prompt, resource or resource template called \"nope\")")},
      {"logging/setLevel", R"({"level":"error"})", result("{}")},
      {"server/discover", "{}", error(-32601, "unknown method: server/discover")},
      {"subscriptions/listen", R"({"notifications":{}})", error(-32601, "unknown method: subscriptions/listen")},
      {"no/such", "", error(-32601, "unknown method: no/such")},
      {"initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}})",
       error(-32600, "the session is already initialized")},
  };
  run_task([&]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    for (const auto& c : cases) {
      EXPECT_EQ(co_await client.ask(request(c.method, c.params)), c.answer) << c.method << " " << c.params;
    }
    co_await client.close();
  });
}

TEST(ServerLegacy, UnknownLoggingLevelIsRefused) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    auto answer = co_await client.ask(request("logging/setLevel", R"({"level":"loud"})"));
    EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)")) << answer;
    co_await client.close();
  });
}

TEST(ServerLegacy, BeforeInitializeOnlyPingIsServed) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    constexpr auto reason =
        "_meta has no io.modelcontextprotocol/protocolVersion, and the connection is not initialized; begin with "
        "initialize";
    EXPECT_EQ(co_await client.ask(request("tools/list")), error(-32602, reason));
    EXPECT_EQ(co_await client.ask(request("server/discover", "{}")), error(-32602, reason));
    EXPECT_EQ(co_await client.ask(request("no/such", "{}")), error(-32601, "unknown method: no/such"));
    EXPECT_EQ(co_await client.ask(request("initialize", "{}")),
              error(-32602, "protocolVersion: expected a string, found nothing"));
    co_await open(client);
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    co_await client.close();
  });
}

TEST(ServerLegacy, IdsKeepTheirType) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(co_await client.ask(request("ping", "", R"("1")")), result("{}", R"("1")"));
    EXPECT_EQ(co_await client.ask(request("ping", "", "9007199254740993")), result("{}", "9007199254740993"));
    co_await client.close();
  });
}

TEST(ServerLegacy, ListsArePagedByOpaqueCursors) {
  run_task([]() -> Task<void> {
    auto server = sample_server({.page_size = 3});
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    auto first = *parse_json(co_await client.ask(request("tools/list")));
    EXPECT_EQ(first["result"]["tools"].size(), 3u);
    const std::string cursor(first["result"]["nextCursor"].as_text());

    // What was listed may go and more may come: the next page goes on where the first ended.
    server->remove_tool("refuse");
    server->add_tool({.name = "late"},
                     [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result("late"); });
    EXPECT_EQ(co_await client.next(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    EXPECT_EQ(
        co_await client.ask(request("tools/list", fmt::format(R"({{"cursor":"{}"}})", cursor))),
        result(
            R"({"tools":[{"name":"numbers","inputSchema":{"type":"object"}},{"name":"late","inputSchema":{"type":"object"}}]})"));

    for (auto bad : {R"("")", R"("xyz")", R"("dG9vbHM6OTk5")", R"(7)"}) {
      auto answer = co_await client.ask(request("tools/list", fmt::format(R"({{"cursor":{}}})", bad)));
      EXPECT_TRUE(answer.starts_with(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,)")) << answer;
    }
    // A cursor of one list is none of another.
    auto foreign = co_await client.ask(request("prompts/list", fmt::format(R"({{"cursor":"{}"}})", cursor)));
    EXPECT_EQ(foreign, error(-32602, "the cursor was not issued by this server"));
    co_await client.close();
  });
}

TEST(ServerLegacy, NoMoreThanAHundredCompletionsLeave) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    auto answer = *parse_json(co_await client.ask(
        request("completion/complete",
                R"({"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"many"}})")));
    const auto& completion = answer["result"]["completion"];
    EXPECT_EQ(completion["values"].size(), 100u);
    EXPECT_EQ(completion["total"], Json(150));
    EXPECT_EQ(completion["hasMore"], Json(true));
    co_await client.close();
  });
}

TEST(ServerLegacy, BatchesBelongToOneRevision) {
  const std::string batch = "[" + request("ping", "", "1") + "," +
                            R"({"jsonrpc":"2.0","method":"notifications/nothing"})" + "," +
                            request("tools/call", R"({"name":"echo"})", "2") + "," + request("no/such", "", "3") + "]";
  run_task([&]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client, "2025-03-26");
    EXPECT_EQ(co_await client.ask(batch), "[" + result("{}", "1") + "," +
                                              result(R"({"content":[{"type":"text","text":"{}"}]})", "2") + "," +
                                              error(-32601, "unknown method: no/such", "", "3") + "]");
    // A batch of notifications has no answer.
    client.send(R"([{"jsonrpc":"2.0","method":"notifications/nothing"}])");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    co_await client.close();
  });
  for (auto version : {"2024-11-05", "2025-06-18", "2025-11-25"}) {
    run_task([&]() -> Task<void> {
      auto server = sample_server();
      RawClient client(co_await asio::this_coro::executor, *server);
      co_await open(client, version);
      EXPECT_EQ(
          co_await client.ask(batch),
          R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"this protocol revision has no batches; send each message alone"}})");
      EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
      co_await client.close();
    });
  }
}

// S11-16
TEST(ServerLegacy, ProgressIsSentOnlyWithATokenAndOnlyUpwards) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "steps"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      context.progress(1, 3, "one");
      context.progress(1, 3, "again");
      context.progress(0.5);
      context.progress(2.5);
      co_return text_result("done");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    const auto done = result(R"({"content":[{"type":"text","text":"done"}]})");
    EXPECT_EQ(co_await client.ask(request("tools/call", R"({"name":"steps"})")), done);
    for (auto token : {"7", R"("seven")"}) {
      client.send(request("tools/call", fmt::format(R"({{"name":"steps","_meta":{{"progressToken":{}}}}})", token)));
      EXPECT_EQ(
          co_await client.next(),
          fmt::format(
              R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1,"total":3,"message":"one"}}}})",
              token));
      EXPECT_EQ(
          co_await client.next(),
          fmt::format(
              R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":2.5}}}})",
              token));
      EXPECT_EQ(co_await client.next(), done);
    }
    co_await client.close();
  });
}

TEST(ServerLegacy, LogMessagesFollowTheLevelOfTheSession) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "talk"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
      context.log(LoggingLevel::debug, "quiet");
      context.log(LoggingLevel::info, "normal");
      context.log(LoggingLevel::error, Json{{"why", "loud"}}, "logger");
      co_return text_result("done");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    const auto call = request("tools/call", R"({"name":"talk"})");
    const auto done = result(R"({"content":[{"type":"text","text":"done"}]})");
    const std::string normal =
        R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"normal"}})";
    const std::string loud =
        R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"logger","data":{"why":"loud"}}})";
    EXPECT_EQ(co_await client.ask(call), normal);
    EXPECT_EQ(co_await client.next(), loud);
    EXPECT_EQ(co_await client.next(), done);
    co_await client.ask(request("logging/setLevel", R"({"level":"warning"})"));
    EXPECT_EQ(co_await client.ask(call), loud);
    EXPECT_EQ(co_await client.next(), done);
    co_await client.close();
  });
}

TEST(ServerLegacy, ACancelledCallEndsItsHandlerAndIsNotAnswered) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event never;
    bool ended = false;
    server->add_tool({.name = "wait"}, [&](RequestContext& context, Json) -> Task<CallToolResult> {
      struct Mark {
        bool& flag;
        ~Mark() { flag = true; }
      } mark{ended};
      context.progress(1);
      co_await never.wait();
      co_return text_result("woken");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    co_await client.ask(request("tools/call", R"({"name":"wait","_meta":{"progressToken":5}})", "5"));
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}})");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    EXPECT_TRUE(ended);
    EXPECT_FALSE(never.has_waiters());
    // Cancelling what is unknown or over is not an error.
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{}})");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    co_await client.close();
  });
}

TEST(ServerLegacy, AHandlerThatSaysCancelledStillAnswers) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    server->add_tool({.name = "tired"}, [](RequestContext&, Json) -> Task<CallToolResult> {
      throw Error(Errc::cancelled, "gave up");
      co_return CallToolResult{};
    });
    server->add_prompt({.name = "tired"},
                       [](RequestContext&, std::map<std::string, std::string>) -> Task<GetPromptResult> {
                         throw Error(Errc::cancelled, "gave up");
                         co_return GetPromptResult{};
                       });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    EXPECT_EQ(co_await client.ask(request("tools/call", R"({"name":"tired"})")),
              result(R"({"content":[{"type":"text","text":"gave up"}],"isError":true})"));
    EXPECT_EQ(co_await client.ask(request("prompts/get", R"({"name":"tired"})")), error(-32603, "gave up"));
    co_await client.close();
  });
}

TEST(ServerLegacy, ChangesAreReportedOncePerTurnAndOnlyToInitializedClients) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    auto executor = co_await asio::this_coro::executor;
    RawClient early(executor, *server);
    RawClient client(executor, *server);
    co_await early.ask(initialize());  // without notifications/initialized
    co_await open(client);
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));

    auto nothing = [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result(""); };
    server->add_tool({.name = "x"}, nothing);
    server->add_tool({.name = "y"}, nothing);
    EXPECT_TRUE(server->remove_tool("x"));
    EXPECT_FALSE(server->remove_tool("x"));
    EXPECT_TRUE(server->remove_prompt("greet"));
    EXPECT_TRUE(server->remove_resource("mem://a"));
    EXPECT_EQ(co_await client.next(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    EXPECT_EQ(co_await client.next(), R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
    EXPECT_EQ(co_await client.next(), R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    EXPECT_EQ(co_await early.ask(request("ping")), result("{}"));
    co_await client.close();
    co_await early.close();
  });
}

TEST(ServerLegacy, UpdatesReachSubscribersOfTheResourceOrOfOneAbove) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    auto updated = [](std::string_view uri) {
      return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{}"}}}})",
                         uri);
    };
    co_await client.ask(request("resources/subscribe", R"({"uri":"mem://dir"})"));
    server->resource_updated("mem://other");
    server->resource_updated("mem://directory");
    server->resource_updated("mem://dir");
    server->resource_updated("mem://dir/file");
    EXPECT_EQ(co_await client.next(), updated("mem://dir"));
    EXPECT_EQ(co_await client.next(), updated("mem://dir/file"));
    co_await client.ask(request("resources/unsubscribe", R"({"uri":"mem://dir"})"));
    server->resource_updated("mem://dir");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    co_await client.close();
  });
}

// Asks everything a server may ask and reports what came of it.
void add_asking_tool(Server& server) {
  server.add_tool({.name = "ask"}, [](RequestContext& context, Json arguments) -> Task<CallToolResult> {
    const std::string what(arguments["what"].as_text());
    if (what == "form" || what == "url") {
      ElicitRequest ask{.message = "Who?"};
      if (what == "form") {
        ask.requested_schema = Json{{"type", "object"}, {"properties", Json::object()}};
      } else {
        ask.mode = ElicitRequest::Mode::url;
        ask.url = "https://example.com/go";
        ask.elicitation_id = "e1";
      }
      auto answer = co_await context.elicit(std::move(ask));
      co_return text_result(std::string(to_string(answer.action)) + (answer.content ? to_text(*answer.content) : ""));
    }
    if (what == "roots") {
      auto roots = co_await context.list_roots();
      co_return text_result(roots.at(0).uri);
    }
    CreateMessageRequest ask;
    ask.max_tokens = 10;
    ask.messages.push_back({.content = {TextContent{.text = "hi"}}});
    if (what == "sampling tools") ask.tools.push_back({.name = "t"});
    auto answer = co_await context.sample(std::move(ask));
    co_return text_result(answer.model);
  });
}

std::string ask_call(std::string_view what) {
  return request("tools/call", fmt::format(R"({{"name":"ask","arguments":{{"what":"{}"}}}})", what), "9");
}

TEST(ServerLegacy, QuestionsGoToTheClientAsRequests) {
  struct Case {
    std::string what;
    std::string asked;
    std::string answer;
    std::string text;
    bool is_error = false;
  };
  const std::vector<Case> cases{
      {"form",
       R"("method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}})",
       R"("result":{"action":"accept","content":{"name":"me"}})", R"(accept{\"name\":\"me\"})"},
      {"form",
       R"("method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}})",
       R"("result":{"action":"decline"})", "decline"},
      {"form",
       R"("method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}})",
       R"("result":{"action":"accept"})",
       "the client's answer to elicitation/create: content: an accepted form needs an object", true},
      {"url",
       R"("method":"elicitation/create","params":{"mode":"url","message":"Who?","url":"https://example.com/go","elicitationId":"e1"}})",
       R"("result":{"action":"accept"})", "accept"},
      {"roots", R"("method":"roots/list"})", R"("result":{"roots":[{"uri":"file:///r"}]})", "file:///r"},
      {"sampling",
       R"("method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}})",
       R"("result":{"role":"assistant","content":{"type":"text","text":"yo"},"model":"m1"})", "m1"},
      {"sampling",
       R"("method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}})",
       R"("error":{"code":-1,"message":"User rejected sampling request"})",
       "the client refused sampling/createMessage: User rejected sampling request", true},
  };
  run_task([&]() -> Task<void> {
    auto server = sample_server();
    add_asking_tool(*server);
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client, "2025-11-25", R"({"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}})");
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto& c = cases[i];
      const auto head = fmt::format(R"({{"jsonrpc":"2.0","id":{},)", i + 1);
      EXPECT_EQ(co_await client.ask(ask_call(c.what)), head + c.asked);
      EXPECT_EQ(co_await client.ask(head + c.answer + "}"),
                result(fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]{}}})", c.text,
                                   c.is_error ? R"(,"isError":true)" : ""),
                       "9"));
    }
    co_await client.close();
  });
}

// S11-13
TEST(ServerLegacy, NothingIsAskedThatTheClientOrTheRevisionLacks) {
  struct Case {
    std::string version;
    std::string capabilities;
    std::string what;
    std::string method;
  };
  for (const auto& c :
       std::vector<Case>{{"2025-11-25", "{}", "form", "elicitation/create"},
                         {"2025-11-25", R"({"elicitation":{}})", "url", "elicitation/create"},
                         {"2025-11-25", R"({"elicitation":{"url":{}}})", "form", "elicitation/create"},
                         {"2025-03-26", R"({"elicitation":{}})", "form", "elicitation/create"},
                         {"2025-11-25", R"({"elicitation":{}})", "roots", "roots/list"},
                         {"2025-11-25", R"({"elicitation":{}})", "sampling", "sampling/createMessage"},
                         {"2025-11-25", R"({"sampling":{}})", "sampling tools", "sampling/createMessage"}}) {
    run_task([&]() -> Task<void> {
      auto server = sample_server();
      add_asking_tool(*server);
      RawClient client(co_await asio::this_coro::executor, *server);
      co_await open(client, c.version, c.capabilities);
      EXPECT_EQ(
          co_await client.ask(ask_call(c.what)),
          result(
              fmt::format(R"({{"content":[{{"type":"text","text":"the client does not support {}"}}],"isError":true}})",
                          c.method),
              "9"));
      co_await client.close();
    });
  }
}

TEST(ServerLegacy, CancellingACallWithdrawsItsQuestion) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    add_asking_tool(*server);
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client, "2025-11-25", R"({"elicitation":{}})");
    co_await client.ask(ask_call("form"));
    client.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}})");
    EXPECT_EQ(
        co_await client.next(),
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"cancelled by the caller"}})");
    EXPECT_EQ(co_await client.ask(request("ping")), result("{}"));
    co_await client.close();
  });
}

TEST(ServerLegacy, AThousandCallsAtOnceAreAllAnswered) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event go;
    server->add_tool({.name = "gate"}, [&](RequestContext&, Json arguments) -> Task<CallToolResult> {
      co_await go.wait();
      co_return text_result(to_text(arguments["n"]));
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    for (int i = 0; i < 1000; ++i) {
      client.send(
          request("tools/call", fmt::format(R"({{"name":"gate","arguments":{{"n":{}}}}})", i), std::to_string(i)));
    }
    EXPECT_EQ(co_await client.ask(request("ping", "", "1000")), result("{}", "1000"));
    go.notify_all();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(co_await client.next(),
                result(fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})", i), std::to_string(i)));
    }
    co_await client.close();
  });
}

TEST(ServerLegacy, MoreRequestsThanTheLimitAreRefused) {
  run_task([]() -> Task<void> {
    auto server = sample_server({.requests_in_flight = 2});
    Event never;
    server->add_tool({.name = "wait"}, [&](RequestContext&, Json) -> Task<CallToolResult> {
      co_await never.wait();
      co_return text_result("");
    });
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    client.send(request("tools/call", R"({"name":"wait"})", "1"));
    client.send(request("tools/call", R"({"name":"wait"})", "2"));
    EXPECT_EQ(co_await client.ask(request("ping", "", "3")),
              error(-32603, "too many requests at once; wait for answers", "", "3"));
    EXPECT_EQ(co_await client.ask(request("ping", "", "2")),
              error(-32600, "the id of this request is already used by a request that is still running", "", "2"));
    co_await client.close();
    EXPECT_FALSE(never.has_waiters());
  });
}

TEST(ServerLegacy, AToolRemovedWhileItRunsFinishesItsCall) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    Event go;
    auto owned = std::make_shared<std::string>("kept");
    server->add_tool({.name = "slow"}, [&go, owned](RequestContext& context, Json) -> Task<CallToolResult> {
      context.log(LoggingLevel::error, "running");
      co_await go.wait();
      co_return text_result(*owned);
    });
    owned.reset();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    co_await client.ask(request("tools/call", R"({"name":"slow"})"));
    server->remove_tool("slow");
    EXPECT_EQ(co_await client.next(), R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    go.notify_all();
    EXPECT_EQ(co_await client.next(), result(R"({"content":[{"type":"text","text":"kept"}]})"));
    co_await client.close();
  });
}

TEST(ServerLegacy, AQuestionKeptBeyondItsConnectionIsClosed) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    std::optional<Task<std::vector<Root>>> kept;
    server->add_tool({.name = "keep"}, [&](RequestContext& context, Json) -> Task<CallToolResult> {
      kept = context.list_roots({});
      co_return text_result("kept");
    });
    {
      RawClient client(co_await asio::this_coro::executor, *server);
      co_await open(client, "2025-11-25", R"({"roots":{}})");
      co_await client.ask(request("tools/call", R"({"name":"keep"})"));
      co_await client.close();
    }
    EXPECT_THAT(co_await as_result(std::move(*kept)), FailsWith(Errc::closed));
  });
}

TEST(ServerLegacy, AConnectionOutlivesItsServerObject) {
  run_task([]() -> Task<void> {
    auto server = sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    co_await open(client);
    server.reset();
    EXPECT_EQ(co_await client.ask(request("tools/call", R"({"name":"echo"})")),
              result(R"({"content":[{"type":"text","text":"{}"}]})"));
    co_await client.close();
  });
}

}  // namespace
}  // namespace patchbay
