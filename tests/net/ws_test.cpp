// T4: the WebSocket transport against scripted servers on real sockets: what it sends, what it
// makes of what comes back, and how every failure is told.
#include "transport/ws.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/beside.h"
#include "support/command.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/scripted_server.h"
#include "ws/handshake.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Opcode = WebSocketOpcode;

// ---- the scripted side ----------------------------------------------------------------------

std::string upgrade(const ScriptConnection::Request& request,
                    std::string_view more = "Sec-WebSocket-Protocol: mcp\r\n") {
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
         handshake_accept(request.field("sec-websocket-key")) + "\r\n" + std::string(more) + "\r\n";
}

ScriptConnection::Request accept_client(ScriptConnection& connection) {
  auto request = connection.read_request();
  connection.write(upgrade(request));
  return request;
}

struct Frame {
  Opcode opcode;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

// The next frame of the client, which must be masked and whole.
Frame read_frame(ScriptConnection& connection) {
  auto head = connection.read_exactly(2);
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(head.at(i)); };
  EXPECT_EQ(byte(0) & 0xF0, 0x80);
  EXPECT_EQ(byte(1) & 0x80, 0x80);
  const auto opcode = static_cast<Opcode>(byte(0) & 0x0F);
  std::uint64_t size = byte(1) & 0x7F;
  if (size >= 126) {
    head = connection.read_exactly(size == 126 ? 2 : 8);
    size = 0;
    for (std::size_t i = 0; i < head.size(); ++i) size = size << 8 | byte(i);
  }
  const auto mask = connection.read_exactly(4);
  auto payload = connection.read_exactly(size);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ mask[i % 4]);
  return {opcode, std::move(payload)};
}

std::string frame(Opcode opcode, std::string_view payload, bool final = true) {
  std::string out;
  append_frame(out, opcode, payload, std::nullopt, final);
  return out;
}

std::string close_frame(std::uint16_t code, std::string_view reason = "") {
  return frame(Opcode::close, close_payload(code, reason));
}

std::uint16_t code_of(const Frame& close) {
  EXPECT_EQ(close.opcode, Opcode::close);
  if (close.payload.size() < 2) return 0;
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(close.payload[0]) << 8 |
                                    static_cast<std::uint8_t>(close.payload[1]));
}

// Answers the client's close, as a good server does.
void answer_close(ScriptConnection& connection) {
  for (;;) {
    auto got = read_frame(connection);
    if (got.opcode != Opcode::close) continue;
    connection.write(frame(Opcode::close, got.payload));
    connection.wait_for_end();
  }
}

// ---- our side -------------------------------------------------------------------------------

std::string url_of(const ScriptedServer& server, std::string_view path = "/mcp", std::string_view scheme = "ws") {
  return fmt::format("{}://127.0.0.1:{}{}", scheme, server.port(), path);
}

HttpOptions to(const ScriptedServer& server) {
  HttpOptions options{.url = url_of(server)};
  options.proxy = "";
  return options;
}

Task<Error> open_failure(HttpTarget options, Runtime runtime = {}) {
  auto opened = co_await as_result(ws_transport_with(options, nullptr)->open(runtime));
  if (opened) {
    ADD_FAILURE() << "it was opened";
    co_await (*opened)->close(CloseMode::quick);
    co_return Error(Errc::internal, "no failure");
  }
  co_return opened.error();
}

void with_channel(HttpOptions options, std::function<Task<void>(Channel&)> body, Runtime runtime = {}) {
  run_task([&]() -> Task<void> {
    auto channel = co_await ws_transport(options)->open(runtime);
    co_await body(*channel);
    co_await channel->close(CloseMode::graceful);
  });
}

Request request(std::int64_t id, std::string method, Payload params = {}) {
  return {.id = id, .method = std::move(method), .params = std::move(params)};
}

std::string text_of(const Incoming& incoming) {
  if (const auto* message = std::get_if<Message>(&incoming)) {
    std::string text;
    append_message(text, *message);
    return text;
  }
  if (const auto* lost = std::get_if<Lost>(&incoming)) {
    return "lost " + to_text(lost->id) + " " + std::string(to_string(lost->error.code())) + ": " +
           lost->error.message();
  }
  return "batch of " + std::to_string(std::get<Batch>(incoming).messages.size());
}

Task<std::string> received(Channel& channel) { co_return text_of(co_await channel.receive()); }

Task<Error> receive_failure(Channel& channel) {
  for (;;) {
    auto got = co_await as_result(channel.receive());
    if (!got) co_return got.error();
  }
}

void send(Channel& channel, Message message) {
  auto sent = channel.send(std::move(message));
  EXPECT_TRUE(sent) << sent.error().message();
}

constexpr auto call_1 = R"({"jsonrpc":"2.0","id":1,"method":"ping"})"sv;
constexpr auto result_1 = R"({"jsonrpc":"2.0","id":1,"result":{}})"sv;
constexpr auto result_2 = R"({"jsonrpc":"2.0","id":2,"result":{}})"sv;

EnvironmentLookup environment(std::map<std::string, std::string, std::less<>> variables = {}) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// Below the channel, where the limits of time and the environment can be set.
struct Direct {
  WebSocketTarget target;
  WebSocketSettings settings;

  explicit Direct(std::string url) {
    target.url = parse_url(url).value();
    target.way.environment = environment();
    settings.shown = url;
  }
  Task<std::unique_ptr<WebSocket>> open() {
    auto answer = co_await open_websocket(target, settings);
    if (auto* refusal = std::get_if<WebSocketRefusal>(&answer)) {
      throw Error(Errc::http, fmt::format("answered {} {}", refusal->head.status, refusal->body));
    }
    co_return std::move(std::get<std::unique_ptr<WebSocket>>(answer));
  }
  // The first message, or how that failed.
  Task<std::string> hello() {
    auto opened = co_await as_result(open());
    if (!opened) co_return fmt::format("{} {}", to_string(opened.error().code()), opened.error().message());
    auto got = co_await as_result((*opened)->receive());
    co_await (*opened)->close(10s);
    co_return got ? *got : fmt::format("{} {}", to_string(got.error().code()), got.error().message());
  }
};

ScriptedServer::Script say_hello() {
  return [](ScriptConnection& connection) {
    accept_client(connection);
    connection.write(frame(Opcode::text, "hello"));
    answer_close(connection);
  };
}

// ---- messages -------------------------------------------------------------------------------

