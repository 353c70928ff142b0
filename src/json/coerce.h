// Coercion: a value that does not fit its schema, because some texts in it should be numbers, booleans, null, arrays or
// objects, becomes one that does. Models write {"limit":"10"} or {"filter":"{\"a\":1}"} where the schema wants 10 and
// an object. Pure; asked by the host before it checks the arguments of a call.
//
// Only texts are changed, only into what they say as JSON, and only if that loses nothing: "10" becomes 10, "1e400"
// keeps all its digits, "0.1000000000000000000001" stays a text. Nothing is added, dropped or renamed. It is all or
// nothing: a value that would not fit after the changes either is left as it is, so that an error speaks of what was
// sent. Where a schema has alternatives (anyOf, oneOf), a change is made only if all that fit come to the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/schema.h"

namespace patchbay {

// One text that became something else.
struct CoercedPlace {
  std::string path;       // JSON pointer, "" for the whole
  std::string_view from;  // JSON types: "string"
  std::string_view to;    // "integer", "number", "boolean", "null", "array", "object"
  bool operator==(const CoercedPlace&) const = default;
};

struct Coercion {
  Json value;
  std::vector<CoercedPlace> places;  // in the order of the value, what is inside of a changed text behind it
};

struct CoerceOptions {
  std::uint64_t max_steps = 200'000;  // as in ValidateOptions, for all of it
  // Levels of the schema that are followed. JSON inside of a text may be as deep again, so both together stay within
  // what a message may have.
  std::uint32_t max_depth = 64;
};

// Nothing when the value fits, when no change would make it fit, and when a bound was passed.
std::optional<Coercion> coerce(const Schema& schema, const Json& value, const CoerceOptions& options = {});

}  // namespace patchbay
