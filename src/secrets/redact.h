// Takes secrets out of JSON before it is shown: values of members whose name says they are
// secret (token, password, authorization, ...) and bearer tokens inside text. Pure.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

Json redacted(Json value);
// The same on a text; a text that is not JSON is replaced by a note about its size.
std::string redacted_text(std::string_view json);

}  // namespace patchbay
