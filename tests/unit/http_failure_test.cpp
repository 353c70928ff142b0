#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/failure.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

// Whole messages, as a person reads them.
TEST(HttpFailure, Messages_NameUrlPhaseReasonAndRemedy) {
  HttpFailureContext direct;
  direct.method = "POST";
  direct.url = "https://u:s3cret@h.example/mcp?api_key=s3cret";
  auto proxied = direct;
  proxied.proxy = "http://u:s3cret@p.example:3128";
  proxied.proxy_source = "HTTPS_PROXY";
  auto with_ca = direct;
  with_ca.ca_file = "/etc/corp.pem";
  with_ca.ca_source = "SSL_CERT_FILE";
  auto with_own_ca = direct;
  with_own_ca.ca_file = "/etc/own.pem";
  with_own_ca.ca_source = "the server's CA file";
  auto limited = direct;
  limited.limit = "30 s";

  auto failure = [](HttpFault fault, HttpPhase phase, std::string reason = {}, int status = 0, std::string names = {}) {
    return HttpFailure{fault, phase, std::move(reason), status, std::move(names)};
  };
  struct Case {
    HttpFailure failure;
    HttpFailureContext context;
    Errc code;
    const char* message;  // behind "POST https://h.example/mcp?api_key=***: "
  };
  const Case cases[] = {
      {failure(HttpFault::name_unknown, HttpPhase::resolving), direct, Errc::connect,
       "the host name h.example could not be resolved (while resolving the host name); check its spelling, and check "
       "that this machine can resolve names"},
      {failure(HttpFault::refused, HttpPhase::connecting, "Connection refused"), direct, Errc::connect,
       "no connection: Connection refused (while connecting); check that the server runs, and check its host and port"},
      {failure(HttpFault::refused, HttpPhase::connecting, "Connection refused"), proxied, Errc::connect,
       "no connection to the proxy http://p.example:3128 from HTTPS_PROXY: Connection refused (while connecting); "
       "check "
       "HTTPS_PROXY, or add h.example to NO_PROXY"},
      {failure(HttpFault::not_allowed, HttpPhase::connecting, "the token endpoint is on this machine"), direct,
       Errc::denied, "the token endpoint is on this machine (while connecting)"},
      {failure(HttpFault::proxy_name_unknown, HttpPhase::resolving), proxied, Errc::connect,
       "the name of the proxy http://p.example:3128 from HTTPS_PROXY could not be resolved (while resolving the host "
       "name); "
       "check HTTPS_PROXY, or add h.example to NO_PROXY"},
      {failure(HttpFault::proxy_refused, HttpPhase::proxy, "", 407), proxied, Errc::connect,
       "the proxy http://p.example:3128 from HTTPS_PROXY answered 407 (while talking to the proxy); add the user name "
       "and password to HTTPS_PROXY: http://user:password@host:port"},
      {failure(HttpFault::connect_timeout, HttpPhase::tls), limited, Errc::timeout,
       "no connection within 30 s (during the TLS handshake); check that the server can be reached from this machine, "
       "or allow more time with MCP_TIMEOUT (milliseconds)"},
      {failure(HttpFault::handshake, HttpPhase::tls, "error:0A00010B:SSL routines::wrong version number"), direct,
       Errc::tls,
       "the TLS handshake failed: the other side does not use TLS (during the TLS handshake); check that the port uses "
       "https; for a server without TLS write http://"},
      {failure(HttpFault::self_signed, HttpPhase::tls, "self-signed certificate"), direct, Errc::tls,
       "the certificate is self-signed (during the TLS handshake); if you trust the certificate, name its CA as "
       "\"tls\": {\"ca\": "
       "\"file.pem\"} in the entry of this server, or in NODE_EXTRA_CA_CERTS"},
      {failure(HttpFault::untrusted, HttpPhase::tls, "unable to get local issuer certificate"), with_ca, Errc::tls,
       "the certificate is not trusted: unable to get local issuer certificate (during the TLS handshake); if you "
       "trust the certificate, name its CA as \"tls\": {\"ca\": \"file.pem\"} in the entry of this server, or in "
       "NODE_EXTRA_CA_CERTS (/etc/corp.pem, from SSL_CERT_FILE, does not contain it)"},
      {failure(HttpFault::untrusted, HttpPhase::tls, "unable to get local issuer certificate"), with_own_ca, Errc::tls,
       "the certificate is not trusted: unable to get local issuer certificate (during the TLS handshake); only the "
       "CAs in /etc/own.pem (the server's CA file) are trusted for this server; if you trust the CA that signed the "
       "certificate, add it there"},
      {failure(HttpFault::expired, HttpPhase::tls, "certificate has expired"), direct, Errc::tls,
       "the certificate is not valid now: certificate has expired (during the TLS handshake); check the clock of this "
       "machine; otherwise the server needs a new certificate"},
      {failure(HttpFault::wrong_name, HttpPhase::tls, "", 0, "a.example, b.example"), direct, Errc::tls,
       "the certificate is for a.example, b.example, not for h.example (during the TLS handshake); use a name that is "
       "in the certificate"},
      {failure(HttpFault::reset, HttpPhase::reading, "Connection reset by peer"), direct, Errc::closed,
       "the connection broke: Connection reset by peer (while reading the body); if this happens again, look at the "
       "log of the server"},
      {failure(HttpFault::client_gone, HttpPhase::waiting), direct, Errc::closed,
       "the HTTP client was closed (while waiting for the answer)"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.message);
    const auto error = http_error(c.failure, c.context);
    EXPECT_EQ(error.code(), c.code);
    EXPECT_EQ(error.message(), std::string("POST https://h.example/mcp?api_key=***: ") + c.message);
  }
}

// A server that expects TLS hangs up on a request that is not encrypted.
TEST(HttpFailure, AConnectionThatEndsWithoutAnAnswerMayHaveWantedTls) {
  HttpFailureContext context;
  context.method = "POST";
  auto remedy = [&](std::string url, HttpFault fault, HttpPhase phase) {
    context.url = std::move(url);
    const auto message = http_error(HttpFailure{fault, phase, "Connection reset by peer", 0, {}}, context).message();
    return message.substr(message.find("; ") + 2);
  };
  const std::string tls = "if the server expects TLS, write https://; otherwise look at the log of the server";
  const std::string again = "if this happens again, look at the log of the server";
  EXPECT_EQ(remedy("http://h/mcp", HttpFault::closed, HttpPhase::waiting), tls);
  EXPECT_EQ(remedy("http://h/mcp", HttpFault::reset, HttpPhase::sending), tls);
  EXPECT_EQ(remedy("http://h/mcp", HttpFault::reset, HttpPhase::reading), again);
  EXPECT_EQ(remedy("https://h/mcp", HttpFault::closed, HttpPhase::waiting), again);
  EXPECT_EQ(remedy("ws://h/mcp", HttpFault::closed, HttpPhase::waiting),
            "if the server expects TLS, write wss://; otherwise look at the log of the server");
}

}  // namespace
}  // namespace patchbay
