#include "rpc/carried_out.h"

#include <utility>

#include "protocol/wire.h"
#include "rpc/message.h"

namespace patchbay {

CarriedOut carried_out(const CallEnd& end) noexcept {
  if (!end.sent) return CarriedOut::no;
  if (end.rpc_code) {
    switch (*end.rpc_code) {
      // Looked at before the request is, and the request is repeated with other headers.
      case modern_code::header_mismatch:
        return CarriedOut::no;
      case rpc_code::parse_error:
      case rpc_code::invalid_request:
      case rpc_code::method_not_found:
      case rpc_code::invalid_params:
        return CarriedOut::refused;
      default:
        break;
    }
  }
  if (end.http_status) {
    if (*end.http_status == 401) return CarriedOut::no;
    if (*end.http_status / 100 == 4) return CarriedOut::refused;
  }
  return CarriedOut::unknown;
}

Error judged(Error error, bool sent) {
  if (error.carried_out()) return error;
  const CallEnd end{.sent = sent, .rpc_code = error.rpc_code(), .http_status = error.http_status()};
  return std::move(error).with_carried_out(carried_out(end));
}

bool may_be_repeated(const Error& error) noexcept { return error.carried_out() == CarriedOut::no; }

}  // namespace patchbay
