#include "cli/known_secrets.h"

#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "cli/texts/remedy_words.h"
#include "cli/vault.h"
#include "entries/expand.h"
#include "host/kept/server_key.h"
#include "host/start/stored_secrets.h"
#include "secrets/redact.h"
#include "settings/files.h"

namespace patchbay::cli {
namespace {

// How often secrets may be replaced before the oldest are forgotten.
constexpr std::size_t most_gathered = 100;

std::string path_of(const std::string& path, const std::string& cwd) {
  if (path.starts_with("~/")) return process_environment()("HOME").value_or("") + path.substr(1);
  return (std::filesystem::path(cwd) / path).lexically_normal().string();
}

}  // namespace

KnownSecrets::KnownSecrets(const LoadedConfig& config)
    : servers_(config.servers), variables_(variables_of(config)), cwd_(config.cwd), config_dir_(config.config_dir) {
  for (const auto& variable : config.environment) settings_env_.emplace_back(variable.name, variable.value);
}

void KnownSecrets::follow(const LoadedConfig& config) {
  KnownSecrets next(config);
  if (next.servers_ == servers_ && next.settings_env_ == settings_env_) return;
  (void)known();  // those of the entries before
  next.known_ = std::move(known_);
  next.gathered_ = gathered_;
  *this = std::move(next);
}

std::vector<std::string> KnownSecrets::files_of(const ServerConfig& server) const {
  std::vector<std::string> files;
  for (const auto& reference : secret_references(server)) {
    if (reference.kind == SecretKind::stored) {
      files.push_back(config_dir_ + "/secrets.json");
      for (auto& file : open_vault_quietly(config_dir_)->files()) files.push_back(std::move(file));
    }
    if (reference.kind == SecretKind::file) files.push_back(path_of(reference.argument, cwd_));
  }
  if (server.env_file) files.push_back(path_of(*server.env_file, cwd_));
  return files;
}

void KnownSecrets::add(TextSecrets& to, const ServerConfig& server) const {
  if (server.standing != ServerStanding::active && !server.approved &&
      server.origin.trust == ConfigTrust::needs_approval) {
    return;  // nothing was handed to it
  }
  SecretValues values;
  for (const auto& reference : secret_references(server)) {
    if (!reference_fault(reference, server.origin).empty()) continue;
    const auto key = std::pair(reference.kind, reference.argument);
    if (reference.kind == SecretKind::stored) {
      const auto vault = open_vault_quietly(config_dir_);
      const auto value = stored_or_old_secret(vault.get(), config_dir_ + "/secrets.json", reference.argument);
      if (value) values.emplace(key, *value);
    } else if (reference.kind == SecretKind::file) {
      if (auto text = read_config_text(path_of(reference.argument, cwd_))) {
        while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
        values.emplace(key, std::move(*text));
      }
    }
  }
  to.add_entry(server, variables_, values);
  if (!server.env_file) return;
  const auto path = path_of(*server.env_file, cwd_);
  if (auto text = read_config_text(path)) {
    if (auto variables = parse_env_file(*text, path)) to.add_variables(*variables);
  }
}

const TextSecrets& KnownSecrets::known() const {
  if (stamp_ && (files_.empty() || *stamp_ == stamp_of(files_))) return *known_;
  if (++gathered_ > most_gathered) {
    known_.reset();
    gathered_ = 1;
  }
  if (!known_) known_.emplace(environment_of_process());
  files_.clear();
  for (const auto& server : servers_) {
    for (auto& file : files_of(server)) files_.push_back(std::move(file));
  }
  // Before they are read: what is written meanwhile is seen the next time.
  stamp_ = stamp_of(files_);
  known_->add_variables(settings_env_);
  for (const auto& server : servers_) add(*known_, server);
  return *known_;
}

Error KnownSecrets::without(const Error& given) const {
  const auto error = with_remedy_in_words(given);
  auto message = known().hidden(error.message());
  auto detail = error.detail().empty() ? std::string() : known().all(error.detail());
  auto data = error.rpc_data();
  if (auto value = data.empty() ? Result<Json>(Json()) : parse_json(data); value && !data.empty()) {
    data = to_text(known().json(std::move(*value)));
  }
  return error.with_message(std::move(message)).with_rpc_data(std::move(data)).with_detail(std::move(detail));
}

ServerStatus KnownSecrets::without(ServerStatus status) const {
  if (status.error) status.error = without(*status.error);
  return status;
}

std::string KnownSecrets::line(std::string_view text) const {
  return known().line(text, std::numeric_limits<std::size_t>::max());
}

std::string KnownSecrets::message(std::string_view json) const {
  auto value = parse_json(json);
  if (!value) return fmt::format("[{} bytes that are not JSON]", json.size());
  return to_text(known().json(redacted(std::move(*value))));
}

}  // namespace patchbay::cli
