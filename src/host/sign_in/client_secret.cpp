#include "host/sign_in/client_secret.h"

#include <fmt/format.h>

#include "base/crypto.h"

namespace patchbay {

std::string client_secret_name(const std::string& server, const std::string& url) {
  return fmt::format("client-secret:{}:{}", server, sha256_hex(url).substr(0, 12));
}

}  // namespace patchbay
