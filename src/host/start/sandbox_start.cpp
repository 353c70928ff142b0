#include "host/start/sandbox_start.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/kept_file.h"
#include "entries/expand.h"
#include "sandbox/refusal.h"
#include "settings/folders.h"
#include "settings/real_path.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

PathKind kind_of(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return PathKind::missing;
  if (S_ISLNK(info.st_mode)) return PathKind::link;
  return S_ISDIR(info.st_mode) ? PathKind::folder : PathKind::file;
}

FolderNames names_in(const std::string& folder, std::size_t most) {
  FolderNames out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) {
    out.hidden = true;
    return out;
  }
  while (const auto* entry = ::readdir(open.get())) {
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (out.names.size() == most) {
      out.too_many = true;
      return out;
    }
    out.names.emplace_back(name);
  }
  return out;
}

// As far as it exists; as it is where nobody may look.
std::string real_or_same(const std::string& absolute) {
  auto real = real_path(absolute);
  return real ? std::move(*real) : fs::path(absolute).lexically_normal().string();
}

std::vector<std::string> real_places(const std::vector<std::string>& places) {
  std::vector<std::string> out;
  for (const auto& path : places) {
    // A link in ~ is a name for the place it leads to; both are out of reach.
    for (auto one : {path, real_or_same(path)}) {
      if (std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
    }
  }
  return out;
}

// What is needed to run at all, beside what the policy says.
FileWish file_wish(const SandboxPolicy& policy, const SandboxPlaces& places, const std::string& program) {
  FileWish out;
  out.read = policy.read;
  out.write = policy.write;
  out.denied = real_places(places.keys);
  for (const auto& path : system_write_places()) out.write.push_back(real_or_same(path));
  if (std::ranges::find(policy.read, "/") != policy.read.end()) return out;
  for (const auto& path : system_read_places()) out.read.push_back(real_or_same(path));
  if (!program.empty()) out.read.push_back(real_or_same(program));
  return out;
}

// Arguments of bubblewrap that hide sockets in the file system: who reaches one has others act for him, with their
// network. What the server needs, or is listed, stays, but for our own sessions.
std::vector<std::string> hidden_sockets(const SandboxPolicy& policy, const SandboxPlaces& places,
                                        const VariableLookup& variables, const std::string& program) {
  std::vector<std::string> needed = policy.read;
  needed.insert(needed.end(), policy.write.begin(), policy.write.end());
  needed.insert(needed.end(), {real_or_same(places.directory), real_or_same(places.home), real_or_same(program)});
  std::vector<std::string> done;
  std::vector<std::string> out;
  const auto hide = [&](const std::string& path, bool ours) {
    if (!path.starts_with('/')) return;
    auto real = real_or_same(path);
    const auto has = [&](const std::string& one) { return is_within(one, real); };
    const auto hidden = [&](const std::string& one) { return is_within(real, one); };
    const auto kind = kind_of(real);
    if (real == "/" || (kind != PathKind::folder && kind != PathKind::file)) return;
    if (std::ranges::any_of(done, hidden) || (!ours && std::ranges::any_of(needed, has))) return;
    if (kind == PathKind::folder) {
      out.insert(out.end(), {"--tmpfs", real});
    } else {
      out.insert(out.end(), {"--bind", "/dev/null", real});
    }
    done.push_back(std::move(real));
  };
  auto run_folders = std::vector{fmt::format("/run/user/{}", ::geteuid())};
  if (auto run = variables("XDG_RUNTIME_DIR"); run && !run->empty()) run_folders.push_back(std::move(*run));
  for (const auto& run : run_folders) {
    hide(run, false);
    hide(run + "/patchbay", true);
    hide(run + "/bus", false);
  }
  if (const auto state = state_folder(variables); !state.empty()) hide(state + "/session", true);
  for (const auto* path : {"/run/dbus", "/run/systemd/resolve", "/run/docker.sock", "/run/podman"}) hide(path, false);
  return out;
}

}  // namespace

SandboxLevels sandbox_levels(const ServerConfig& written, std::span<const SettingsLayer> layers) {
  SandboxLevels out;
  out.command = written.command;
  out.entry_is_users = is_users_own(written.origin);
  if (const auto* value = written.extra.find("sandbox")) {
    auto setting = read_sandbox(*value);
    if (!setting) {
      setting.emplace();
      setting->mode = SandboxMode::required;
    }
    out.entry = std::move(*setting);
  }
  for (const auto& layer : layers) {
    if (!layer.sandbox) continue;
    auto& place = layer.source == SettingsSource::enterprise ? out.organisation
                  : is_inside_repository(layer.source)       ? out.repository
                                                             : out.user;
    place.push_back(*layer.sandbox);
  }
  return out;
}

bool wants_sandbox(const SandboxLevels& levels) noexcept {
  const auto asks = [](const SandboxSetting& one) { return one.mode != SandboxMode::off; };
  return std::ranges::any_of(levels.organisation, asks) || std::ranges::any_of(levels.user, asks) ||
         std::ranges::any_of(levels.repository, asks) || (levels.entry && asks(*levels.entry));
}

