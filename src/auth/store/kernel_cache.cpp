#include "auth/store/kernel_cache.h"

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace patchbay {
namespace {

constexpr const char* kind = "user";
// A session that systemd or sshd started does not always possess the user keyring; then the rights of the user count.
constexpr std::uint32_t readable_by_user = 0x3f0b0000;  // possessor: all; user: view, read, search

// The C library has no names for these.
template <class... Words>
long keyctl(int operation, Words... words) {
  return ::syscall(SYS_keyctl, operation, words...);
}

long find_key(const std::string& name) { return keyctl(KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, kind, name.c_str(), 0); }

}  // namespace

std::optional<KeyMemory> kernel_key(const std::string& name) {
  const auto id = find_key(name);
  if (id < 0) return std::nullopt;
  constexpr std::size_t most = 256;
  KeyMemory room(most);
  const auto size = keyctl(KEYCTL_READ, id, room.bytes().data(), most);
  if (size <= 0 || static_cast<std::size_t>(size) > most) return std::nullopt;
  return KeyMemory(room.text().substr(0, static_cast<std::size_t>(size)));
}

bool keep_kernel_key(const std::string& name, const KeyMemory& key, std::chrono::seconds time) {
  const auto id = ::syscall(SYS_add_key, kind, name.c_str(), key.bytes().data(), key.size(), KEY_SPEC_USER_KEYRING);
  if (id < 0) return false;
  const auto seconds = std::clamp<std::int64_t>(time.count(), 1, std::numeric_limits<std::uint32_t>::max());
  // What would stay for ever is not kept at all.
  if (keyctl(KEYCTL_SET_TIMEOUT, id, static_cast<unsigned>(seconds)) != 0) {
    (void)keyctl(KEYCTL_INVALIDATE, id);
    return false;
  }
  (void)keyctl(KEYCTL_SETPERM, id, readable_by_user);
  return true;
}

void forget_kernel_key(const std::string& name) {
  if (const auto id = find_key(name); id >= 0) (void)keyctl(KEYCTL_INVALIDATE, id);
}

}  // namespace patchbay
