#include "http/client/curl_outcome.h"

#include <system_error>
#include <vector>

#include "base/strings.h"
#include "http/client/curl_library.h"

namespace patchbay {
namespace {

// OpenSSL's numbers for why a chain was refused (X509_V_ERR_*).
HttpFault fault_of_chain(long verify_result) {
  switch (verify_result) {
    case 0:
    case 62:
      return HttpFault::wrong_name;  // a chain in order, or the mismatch itself
    case 9:
    case 10:
      return HttpFault::expired;
    case 18:
      return HttpFault::self_signed;
    default:
      return HttpFault::untrusted;
  }
}

// The last link of errors OpenSSL reports is the one worth reading.
bool speaks_of_certificate(std::string_view reason) {
  for (std::string_view alert : {"alert certificate required", "alert bad certificate", "alert unknown ca",
                                 "alert certificate unknown", "alert certificate expired"}) {
    if (reason.find(alert) != std::string_view::npos) return true;
  }
  return false;
}

// "…certificate subject name matches target host name 'x'"; newer versions say "hostname" or "ipv4 address".
bool speaks_of_name(std::string_view reason) {
  return reason.find("certificate subject name") != std::string_view::npos;
}

}  // namespace

HttpFault fault_of(int code, long verify_result, std::string_view reason) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpFault::name_unknown;
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFault::proxy_name_unknown;
    case CURLE_COULDNT_CONNECT:
      return HttpFault::refused;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::connect_timeout;  // the only limit the library knows of
    case CURLE_PROXY:
      return HttpFault::proxy_failed;
    case CURLE_PEER_FAILED_VERIFICATION:
      return speaks_of_name(reason) ? HttpFault::wrong_name : fault_of_chain(verify_result);
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFault::untrusted;
    case CURLE_SSL_CACERT_BADFILE:
      return HttpFault::bad_ca_file;
    case CURLE_SSL_CERTPROBLEM:
      return HttpFault::bad_certificate_file;
    case CURLE_SSL_CLIENTCERT:
      return HttpFault::wants_certificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return speaks_of_certificate(reason) ? HttpFault::wants_certificate : HttpFault::handshake;
    case CURLE_GOT_NOTHING:
      return HttpFault::closed;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      if (speaks_of_certificate(reason)) return HttpFault::wants_certificate;
      return HttpFault::reset;
    case CURLE_PARTIAL_FILE:
      return HttpFault::truncated;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return HttpFault::reset;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
      return HttpFault::not_http;
    default:
      return HttpFault::other;
  }
}

std::string certificate_names(std::span<const std::string_view> lines) {
  std::string subject;
  for (auto text : lines) {
    if (text.starts_with("X509v3 Subject Alternative Name:")) {
      text.remove_prefix(text.find(':') + 1);
      std::vector<std::string> names;
      for (auto name : split(text, ',')) {
        const auto colon = name.find(':');
        names.emplace_back(trim(colon == std::string_view::npos ? name : name.substr(colon + 1)));
      }
      return std::string(cut_utf8(join(names, ", "), 300));
    }
    if (text.starts_with("Subject:")) {
      const auto common = text.find("CN = ");
      if (common != std::string_view::npos) subject = text.substr(common + 5, text.find(',', common) - common - 5);
    }
  }
  return subject;
}

// CURLcode's cousins for SOCKS and the like are all told by their text.
std::string plain_reason(std::string_view said, std::string_view called) {
  std::string reason(said.empty() ? called : said);
  // What the library says when it asks a socket about itself that is gone already.
  if (reason.starts_with("getpeername()")) reason = "Connection reset by peer";
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '\r')) reason.pop_back();
  for (std::string_view prefix : {"SSL certificate problem: ", "SSL: "}) {
    if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  }
  return reason;
}

HttpFailure failure_of(CurlOutcome outcome) {
  HttpFailure failure;
  failure.phase = outcome.phase;
  failure.fault = fault_of(outcome.code, outcome.verify_result, outcome.reason);
  failure.reason = std::move(outcome.reason);
  if (outcome.through_proxy && !outcome.connected && outcome.proxy_status != 0 && outcome.proxy_status / 100 != 2) {
    failure.fault = HttpFault::proxy_refused;
    failure.status = static_cast<int>(outcome.proxy_status);
    failure.phase = HttpPhase::proxy;
  } else if (failure.phase == HttpPhase::proxy &&
             (failure.fault == HttpFault::reset || failure.fault == HttpFault::closed)) {
    failure.fault = HttpFault::proxy_failed;
  }
  switch (failure.fault) {
    case HttpFault::name_unknown:
    case HttpFault::proxy_name_unknown:
      failure.phase = HttpPhase::resolving;
      break;
    case HttpFault::refused:
      failure.phase = HttpPhase::connecting;
      if (outcome.os_error != 0) failure.reason = std::generic_category().message(static_cast<int>(outcome.os_error));
      break;
    case HttpFault::proxy_failed:
      failure.phase = HttpPhase::proxy;
      break;
    case HttpFault::wrong_name:
    case HttpFault::untrusted:
    case HttpFault::self_signed:
    case HttpFault::expired:
    case HttpFault::handshake:
    case HttpFault::bad_ca_file:
    case HttpFault::bad_certificate_file:
      failure.phase = HttpPhase::tls;
      break;
    case HttpFault::not_http:
      if (outcome.code == CURLE_UNSUPPORTED_PROTOCOL && !outcome.connected) failure.fault = HttpFault::other;
      break;
    default:
      break;
  }
  return failure;
}

}  // namespace patchbay
