#include "base/exit_code.h"

namespace patchbay {

int exit_code(const Error& error) noexcept {
  switch (error.code()) {
    case Errc::rpc:
      return 1;
    case Errc::invalid_argument:
    case Errc::config:
    case Errc::denied:
    case Errc::unsupported:
      return 2;
    case Errc::timeout:
    case Errc::closed:
    case Errc::connect:
    case Errc::tls:
    case Errc::http:
    case Errc::unauthorized:
    case Errc::forbidden:
    case Errc::protocol:
    case Errc::limit:
      return 3;
    case Errc::cancelled:
      return 130;
    case Errc::internal:
      return 70;
  }
  return 70;
}

}  // namespace patchbay
