// The index of the store: which place holds which name, and what may be shown of it. It holds no secret. JSON:
// {"version": 1, "store": "…", "secrets": {"NAME": {"place": "keyring", "note": {…}}}}. Reading and writing text is
// pure; secret_vault.cpp keeps the file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

#include "auth/store/secret_place.h"

namespace patchbay {

struct SecretIndex {
  struct Entry {
    SecretPlace place = SecretPlace::file;
    Json note;
    bool operator==(const Entry&) const = default;
  };
  // Tells what is ours in a keyring from what another state directory keeps there; made with the first secret.
  std::string store;
  std::map<std::string, Entry, std::less<>> secrets;
  bool operator==(const SecretIndex&) const = default;
};

// Errc::config: written by a newer version, or damaged. An empty text is an empty index.
Result<SecretIndex> read_index(std::string_view text);
std::string write_index(const SecretIndex& index);

}  // namespace patchbay
