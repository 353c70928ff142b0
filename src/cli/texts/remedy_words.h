// What would help, in the words of this command line: the library says it as a value (Remedy, Fix). Pure.
#pragma once

#include <string>

#include <patchbay/config.h>
#include <patchbay/error.h>

#include "cli/texts/typed_where.h"
#include "inspect/fix.h"

namespace patchbay::cli {

// In a conversation what can be typed there: its own commands, and those of the shell behind a "!".
std::string remedy_words(const Remedy& remedy, TypedWhere where = TypedWhere::shell);
// Empty when there is nothing to do.
std::string fix_words(const Fix& fix);

// The error whose message ends in what would help; the same error where nothing is known to.
Error with_remedy_in_words(const Error& error, TypedWhere where = TypedWhere::shell);
// The same for a problem of configuration, and for all of a list.
ConfigProblem with_remedy_in_words(ConfigProblem problem, TypedWhere where = TypedWhere::shell);
std::vector<ConfigProblem> with_remedies_in_words(std::vector<ConfigProblem> problems);

// Why an entry is not used, and what would change that.
std::string reason_words(const ServerConfig& server);

}  // namespace patchbay::cli
