// One server entry: from the object in a file to a ServerConfig. Every key has a function of its own in
// entry.cpp. Problems are errors unless said otherwise, and an entry with an error is dropped; it is read
// to its end all the same, so that a person sees everything that is wrong with it at once. Pure;
// parse.h finds the entries.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <patchbay/config.h>

#include "text/document.h"
#include "text/report.h"

namespace patchbay {

// A ${VARIABLE} without default or an ${env:VARIABLE}, for a warning with its place if it is not set.
struct VariableUse {
  std::string server;
  ConfigOrigin origin;  // of the entry
  std::string variable;
  std::string place;  // in the entry: "env.TOKEN"
  std::size_t line = 0;
  std::size_t column = 0;
  bool required = false;  // written ${env:VARIABLE}: without it the server does not start
  bool operator==(const VariableUse&) const = default;
};

// Line and column of `origin` are filled in. When the entry is dropped: its first error, without the name.
std::expected<ServerConfig, std::string> read_entry(std::string_view name, const ConfigDocument::Member& entry,
                                                    const ConfigOrigin& origin, ConfigReport& report,
                                                    std::vector<VariableUse>& uses);

// Why nothing may be called `name` in a file; empty when it may.
std::string server_name_fault(std::string_view name);

// Why no request can carry such a header; empty when it can.
std::string header_fault(std::string_view name, std::string_view value);

// A name as it is shown: in quotes, so that an escape sequence inside stays visible, and a character that nothing is
// shown for as well.
std::string quoted_name(std::string_view text);

// 2026-01-31, whatever revisions there are.
bool is_revision_date(std::string_view text) noexcept;

}  // namespace patchbay
