// The few cryptographic operations outside TLS: a digest for stable names, a sealed box for state that a client carries
// back to us, and what the file of secrets is made of (auth/store). Pure but for randomness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

// Zeros that no compiler leaves out.
void wipe(std::span<std::uint8_t> bytes) noexcept;

// AES-256-GCM. A nonce is used once for each key; `context` is not in what is sealed, and must be the same to open it.
inline constexpr std::size_t aes_key_size = 32;
inline constexpr std::size_t aes_nonce_size = 12;
inline constexpr std::size_t aes_tag_size = 16;
using AesKey = std::span<const std::uint8_t, aes_key_size>;
using AesNonce = std::span<const std::uint8_t, aes_nonce_size>;
// `out` has room for the plain bytes and the tag behind them. False when the library refuses.
bool aes_seal(AesKey key, AesNonce nonce, std::string_view plain, std::string_view context,
              std::span<std::uint8_t> out) noexcept;
// `out` has room for what is sealed without its tag. False when one bit of anything differs.
bool aes_open(AesKey key, AesNonce nonce, std::string_view sealed, std::string_view context,
              std::span<std::uint8_t> out) noexcept;

// What guessing costs: 128 * r * 2^log_n bytes of memory, p times.
struct ScryptCost {
  std::uint8_t log_n = 17;
  std::uint8_t r = 8;
  std::uint8_t p = 1;
  bool operator==(const ScryptCost&) const = default;
  std::uint64_t memory() const noexcept { return (std::uint64_t{128} * r) << log_n; }
};
// RFC 7914. False when the library refuses, for instance because there is not enough memory.
bool scrypt(std::string_view from, std::string_view salt, ScryptCost cost, std::span<std::uint8_t> out) noexcept;

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
