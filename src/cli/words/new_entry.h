// From the words of `add` and `add-json` to an entry as it is written into a file. Pure: what to ask
// and where to write is decided by the commands. The words are those people paste from a vendor's page.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

#include "cli/words/settings.h"

namespace patchbay::cli {

struct NewEntry {
  std::string name;
  Json entry;                      // an object
  ServerConfig server;             // the same, read: origin and standing are not filled in
  std::vector<std::string> notes;  // what was ignored, assumed or looks wrong
};

// Why no server may be added under this name; empty when it may.
std::string new_name_fault(std::string_view name);

// Errors are Errc::invalid_argument.
Result<NewEntry> entry_from_words(const Settings& settings);
Result<NewEntry> entry_from_json(const std::string& name, std::string_view json);

}  // namespace patchbay::cli