TEST(WsChannel, Handshake_CarriesHeadersAndMessagesGoBothWays) {
  std::string head, closed;
  ScriptedServer server([&](ScriptConnection& connection) {
    head = accept_client(connection).head;
    EXPECT_EQ(read_frame(connection), (Frame{Opcode::text, std::string(call_1)}));
    connection.write(frame(Opcode::text, result_1));
    const auto goodbye = read_frame(connection);
    EXPECT_EQ(code_of(goodbye), 1000);
    connection.write(frame(Opcode::close, goodbye.payload));
    connection.wait_for_end();
  });
  auto options = to(server);
  options.headers = {{"Authorization", "Bearer t"}, {"X-Twice", "a"}, {"X-Twice", "b"}, {"Upgrade", "nothing"}};
  with_channel(options, [](Channel& channel) -> Task<void> {
    send(channel, request(1, "ping"));
    EXPECT_EQ(co_await received(channel), result_1);
  });
  EXPECT_THAT(head, AllOf(StartsWith("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:"), HasSubstr("Authorization: Bearer t\r\n"),
                          HasSubstr("X-Twice: a\r\nX-Twice: b\r\n"), HasSubstr("Upgrade: websocket\r\n"),
                          HasSubstr("Sec-WebSocket-Protocol: mcp"), Not(HasSubstr("nothing"))));
}

TEST(WsChannel, AServerThatNamesNoSubprotocol_IsTaken) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.write(upgrade(connection.read_request(), ""));
    read_frame(connection);
    connection.write(frame(Opcode::text, result_1));
    answer_close(connection);
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    send(channel, request(1, "ping"));
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// Bytes right behind the handshake, pings inside a fragmented message, messages cut anywhere.
TEST(WsChannel, Fragments_BecomeOneMessageAndPingsAreAnsweredMeanwhile) {
  ScriptedServer server([](ScriptConnection& connection) {
    const auto asked = connection.read_request();
    connection.write(upgrade(asked) + frame(Opcode::text, result_1.substr(0, 10), false) + frame(Opcode::ping, "one") +
                     frame(Opcode::continuation, result_1.substr(10, 5), false));
    EXPECT_EQ(read_frame(connection), (Frame{Opcode::pong, "one"}));
    for (char c : frame(Opcode::continuation, result_1.substr(15))) connection.write(std::string(1, c));
    connection.write(frame(Opcode::pong, "nobody asked") + frame(Opcode::text, result_2));
    answer_close(connection);
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    EXPECT_EQ(co_await received(channel), result_1);
    EXPECT_EQ(co_await received(channel), result_2);
  });
}

TEST(WsChannel, WhatIsNotAMessage_FailsTheCallItSeemsToAnswerAndNoOther) {
  ScriptedServer server([](ScriptConnection& connection) {
    accept_client(connection);
    connection.write(frame(Opcode::text, "not JSON") + frame(Opcode::text, "") +
                     frame(Opcode::text, R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})") +
                     frame(Opcode::text, "[" + std::string(result_1) + "," + std::string(result_2) + "]") +
                     frame(Opcode::text, result_2));
    answer_close(connection);
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    EXPECT_THAT(co_await received(channel), StartsWith("lost 1 protocol: "));
    EXPECT_EQ(co_await received(channel), "batch of 2");
    EXPECT_EQ(co_await received(channel), result_2);
  });
}

TEST(WsChannel, Batch_GoesOutAsOneMessage) {
  ScriptedServer server([](ScriptConnection& connection) {
    accept_client(connection);
    EXPECT_EQ(read_frame(connection).payload, "[" + std::string(result_1) + "," + std::string(result_2) + "]");
    connection.write(frame(Opcode::text, result_1));
    answer_close(connection);
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    std::vector<Message> both{Response{1, {}}, Response{2, {}}};
    EXPECT_TRUE(channel.send_batch(std::move(both)));
    EXPECT_EQ(co_await received(channel), result_1);
  });
}

// 64 MiB both ways; one byte more is told from the announced length.
TEST(WsChannel, Message_MayBeSixtyFourMebibytes) {
  constexpr std::size_t limit = 64u << 20;
  const std::string front = R"({"jsonrpc":"2.0","id":1,"result":{"x":")", back = R"("}})";
  const std::string largest = front + std::string(limit - front.size() - back.size(), 'a') + back;
  std::uint16_t told = 0;
  Signal done;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    EXPECT_EQ(read_frame(connection).payload, largest);
    connection.write(frame(Opcode::text, largest));
    read_frame(connection);
    connection.write(frame(Opcode::text, largest + " ").substr(0, 10));
    told = code_of(read_frame(connection));
    done.set();
    connection.wait_for_end();
  });
  with_channel(to(server), [&](Channel& channel) -> Task<void> {
    auto block = std::make_shared<const std::string>(largest);
    auto decoded = decode_messages(block, *block);
    send(channel, std::move(decoded->messages.front()));
    auto answer = co_await channel.receive();
    EXPECT_EQ(std::get<Response>(std::get<Message>(answer)).result.text().size(), limit - 34);
    send(channel, request(2, "more"));
    const auto error = co_await receive_failure(channel);
    EXPECT_EQ(error.code(), Errc::limit);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(url_of(server)), HasSubstr("more than 67108864 bytes")));
  });
  EXPECT_TRUE(done.wait());
  EXPECT_EQ(told, 1009);
}

// ---- the handshake refused ------------------------------------------------------------------