SandboxPlaces sandbox_places(const VariableLookup& variables, const std::string& directory,
                             const std::string& config_dir) {
  SandboxPlaces out;
  const auto value = [&](std::string_view name) { return variables(name).value_or(""); };
  const auto absolute = [&](std::string path) {
    return path.starts_with('/') ? fs::path(path).lexically_normal().string() : std::string();
  };
  const auto add = [&](std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    // Who points such a variable at "/" or at the home would take away everything.
    if (path.empty() || path == "/" || path == out.home) return;
    out.keys.push_back(std::move(path));
  };
  out.home = absolute(value("HOME"));
  while (out.home.size() > 1 && out.home.ends_with('/')) out.home.pop_back();
  if (out.home == "/") out.home.clear();
  out.directory = directory;
  if (auto temporary = absolute(value("TMPDIR")); !temporary.empty()) out.temporary = std::move(temporary);
  for (auto& path : key_places(out.home)) add(std::move(path));
  // What is ours: entries with secrets in them, tokens, what servers answered, the socket of a session.
  add(absolute(config_dir));
  add(state_folder(variables));
  add(cache_folder(variables));
  // The same kinds of places, where variables move them.
  for (const std::string_view name :
       {"GNUPGHOME", "KUBECONFIG", "DOCKER_CONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "CODEX_HOME",
        "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "NETRC"}) {
    add(absolute(value(name)));
  }
  if (const auto claude = absolute(value("CLAUDE_CONFIG_DIR")); !claude.empty()) add(claude + "/.credentials.json");
  if (const auto run = absolute(value("XDG_RUNTIME_DIR")); !run.empty()) {
    add(run + "/patchbay");
    add(run + "/gnupg");
    add(run + "/keyring");
  }
  return out;
}

ResolvePath path_resolver(const SandboxPlaces& places, VariableLookup variables) {
  return [home = places.home, directory = places.directory, variables = std::move(variables)](const std::string& text) {
    auto expanded = expand(text, variables);
    if (!expanded.missing.empty() || expanded.text.empty()) return std::string();
    auto path = std::move(expanded.text);
    if (path == "~" || path.starts_with("~/")) {
      if (home.empty()) return std::string();
      path = home + path.substr(1);
    }
    return real_or_same((fs::path(directory) / path).lexically_normal().string());
  };
}

SandboxState sandbox_of(const ServerConfig& written, std::span<const SettingsLayer> layers,
                        const VariableLookup& variables, const std::string& cwd, const std::string& config_dir,
                        const SandboxMachine& machine) {
  if (written.kind != ServerKind::stdio || written.standing == ServerStanding::broken) return {};
  const auto levels = sandbox_levels(written, layers);
  if (!wants_sandbox(levels)) return {};
  const auto places = sandbox_places(variables, (fs::path(cwd) / written.cwd.value_or("")).string(), config_dir);
  return sandbox_state(sandbox_policy(levels, places, path_resolver(places, variables)), machine);
}

Result<SandboxStart> plan_sandbox(const std::string& name, const SandboxLevels& levels, const SandboxPlaces& places,
                                  const VariableLookup& variables, const std::string& program,
                                  const SandboxMachine& machine) {
  SandboxStart out;
  auto policy = sandbox_policy(levels, places, path_resolver(places, variables));
  if (policy.mode == SandboxMode::off) return out;
  const auto denied = [&](const auto& path) {
    return std::ranges::any_of(places.keys, [&](const auto& key) { return is_within(path, key); });
  };
  for (const auto& folder : policy.make) {
    if (!denied(folder)) make_private_folders(folder);
  }
  const auto wish = file_wish(policy, places, program);
  const auto files = plan_files(wish, {kind_of, names_in});
  out.state = sandbox_state(policy, machine, files.too_large.has_value());
  if (keeps_from_starting(out.state)) {
    const bool required = policy.mode == SandboxMode::required;
    std::string why;
    for (const auto gap : out.state.gaps) {
      if (!required && gap != SandboxGap::domains) continue;
      why += fmt::format("{}{}", why.empty() ? "" : "; also, ", gap_text(gap, machine));
    }
    return fail(Errc::config, fmt::format("server \"{}\" is not started, because {}: {}", name,
                                          required ? "its sandbox is required"
                                                   : "it would reach more than the domains that it may reach",
                                          why));
  }
  auto made = confinement(policy, machine, files, name);
  if (!made.front.empty() && policy.network != SandboxNetwork::any) {
    const auto hidden = hidden_sockets(policy, places, variables, program);
    made.front.insert(made.front.end() - 1, hidden.begin(), hidden.end());  // "--" stays the last
  }
  out.confinement = std::make_shared<const Confinement>(std::move(made));
  out.explain = [policy = std::move(policy), state = out.state, keys = wish.denied](std::string_view text,
                                                                                    std::string_view refused) {
    return refusal_text(refusal_in(text, refused, policy, state, keys));
  };
  return out;
}

}  // namespace patchbay
