// ConfigProblem: one thing that is wrong with a configuration file, and where. Values only. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <patchbay/error.h>

namespace patchbay {

enum class Severity : std::uint8_t { warning, error, note };

// One thing wrong with a file or an entry. After an error the entry (when `server` is empty: the file)
// is not used; after a warning it is; a note may well be intended, and is shown on request.
struct ConfigProblem {
  std::string file;
  std::size_t line = 0;  // 0: the file as a whole
  std::size_t column = 0;
  std::string message;
  std::string server;  // the entry it is about, or empty
  Severity severity = Severity::error;
  std::optional<Remedy> remedy = {};  // what would help, where only the program knows how that is done

  // "file:line:column: message".
  std::string text() const;
  bool operator==(const ConfigProblem&) const = default;
};

}  // namespace patchbay
