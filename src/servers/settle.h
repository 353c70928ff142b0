// Which of the declared servers are used, and why another is not. The only place that decides it: approval,
// names that several entries have, an organisation's lists, switches, copies. Pure. load hands in every entry,
// highest source first, and what people said about each (entry_answers.h); merge.h puts the outcome together
// and standing_text.h words it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "settings/settings_file.h"

namespace patchbay {

// One entry as a file has it. Of a broken one only name, origin and reason are known.
struct DeclaredEntry {
  ServerConfig server;
  bool broken = false;
  bool holds_name = true;  // broken: no entry of a lower source may have the name
};

// What people said about one entry, in our own file and in Claude's.
struct EntryAnswers {
  enum class About : std::uint8_t { nothing, this_entry, another_entry };
  About approved = About::nothing;
  About rejected = About::nothing;
  // Claude's file, when it approves or rejects the name whatever the entry says.
  std::string approved_in;
  std::string rejected_in;
  // Started here, its relative paths name other files than in the directory of its file.
  bool elsewhere = false;

  struct Switch {
    bool on = false;
    bool for_project = false;  // and not everywhere
    std::string file;
    std::string key;  // in a file of another program
    bool operator==(const Switch&) const = default;
  };
  std::optional<Switch> switched;
  bool operator==(const EntryAnswers&) const = default;
};

struct SettlePolicy {
  std::span<const SettingsLayer> layers;
  bool trust_project = false;   // for this run
  VariableLookup variables;     // in entries
  VariableLookup startup;       // in an organisation's lists; it adds what its own files set
  std::string trust_name = {};  // what `trust_project` is called
};

struct Standing {
  ServerStanding why = ServerStanding::active;
  StandingBy by;             // of an active entry that needs approval: what approves it
  bool shown = true;         // this entry represents its name; the others are listed behind it
  bool approved = false;     // also of one that is not used for another reason
  bool switched_on = false;  // by name, although its entry says "disabled"
  std::string policy_text;   // why a list of an organisation keeps it away, as policy.h words it
  // The entry that has the name, or that reaches the same server. An active one and its copy are both used.
  std::optional<std::size_t> other;
  bool operator==(const Standing&) const = default;
};

// One for each entry, in their order. `answers` has one for each.
//  - Settings and answers that reject come before all that approve; of what approves, what holds whatever the entry
//    says is named before the answer to this very entry. Nothing inside the repository approves.
//  - The first entry to declare a name has it whole: fields are never mixed. One that is not approved takes no part.
//    A broken one does, so that a typo in an override does not start the very server it was meant to replace.
//  - What is switched off is not asked about: an approval would start nothing.
//  - A copy that a plugin or a connector has of a server written by hand is left out; two written by hand both stay.
std::vector<Standing> settle(std::span<const DeclaredEntry> entries, std::span<const EntryAnswers> answers,
                             const SettlePolicy& policy);

// Of an entry that is not put together with others: a program adds it, or it runs in this process.
Standing settle_alone(const ServerConfig& expanded, std::span<const SettingsLayer> layers,
                      const VariableLookup& startup);

// Settings inside the repository that try to approve: one warning each.
std::vector<ConfigProblem> ignored_approvals(std::span<const SettingsLayer> layers);

}  // namespace patchbay