TEST(WsChannel, RefusedHandshakes_NameUrlPhaseAndRemedy) {
  struct Case {
    const char* what;
    std::function<void(ScriptConnection&, const ScriptConnection::Request&)> script;
    Errc code;
    int status;
    std::vector<const char*> texts;
  };
  using Asked = ScriptConnection::Request;
  auto upgraded = [](std::string line, std::string instead) {
    return [=](ScriptConnection& c, const Asked& asked) {
      auto text = upgrade(asked);
      const auto at = text.find(line);
      c.write(text.replace(at, text.find("\r\n", at) + 2 - at, instead));
      c.wait_for_end();
    };
  };
  const std::vector<Case> cases{
      {"200 with a page",
       [](auto& c, const Asked&) { c.answer("200 OK", "<html>hi", "Content-Type: text/html\r\n"); },
       Errc::protocol,
       200,
       {"WebSocket handshake with 200 and text/html", "\"type\": \"http\""}},
      {"401 without credentials",
       [](auto& c, const Asked&) { c.answer("401 Unauthorized", "who are you?"); },
       Errc::unauthorized,
       401,
       {"needs credentials (401 Unauthorized): who are you?", "\"Authorization\""}},
      {"403",
       [](auto& c, const Asked&) { c.answer("403 Forbidden", "no"); },
       Errc::forbidden,
       403,
       {"refuses access (403"}},
      {"404 with a page",
       [](auto& c, const Asked&) { c.answer("404 Not Found", "<html>", "Content-Type: text/html\r\n"); },
       Errc::http,
       404,
       {"the WebSocket handshake failed: ", "answered 404 Not Found; check the path"}},
      {"400 in chunks",
       [](auto& c, const Asked&) {
         c.write("HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwhy\r\n0\r\n\r\n");
         c.wait_for_end();
       },
       Errc::http,
       400,
       {"answered 400 Bad Request: why"}},
      {"503 without an end",
       [](auto& c, const Asked&) {
         c.write("HTTP/1.1 503 Service Unavailable\r\n\r\nlater");
         c.finish();
         c.wait_for_end();
       },
       Errc::http,
       503,
       {"answered 503 Service Unavailable: later; try again later"}},
      {"a redirect",
       [](auto& c, const Asked&) {
         c.answer("307 Temporary Redirect", "", "Location: wss://elsewhere.example/mcp?token=s3cret\r\n");
       },
       Errc::http,
       307,
       {"redirects the WebSocket handshake (307) to wss://elsewhere.example/mcp?token=***", "not followed"}},
      {"another protocol",
       [](auto& c, const Asked&) {
         c.write("SSH-2.0-OpenSSH_9.2\r\n");
         c.wait_for_end();
       },
       Errc::protocol,
       0,
       {"does not use HTTP", "while waiting for the answer"}},
      {"a head without end",
       [](auto& c, const Asked&) {
         c.write("HTTP/1.1 101 Switching Protocols\r\n");
         for (int i = 0; i < 2000; ++i) c.write("X-Filler: " + std::string(40, 'x') + "\r\n");
         c.wait_for_end();
       },
       Errc::limit,
       0,
       {"larger than 64 KiB"}},
      {"nothing",
       [](auto&, const Asked&) {},
       Errc::closed,
       0,
       {"closed the connection", "while waiting for the answer"}},
      {"half a head",
       [](auto& c, const Asked&) { c.write("HTTP/1.1 101 Switching Protocols\r\nUpgr"); },
       Errc::closed,
       0,
       {"closed the connection"}},
      {"reset",
       [](auto& c, const Asked&) { c.reset(); },
       Errc::closed,
       0,
       {"the connection broke", "look at the log of the server"}},
      {"wrong accept",
       upgraded("Sec-WebSocket-Accept", "Sec-WebSocket-Accept: bm90IHRoaXM=\r\n"),
       Errc::protocol,
       0,
       {"Sec-WebSocket-Accept", "during the WebSocket handshake", "is it the url"}},
      {"no accept", upgraded("Sec-WebSocket-Accept", ""), Errc::protocol, 0, {"Sec-WebSocket-Accept"}},
      {"no upgrade", upgraded("Upgrade: ", ""), Errc::protocol, 0, {"does not upgrade"}},
      {"another subprotocol",
       upgraded("Sec-WebSocket-Protocol", "Sec-WebSocket-Protocol: chat\r\n"),
       Errc::protocol,
       0,
       {"subprotocol \"chat\", not \"mcp\""}},
      {"an extension",
       upgraded("Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
       Errc::protocol,
       0,
       {"extension \"permessage-deflate\""}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    ScriptedServer server([&](ScriptConnection& connection) {
      const auto asked = connection.read_request();
      c.script(connection, asked);
    });
    run_task([&]() -> Task<void> {
      const auto error = co_await open_failure(to(server));
      EXPECT_EQ(error.code(), c.code) << error.message();
      EXPECT_EQ(error.http_status().value_or(0), c.status);
      EXPECT_THAT(error.message(), AllOf(HasSubstr(url_of(server)), Not(HasSubstr("s3cret"))));
      for (const char* text : c.texts) EXPECT_THAT(error.message(), HasSubstr(text));
    });
    EXPECT_EQ(server.connections(), 1);
  }
}

TEST(WsChannel, CredentialsThatAreRefused_AreReportedAsSuch) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("401 Unauthorized", "");
  });
  run_task([&]() -> Task<void> {
    auto options = to(server);
    options.headers = {{"authorization", "Bearer s3cret"}};
    const auto error = co_await open_failure(options);
    EXPECT_EQ(error.code(), Errc::unauthorized);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("refuses the credentials"), Not(HasSubstr("s3cret"))));
  });
}

// Signs in by a counter: the first token is never good.
class CountingAuth final : public HttpAuth {
 public:
  explicit CountingAuth(bool again) : again_(again) {}
  Task<SentCredentials> authorize(HttpRequest& request) override {
    seen_url = request.url;
    request.headers.set("Authorization", fmt::format("Bearer {}", ++tokens));
    co_return SentCredentials{.token = Secret(std::to_string(tokens)), .generation = 0};
  }
  Task<bool> on_challenge(SentCredentials sent, HttpRequest, HttpHead answer) override {
    challenges.push_back(
        fmt::format("{} {} {}", sent.token.reveal(), answer.status, answer.headers.get("WWW-Authenticate")));
    co_return again_;
  }
  int tokens = 0;
  std::string seen_url;
  std::vector<std::string> challenges;

 private:
  bool again_;
};

TEST(WsChannel, AChallenge_IsAnsweredOnce) {
  for (const bool helps : {true, false}) {
    SCOPED_TRACE(helps);
    ScriptedServer server([&](ScriptConnection& connection) {
      const auto asked = connection.read_request();
      if (helps && asked.field("authorization") == "Bearer 2") {
        connection.write(upgrade(asked));
        answer_close(connection);
      }
      connection.answer("401 Unauthorized", "", "WWW-Authenticate: Bearer realm=\"x\"\r\n");
    });
    run_task([&]() -> Task<void> {
      auto auth = std::make_shared<CountingAuth>(true);
      auto opened = co_await as_result(ws_transport_with(to(server), auth)->open(Runtime{}));
      EXPECT_EQ(opened.has_value(), helps);
      if (opened) {
        co_await (*opened)->close(CloseMode::graceful);
      } else {
        EXPECT_EQ(opened.error().code(), Errc::unauthorized);
      }
      EXPECT_EQ(auth->tokens, 2);
      EXPECT_THAT(auth->challenges, testing::ElementsAre("1 401 Bearer realm=\"x\""));
      EXPECT_EQ(auth->seen_url, url_of(server, "/mcp", "http"));
    });
  }
}

