// N5: what the proxy of a sandbox reads of a request. The proxy and the far side must agree on whom it is for and where
// it ends, so what two programs could read in two ways is refused.
#include "sandbox/proxy_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;
using Body = ProxyRequest::Body;

std::string lines(std::initializer_list<std::string_view> all) {
  std::string out;
  for (const auto line : all) out += std::string(line) + "\r\n";
  return out + "\r\n";
}

TEST(ProxyRequestTest, ATunnelIsForWhomConnectNames) {
  const auto request = read_proxy_request(lines({"CONNECT API.example.com.:443 HTTP/1.1", "Host: other.example:443"}));
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->tunnel);
  EXPECT_EQ(request->target, (DomainTarget{"api.example.com", 443}));
  EXPECT_EQ(read_proxy_request(lines({"CONNECT [::1]:80 HTTP/1.0"}))->target, (DomainTarget{"::1", 80}));
  EXPECT_EQ(read_proxy_request(lines({"CONNECT 0x7f.1:80 HTTP/1.1"}))->target, (DomainTarget{"127.0.0.1", 80}));
}

TEST(ProxyRequestTest, APlainRequestIsWrittenAnewForItsUrl) {
  const auto request = read_proxy_request(
      lines({"POST http://api.Example.com:8080/a/../b?c=%2F HTTP/1.1", "Host: other.example", "Accept: */*",
             "Proxy-Authorization: Basic x", "Proxy-Connection: keep-alive", "Connection: keep-alive, X-Hop",
             "X-Hop: 1", "Upgrade: h2c", "Content-Length: 5", "X-End: 2"}));
  ASSERT_TRUE(request) << request.error().text;
  EXPECT_EQ(*request,
            (ProxyRequest{.target = {"api.example.com", 8080},
                          .tunnel = false,
                          .head = lines({"POST /a/../b?c=%2F HTTP/1.1", "Host: api.example.com:8080", "Accept: */*",
                                         "Content-Length: 5", "X-End: 2", "Connection: close"}),
                          .body = Body::counted,
                          .length = 5}));
  const auto bare = read_proxy_request(lines({"GET http://a.example?q HTTP/1.0"}));
  ASSERT_TRUE(bare) << bare.error().text;
  EXPECT_EQ(bare->head, lines({"GET /?q HTTP/1.1", "Host: a.example", "Connection: close"}));
  EXPECT_EQ(bare->body, Body::none);
  EXPECT_EQ(read_proxy_request(lines({"PUT http://a.example/ HTTP/1.1", "Transfer-Encoding: Chunked"}))->body,
            Body::chunked);
}

