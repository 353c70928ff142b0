// A key that the kernel keeps for this user, for a while: a passphrase is typed once per login, not once per command.
// It is in the user keyring (keyrings(7)), in memory that is neither swapped nor dumped, and every process of the user
// can read it, as it can read the memory of our processes. Where the kernel has no keyrings, or a container forbids
// them, nothing is kept. Blocking, but never for long; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "auth/store/key_memory.h"

namespace patchbay {

// `name` is unique among the keys of the user.
std::optional<KeyMemory> kernel_key(const std::string& name);
// False when nothing was kept.
bool keep_kernel_key(const std::string& name, const KeyMemory& key, std::chrono::seconds time);
void forget_kernel_key(const std::string& name);

}  // namespace patchbay
