#include "host/start/stored_secrets.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/crypto.h"
#include "entries/entry.h"
#include "settings/secret_file.h"
#include "store/edit.h"

namespace patchbay {
namespace {

constexpr std::string_view prefix = "secret ";

Result<bool> take_out_of_old_file(const ConfigStore& files, const std::string& name) {
  const auto changed = files.change_secrets_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    if (root["secrets"].find(name) == nullptr) return std::vector<ConfigEdit>{};
    return std::vector{remove_member({"secrets", name})};
  });
  if (!changed) return std::unexpected(changed.error());
  return changed->changed;
}

}  // namespace

std::string vault_name(const std::string& name) { return std::string(prefix) + name; }

std::string client_secret_name(const ServerConfig& server) {
  return fmt::format("client-secret:{}:{}", server.name, sha256_hex(server.url).substr(0, 12));
}

Result<std::string> stored_or_old_secret(SecretVault* vault, const std::string& secrets_file, const std::string& name) {
  if (vault != nullptr) {
    const auto kept = vault->read(vault_name(name));
    if (!kept) return std::unexpected(kept.error());
    if (*kept) return std::string((*kept)->reveal());
    if (::access(secrets_file.c_str(), F_OK) != 0) {
      return fail(Errc::config, fmt::format("no secret called {} is stored", quoted_name(name)));
    }
  }
  return stored_secret(secrets_file, name, ::getuid());
}

Result<SecretPlace> keep_secret(SecretVault& vault, const ConfigStore& files, const std::string& name,
                                const Secret& value) {
  auto place = vault.write(vault_name(name), value, Json::object());
  if (!place) return place;
  // The store counts, so what stays there does no harm but for being there.
  if (auto taken = take_out_of_old_file(files, name); !taken) {
    return std::unexpected(taken.error().within("the secret is stored, but its old value could not be removed"));
  }
  return place;
}

Result<bool> forget_secret(SecretVault& vault, const ConfigStore& files, const std::string& name) {
  const auto removed = vault.remove(vault_name(name));
  if (!removed) return removed;
  const auto taken = take_out_of_old_file(files, name);
  if (!taken) return taken;
  return *removed || *taken;
}

Result<std::vector<NamedSecret>> named_secrets(SecretVault& vault, const ConfigStore& files) {
  const auto kept = vault.list();
  if (!kept) return std::unexpected(kept.error());
  std::vector<NamedSecret> all;
  for (const auto& one : *kept) {
    if (one.name.starts_with(prefix)) all.push_back({one.name.substr(prefix.size()), one.place});
  }
  // Looked at under its lock, and left as it is.
  const auto looked = files.change_secrets_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    const auto* secrets = root["secrets"].if_object();
    if (secrets == nullptr) return std::vector<ConfigEdit>{};
    for (const auto& [name, value] : *secrets) {
      if (std::ranges::find(all, name, &NamedSecret::name) == all.end()) all.push_back({std::string(name), {}});
    }
    return std::vector<ConfigEdit>{};
  });
  if (!looked) return std::unexpected(looked.error());
  std::ranges::sort(all, {}, &NamedSecret::name);
  return all;
}

}  // namespace patchbay
