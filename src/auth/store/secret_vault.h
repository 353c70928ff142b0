// Where secrets stay from run to run: tokens, the secrets of clients, and what ${secret:NAME} names. A secret is in one
// of two places: the system keyring when it answers, else a file that is encrypted (sealed_file.h). Which one holds a
// name is in an index without secrets, so a process that cannot reach that place hears so and never that nothing is
// there.
//
// Used by sign-in, by whoever starts a server, and by the command line. Everything blocks, on files, on the keyring and
// on a person who types a passphrase: call it through offload(Pool::slow, …). Any thread, any number of processes.
// What cannot be reached from here is Errc::connect or Errc::timeout; what is damaged, newer than this program or
// cannot be written is Errc::config, and the store is as it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

#include "auth/store/file_place.h"
#include "auth/store/sealed_file.h"
#include "auth/store/secret_place.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/secret.h"

namespace patchbay {

// What the index says of one secret.
struct KeptSecret {
  std::string name;
  SecretPlace place = SecretPlace::file;
  Json note;  // what may be shown without the secret
  bool operator==(const KeptSecret&) const = default;
};

struct VaultLimits {
  std::size_t name = 8u << 10;                        // bytes
  std::size_t value = 1u << 20;                       // bytes
  std::size_t note = 64u << 10;                       // bytes of its text
  std::size_t secrets = 2'000;                        // in both places
  std::size_t index = 16u << 20;                      // bytes of the file
  std::chrono::milliseconds keyring{10'000};          // one request to the keyring
  std::chrono::milliseconds keyring_person{120'000};  // while the system asks the user to unlock it
  std::chrono::milliseconds turn{30'000};             // until other processes have written
  std::chrono::seconds cached_key{12 * 3600};         // in the kernel's keyring
  std::size_t passphrase_tries = 3;
};

struct VaultOptions {
  std::string state_directory;   // the store is in its folder "secrets"
  std::string config_directory;  // where secrets.key is, unless PATCHBAY_SECRETS_KEY_FILE names another file
  // The environment; unset: the one of the process. PATCHBAY_SECRET_STORE is keyring, file or auto.
  std::function<std::optional<std::string>(std::string_view)> variables = {};
  // Asks a person, on a thread that may wait; nothing when they leave. Unset: there is nobody to ask, and the keyring
  // is not asked to show its own question either.
  AskPassphrase ask_passphrase = {};
  Random random = system_random();
  ScryptCost passphrase_cost = {};
  VaultLimits limits = {};
};

// Held until it goes.
class VaultLock {
 public:
  VaultLock(VaultLock&&) noexcept = default;
  VaultLock& operator=(VaultLock&&) noexcept;
  ~VaultLock();

 private:
  friend class SecretVault;
  VaultLock(Fd file, std::string path) noexcept : file_(std::move(file)), path_(std::move(path)) {}
  void release() noexcept;

  Fd file_;
  std::string path_;
};

class SecretVault {
 public:
  explicit SecretVault(VaultOptions options);
  ~SecretVault();
  SecretVault(const SecretVault&) = delete;
  SecretVault& operator=(const SecretVault&) = delete;

  // Nothing: the index has no such name, or the place that held it was reached and no longer has it.
  Result<std::optional<Secret>> read(const std::string& name);
  // A name stays where it is; a new one goes to the keyring if that answers, else to the file.
  Result<SecretPlace> write(const std::string& name, const Secret& value, Json note);
  // The same, with what becomes of the note that is there then (an empty object: there is none). `edit` may be asked
  // more than once.
  Result<SecretPlace> update(const std::string& name, const Secret& value, const std::function<void(Json& note)>& edit);
  // What may be shown of it, and nothing else: another process may be writing the secret itself. False: there was none.
  Result<bool> change_note(const std::string& name, const std::function<void(Json& note)>& edit);
  // False: there was none.
  Result<bool> remove(const std::string& name);
  // Only while its note is so: nobody changes it between that and the removal. False: it is not.
  Result<bool> remove_if(const std::string& name, const std::function<bool(const Json& note)>& may);

  // From the index alone: no place is asked, in the order of the names.
  Result<std::vector<KeptSecret>> list();
  Result<std::optional<KeptSecret>> find(const std::string& name);

  // For one name, between processes and inside this one: around "read again, refresh, write". It does not keep others
  // from reading and writing. Errc::timeout when `wait` is over.
  Result<VaultLock> lock(const std::string& name, std::chrono::milliseconds wait);

  // What protects the file from now on. A passphrase is asked for once per login, on a terminal; a key file never.
  Result<void> protect_with_passphrase(const Secret& passphrase);
  Result<void> protect_with_key_file();
  // What protects it now; nothing while there is no file.
  Result<std::optional<FileProtection>> protection();
  // The key file that is used, or would be made.
  std::string key_file() const;
  // Other ones, by size or time, when a secret is another one.
  std::vector<std::string> files() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace patchbay
