// The only writer of configuration files. Patchbay writes two: `.mcp.json` of a project, and its own
// config.json in its configuration directory with secrets.json beside it; the files of other programs are
// read and never written.
// One change is: lock, read, decide, edit (edit.h), write beside, rename. Whoever is killed in between
// leaves the old file or the new one. Blocking, bounded; called by commands and by the terminal's
// questions, on any thread. What to change is decided by the caller, from the value it is handed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "store/edit.h"

namespace patchbay {

// What a file is called while it is written, behind its name. Fixed: only who holds the lock makes it, so one
// that is there was left by somebody who was killed.
inline constexpr std::string_view unfinished_suffix = ".patchbay-new";

struct StorePlaces {
  std::string config_file;  // XDG_CONFIG_HOME/patchbay/config.json
  std::string state_dir;    // XDG_STATE_HOME/patchbay: backups, and locks where a directory has none
  bool operator==(const StorePlaces&) const = default;
};

// Beside what is read: our configuration directory, and XDG_STATE_HOME or what stands for it below
// `home`. A relative path in that variable counts as unset.
Result<StorePlaces> store_places(const std::string& config_dir, const std::string& home,
                                 const VariableLookup& variables);

struct StoreOptions {
  std::chrono::milliseconds lock_wait{30'000};
  std::size_t backups = 5;      // of each file, the newest
  bool directory_locks = true;  // false: as on file systems that cannot lock a directory
  // Called between any two steps that touch the disk, with the name of the next one.
  std::function<void(std::string_view step)> before_step;
};

struct FileChange {
  std::string file;                   // what was written, symbolic links followed
  bool changed = false;               // false: it said so already
  std::vector<std::string> warnings;  // what did not work and cost nothing
};

class ConfigStore {
 public:
  explicit ConfigStore(StorePlaces places, StoreOptions options = {})
      : places_(std::move(places)), options_(std::move(options)) {}

  // What to change, given the value of the file: an empty object when there is none. Called with the
  // lock held, so that what it saw is what is changed.
  using Decide = std::function<Result<std::vector<ConfigEdit>>(const Json& root)>;

  // Errors are Errc::config, name the file and the place in it, and mean that nothing was written.
  Result<FileChange> change_own_file(const Decide& decide) const;
  // The .mcp.json of `directory`. A symbolic link is followed unless it leads out of `root`, the
  // directory the project ends at: no repository decides what else is written.
  Result<FileChange> change_project_file(const std::string& directory, const std::string& root,
                                         const Decide& decide) const;

  // secrets.json, which secret_file.h reads. It is for the user alone and has no backups.
  Result<FileChange> change_secrets_file(const Decide& decide) const;

  const StorePlaces& places() const noexcept { return places_; }
  std::size_t backups() const noexcept { return options_.backups; }

 private:
  struct Rules;
  Result<FileChange> change(const std::string& path, const Rules& rules, const Decide& decide) const;
  Result<FileChange> change_locked(const std::string& path, const Rules& rules, const Decide& decide) const;
  Result<void> replace(const std::string& path, const std::string& text, const Rules& rules) const;
  Result<void> keep_backup(const std::string& path, const std::string& text) const;
  void step(std::string_view name) const {
    if (options_.before_step) options_.before_step(name);
  }

  StorePlaces places_;
  StoreOptions options_;
};

}  // namespace patchbay