TEST(WsTransport, SaysWhatIsWrongWithAUrl) {
  run_task([]() -> Task<void> {
    for (const char* url : {"http://h/", "https://h/mcp", "ws:/h", "h", "", "ws://", "wss://h:99999/"}) {
      const auto error = co_await open_failure(HttpOptions{.url = url, .headers = {}});
      EXPECT_EQ(error.code(), Errc::config) << url << ": " << error.message();
    }
    const auto error = co_await open_failure(HttpOptions{.url = "https://h/mcp", .headers = {}});
    EXPECT_THAT(error.message(), HasSubstr("must begin with wss:// or ws://"));
  });
}

TEST(WsChannel, NothingListening_IsAConnectError) {
  run_task([]() -> Task<void> {
    HttpOptions options{.url = "ws://127.0.0.1:1/mcp"};
    options.proxy = "";
    const auto error = co_await open_failure(options);
    EXPECT_EQ(error.code(), Errc::connect);
    EXPECT_EQ(error.message(),
              "WebSocket ws://127.0.0.1:1/mcp: no connection: Connection refused (while connecting); check that the "
              "server runs, and check its host and port");
  });
}

// No value of a variable appears in a message.
TEST(WsChannel, Messages_ShowTheEntryAsItWasWritten) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.read_request();
    connection.answer("404 Not Found", "");
  });
  run_task([&]() -> Task<void> {
    for (auto url : {"ws://127.0.0.1:1/s3cret"s, url_of(server, "/s3cret")}) {
      HttpTarget options(HttpOptions{.url = url});
      options.proxy = "";
      options.shown = "ws://${HOST}/${KEY}";
      const auto error = co_await open_failure(options);
      EXPECT_THAT(error.message(), AllOf(HasSubstr("ws://${HOST}/${KEY}"), Not(HasSubstr("s3cret"))));
    }
  });
}

// ---- frames that break a rule, and other ends -------------------------------------------------

TEST(WsChannel, Ends_SayHowAndTheServerIsNotifiedWhy) {
  struct Case {
    const char* what;
    std::function<void(ScriptConnection&)> script;
    Errc code;
    std::vector<std::string> texts;
    int told;  // the close code we send; 0: none
  };
  auto writes = [](std::string bytes) { return [bytes](ScriptConnection& c) { c.write(bytes); }; };
  const std::vector<Case> cases{
      {"binary", writes(frame(Opcode::binary, result_1)), Errc::protocol, {"binary message", "while reading"}, 1003},
      {"invalid UTF-8", writes(frame(Opcode::text, "{\"\xC3\x28\"}")), Errc::protocol, {"not valid UTF-8"}, 1007},
      {"oversized", writes(frame(Opcode::text, std::string(2000, 'x'))), Errc::limit, {"more than 1000 bytes"}, 1009},
      {"oversized in fragments",
       writes(frame(Opcode::text, std::string(600, 'x'), false) + frame(Opcode::continuation, std::string(600, 'x'))),
       Errc::limit,
       {"more than 1000 bytes"},
       1009},
      {"masked", writes("\x81\x80"s + "abcd"), Errc::protocol, {"masked"}, 1002},
      {"reserved bits", writes("\xC1\x01x"s), Errc::protocol, {"reserved bits"}, 1002},
      {"unknown opcode", writes("\x83\x01x"s), Errc::protocol, {"unknown opcode 3"}, 1002},
      {"a long ping", writes("\x89\x7E\x01\x00"s), Errc::protocol, {"longer than 125"}, 1002},
      {"closed with code and reason",
       writes(close_frame(1011, "out of \x1B[31mmemory")),
       Errc::closed,
       {"closed the connection with 1011 (internal error): out of"},
       1011},
      {"closed without a code", writes(frame(Opcode::close, "")), Errc::closed, {"1005 (no code)"}, 0},
      {"closed by an application",
       writes(close_frame(4401, "unauthorized")),
       Errc::closed,
       {"4401: unauthorized"},
       4401},
      {"close with a code nobody may send", writes(close_frame(1006)), Errc::protocol, {"code 1006"}, 1002},
      {"ended without a close",
       [](ScriptConnection& c) { c.finish(); },
       Errc::closed,
       {"ended the connection without a close message"},
       -1},
      {"truncated in a frame",
       [](ScriptConnection& c) {
         c.write(frame(Opcode::text, result_1).substr(0, 12));
         c.finish();
       },
       Errc::closed,
       {"in the middle of a message (only 12 bytes of it arrived)"},
       -1},
      {"reset", [](ScriptConnection& c) { c.reset(); }, Errc::closed, {"the connection broke", "reset"}, -1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    int told = -1;
    Signal done;
    ScriptedServer server([&](ScriptConnection& connection) {
      accept_client(connection);
      read_frame(connection);
      c.script(connection);
      if (c.told >= 0) told = code_of(read_frame(connection));
      done.set();
      connection.wait_for_end();
    });
    Runtime runtime;
    runtime.limits.message = 1000;
    with_channel(
        to(server),
        [&](Channel& channel) -> Task<void> {
          send(channel, request(1, "ping"));
          const auto error = co_await receive_failure(channel);
          EXPECT_EQ(error.code(), c.code) << error.message();
          EXPECT_THAT(error.message(), AllOf(HasSubstr(url_of(server)), Not(HasSubstr("\x1B"))));
          for (const auto& text : c.texts) EXPECT_THAT(error.message(), HasSubstr(text));
          EXPECT_EQ((co_await receive_failure(channel)).message(), error.message()) << "it stays so";
          const auto sent = channel.send(request(2, "ping"));
          EXPECT_THAT(sent, FailsSaying(error.message()));
        },
        runtime);
    if (c.told >= 0) EXPECT_TRUE(done.wait());
    EXPECT_EQ(told, c.told);
  }
}

TEST(WsChannel, WhatCameBeforeTheEnd_IsDelivered) {
  ScriptedServer server([](ScriptConnection& connection) {
    accept_client(connection);
    connection.write(frame(Opcode::text, result_1) + frame(Opcode::text, result_2) + close_frame(1001, "restart"));
    read_frame(connection);
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    EXPECT_EQ(co_await received(channel), result_1);
    EXPECT_EQ(co_await received(channel), result_2);
    EXPECT_THAT((co_await receive_failure(channel)).message(), HasSubstr("1001 (going away): restart"));
  });
}

// ---- time -----------------------------------------------------------------------------------

TEST(WebSocketClient, SilentServer_IsPingedAndGivenUpWhenNothingComesBack) {
  Signal pinged;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    EXPECT_EQ(read_frame(connection), (Frame{Opcode::ping, ""}));
    pinged.set();
    connection.wait_for_end();
  });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Direct direct(url_of(server));
    direct.settings.ping_after = 30s;
    direct.settings.pong_wait = 10s;
    auto socket = co_await direct.open();
    Scope scope(co_await asio::this_coro::executor);
    auto got = beside(scope, socket->receive());
    co_await clock.advance(30s);
    while (!pinged.is_set()) co_await settle();
    co_await clock.advance(10s - 1ms);
    EXPECT_FALSE(got->result);
    co_await clock.advance(1ms);
    EXPECT_TRUE(got->result);
    if (got->result) {
      EXPECT_THAT(*got->result,
                  FailsWith(Errc::closed, AllOf(HasSubstr(url_of(server)), HasSubstr("not answered a ping for 10 s"))));
    }
    co_await socket->close(10s);
    co_await scope.join();
  });
}

