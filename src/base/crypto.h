// The few cryptographic operations outside TLS and sign-in: a digest for stable names,
// and a sealed box for state that a client carries back to us. Pure but for randomness.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "base/clock.h"

namespace patchbay {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

// For protocols that are fixed on it (the WebSocket handshake); it protects nothing any more.
std::string sha1(std::string_view bytes);

std::string base64_encode(std::string_view bytes);
// Standard alphabet with padding; anything else is an error.
Result<std::string> base64_decode(std::string_view text);
std::string base64url_encode(std::string_view bytes);
Result<std::string> base64url_decode(std::string_view text);

// AES-256-GCM under a key that lives as long as the object. What is sealed can be
// carried by a stranger: opening fails if one bit or the context differs.
class Sealer {
 public:
  explicit Sealer(Random random);
  std::string seal(std::string_view plain, std::string_view context) const;  // base64url text
  Result<std::string> open(std::string_view sealed, std::string_view context) const;

 private:
  Random random_;
  std::array<std::uint8_t, 32> key_{};
};

}  // namespace patchbay
