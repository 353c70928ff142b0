// T4: the HTTP part of a WebSocket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ws/handshake.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* key = "dGhlIHNhbXBsZSBub25jZQ==";  // of RFC 6455, section 1.3
constexpr const char* accept_value = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

std::string request_for(const char* url, const HttpHeaders& headers = {}) {
  return handshake_request(*parse_url(url), headers, key).value();
}

TEST(WebSocketHandshake, Request_SaysWhatTheStandardWants) {
  EXPECT_EQ(request_for("ws://server.example:8080/chat?x=1#there", {{"X-Key", "v"}}),
            "GET /chat?x=1 HTTP/1.1\r\n"
            "Host: server.example:8080\r\n"
            "User-Agent: patchbay/" PATCHBAY_VERSION
            "\r\n"
            "X-Key: v\r\n"
            "Upgrade: websocket\r\n"
            "Connection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: mcp\r\n"
            "\r\n");
  EXPECT_THAT(request_for("wss://[::1]:443"), AllOf(HasSubstr("GET / HTTP/1.1\r\nHost: [::1]\r\n")));
}

TEST(WebSocketHandshake, ConfiguredHeaders_ReplaceNothingTheProtocolNeeds) {
  const auto text = request_for("ws://h/", {{"sec-websocket-key", "mine"},
                                            {"Sec-WebSocket-Extensions", "permessage-deflate"},
                                            {"connection", "close"},
                                            {"Upgrade", "h2c"},
                                            {"Content-Length", "5"},
                                            {"Transfer-Encoding", "chunked"},
                                            {"host", "other.example"},
                                            {"user-agent", "me"},
                                            {"Origin", "https://o"}});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("mine")), Not(HasSubstr("deflate")), Not(HasSubstr("close")),
                          Not(HasSubstr("h2c")), Not(HasSubstr("Length")), Not(HasSubstr("chunked"))));
  EXPECT_THAT(text, AllOf(HasSubstr("host: other.example\r\n"), Not(HasSubstr("Host: h")),
                          HasSubstr("user-agent: me\r\n"), HasSubstr("Origin: https://o\r\n")));
}

TEST(WebSocketHandshake, UserOfTheUrl_BecomesAnAuthorization) {
  EXPECT_THAT(request_for("ws://user:p%40ss@h/"), HasSubstr("Authorization: Basic dXNlcjpwQHNz\r\n"));
  EXPECT_THAT(request_for("ws://user:pass@h/", {{"authorization", "Bearer t"}}),
              AllOf(HasSubstr("authorization: Bearer t\r\n"), Not(HasSubstr("Basic"))));
}

TEST(WebSocketHandshake, HeadersThatWouldBeOtherLines_AreRefused) {
  for (const auto& headers : {HttpHeaders{{"X", "a\r\nY: b"}}, HttpHeaders{{"X Y", "a"}}, HttpHeaders{{"", "a"}},
                              HttpHeaders{{"X", std::string("a\0b", 3)}}, HttpHeaders{{"X:", "a"}}}) {
    const auto request = handshake_request(*parse_url("ws://h/"), headers, key);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code(), Errc::invalid_argument);
  }
}

TEST(WebSocketHandshake, Answer_IsJudged) {
  const HttpHead good{.status = 101,
                      .headers = {{"Upgrade", "WebSocket"},
                                  {"Connection", "keep-alive, upgrade"},
                                  {"Sec-WebSocket-Accept", accept_value},
                                  {"Sec-WebSocket-Protocol", "mcp"}},
                      .url = {}};
  EXPECT_EQ(handshake_accept(key), accept_value);
  EXPECT_TRUE(check_upgrade(good, key));
  struct Case {
    const char* field;
    const char* value;  // nullptr: without it
    const char* fault;  // nullptr: good
  };
  const Case cases[] = {
      {"Upgrade", nullptr, "does not upgrade"},
      {"Upgrade", "h2c", "does not upgrade"},
      {"Connection", "close", "Connection: Upgrade"},
      {"Sec-WebSocket-Accept", nullptr, "Sec-WebSocket-Accept"},
      {"Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-WebSocket-Accept"},
      {"Sec-WebSocket-Extensions", "permessage-deflate", "extension \"permessage-deflate\""},
      {"Sec-WebSocket-Protocol", nullptr, nullptr},
      {"Sec-WebSocket-Protocol", "MCP", "subprotocol \"MCP\""},
      {"Sec-WebSocket-Protocol", "graphql-ws", "subprotocol \"graphql-ws\""},
      {"Sec-WebSocket-Protocol", "", "subprotocol \"\""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.field) + ": " + (c.value ? c.value : "(none)"));
    auto head = good;
    head.headers.remove(c.field);
    if (c.value) head.headers.add(c.field, c.value);
    const auto judged = check_upgrade(head, key);
    ASSERT_EQ(judged.has_value(), c.fault == nullptr);
    if (judged) continue;
    EXPECT_EQ(judged.error().code(), Errc::protocol);
    EXPECT_THAT(judged.error().message(), HasSubstr(c.fault));
  }
  auto twice = good;
  twice.headers.add("Sec-WebSocket-Accept", accept_value);
  EXPECT_FALSE(check_upgrade(twice, key));
}