TEST(WebSocketClient, AnyByte_CountsAsAnAnswerToAPing) {
  ScriptedServer server([](ScriptConnection& connection) {
    accept_client(connection);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(read_frame(connection), (Frame{Opcode::ping, ""}));
      connection.write(frame(Opcode::pong, ""));
      EXPECT_EQ(read_frame(connection).opcode, Opcode::ping);
      connection.write(frame(Opcode::text, "part ", false).substr(0, 1));
      EXPECT_EQ(read_frame(connection).opcode, Opcode::ping);
      connection.write(frame(Opcode::text, "part ", false).substr(1) + frame(Opcode::continuation, "rest"));
    }
    answer_close(connection);
  });
  run_task([&]() -> Task<void> {
    Direct direct(url_of(server));
    direct.settings.ping_after = 5ms;
    auto socket = co_await direct.open();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await socket->receive(), "part rest");
    co_await socket->close(10s);
  });
}

// Whoever does not read cannot complain of silence.
TEST(WebSocketClient, SlowReader_DoesNotTakeTheServerForLost) {
  Signal late;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    connection.write(upgrade(request) + frame(Opcode::text, "one"));  // at once: until then silence is silence
    EXPECT_TRUE(late.wait());
    connection.write(frame(Opcode::text, "two"));
    answer_close(connection);
  });
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Direct direct(url_of(server));
    direct.settings.ping_after = 30s;
    direct.settings.pong_wait = 10s;
    auto socket = co_await direct.open();
    // Nobody receives for a hundred times the limits.
    co_await clock.advance(4000s);
    late.set();
    EXPECT_EQ(co_await socket->receive(), "one");
    co_await socket->close(10s);
  });
}

TEST(WsChannel, SilentHandshake_EndsAtItsLimit) {
  ScriptedServer server([](ScriptConnection& connection) {
    connection.read_request();
    connection.wait_for_end();
  });
  run_task([&]() -> Task<void> {
    Runtime runtime;
    runtime.limits.connect = 1500ms;
    const auto error = co_await open_failure(to(server), runtime);
    EXPECT_EQ(error.code(), Errc::timeout);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(url_of(server)), HasSubstr("no answer within 1 s"),
                                       HasSubstr("while waiting for the answer")));
  });
}

TEST(WsChannel, CancelledOpen_ClosesTheConnection) {
  Signal asked, ended;
  ScriptedServer server([&](ScriptConnection& connection) {
    connection.read_request();
    asked.set();
    try {
      connection.wait_for_end();
    } catch (const ScriptConnection::Ended&) {
    }
    ended.set();
  });
  run_task([&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto spawned = scope.spawn([](HttpOptions options) -> Task<void> {
      auto opened = co_await as_result(ws_transport(options)->open(Runtime{}));
      EXPECT_THAT(opened, FailsWith(Errc::cancelled));
    }(to(server)));
    while (!asked.is_set()) co_await sleep_for(1ms);
    spawned.cancel();
    co_await scope.join();
  });
  EXPECT_TRUE(ended.wait());
}

// ---- sending --------------------------------------------------------------------------------

TEST(WsChannel, AServerThatDoesNotRead_FailsSendsAndNothingElse) {
  Signal full;
  std::atomic<int> taken = 0;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    EXPECT_TRUE(full.wait());
    // Everything that was accepted arrives, in order.
    for (;;) {
      const auto got = read_frame(connection);
      if (got.opcode == Opcode::close) {
        connection.write(frame(Opcode::close, got.payload));
        return;
      }
      EXPECT_THAT(got.payload.substr(0, 40), HasSubstr(fmt::format("\"id\":{},", ++taken)));
      if (got.payload.find("last") != std::string::npos) connection.write(frame(Opcode::text, result_1));
    }
  });
  Runtime runtime;
  runtime.limits.outgoing = 1u << 20;
  int accepted = 0;
  with_channel(
      to(server),
      [&](Channel& channel) -> Task<void> {
        const Payload params(Json{{"filler", std::string(100'000, 'x')}});
        std::optional<Error> refused;
        while (!refused && accepted < 10'000) {
          auto sent = channel.send(request(accepted + 1, "ping", params));
          if (sent) {
            ++accepted;
          } else {
            refused = sent.error();
          }
          co_await settle();
        }
        EXPECT_EQ(refused->code(), Errc::limit);
        EXPECT_THAT(refused->message(), HasSubstr("bytes are waiting for " + url_of(server)));
        full.set();
        for (;;) {
          auto sent = channel.send(request(accepted + 1, "last"));
          if (sent) break;
          co_await sleep_for(1ms);
        }
        EXPECT_EQ(co_await received(channel), result_1);
      },
      runtime);
  EXPECT_EQ(taken, accepted + 1);
}

TEST(WsChannel, OneMessageOverTheLimit_IsRefused) {
  ScriptedServer server([](ScriptConnection& connection) {
    accept_client(connection);
    read_frame(connection);
    connection.write(frame(Opcode::text, result_1));
    answer_close(connection);
  });
  Runtime runtime;
  runtime.limits.outgoing = 1000;
  with_channel(
      to(server),
      [&](Channel& channel) -> Task<void> {
        const auto sent = channel.send(request(1, "ping", Payload(Json{{"x", std::string(1000, 'x')}})));
        EXPECT_THAT(sent, FailsWith(Errc::limit));
        send(channel, request(1, "ping"));
        EXPECT_EQ(co_await received(channel), result_1);
      },
      runtime);
}

// ---- closing --------------------------------------------------------------------------------

TEST(WsChannel, ServerThatNeverSaysGoodbye_DoesNotHoldUpTheClose) {
  Signal closing;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    EXPECT_EQ(code_of(read_frame(connection)), 1000);
    closing.set();
    connection.wait_for_end();
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await ws_transport(to(server))->open(Runtime{});
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Channel& c) -> Task<void> {
      const auto error = co_await receive_failure(c);
      EXPECT_EQ(error.code(), Errc::closed);
    }(*channel));
    co_await settle();
    co_await channel->close(CloseMode::quick);
    co_await channel->close(CloseMode::graceful);
    co_await scope.join();
  });
  EXPECT_TRUE(closing.wait());
}

