// What an outcome of libcurl means: its numbers and texts turned into an HttpFailure. Pure; the wrapper of the
// library fills in what it knows and asks, once per request that failed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/client/failure.h"

namespace patchbay {

struct CurlOutcome {
  int code = 0;  // a CURLcode
  std::string reason;
  HttpPhase phase = HttpPhase::connecting;
  bool connected = false;      // the request could go out
  bool through_proxy = false;  // a proxy was to be used
  long verify_result = 0;      // of the certificate, as OpenSSL counts
  long proxy_status = 0;       // of its answer to CONNECT, 0: there was none
  long os_error = 0;           // of a connection that could not be made
};
// All but the names in a certificate.
HttpFailure failure_of(CurlOutcome outcome);

// The same for a single step on an open connection.
HttpFault fault_of(int code, long verify_result, std::string_view reason);

// What the library said in its buffer, or else what it calls the code, without what says nothing.
std::string plain_reason(std::string_view said, std::string_view called);

// "a.example, b.example" out of the lines of a certificate, or its common name.
std::string certificate_names(std::span<const std::string_view> lines);

}  // namespace patchbay
