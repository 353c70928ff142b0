// Where a $ref leads inside one schema. Pure. The views for models use it; checking arguments has its own way
// (json/schema), which also knows other documents.
#pragma once

#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

// "#", "#/$defs/a"; null when that is not in this document, or names an anchor or another document.
const Json* follow_reference(const Json& document, std::string_view reference);

}  // namespace patchbay