TEST(WsChannel, MessagesSentBeforeTheClose_Arrive) {
  std::vector<Frame> got;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    do {
      got.push_back(read_frame(connection));
    } while (got.back().opcode != Opcode::close);
    connection.write(frame(Opcode::close, got.back().payload));
  });
  with_channel(to(server), [](Channel& channel) -> Task<void> {
    for (int i = 0; i < 3; ++i) send(channel, request(i, "ping"));
    co_return;
  });
  EXPECT_EQ(got.size(), 4u);
}

TEST(WsChannel, DroppedChannel_LeavesNothingBehind) {
  Signal ended;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    try {
      connection.wait_for_end();
    } catch (const ScriptConnection::Ended&) {
    }
    ended.set();
  });
  run_task([&]() -> Task<void> {
    auto channel = co_await ws_transport(to(server))->open(Runtime{});
    co_await settle();
    channel.reset();
    co_await settle();
  });
  EXPECT_TRUE(ended.wait());
}

TEST(WsChannel, NoDescriptorIsLeft) {
  auto count = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  ScriptedServer server([](ScriptConnection& connection) {
    const auto asked = connection.read_request();
    if (connection.number() % 3 == 0) {
      connection.answer("404 Not Found", "");
      return;
    }
    connection.write(upgrade(asked) + frame(Opcode::text, result_1));
    if (connection.number() % 3 == 1) return;
    answer_close(connection);
  });
  auto round = [&] {
    run_task([&]() -> Task<void> {
      auto opened = co_await as_result(ws_transport(to(server))->open(Runtime{}));
      if (!opened) co_return;
      (void)co_await as_result((*opened)->receive());
      co_await (*opened)->close(CloseMode::graceful);
    });
  };
  for (int i = 0; i < 3; ++i) round();
  const auto before = count();
  for (int i = 0; i < 12; ++i) round();
  // The scripts' own ends close on their threads.
  for (int i = 0; i < 1000 && count() > before; ++i) ::usleep(1000);
  EXPECT_LE(count(), before);
}

// ---- the era, over a shared connection ------------------------------------------------------

void answer_initialize(ScriptConnection& connection, const std::string& asked) {
  auto block = std::make_shared<const std::string>(asked);
  const auto decoded = decode_messages(block, *block).value();
  const auto* call = std::get_if<Request>(&decoded.messages.front());
  if (!call) return;
  const auto id = to_text(call->id);
  connection.write(frame(
      Opcode::text,
      call->method == "initialize"
          ? fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-03-26","capabilities":{{}},)"
                        R"("serverInfo":{{"name":"s","version":"1"}}}}}})",
                        id)
          : fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no such method"}}}})", id)));
}

TEST(WsSession, LegacyServer_IsFoundByTheProbe) {
  for (const bool leaves : {false, true}) {
    SCOPED_TRACE(leaves ? "one that leaves at what it does not know" : "one that answers -32601");
    ScriptedServer server([&](ScriptConnection& connection) {
      accept_client(connection);
      for (;;) {
        const auto got = read_frame(connection);
        if (got.opcode == Opcode::close) {
          connection.write(frame(Opcode::close, got.payload));
          return;
        }
        if (leaves && got.payload.find("server/discover") != std::string::npos) {
          connection.write(close_frame(1008, "what?"));
          return;
        }
        answer_initialize(connection, got.payload);
      }
    });
    run_task([&]() -> Task<void> {
      auto session = co_await Client(ClientOptions{}).connect(ws_transport(to(server)));
      EXPECT_TRUE(session.is_legacy());
      EXPECT_EQ(session.server().info.name, "s");
      co_await session.close();
    });
    EXPECT_EQ(server.connections(), leaves ? 2 : 1);
  }
}

TEST(WsSession, LostConnection_FailsEveryCall) {
  Signal both;
  ScriptedServer server([&](ScriptConnection& connection) {
    accept_client(connection);
    int calls = 0;
    while (calls < 2) {
      const auto got = read_frame(connection);
      if (got.payload.find("tools/list") != std::string::npos) {
        ++calls;
      } else {
        answer_initialize(connection, got.payload);
      }
    }
    connection.write(close_frame(1012, "back soon"));
  });
  run_task([&]() -> Task<void> {
    auto session = co_await Client(ClientOptions{}).connect(ws_transport(to(server)));
    Scope scope(co_await asio::this_coro::executor);
    int failed = 0;
    for (int i = 0; i < 2; ++i) {
      scope.spawn([](Session s, int& count) -> Task<void> {
        auto listed = co_await as_result(s.list_tools());
        EXPECT_THAT(listed, FailsWith(Errc::closed, HasSubstr("1012 (service restart): back soon")));
        ++count;
      }(session, failed));
    }
    co_await scope.join();
    EXPECT_EQ(failed, 2);
    co_await session.close();
  });
}

// ---- TLS ------------------------------------------------------------------------------------

