// The pure parts of answering a server's questions.
#pragma once

#include <patchbay/types.h>

namespace patchbay {

// A form's answer with the schema's default for every property the person left untouched.
Json with_defaults(const Json& requested_schema, Json content);

}  // namespace patchbay