TEST(ProxyRequestTest, WhatTwoProgramsCouldReadDifferentlyIsRefused) {
  const std::pair<std::string, int> cases[] = {
      {"GET / HTTP/1.1\r\n", 400},
      {lines({"GET / HTTP/1.1", "Host: a.example"}), 400},
      {lines({"GET http://a.example/"}), 400},
      {lines({"GET  http://a.example/ HTTP/1.1"}), 400},
      {lines({"GET http://a.example/ HTTP/2"}), 400},
      {lines({"GET https://a.example/ HTTP/1.1"}), 400},
      {lines({"GET ftp://a.example/ HTTP/1.1"}), 400},
      {lines({"GET http://user@a.example/ HTTP/1.1"}), 400},
      {lines({"GET http://a.example@evil.example/ HTTP/1.1"}), 400},
      {lines({"GET http://a.example\\@evil.example/ HTTP/1.1"}), 400},
      {lines({"GET http://a.example#@evil.example/ HTTP/1.1"}), 400},
      {lines({"GET http://b\xC3\xBC"
              "cher.example/ HTTP/1.1"}),
       400},
      {lines({"GET http:///path HTTP/1.1"}), 400},
      {lines({"GET http://a.example:99999/ HTTP/1.1"}), 400},
      {lines({"G(T http://a.example/ HTTP/1.1"}), 400},
      {lines({"CONNECT a.example HTTP/1.1"}), 400},
      {lines({"CONNECT a.example:0 HTTP/1.1"}), 400},
      {lines({"CONNECT a.example:443/ HTTP/1.1"}), 400},
      {lines({"CONNECT a.example:4x HTTP/1.1"}), 400},
      {lines({"CONNECT :443 HTTP/1.1"}), 400},
      {lines({"CONNECT ::1:443 HTTP/1.1"}), 400},
      {lines({"CONNECT http://a.example:443 HTTP/1.1"}), 400},
      {lines({"CONNECT a.example:443 HTTP/1.1", "Content-Length: 4"}), 400},
      {lines({"CONNECT a.example:443 HTTP/1.1", "Transfer-Encoding: chunked"}), 400},
      {lines({"GET http://a.example/ HTTP/1.1", "Bad Header: 1"}), 400},
      {lines({"GET http://a.example/ HTTP/1.1", "Bad : 1"}), 400},
      {lines({"GET http://a.example/ HTTP/1.1", "A: 1", " folded"}), 400},
      {lines({"GET http://a.example/ HTTP/1.1", "A: 1\nB: 2"}), 400},
      {lines({"GET http://a.example/ HTTP/1.1", "A: 1\rB: 2"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Content-Length: 1", "Content-Length: 1"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Content-Length: 1, 1"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Content-Length: +1"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Content-Length: 99999999999999999999"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Transfer-Encoding: gzip, chunked"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"}), 400},
      {lines({"POST http://a.example/ HTTP/1.0", "Transfer-Encoding: chunked"}), 400},
      {lines({"POST http://a.example/ HTTP/1.1", "Connection: content-length", "Content-Length: 1"}), 400},
      {std::string("GET http://a.example/ HTTP/1.1\r\nA: \0\r\n\r\n", 39), 400},
  };
  for (const auto& [head, status] : cases) {
    const auto request = read_proxy_request(head);
    ASSERT_FALSE(request) << head;
    EXPECT_EQ(request.error().status, status) << head;
    EXPECT_THAT(request.error().text, Not(HasSubstr("\n"))) << head;
  }
  std::string many = "GET http://a.example/ HTTP/1.1\r\n";
  for (int i = 0; i < 129; ++i) many += "A: 1\r\n";
  EXPECT_EQ(read_proxy_request(many + "\r\n").error().status, 431);
}

TEST(ProxyRequestTest, AnAnswerIsWholeAndTheLast) {
  EXPECT_EQ(proxy_answer(403, "no"),
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\nno\n");
}

// How much of it belongs to the body, however it is cut.
std::optional<std::size_t> body_of(std::string_view bytes, std::size_t piece) {
  ChunkedBody body;
  std::size_t taken = 0;
  while (taken < bytes.size() && !body.ended()) {
    const auto now = body.take(bytes.substr(taken, piece));
    if (!now) return std::nullopt;
    taken += *now;
  }
  return body.ended() ? std::optional(taken) : std::nullopt;
}

TEST(ChunkedBodyTest, EndsWhereItEndsAndNotLater) {
  const std::string_view next = "GET http://evil.example/ HTTP/1.1\r\n\r\n";
  const std::string_view bodies[] = {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n",
                                     "A;x=1\r\n0\r\n\r\n01234\r\n00\r\nTrailer: 1\r\nMore: 2\r\n\r\n",
                                     "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"};
  for (const auto body : bodies) {
    for (const std::size_t piece : {1, 2, 3, 5, 1000}) {
      EXPECT_EQ(body_of(std::string(body) + std::string(next), piece), body.size()) << body << piece;
    }
  }
}

TEST(ChunkedBodyTest, WhatIsNoChunkIsRefused) {
  const std::string long_line = "1;" + std::string(2000, 'x') + "\r\na\r\n0\r\n\r\n";
  const std::string long_trailer = "0\r\n" + std::string(2000, 'x') + "\r\n\r\n";
  for (const std::string_view body :
       {std::string_view("x\r\n"), std::string_view("\r\n"), std::string_view("-1\r\n"), std::string_view("0x3\r\n"),
        std::string_view("3\nabc\n"), std::string_view("3\r\nabcd\r\n"), std::string_view("3 \r\nabc\r\n"),
        std::string_view("1000000000000\r\n"), std::string_view("0\r\nA\nB\r\n\r\n"), std::string_view(long_line),
        std::string_view(long_trailer)}) {
    for (const std::size_t piece : {1, 4096}) EXPECT_EQ(body_of(body, piece), std::nullopt) << body.substr(0, 40);
  }
}

}  // namespace
}  // namespace patchbay