class WebSocketTls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    authority_ = std::make_unique<CertificateAuthority>(directory_->path());
    good_ = authority_->issue("good", "IP:127.0.0.1,DNS:localhost");
    wrong_name_ = authority_->issue("wrong", "DNS:elsewhere.example,DNS:other.example");
    self_signed_ = authority_->self_signed("self", "IP:127.0.0.1");
    client_ = authority_->issue("client", "DNS:client");
    locked_key_ = directory_->path() + "/locked.key";
    const auto locked = run_program({"/usr/bin/openssl", "pkey", "-aes256", "-passout", "pass:open sesame", "-in",
                                     client_.key, "-out", locked_key_});
    ASSERT_EQ(locked.code, 0) << locked.err;
  }
  static void TearDownTestSuite() {
    authority_.reset();
    directory_.reset();
  }
  static ScriptServerOptions with(const Certificate& certificate, std::string client_ca = {}) {
    ScriptServerOptions options;
    options.certificate = certificate;
    options.client_ca = std::move(client_ca);
    return options;
  }
  static std::string hello(std::string url, std::function<void(WebSocketTarget&)> prepare) {
    std::string line;
    run_task([&]() -> Task<void> {
      Direct direct(url);
      prepare(direct.target);
      line = co_await direct.hello();
    });
    return line;
  }
  static std::string ca() { return authority_->root().certificate; }

  static inline std::unique_ptr<TemporaryDirectory> directory_;
  static inline std::unique_ptr<CertificateAuthority> authority_;
  static inline Certificate good_, wrong_name_, self_signed_, client_;
  static inline std::string locked_key_;
};

TEST_F(WebSocketTls, Trust_ComesFromTheEntryOrTheVariables) {
  ScriptedServer server(say_hello(), with(good_));
  const auto url = url_of(server, "/mcp", "wss");
  EXPECT_EQ(hello(url, [](auto& target) { target.way.ca_file = ca(); }), "hello");
  EXPECT_EQ(hello(url, [](auto& target) { target.way.environment = environment({{"SSL_CERT_FILE", ca()}}); }), "hello");
  EXPECT_EQ(hello(url, [](auto& target) { target.way.environment = environment({{"NODE_EXTRA_CA_CERTS", ca()}}); }),
            "hello");
  EXPECT_EQ(hello(url,
                  [](auto& target) {
                    target.way.environment =
                        environment({{"NODE_EXTRA_CA_CERTS", ca()}, {"SSL_CERT_FILE", self_signed_.certificate}});
                  }),
            "hello")
      << "more, not instead";
  EXPECT_THAT(hello(url,
                    [](auto& target) {
                      target.way.ca_file = self_signed_.certificate;
                      target.way.environment = environment({{"NODE_EXTRA_CA_CERTS", ca()}, {"SSL_CERT_FILE", ca()}});
                    }),
              HasSubstr("not trusted"))
      << "an entry's own CA is all that counts";
}

