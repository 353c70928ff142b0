// Whether a server that a repository brought along may be used. Pure: what the person said before, the
// settings and the flag go in, a decision comes out. Nothing inside the repository can approve; a
// rejection counts wherever it is written. load asks it for every entry of a project file; remembering
// an answer is own_store's work.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "settings/settings_file.h"

namespace patchbay {

// What the person said about one project: the hash of the entry they saw, by name of the server.
struct ApprovalMemory {
  std::map<std::string, std::string, std::less<>> approved;
  std::map<std::string, std::string, std::less<>> rejected;
  bool operator==(const ApprovalMemory&) const = default;
};

struct ApprovalDecision {
  enum class State : std::uint8_t { approved, pending, rejected };
  State state = State::pending;
  bool by_answer = false;  // the person said so about this very entry
  bool changed = false;    // they said yes or no to an entry of this name that was another one
  std::string reason;      // for people: why, and when pending or rejected what to do
  // The setting that decided; empty when none did.
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const ApprovalDecision&) const = default;
};

ApprovalDecision decide_approval(std::string_view name, std::string_view entry_hash, const ApprovalMemory& memory,
                                 std::span<const SettingsLayer> layers, bool trust_project);

// Settings inside the repository that try to approve: one warning each, for whoever wonders.
std::vector<ConfigProblem> ignored_approvals(std::span<const SettingsLayer> layers);

}  // namespace patchbay
