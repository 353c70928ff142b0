// Under which names translated entries are taken over, and which are not. Pure: what is there already
// comes in as values, and the plan is carried out by the command line. Also keeps secrets out of a file
// that is going to be committed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/import.h"

namespace patchbay {

enum class ImportAction : std::uint8_t {
  add,
  already_there,  // the same server has been taken over before
  skip,           // it cannot or shall not be taken over
};
std::string_view to_string(ImportAction action) noexcept;  // "add", "already there", "skip"

// What to do about a name that `add` would refuse.
enum class ImportNames : std::uint8_t { mend, refuse };

// What two entries are compared by: one spelling, and whether they are switched on does not matter.
Json comparable_entry(const ServerConfig& server);
Json comparable_entry(const Json& entry);  // null when our reader refuses it

struct ExistingEntry {
  std::string name;
  Json comparable;
};

struct PlannedEntry {
  std::string original;  // the name in the file
  std::string name;      // the name it gets
  Json entry;
  ImportAction action = ImportAction::add;
  std::string reason;  // why it is not added, or why it has another name; empty otherwise
  std::vector<std::string> missing;
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const PlannedEntry&) const = default;
};

// Plans the entries of one file after another for one scope, so that two clients that both know a server
// do not make two of it.
class ImportPlan {
 public:
  ImportPlan(ConfigScope scope, std::vector<ExistingEntry> existing, ImportNames names = ImportNames::mend)
      : scope_(scope), names_(names), taken_(std::move(existing)) {}

  // `only` names the entries that are wanted; empty means all. Adds notes to `file` for what the scope
  // changes.
  std::vector<PlannedEntry> add(ImportedFile& file, const std::vector<std::string>& only = {});

 private:
  const ExistingEntry* find(std::string_view name) const noexcept;
  void choose_name(PlannedEntry& planned, const Json& comparable) const;

  ConfigScope scope_;
  ImportNames names_;
  std::vector<ExistingEntry> taken_;
};

// Letters, digits, '_' and '-', and not reserved: what `add` accepts.
bool is_addable_name(std::string_view name);
// The same with '_' for every other character; empty when nothing is left.
std::string mended_name(std::string_view name);

struct WithheldSecret {
  std::string field;     // "env.API_KEY", "url (api_key)"
  std::string variable;  // what stands there instead
  std::string instead;   // the whole value with it: "Bearer ${API_KEY}"
  bool operator==(const WithheldSecret&) const = default;
};
// Replaces what looks like a literal secret by a variable. For entries of a file that others will see.
std::vector<WithheldSecret> withhold_secrets(std::string_view server, Json& entry);
// What is wrong with a secret in .mcp.json, and what to write there.
std::string committed_secret_text(const WithheldSecret& secret);

}  // namespace patchbay
