// The key file of machines where nobody types a passphrase: secrets.key beside our config.json, or the file that
// PATCHBAY_SECRETS_KEY_FILE names. Its content, without the end of the line, is what the key of the encrypted file is
// derived from. One that we make has 32 random bytes. Blocking; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "auth/store/key_memory.h"
#include "base/clock.h"
#include "base/crypto.h"

namespace patchbay {

// Nothing when there is no such file. Errc::config when somebody else could read or write it, or when it is too short
// to be a key.
Result<std::optional<KeyMemory>> read_key_file(const std::string& path);

// For the user alone; replaces nothing that is there. The folders are made if need be.
Result<KeyMemory> make_key_file(const std::string& path, const Random& random);

// What deriving a key from this content costs: next to nothing where there is nothing to guess, because we made it.
ScryptCost cost_for_key_file(std::string_view content, ScryptCost for_people);

}  // namespace patchbay
