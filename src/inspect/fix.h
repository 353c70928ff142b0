// What would help about a finding or an explanation, as a value: what there is to type is known to the program alone,
// so cli/texts/remedy_words puts it into words. Pure.
#pragma once

#include <cstdint>
#include <string>

#include <patchbay/config.h>

namespace patchbay {

struct Fix {
  enum class Kind : std::uint8_t {
    nothing,
    change,            // `text` says what to change, and where
    approve,           // `server`, which was not approved or was rejected
    look_and_approve,  // the same, for somebody who has not seen its entry
    approve_instead,   // another entry of the name `server`, which would then override the one in use
    enable,            // `server`
    remove_other,      // or rename one of two entries of the name `server`; the other is in `scope`
    explain,           // find out why `server` is not used
    read_log,          // start `server` with everything logged
    trust,             // the directory of the project
    withdraw_trust,    // from it
    choose_mode,       // another PermissionMode
    repair_files,      // let the program put its own files in order
    sign_in,           // the user, at `server`
    look_at_changes,   // of the tools of `server`
  };
  Kind kind = Kind::nothing;
  std::string server = {};
  ConfigScope scope = ConfigScope::local;
  std::string text = {};

  static Fix changing(std::string what) { return {Kind::change, {}, {}, std::move(what)}; }
  bool operator==(const Fix&) const = default;
};

}  // namespace patchbay
