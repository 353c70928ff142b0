#include "http/client/failure.h"

#include <fmt/format.h>

#include "http/url.h"

namespace patchbay {
namespace {

struct Telling {
  Errc code;
  std::string what;
  std::string remedy;
};

std::string host_of(const std::string& url) {
  const auto parsed = parse_url(url);
  return parsed ? parsed->host : redacted_url(url);
}

// A file the user chose for this server is theirs to change; the one of the whole machine,
// or of all programs, is not.
std::string trust_remedy(const HttpFailureContext& context) {
  if (!context.ca_file.empty() && context.ca_source != "SSL_CERT_FILE") {
    return fmt::format(
        "only the CAs in {} ({}) are trusted for this server; if you trust the CA that signed the certificate, add it "
        "there",
        context.ca_file, context.ca_source);
  }
  std::string remedy =
      "if you trust the certificate, name its CA as \"tls\": {\"ca\": \"file.pem\"} in the entry of this server, or in "
      "NODE_EXTRA_CA_CERTS";
  if (!context.ca_file.empty())
    remedy += fmt::format(" ({}, from {}, does not contain it)", context.ca_file, context.ca_source);
  return remedy;
}

// What a server that expects TLS does with a request that is not encrypted.
std::string ended_remedy(const HttpFailure& failure, const HttpFailureContext& context) {
  const auto url = parse_url(context.url);
  const bool plain = url && (url->scheme == "http" || url->scheme == "ws");
  if (plain && (failure.phase == HttpPhase::waiting || failure.phase == HttpPhase::sending)) {
    return fmt::format("if the server expects TLS, write {}s://; otherwise look at the log of the server", url->scheme);
  }
  return "if this happens again, look at the log of the server";
}

std::string proxy_name(const HttpFailureContext& context) {
  return fmt::format("the proxy {} from {}", redacted_url(context.proxy), context.proxy_source);
}

std::string proxy_remedy(const HttpFailureContext& context) {
  return fmt::format("check {}, or add {} to NO_PROXY", context.proxy_source, host_of(context.url));
}

Telling tell(const HttpFailure& failure, const HttpFailureContext& context) {
  switch (failure.fault) {
    case HttpFault::name_unknown:
      return {Errc::connect, fmt::format("the host name {} could not be resolved", host_of(context.url)),
              "check its spelling, and check that this machine can resolve names"};
    case HttpFault::proxy_name_unknown:
      return {Errc::connect, fmt::format("the name of {} could not be resolved", proxy_name(context)),
              proxy_remedy(context)};
    case HttpFault::refused:
      if (!context.proxy.empty()) {
        return {Errc::connect, fmt::format("no connection to {}: {}", proxy_name(context), failure.reason),
                proxy_remedy(context)};
      }
      return {Errc::connect, fmt::format("no connection: {}", failure.reason),
              "check that the server runs, and check its host and port"};
    case HttpFault::not_allowed:
      return {Errc::denied, failure.reason, ""};
    case HttpFault::connect_timeout:
      return {Errc::timeout, fmt::format("no connection within {}", context.limit),
              context.proxy.empty() ? std::string("check that the server can be reached from this machine, or allow "
                                                  "more time with MCP_TIMEOUT (milliseconds)")
                                    : proxy_remedy(context)};
    case HttpFault::first_byte_timeout:
      return {Errc::timeout, fmt::format("no answer within {}", context.limit),
              context.method == "WebSocket" ? "if the server needs more time, set MCP_TIMEOUT (milliseconds)"
                                            : "if this happens again, look at the log of the server"};
    case HttpFault::idle_timeout:
      return {Errc::timeout, fmt::format("no more data came for {}", context.limit),
              "if this happens again, look at the log of the server"};
    case HttpFault::total_timeout:
      return {Errc::timeout, fmt::format("not finished within {}", context.limit),
              "if this happens again, look at the log of the server"};
    case HttpFault::proxy_refused:
      return {Errc::connect, fmt::format("{} answered {}", proxy_name(context), failure.status),
              failure.status == 407
                  ? fmt::format("add the user name and password to {}: http://user:password@host:port",
                                context.proxy_source)
                  : proxy_remedy(context)};
    case HttpFault::proxy_failed:
      return {Errc::connect, fmt::format("{} failed: {}", proxy_name(context), failure.reason), proxy_remedy(context)};
    case HttpFault::untrusted:
      return {Errc::tls, fmt::format("the certificate is not trusted: {}", failure.reason), trust_remedy(context)};
    case HttpFault::self_signed:
      return {Errc::tls, "the certificate is self-signed", trust_remedy(context)};
    case HttpFault::expired:
      return {Errc::tls, fmt::format("the certificate is not valid now: {}", failure.reason),
              "check the clock of this machine; otherwise the server needs a new certificate"};
    case HttpFault::wrong_name:
      return {Errc::tls,
              failure.certificate_names.empty() ? fmt::format("the certificate is not for {}", host_of(context.url))
                                                : fmt::format("the certificate is for {}, not for {}",
                                                              failure.certificate_names, host_of(context.url)),
              "use a name that is in the certificate"};
    case HttpFault::wants_certificate:
      return {Errc::tls,
              fmt::format("the server did not accept our client certificate, or needs one: {}", failure.reason),
              "add a client certificate that the server accepts to its entry: \"tls\": {\"cert\": …, \"key\": …}"};
    case HttpFault::handshake:
      // What OpenSSL says of an answer in clear text.
      if (failure.reason.find("wrong version number") != std::string::npos ||
          failure.reason.find("0A00010B") != std::string::npos) {
        return {Errc::tls, "the TLS handshake failed: the other side does not use TLS",
                "check that the port uses https; for a server without TLS write http://"};
      }
      return {Errc::tls, fmt::format("the TLS handshake failed: {}", failure.reason), "check that the port uses https"};
    case HttpFault::bad_ca_file:
      return {Errc::tls,
              context.ca_file.empty()
                  ? fmt::format("the system's CA certificates cannot be read: {}", failure.reason)
                  : fmt::format("the CA file {} ({}) cannot be read", context.ca_file, context.ca_source),
              context.ca_file.empty() ? "install ca-certificates"
                                      : "the file must exist and contain certificates in PEM format"};
    case HttpFault::bad_certificate_file:
      return {Errc::tls,
              context.certificate_source.empty()
                  ? fmt::format("the client certificate or its key cannot be used: {}", failure.reason)
                  : fmt::format("the client certificate from {} or its key cannot be used: {}",
                                context.certificate_source, failure.reason),
              "both must be PEM files that belong together"};
    case HttpFault::closed:
      return {Errc::closed, "the server closed the connection", ended_remedy(failure, context)};
    case HttpFault::reset:
      return {Errc::closed, fmt::format("the connection broke: {}", failure.reason), ended_remedy(failure, context)};
    case HttpFault::truncated:
      return {Errc::closed, fmt::format("the answer was cut off: {}", failure.reason),
              "if this happens again, look at the log of the server and at proxies in between"};
    case HttpFault::not_http:
      return {Errc::protocol, fmt::format("the other side does not use HTTP: {}", failure.reason),
              "check the host, the port, and whether the url needs http or https"};
    case HttpFault::headers_too_large:
      return {Errc::limit, fmt::format("the header of the answer is larger than {}", context.limit),
              "the server or a proxy in between must send less"};
    case HttpFault::body_too_large:
      return {Errc::limit, fmt::format("the answer is larger than {}", context.limit),
              "ask the server for less at a time"};
    case HttpFault::client_gone:
      return {Errc::closed, "the HTTP client was closed", ""};
    case HttpFault::other:
      break;
  }
  return {Errc::connect, failure.reason, "check the URL"};
}

}  // namespace

std::string_view to_string(HttpPhase phase) noexcept {
  switch (phase) {
    case HttpPhase::resolving:
      return "while resolving the host name";
    case HttpPhase::connecting:
      return "while connecting";
    case HttpPhase::proxy:
      return "while talking to the proxy";
    case HttpPhase::tls:
      return "during the TLS handshake";
    case HttpPhase::sending:
      return "while sending the request";
    case HttpPhase::waiting:
      return "while waiting for the answer";
    case HttpPhase::reading:
      return "while reading the body";
  }
  return "";
}

bool never_arrived(const HttpFailure& failure) noexcept {
  switch (failure.phase) {
    case HttpPhase::resolving:
    case HttpPhase::connecting:
    case HttpPhase::proxy:
    case HttpPhase::tls:
      return true;
    case HttpPhase::sending:
    case HttpPhase::waiting:
      return failure.unacknowledged;
    case HttpPhase::reading:
      return false;
  }
  return false;
}

Error http_error(const HttpFailure& failure, const HttpFailureContext& context) {
  const auto telling = tell(failure, context);
  const auto shown = context.shown.empty() ? redacted_url(context.url) : context.shown;
  auto message = fmt::format("{} {}: {} ({})", context.method, shown, telling.what, to_string(failure.phase));
  if (!telling.remedy.empty()) message += "; " + telling.remedy;
  Error error(telling.code, std::move(message));
  return never_arrived(failure) ? std::move(error).with_carried_out(CarriedOut::no) : error;
}

}  // namespace patchbay
