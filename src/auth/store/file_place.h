// The encrypted file of the store as a place for secrets: gets its key (from memory, the key file, the kernel's cache
// or a person), opens the file, and writes it anew. What its bytes are is sealed_file.h. Owned by SecretVault, which
// holds the lock of the store around what writes. Blocking; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <patchbay/error.h>

#include "auth/store/sealed_file.h"
#include "base/clock.h"
#include "base/secret.h"

namespace patchbay {

// What a passphrase is wanted for.
enum class PassphraseUse : std::uint8_t {
  open,        // the file that is there
  open_again,  // the one before was wrong
};
using AskPassphrase = std::function<std::optional<Secret>(PassphraseUse)>;

// A key file at its usual place is made when it is needed; one that the user named must be there.
enum class KeyFileName : std::uint8_t { usual, given };

struct FilePlaceOptions {
  std::string file;
  std::string key_file;
  KeyFileName key_file_name = KeyFileName::usual;
  AskPassphrase ask;  // unset: there is nobody to ask
  std::size_t passphrase_tries = 3;
  ScryptCost passphrase_cost;
  std::chrono::seconds cached_key{};
  Random random;
};

class FilePlace {
 public:
  explicit FilePlace(FilePlaceOptions options) : options_(std::move(options)) {}

  // Gets the key of the file that is there, before the lock is taken: a person may have to type it.
  Result<void> unlock();
  Result<std::optional<Secret>> read(const std::string& name);
  // Under the lock. False: the file got another key since unlock(), and nothing was changed.
  Result<bool> change(const std::function<void(SecretTexts&)>& edit);
  // Under the lock, as change(). The passphrase is not used for a key file.
  Result<bool> protect(FileProtection protection, const Secret& passphrase);
  // Nothing: there is no file.
  Result<std::optional<FileProtection>> protection() const;

 private:
  using Key = std::shared_ptr<const SealedKey>;
  struct Content {
    SealedHeader header;
    Key key;
    SealedSecrets secrets;
  };

  Result<std::optional<std::string>> text() const;
  Key key_in_memory(const SealedHeader& header) const;
  Key remember(SealedKey key);
  Result<Key> key_for(const SealedHeader& header);
  Result<Key> key_from_file(const SealedHeader& header);
  Result<Key> key_from_person(const SealedHeader& header);
  Result<NewSeal> seal_with_key_file();
  // Nothing: there is no file. A null key: it is not in memory.
  Result<std::optional<Content>> content() const;
  Result<void> write(const SecretTexts& entries, const SealedHeader& header, const SealedKey& key);
  std::string cache_name(const SealedHeader& header) const;

  FilePlaceOptions options_;
  mutable std::mutex mutex_;
  Key key_;  // the last that was used
};

}  // namespace patchbay
