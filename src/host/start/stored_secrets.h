// What ${secret:NAME} names, and the secrets of clients: in the store of secrets (auth/store), and before there was one
// in secrets.json, which is still read. A name that is written anew moves from there into the store. Used by whoever
// starts a server and by the command line. Blocking; any thread.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

#include "auth/store/secret_vault.h"
#include "base/secret.h"
#include "store/own_store.h"

namespace patchbay {

// The name of ${secret:NAME} in the store, which holds tokens as well.
std::string vault_name(const std::string& name);

// The NAME of the client secret of a server: one server of this name may be many.
std::string client_secret_name(const ServerConfig& server);

// From the store, else from `secrets_file`. A null vault: from the file alone. Errc::config when neither has it; an
// error of the store when that holds it and cannot be reached.
Result<std::string> stored_or_old_secret(SecretVault* vault, const std::string& secrets_file, const std::string& name);

// Into the store, and out of secrets.json if it was there.
Result<SecretPlace> keep_secret(SecretVault& vault, const ConfigStore& files, const std::string& name,
                                const Secret& value);
// Out of both. False: neither had it.
Result<bool> forget_secret(SecretVault& vault, const ConfigStore& files, const std::string& name);

// Every NAME there is, without asking a place.
struct NamedSecret {
  std::string name;
  std::optional<SecretPlace> place;  // nothing: it is in secrets.json
  bool operator==(const NamedSecret&) const = default;
};
Result<std::vector<NamedSecret>> named_secrets(SecretVault& vault, const ConfigStore& files);

}  // namespace patchbay
