#include "host/kept/server_key.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/crypto.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "process/command_lookup.h"

namespace patchbay {
namespace {

constexpr std::size_t most_files = 64;

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string search_path(const ServerConfig& expanded, const KeyContext& context) {
  const auto own = std::ranges::find(expanded.env, "PATH", [](const auto& one) { return one.first; });
  if (own != expanded.env.end()) return own->second;
  return context.variables("PATH").value_or(std::string(default_path));
}

// A path in an entry: ~ is the user's, what is relative begins where we were started.
std::string path_in_entry(const std::string& path, const KeyContext& context) {
  if (path.starts_with("~/")) return context.variables("HOME").value_or("") + path.substr(1);
  return (std::filesystem::path(context.cwd) / path).lexically_normal().string();
}

}  // namespace

KeyContext key_context(const LoadedConfig& config, const VariableLookup& startup) {
  std::error_code ignored;
  return {variables_of(config, startup),
          config.cwd.empty() ? std::filesystem::current_path(ignored).string() : config.cwd,
          config.config_dir.empty() ? std::string() : config.config_dir + "/secrets.json"};
}

ServerKey server_key(const ServerConfig& written, const KeyContext& context) {
  const auto expanded = expand_server(written, context.variables);
  ServerKey key;
  std::string directory;
  auto add = [&key](std::string path) {
    if (key.files.size() < most_files) key.files.push_back(std::move(path));
  };
  if (expanded.kind == ServerKind::stdio) {
    const auto here = std::filesystem::path(context.cwd) / expanded.cwd.value_or("");
    directory = here.lexically_normal().string();
    if (auto command = find_command(expanded.command, search_path(expanded, context), here.string())) add(*command);
    for (const auto& argument : expanded.args) {
      if (auto path = (here / argument).lexically_normal().string(); is_file(path)) add(std::move(path));
    }
    if (expanded.env_file) add(path_in_entry(*expanded.env_file, context));
  }
  for (const auto& reference : secret_references(written)) {
    if (reference.kind == SecretKind::file) add(path_in_entry(reference.argument, context));
    if (reference.kind == SecretKind::stored) add(context.secrets_file);
  }
  // A server may be another one in another directory, though its entry is the same.
  Json parts = Json::array({connection_identity(written, expanded), directory});
  for (const auto& file : key.files) parts.push_back(file);
  key.hash = sha256_hex(to_text(parts));
  return key;
}

std::string stamp_of(const std::vector<std::string>& files) {
  std::string text;
  for (const auto& file : files) {
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0) {
      text += fmt::format("{}\n{} {}.{}\n", file, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    } else {
      text += fmt::format("{}\n-\n", file);
    }
  }
  return sha256_hex(text);
}

}  // namespace patchbay
