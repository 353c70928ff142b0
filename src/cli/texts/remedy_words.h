// What would help against an error, in the words of this command line: the library says it as a Remedy. Pure.
#pragma once

#include <string>

#include <patchbay/error.h>

namespace patchbay::cli {

std::string remedy_words(const Remedy& remedy);
// The error whose message ends in what would help; the same error where nothing is known to.
Error with_remedy_in_words(const Error& error);

}  // namespace patchbay::cli