TEST(HttpHeadReader, Heads_AreFoundHoweverTheyAreCut) {
  const std::string text =
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 101 Switching\r\nA: 1\r\n folded\r\nB:\t2 \r\n\r\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    HttpHeadReader reader(1000);
    bool complete = false;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      if (complete) {
        reader.rest() += text.substr(at, piece);
        continue;
      }
      auto fed = reader.feed(text.substr(at, piece));
      ASSERT_TRUE(fed);
      complete = *fed;
    }
    EXPECT_TRUE(complete);
    EXPECT_EQ(reader.head(), (HttpHead{.status = 101, .headers = {{"A", "1"}, {"B", "2"}}, .url = {}}));
    EXPECT_EQ(reader.rest(), "rest");
  }
}

TEST(HttpHeadReader, WhatIsNotAHead_IsReportedAsSoonAsItShows) {
  struct Case {
    std::string bytes;
    HttpFault fault;
  };
  const Case cases[] = {
      {"S", HttpFault::not_http},
      {"HTTP/2 200\r\n\r\n", HttpFault::not_http},
      {"HTTP/1.1\r\n\r\n", HttpFault::not_http},
      {"HTTP/1.1 abc\r\n\r\n", HttpFault::not_http},
      {"HTTP/1.1 2\r\n\r\n", HttpFault::not_http},
      {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", HttpFault::not_http},
      {"HTTP/1.1 200 OK\r\nA: " + std::string(200, 'x'), HttpFault::headers_too_large},
      {"HTTP/1.1 200 OK\r\nA: " + std::string(200, 'x') + "\r\n\r\n", HttpFault::headers_too_large},
  };
  for (const auto& c : cases) {
    HttpHeadReader reader(100);
    auto fed = reader.feed(c.bytes);
    ASSERT_FALSE(fed) << c.bytes;
    EXPECT_EQ(fed.error(), c.fault) << c.bytes;
  }
  HttpHeadReader endless(100);
  std::expected<bool, HttpFault> fed = false;
  for (int i = 0; i < 10 && fed; ++i) fed = endless.feed("HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_FALSE(fed) << "interim answers count";
  EXPECT_EQ(fed.error(), HttpFault::headers_too_large);
}

TEST(WebSocketHandshake, BodyOfARefusal_IsTakenOutOfItsFraming) {
  struct Case {
    HttpHeaders headers;
    const char* raw;
    bool whole;
    const char* body;
  };
  const Case cases[] = {
      {{{"Content-Length", "5"}}, "hel", false, "hel"},
      {{{"Content-Length", "5"}}, "hello", true, "hello"},
      {{{"Content-Length", "5"}}, "hello more", true, "hello"},
      {{}, "hello", false, "hello"},
      {{{"Content-Length", "x"}}, "hello", false, "hello"},
      {{{"Transfer-Encoding", "chunked"}}, "5\r\nhel", false, "hel"},
      {{{"Transfer-Encoding", "chunked"}}, "5\r\nhello\r\n", false, "hello"},
      {{{"Transfer-Encoding", "chunked"}}, "5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n", true, "hello!"},
      {{{"Transfer-Encoding", "chunked"}}, "zz\r\n", true, ""},
      {{{"Transfer-Encoding", "chunked"}}, "FFFFFFFFFFFFFFFE\r\nhello", false, "hello"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.raw);
    const HttpHead head{.status = 400, .headers = c.headers, .url = {}};
    EXPECT_EQ(is_whole_body(head, c.raw), c.whole);
    EXPECT_EQ(plain_body(head, c.raw), c.body);
  }
}

}  // namespace
}  // namespace patchbay
