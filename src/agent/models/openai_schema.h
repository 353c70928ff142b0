// Whether OpenAI can hold an answer to a schema exactly ("strict"): it refuses to for schemas outside of a smaller
// language. Pure; any thread.
#pragma once

#include <patchbay/json.h>

namespace patchbay {

// Every object is closed and all of its properties are required, and nothing is used that the API does not know. In
// doubt false: the schema is a hint to the model then.
bool is_strict_schema(const Json& schema);

}  // namespace patchbay
