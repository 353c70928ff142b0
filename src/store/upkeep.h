// Our own files as they lie on the disk: who may read them, what was left behind, what is about projects that
// are gone; and setting right what can be without guessing. Files of other programs are not looked at.
// Blocking; `patchbay doctor` calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <patchbay/error.h>

#include "store/own_store.h"

namespace patchbay {

struct OwnFileState {
  std::string path;
  unsigned mode = 0;                                            // the bits of chmod
  bool mine = true;                                             // belongs to who runs this
  bool has_secrets = false;                                     // values that nobody else should see
  bool is_open() const noexcept { return (mode & 077U) != 0; }  // others than the owner can read or write it
  bool operator==(const OwnFileState&) const = default;
};

// One of our folders, there or to be made, in which nothing can be written.
struct ClosedFolder {
  enum class Use : std::uint8_t { config, state };
  std::string path;
  Use use = Use::state;
  std::string reason;
  bool operator==(const ClosedFolder&) const = default;
};

struct UpkeepState {
  std::vector<OwnFileState> files;         // config.json, secrets.json and backups of the former, those that are there
  std::vector<std::string> leftovers;      // of writers that were killed, and backups beyond the number kept
  std::vector<std::string> gone_projects;  // with answers or trust in our file, and no directory any more
  std::vector<ClosedFolder> closed_folders;
  bool being_changed = false;  // another program holds the lock
  bool operator==(const UpkeepState&) const = default;
};

UpkeepState look_after(const ConfigStore& store);

// One thing that was done, or that could not be.
struct Repair {
  std::string what;
  std::string file;
  std::string error;  // empty: done
  bool operator==(const Repair&) const = default;
};
// Sets right what `state` shows. Approves and trusts nothing; servers declared for a project that is gone stay.
std::vector<Repair> repair(const ConfigStore& store, const UpkeepState& state);

}  // namespace patchbay
