#include "http/client/curl_outcome.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

// T2: what the library reports, and where on the way it happened.
TEST(CurlOutcome, CodesAndTexts_BecomeFaults) {
  struct Case {
    const char* what;
    CurlOutcome outcome;
    HttpFault fault;
    HttpPhase phase;
    const char* reason = nullptr;  // null: as it was
    int status = 0;
  };
  using Fault = HttpFault;
  using Phase = HttpPhase;
  auto plain = [](int code, HttpPhase phase, const char* reason = "why") {
    return CurlOutcome{.code = code, .reason = reason, .phase = phase};
  };
  auto sent = [&](int code, HttpPhase phase, const char* reason = "why") {
    auto made = plain(code, phase, reason);
    made.connected = true;
    return made;
  };
  auto verified = [&](long result, const char* reason = "why") {
    auto made = plain(CURLE_PEER_FAILED_VERIFICATION, Phase::connecting, reason);
    made.verify_result = result;
    return made;
  };
  auto proxied = [&](CurlOutcome made, long status) {
    made.through_proxy = true;
    made.proxy_status = status;
    return made;
  };
  auto refused = plain(CURLE_COULDNT_CONNECT, Phase::resolving, "Failed to connect");
  refused.os_error = ECONNREFUSED;
  const Case cases[] = {
      {"a name", plain(CURLE_COULDNT_RESOLVE_HOST, Phase::connecting), Fault::name_unknown, Phase::resolving},
      {"a proxy's name", plain(CURLE_COULDNT_RESOLVE_PROXY, Phase::connecting), Fault::proxy_name_unknown,
       Phase::resolving},
      {"refused, by the system's word for it", refused, Fault::refused, Phase::connecting, std::strerror(ECONNREFUSED)},
      {"refused without one", plain(CURLE_COULDNT_CONNECT, Phase::tls), Fault::refused, Phase::connecting},
      {"our limit", plain(CURLE_OPERATION_TIMEDOUT, Phase::tls), Fault::connect_timeout, Phase::tls},
      {"a proxy that fails", plain(CURLE_PROXY, Phase::connecting), Fault::proxy_failed, Phase::proxy},
      {"a proxy that says no", proxied(plain(CURLE_RECV_ERROR, Phase::proxy), 407), Fault::proxy_refused, Phase::proxy,
       nullptr, 407},
      {"the same with a code of its own", proxied(plain(CURLE_COULDNT_CONNECT, Phase::connecting), 502),
       Fault::proxy_refused, Phase::proxy, nullptr, 502},
      {"a proxy that hangs up", proxied(plain(CURLE_RECV_ERROR, Phase::proxy), 0), Fault::proxy_failed, Phase::proxy},
      {"a proxy that says nothing", proxied(plain(CURLE_GOT_NOTHING, Phase::proxy), 0), Fault::proxy_failed,
       Phase::proxy},
      {"TLS behind a proxy that said yes", proxied(plain(CURLE_SSL_CONNECT_ERROR, Phase::tls), 200), Fault::handshake,
       Phase::tls},
      {"the request behind a proxy that said no before", proxied(sent(CURLE_GOT_NOTHING, Phase::waiting), 407),
       Fault::closed, Phase::waiting},
      {"a name that does not fit", verified(62), Fault::wrong_name, Phase::tls},
      {"a chain in order, so it is the name", verified(0), Fault::wrong_name, Phase::tls},
      {"the name, by its text", verified(20, "no alternative certificate subject name matches target host name 'h'"),
       Fault::wrong_name, Phase::tls},
      {"an address, by its text",
       verified(20, "no alternative certificate subject name matches target ipv4 address '127.0.0.1'"),
       Fault::wrong_name, Phase::tls},
      {"the name, by the text of libcurl 8",
       verified(20, "certificate subject name 'a' does not match target hostname 'h'"), Fault::wrong_name, Phase::tls},
      {"not valid yet", verified(9), Fault::expired, Phase::tls},
      {"expired", verified(10), Fault::expired, Phase::tls},
      {"its own CA", verified(18), Fault::self_signed, Phase::tls},
      {"an unknown CA", verified(20), Fault::untrusted, Phase::tls},
      {"an issuer", plain(CURLE_SSL_ISSUER_ERROR, Phase::connecting), Fault::untrusted, Phase::tls},
      {"our CA file", plain(CURLE_SSL_CACERT_BADFILE, Phase::connecting), Fault::bad_ca_file, Phase::tls},
      {"our certificate", plain(CURLE_SSL_CERTPROBLEM, Phase::connecting), Fault::bad_certificate_file, Phase::tls},
      {"a handshake", plain(CURLE_SSL_CONNECT_ERROR, Phase::connecting, "wrong version number"), Fault::handshake,
       Phase::tls},
      {"a handshake that wants a certificate",
       plain(CURLE_SSL_CONNECT_ERROR, Phase::tls, "tlsv13 alert certificate required, errno 0"),
       Fault::wants_certificate, Phase::tls},
      {"the same after the handshake", sent(CURLE_RECV_ERROR, Phase::waiting, "alert unknown ca"),
       Fault::wants_certificate, Phase::waiting},
      {"nothing came", sent(CURLE_GOT_NOTHING, Phase::waiting), Fault::closed, Phase::waiting},
      {"a reset while sending", sent(CURLE_SEND_ERROR, Phase::sending), Fault::reset, Phase::sending},
      {"a reset while reading", sent(CURLE_RECV_ERROR, Phase::reading), Fault::reset, Phase::reading},
      {"a stream of HTTP/2", sent(CURLE_HTTP2_STREAM, Phase::reading), Fault::reset, Phase::reading},
      {"too short", sent(CURLE_PARTIAL_FILE, Phase::reading), Fault::truncated, Phase::reading},
      {"no HTTP", sent(CURLE_WEIRD_SERVER_REPLY, Phase::waiting), Fault::not_http, Phase::waiting},
      {"another version of it", sent(CURLE_UNSUPPORTED_PROTOCOL, Phase::waiting), Fault::not_http, Phase::waiting},
      {"a scheme this build lacks", plain(CURLE_UNSUPPORTED_PROTOCOL, Phase::connecting), Fault::other,
       Phase::connecting},
      {"anything else", plain(CURLE_FAILED_INIT, Phase::connecting), Fault::other, Phase::connecting},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto failure = failure_of(c.outcome);
    EXPECT_EQ(failure.fault, c.fault);
    EXPECT_EQ(failure.phase, c.phase);
    EXPECT_EQ(failure.reason, c.reason ? std::string(c.reason) : c.outcome.reason);
    EXPECT_EQ(failure.status, c.status);
    EXPECT_EQ(failure.certificate_names, "");
  }
}

