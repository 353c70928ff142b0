// What a person sees of an entry before and after they decide about it: the question before an approval, approve,
// trust, import, enable, list, get and why all show what is said here, and nothing else shows an entry. Pure.
//
// Of an entry that a repository declares a value is hidden only if its name speaks of a secret, it consists of
// letters, digits and +/=_.- alone (behind "Bearer " or "Basic "), and no program runs or loads it. Commands,
// arguments, directories and helpers are never hidden. Of what the user wrote themselves, secrets are hidden however
// they look: nobody decides about those, and they are read over shoulders. What is hidden shows its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

// Who wrote an entry.
enum class EntryAuthor : std::uint8_t { person, stranger };
EntryAuthor author_of(const ServerConfig& server) noexcept;

// Whether a program takes from this variable what to run, load, trust or reach.
bool decides_what_runs(std::string_view variable);
// Whether a stranger's value may be hidden.
bool may_hide(std::string_view name, std::string_view value);

struct ConsentText {
  std::vector<std::string> details;  // visible text; what can change which code runs comes last
  std::string target;                // "runs: COMMAND" or "connects to: URL", the last line before a question
};
ConsentText consent_text(const ServerConfig& server);

// All of it as lines of at most `columns` (0: any), each with `indent` before it; what does not fit goes on in lines
// that begin with a bar. A command of many lines is announced behind it.
std::string consent_block(const ServerConfig& server, std::string_view indent, std::size_t columns);

// The command line or the URL alone, as it is in the target.
std::string consent_target(const ServerConfig& server);
// The arguments of that command line.
std::string consent_args(const ServerConfig& server);
// The entry in its one spelling, with the same values hidden; its texts are not escaped.
Json shown_entry(const ServerConfig& server);

}  // namespace patchbay
