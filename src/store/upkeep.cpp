#include "store/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "secrets/names.h"
#include "settings/files.h"
#include "settings/own_file.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

// A writer is done within milliseconds.
constexpr auto abandoned_after = std::chrono::minutes(1);

std::string reason_of(int error) { return std::generic_category().message(error); }

std::string secrets_file(const StorePlaces& places) {
  return (fs::path(places.config_file).parent_path() / "secrets.json").string();
}

// Where a file really is, links followed.
std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = fs::weakly_canonical(path, error);
  return error ? path : real.string();
}

bool is_literal_secret(std::string_view name, const Json& value) {
  const auto text = value.text();
  return text && !text->empty() && !text->contains("${") && is_secret_name(name);
}

bool has_literal_secret(const Json& value) {
  if (const auto* members = value.if_object()) {
    return std::ranges::any_of(*members, [](const auto& member) {
      return is_literal_secret(member.name, member.value) || has_literal_secret(member.value);
    });
  }
  if (const auto* items = value.if_array()) return std::ranges::any_of(*items, has_literal_secret);
  return false;
}

std::optional<OwnFileState> state_of(const std::string& path, bool has_secrets) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return OwnFileState{path, status.st_mode & 07777U, status.st_uid == ::getuid(), has_secrets};
}

bool is_abandoned(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
  const auto written = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - written > abandoned_after;
}

// STEM.20260101T000000.000000000Z
std::string stem_of_backup(const std::string& name) {
  const auto nanoseconds = name.rfind('.');
  const auto seconds = nanoseconds == std::string::npos ? nanoseconds : name.rfind('.', nanoseconds - 1);
  return seconds == std::string::npos || !name.ends_with('Z') ? std::string() : name.substr(0, seconds);
}

void look_at_backups(const ConfigStore& store, bool has_secrets, UpkeepState& out) {
  const auto directory = store.places().state_dir + "/backups";
  std::map<std::string, std::vector<std::string>> by_stem;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    if (!it->is_regular_file() || it->is_symlink()) continue;
    if (name.starts_with("new-")) {
      if (is_abandoned(it->path())) out.leftovers.push_back(it->path().string());
    } else if (auto stem = stem_of_backup(name); !stem.empty()) {
      by_stem[stem].push_back(it->path().string());
    }
  }
  for (auto& [stem, files] : by_stem) {
    std::ranges::sort(files, std::greater());
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (i >= store.backups()) {
        out.leftovers.push_back(files[i]);
      } else if (auto state = state_of(files[i], has_secrets); state && state->is_open()) {
        out.files.push_back(std::move(*state));
      }
    }
  }
}

// Why no file can be made in a folder that is there, or could not be if it were made; empty: one can.
std::string closed_reason(fs::path folder) {
  for (;;) {
    struct stat status{};
    if (::stat(folder.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode)) return reason_of(ENOTDIR);
      return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : reason_of(errno);
    }
    if (errno != ENOENT || !folder.has_relative_path()) return reason_of(errno);
    // A link to nowhere is in the way of a folder.
    if (::lstat(folder.c_str(), &status) == 0) return reason_of(ENOENT);
    folder = folder.parent_path();
  }
}

bool is_gone(const std::string& directory) {
  struct stat status{};
  return ::stat(directory.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// What stays of a project when its answers go: nothing, if there was nothing else.
std::vector<ConfigEdit> edits_to_forget(const Json& root, const std::string& path) {
  std::vector<ConfigEdit> edits;
  const auto* project = root["projects"].is_object() ? root["projects"][path].if_object() : nullptr;
  if (project == nullptr) return edits;
  bool more = false;
  for (const auto& [key, value] : *project) {
    if (key == "approved" || key == "rejected" || key == "trusted") {
      edits.push_back(remove_member({"projects", path, std::string(key)}));
    } else {
      const bool empty =
          (value.is_object() && value.as_object().size() == 0) || (value.is_array() && value.as_array().empty());
      more = more || !empty;
    }
  }
  if (!edits.empty() && !more) return {remove_member({"projects", path})};
  return edits;
}

Repair close_to_others(const OwnFileState& file) {
  Repair out{"only you can read it now", file.path, {}};
  const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || ::fchmod(fd.get(), 0600) != 0) {
    out.error = fmt::format("its permissions cannot be changed: {}", reason_of(errno));
  }
  return out;
}

}  // namespace

UpkeepState look_after(const ConfigStore& store) {
  UpkeepState out;
  const auto& places = store.places();
  bool secret = false;
  if (config_file_exists(places.config_file)) {
    if (const auto text = read_config_text(places.config_file)) {
      const auto own = read_own_file(*text, places.config_file);
      for (const auto& project : own.projects) {
        const bool said = !project.approved.empty() || !project.rejected.empty() || project.trusted;
        if (said && is_gone(project.path)) out.gone_projects.push_back(project.path);
      }
      const auto document = read_document(*text, places.config_file, "an object");
      secret = document && has_literal_secret(document->root);
    }
  }
  for (const auto& [path, has_secrets] : {std::pair(places.config_file, secret), {secrets_file(places), true}}) {
    if (auto state = state_of(path, has_secrets)) out.files.push_back(std::move(*state));
    const auto unfinished = real_path(path) + std::string(unfinished_suffix);
    if (is_abandoned(unfinished)) out.leftovers.push_back(unfinished);
  }
  look_at_backups(store, secret, out);
  using Use = ClosedFolder::Use;
  const auto config = fs::path(real_path(places.config_file)).parent_path().string();
  for (const auto& [folder, use] : {std::pair(config, Use::config), {places.state_dir, Use::state}}) {
    if (folder.empty()) continue;
    if (auto reason = closed_reason(folder); !reason.empty()) out.closed_folders.push_back({folder, use, reason});
  }
  const Fd directory(
      ::open(fs::path(real_path(places.config_file)).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  out.being_changed = directory.get() >= 0 && ::flock(directory.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return out;
}

std::vector<Repair> repair(const ConfigStore& store, const UpkeepState& state) {
  std::vector<Repair> out;
  for (const auto& file : state.files) {
    if (file.is_open() && file.mine) out.push_back(close_to_others(file));
  }
  if (!state.leftovers.empty()) {
    // With the lock held nobody is writing.
    const Fd directory(::open(fs::path(real_path(store.places().config_file)).parent_path().c_str(),
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool held = directory.get() >= 0 && ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    for (const auto& path : state.leftovers) {
      Repair done{"removed", path, {}};
      if (held) {
        done.error = "another program is changing patchbay's files; try again";
      } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        done.error = fmt::format("it cannot be removed: {}", reason_of(errno));
      }
      out.push_back(std::move(done));
    }
  }
  if (state.gone_projects.empty()) return out;
  const auto changed = store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    for (const auto& path : state.gone_projects)
      std::ranges::move(edits_to_forget(root, path), std::back_inserter(edits));
    return edits;
  });
  for (const auto& path : state.gone_projects) {
    out.push_back(
        {fmt::format("your approvals, rejections and trust for {}, which no longer exists, are deleted", path),
         store.places().config_file, changed ? std::string() : changed.error().message()});
  }
  return out;
}

}  // namespace patchbay