TEST(CurlOutcome, Reasons_SayWhatTheyMean) {
  struct Case {
    const char* said;
    const char* called;
    const char* reason;
  };
  for (const auto& c : {
           Case{"", "Couldn't resolve host name", "Couldn't resolve host name"},
           Case{"Recv failure: Connection reset by peer\r\n", "x", "Recv failure: Connection reset by peer"},
           Case{"SSL certificate problem: self-signed certificate", "x", "self-signed certificate"},
           Case{"SSL: no alternative certificate", "x", "no alternative certificate"},
           Case{"getpeername() failed with errno 107: Transport endpoint is not connected", "x",
                "Connection reset by peer"},
           Case{"", "", ""},
       }) {
    EXPECT_EQ(plain_reason(c.said, c.called), c.reason);
  }
}

TEST(CurlOutcome, Names_AreThoseOfTheCertificate) {
  struct Case {
    std::vector<std::string_view> lines;
    std::string names;
  };
  const std::string many = "X509v3 Subject Alternative Name: DNS:" + std::string(400, 'a');
  for (const auto& c : {
           Case{{}, ""},
           Case{{"Version: 2"}, ""},
           Case{{"Subject: O = Corp, CN = a.example", "Version: 2"}, "a.example"},
           Case{{"Subject: CN = a.example, O = Corp"}, "a.example"},
           Case{{"Subject: O = Corp"}, ""},
           Case{{"Subject: CN = a.example", "X509v3 Subject Alternative Name:DNS:b.example, IP Address:127.0.0.1"},
                "b.example, 127.0.0.1"},
           Case{{many}, std::string(300, 'a')},
       }) {
    EXPECT_EQ(certificate_names(c.lines), c.names);
  }
}

}  // namespace
}  // namespace patchbay
