// The words that a text is found by: cut at everything that is not a letter or a digit and where camelCase goes on,
// in lower case, without the endings of English plurals and verbs, so that "listing directories" meets
// list_directory. A name of several words is also one word without its separators. Other scripts stay whole between
// blanks. Pure and linear; used for tools and for the queries about them alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

// In the order of the text, repeated as often as they are there.
std::vector<std::string> terms_of(std::string_view text);
// The same of a name, and behind them all of its words as one, if there are several.
std::vector<std::string> name_terms_of(std::string_view name);
// The same of what somebody looks for: each once, and without words that every sentence has, unless there are no
// others. At most `most`.
std::vector<std::string> query_terms_of(std::string_view query, std::size_t most);

}  // namespace patchbay
