// The encrypted file of secrets as bytes: what is in it, and how it is sealed and opened. scrypt makes a key of a
// passphrase or of the content of a key file, AES-256-GCM seals. Pure but for randomness; who reads and writes the file
// is file_place.h. Any thread.
//
//   "PBSECRET"  8 bytes   what it is
//   version     1         1
//   protection  1         1: key file, 2: passphrase
//   cost        3         log2 N, r, p of scrypt
//   zero        3
//   salt        16
//   check       16        of the key: a wrong one is told from a damaged file
//   nonce       12        another one each time
//   sealed                names and values; all of the above is authenticated with them
//   tag         16
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "auth/store/key_memory.h"
#include "base/clock.h"
#include "base/crypto.h"

namespace patchbay {

enum class FileProtection : std::uint8_t { key_file = 1, passphrase = 2 };

inline constexpr std::size_t most_sealed = 32u << 20;  // bytes of all names and values

struct SealedHeader {
  FileProtection protection = FileProtection::key_file;
  ScryptCost cost;
  std::string salt;   // 16 bytes
  std::string check;  // 16 bytes
  bool operator==(const SealedHeader&) const = default;
};

// Errc::config: not such a file, cut off, a newer version, or more expensive than anybody would make it.
Result<SealedHeader> read_sealed_header(std::string_view file);

// A key that fits this header's salt and cost: 32 bytes for AES, then 16 to check it by.
using SealedKey = KeyMemory;
Result<SealedKey> derive_sealed_key(std::string_view from, std::string_view salt, ScryptCost cost);
bool fits(const SealedKey& key, const SealedHeader& header);

// A header for a new file, and the key for it.
struct NewSeal {
  SealedHeader header;
  SealedKey key;
};
Result<NewSeal> make_seal(FileProtection protection, std::string_view from, ScryptCost cost, const Random& random);

// Names and values; the values point into memory that is wiped.
class SealedSecrets {
 public:
  SealedSecrets() = default;
  const std::string_view* find(std::string_view name) const;
  std::size_t size() const noexcept { return entries_.size(); }
  const std::map<std::string_view, std::string_view>& entries() const noexcept { return entries_; }

 private:
  friend Result<SealedSecrets> open_sealed(std::string_view, const SealedKey&);
  KeyMemory memory_;
  std::map<std::string_view, std::string_view> entries_;
};

// Errc::config when one bit of the file or of the key differs.
Result<SealedSecrets> open_sealed(std::string_view file, const SealedKey& key);

using SecretTexts = std::map<std::string_view, std::string_view>;
Result<std::string> seal(const SecretTexts& entries, const SealedHeader& header, const SealedKey& key,
                         const Random& random);

}  // namespace patchbay
