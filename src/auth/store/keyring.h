// The system keyring (the Secret Service of the desktop: GNOME Keyring, KWallet, KeePassXC), through libsecret, which
// is loaded when a keyring is first used and is not needed to build. Every request is bounded in time, also when the
// keyring hangs. Where no session bus can be seen nothing is loaded. Blocking; any thread.
//
// Errc::connect: there is no keyring here, or it is locked. Errc::timeout: it did not answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "base/secret.h"

namespace patchbay {

// What an item is found by, of which nothing is secret.
struct KeyringItem {
  std::string store;  // the store it belongs to
  std::string key;    // the digest of its name
};

// A keyring that is locked can ask its user to unlock it, in a window of its own.
enum class KeyringUnlock : std::uint8_t { never, ask };

struct KeyringLimits {
  std::chrono::milliseconds request{10'000};
  std::chrono::milliseconds person{120'000};  // instead, while somebody is asked to unlock it
};

class Keyring {
 public:
  Keyring(KeyringUnlock unlock, KeyringLimits limits) : unlock_(unlock), limits_(limits) {}

  // Whether something new can be kept there: it answers, and is unlocked now.
  Result<void> reach() const;
  Result<std::optional<Secret>> read(const KeyringItem& item) const;
  // `label` is what its user sees in a list.
  Result<void> write(const KeyringItem& item, const std::string& label, const Secret& value) const;
  // False: it was not there.
  Result<bool> remove(const KeyringItem& item) const;

 private:
  KeyringUnlock unlock_;
  KeyringLimits limits_;
};

}  // namespace patchbay
