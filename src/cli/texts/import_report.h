// How an import is reported: the table for people and the JSON for scripts. Pure. Names, commands and messages
// come from files of strangers; entries are shown as they are before an approval (entries/consent_text).
#pragma once

#include <string>
#include <vector>

#include "import/import.h"
#include "import/plan.h"

namespace patchbay::cli {

// One file and what becomes of its entries.
struct ImportSource {
  ImportedFile file;
  ConfigScope scope = ConfigScope::user;
  // The file is inside a repository or a project: whoever made that wrote its entries, and not the user.
  ConfigTrust trust = ConfigTrust::trusted;
  std::vector<PlannedEntry> plan;
};

struct ImportCounts {
  std::size_t add = 0;
  std::size_t already_there = 0;
  std::size_t not_carried = 0;  // entries
  std::size_t fields = 0;       // that are left out or changed
};
ImportCounts count_import(const std::vector<ImportSource>& sources);

// An entry as our reader sees it, to show it or to judge it. It was checked when it was translated.
ServerConfig read_planned(const PlannedEntry& planned, ConfigTrust trust = ConfigTrust::trusted);

// `columns`: of the terminal; 0: none.
std::string import_table(const std::vector<ImportSource>& sources, std::size_t columns);
Json import_json(const std::vector<ImportSource>& sources, bool written);

}  // namespace patchbay::cli
