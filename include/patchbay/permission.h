// Which tools may be called: the modes and decisions. The rules themselves come from
// settings files and flags (docs/permissions.md); Host::call applies them to every call.
// Values only. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/compiler.h>

namespace patchbay {

// What happens to a call that no rule decides. Rules hold in every mode.
enum class PermissionMode : std::uint8_t {
  standard,      // the user is asked
  accept_reads,  // tools that say they only read pass, the others ask
  bypass,        // everything passes
  dont_ask,      // whatever would ask is refused
};
// "default", "acceptReads", "bypass", "dontAsk".
std::string_view to_string(PermissionMode mode) noexcept;
// Also the words other programs use for these modes, and for modes that are one of these as far as
// servers' tools are concerned.
std::optional<PermissionMode> permission_mode(std::string_view text) noexcept;

// What rules and a mode that come from no file are called: a program that takes them from flags says how those are
// spelled.
struct PermissionNames {
  std::string allowed_tools = "allowed_tools";
  std::string disallowed_tools = "disallowed_tools";
  std::string mode = "mode";
};

enum class PermissionOutcome : std::uint8_t { allow, ask, deny };
std::string_view to_string(PermissionOutcome outcome) noexcept;

struct PermissionDecision {
  PermissionOutcome outcome = PermissionOutcome::ask;
  std::string reason;  // for people: what decided
  // The rule that decided and where it is written; empty when none did. For one that is in no file, `file` is
  // its PermissionNames name and `line` is 0.
  std::string rule;
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  bool operator==(const PermissionDecision&) const = default;
};

}  // namespace patchbay
