// JSON pointers (RFC 6901) into a value. Pure; any thread. Used for handles and for reading in kept results.
#pragma once

#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

// The value there; "" is the whole. Errc::invalid_argument says how far the pointer leads and what there is.
Result<const Json*> at_pointer(const Json& root, std::string_view pointer);

}  // namespace patchbay
