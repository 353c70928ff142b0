// What a result is, for whoever passes it on or reads in it: its structured content; without any, the JSON that its
// text is, if that is an object or an array; else its text. A result without text is what its server sent. Pure; any
// thread.
#pragma once

#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

// `sent`: the result as JSON, with "content" and "structuredContent".
Json value_of_result(Json sent);

// The object or array that a text is, if it is one.
std::optional<Json> structured_text(std::string_view text);

}  // namespace patchbay