TEST_F(WebSocketTls, Refusals_SayWhyAndWhatToDo) {
  struct Case {
    const char* what;
    ScriptServerOptions server;
    std::function<void(WebSocketTarget&)> prepare;
    std::vector<std::string> texts;
  };
  auto trusting = [](WebSocketTarget& target) { target.way.ca_file = ca(); };
  const std::vector<Case> cases{
      {"unknown CA",
       with(good_),
       [](auto&) {},
       {"not trusted", "NODE_EXTRA_CA_CERTS", "\"tls\": {\"ca\": \"file.pem\"}"}},
      {"self-signed", with(self_signed_), [](auto&) {}, {"self-signed"}},
      {"other name", with(wrong_name_), trusting, {"elsewhere.example, other.example", "127.0.0.1"}},
      {"no client certificate", with(good_, ca()), trusting, {"\"tls\": {\"cert\": …, \"key\": …}"}},
      {"CA file missing", with(good_), [](auto& t) { t.way.ca_file = "/nonexistent.pem"; }, {"/nonexistent.pem"}},
      {"client certificate missing",
       with(good_),
       [&](auto& t) {
         trusting(t);
         t.way.environment = environment({{"CLAUDE_CODE_CLIENT_CERT", "/nonexistent.pem"}});
       },
       {"client certificate from CLAUDE_CODE_CLIENT_CERT", "PEM"}},
      {"a wrong passphrase",
       with(good_, ca()),
       [&](auto& t) {
         trusting(t);
         t.way.client_certificate = client_.certificate;
         t.way.client_key = locked_key_;
         t.way.client_key_password = Secret("wrong");
       },
       {"client certificate or its key cannot be used"}},
      {"no TLS at all", {}, trusting, {"TLS handshake failed"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    auto complain = [](ScriptConnection& connection) {
      connection.read_exactly(1);
      connection.answer("400 Bad Request", "speak HTTP");
      connection.wait_for_end();
    };
    const bool no_tls = c.server.certificate.certificate.empty();
    ScriptedServer server(no_tls ? ScriptedServer::Script(complain) : say_hello(), c.server);
    const auto url = url_of(server, "/mcp", "wss");
    const auto line = hello(url, c.prepare);
    EXPECT_THAT(line, AllOf(StartsWith("tls WebSocket " + url), HasSubstr("during the TLS handshake")));
    for (const auto& text : c.texts) EXPECT_THAT(line, HasSubstr(text));
  }
}

TEST_F(WebSocketTls, ClientCertificate_ComesFromTheEntryOrTheVariables) {
  ScriptedServer server(say_hello(), with(good_, ca()));
  const auto url = url_of(server, "/mcp", "wss");
  EXPECT_EQ(hello(url,
                  [](auto& target) {
                    target.way.ca_file = ca();
                    target.way.client_certificate = client_.certificate;
                    target.way.client_key = locked_key_;
                    target.way.client_key_password = Secret("open sesame");
                  }),
            "hello");
  EXPECT_EQ(hello(url,
                  [](auto& target) {
                    target.way.ca_file = ca();
                    target.way.environment = environment({{"CLAUDE_CODE_CLIENT_CERT", client_.certificate},
                                                          {"CLAUDE_CODE_CLIENT_KEY", locked_key_},
                                                          {"CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "open sesame"}});
                  }),
            "hello");
}

// Large messages both ways at once: TLS wants a write repeated exactly as it was.
TEST_F(WebSocketTls, LargeMessages_CrossBothWays) {
  const std::string large(8u << 20, 'x');
  ScriptedServer server(
      [&](ScriptConnection& connection) {
        accept_client(connection);
        connection.write(frame(Opcode::text, large));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(read_frame(connection), (Frame{Opcode::text, large}));
        connection.write(frame(Opcode::text, "done"));
        answer_close(connection);
      },
      with(good_));
  run_task([&]() -> Task<void> {
    Direct direct(url_of(server, "/mcp", "wss"));
    direct.target.way.ca_file = ca();
    auto socket = co_await direct.open();
    for (int i = 0; i < 3; ++i) {
      auto sent = socket->send(large);
      EXPECT_TRUE(sent);
    }
    const auto got = co_await socket->receive();
    EXPECT_EQ(got.size(), large.size());
    EXPECT_EQ(co_await socket->receive(), "done");
    co_await socket->close(10s);
  });
}

// The library is a guest: a server that goes away under a large message must not end the program.
TEST_F(WebSocketTls, ServerGoneWhileSending_RaisesNoSignal) {
  const auto handler = ::signal(SIGPIPE, SIG_DFL);
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls);
    ScriptedServer server(
        [](ScriptConnection& connection) {
          accept_client(connection);
          connection.read_exactly(100);
          connection.reset();
        },
        tls ? with(good_) : ScriptServerOptions{});
    run_task([&]() -> Task<void> {
      Direct direct(url_of(server, "/mcp", tls ? "wss" : "ws"));
      direct.target.way.ca_file = ca();
      auto socket = co_await direct.open();
      for (int i = 0; i < 100; ++i) {
        if (!socket->send(std::string(1u << 20, 'x'))) break;
        co_await settle();
      }
      auto got = co_await as_result(socket->receive());
      EXPECT_THAT(got, FailsWith(Errc::closed));
      co_await socket->close(1s);
    });
  }
  ::signal(SIGPIPE, handler);
}

// ---- proxies --------------------------------------------------------------------------------

// Says that it is connected, then passes bytes both ways until one side ends.
void tunnel(ScriptConnection& connection, std::uint16_t port,
            std::string_view connected = "HTTP/1.1 200 Connection established\r\n\r\n") {
  const int upstream = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(upstream, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    connection.write(connected);
    pollfd both[2] = {{.fd = connection.fd(), .events = POLLIN, .revents = 0},
                      {.fd = upstream, .events = POLLIN, .revents = 0}};
    for (bool open = true; open && ::poll(both, 2, -1) > 0;) {
      for (int i = 0; i < 2; ++i) {
        if (both[i].revents == 0) continue;
        char buffer[16384];
        const auto count = ::recv(both[i].fd, buffer, sizeof buffer, 0);
        if (count <= 0 || ::send(both[1 - i].fd, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
          open = false;
      }
    }
  }
  ::close(upstream);
}

TEST_F(WebSocketTls, Proxy_IsAskedToConnectWithOrWithoutTls) {
  const auto named = authority_->issue("named", "DNS:server.example");
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls);
    ScriptedServer server(say_hello(), tls ? with(named) : ScriptServerOptions{});
    std::string asked;
    ScriptedServer proxy([&](ScriptConnection& connection) {
      const auto request = connection.read_request();
      asked = request.line() + " " + request.field("proxy-authorization") + " " + request.field("authorization");
      tunnel(connection, server.port());
    });
    const auto line = hello(tls ? "wss://server.example/mcp" : "ws://server.example:8080/mcp", [&](auto& target) {
      target.way.ca_file = ca();
      target.headers = {{"Authorization", "Bearer t"}};
      target.way.environment = environment(
          {{tls ? "HTTPS_PROXY" : "http_proxy", fmt::format("http://user:pass@127.0.0.1:{}", proxy.port())}});
    });
    EXPECT_EQ(line, "hello");
    EXPECT_EQ(asked, fmt::format("CONNECT server.example:{} HTTP/1.1 Basic dXNlcjpwYXNz (none)", tls ? 443 : 8080));
  }
}

TEST_F(WebSocketTls, SocksProxy_LooksTheNameUp) {
  ScriptedServer server(say_hello());
  std::string asked;
  ScriptedServer proxy([&](ScriptConnection& connection) {
    const auto greeting = connection.read_exactly(2);
    connection.read_exactly(static_cast<std::uint8_t>(greeting[1]));
    connection.write("\x05\x00"s);
    const auto wanted = connection.read_exactly(5);
    asked = connection.read_exactly(static_cast<std::uint8_t>(wanted[4]));
    connection.read_exactly(2);
    tunnel(connection, server.port(), "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"sv);
  });
  const auto line = hello("ws://server.example/mcp", [&](auto& target) {
    target.way.environment = environment({{"all_proxy", fmt::format("socks5h://127.0.0.1:{}", proxy.port())}});
  });
  EXPECT_EQ(line, "hello");
  EXPECT_EQ(asked, "server.example");
}

TEST_F(WebSocketTls, NoProxy_IsRespected) {
  ScriptedServer server(say_hello());
  const auto line = hello(url_of(server), [](auto& target) {
    target.way.environment = environment({{"ALL_PROXY", "http://127.0.0.1:1"}});
  });
  EXPECT_EQ(line, "hello") << "this machine is reached directly";
}

TEST_F(WebSocketTls, ProxyFailures_NameTheVariable) {
  struct Case {
    const char* what;
    std::function<void(ScriptConnection&)> script;
    const char* code;
    std::vector<const char*> texts;
  };
  const std::vector<Case> cases{
      {"refuses",
       [](ScriptConnection& c) { c.answer("403 Forbidden", "<html>no"); },
       "connect",
       {"answered 403", "NO_PROXY"}},
      {"wants a password",
       [](ScriptConnection& c) { c.answer("407 Proxy Authentication Required", "", "Proxy-Authenticate: Basic\r\n"); },
       "connect",
       {"answered 407", "user:password"}},
      {"closes", [](ScriptConnection&) {}, "connect", {"talking to the proxy"}},
      {"says nothing",
       [](ScriptConnection& c) { c.wait_for_end(); },
       "timeout",
       {"no connection within 1 s", "talking to the proxy"}},
  };
  for (const auto& c : cases) {
    for (const char* url : {"ws://server.example/mcp", "wss://server.example/mcp"}) {
      SCOPED_TRACE(std::string(c.what) + " " + url);
      ScriptedServer proxy([&](ScriptConnection& connection) {
        connection.read_request();
        c.script(connection);
      });
      const auto line = hello(url, [&](auto& target) {
        target.connect = c.code == "timeout"s ? 1000ms : 30'000ms;
        target.way.environment =
            environment({{"ALL_PROXY", fmt::format("http://u:s3cret@127.0.0.1:{}", proxy.port())}});
      });
      EXPECT_THAT(line, AllOf(StartsWith(std::string(c.code) + " WebSocket " + url), HasSubstr("ALL_PROXY"),
                              Not(HasSubstr("s3cret"))));
      for (const char* text : c.texts) EXPECT_THAT(line, HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace patchbay::test
