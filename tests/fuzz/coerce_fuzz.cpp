// A stranger's value fitted to a stranger's schema: what comes out fits, says the same, and is not changed again.
// Input: the schema on the first line, then the value.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "json/coerce.h"

using namespace patchbay;
using fuzz::require;

namespace {

constexpr std::uint64_t steps = 20'000;

// Whether nothing was added, dropped or renamed: texts became what they say as JSON, and all else is equal.
bool says_the_same(const Json& before, const Json& after) {
  if (before == after) return true;
  if (before.is_string()) {
    if (after.is_string()) return false;
    const auto read = parse_json(before.as_text());
    return read && says_the_same(*read, after);
  }
  if (before.is_object() && after.is_object()) {
    if (before.size() != after.size()) return false;
    return std::ranges::all_of(before.members(), [&](const auto& member) {
      const auto* now = after.find(member.name);
      return now != nullptr && says_the_same(member.value, *now);
    });
  }
  if (before.is_array() && after.is_array()) return std::ranges::equal(before.items(), after.items(), says_the_same);
  return false;
}

}  // namespace

FUZZ_TARGET(coerce) {
  const auto schema_value = parse_json(fuzz::take_line(input));
  const auto value = parse_json(input);
  if (!schema_value || !value) return;
  const auto schema = Schema::compile(*schema_value, {.max_subschemas = 2'000, .max_pattern_bytes = 512});
  if (!schema) return;
  const auto made = coerce(*schema, *value, {.max_steps = steps});
  if (!made) return;
  require(!made->places.empty(), "something changed and nobody says where");
  require(says_the_same(*value, made->value), "something was added, dropped or means something else");
  const auto before = schema->accepts(*value);
  require(!before || !*before, "a value that fits was changed");
  const auto after = schema->accepts(made->value);
  require(!after || *after, "a value was changed and does not fit");
  require(!coerce(*schema, made->value, {.max_steps = steps}), "what was changed is changed again");
  require(parse_json(to_text(made->value)).has_value(), "the text cannot be read again");
}
