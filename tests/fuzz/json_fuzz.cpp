// JSON: what is read is written as something that reads as the same, compact or indented;
// the readers agree with each other, and with simdjson about what JSON is.
#include <simdjson.h>

#include "fuzz/fuzz.h"
#include "json/scanner.h"
#include "json/utf8.h"
#include "text/places.h"

namespace {

using namespace patchbay;
using fuzz::require;

std::size_t count(const Place& place) {
  std::size_t total = 1;
  for (const Place& child : place.children) total += count(child);
  return total;
}

std::size_t count(const Json& value) {
  std::size_t total = 1;
  if (const auto* items = value.if_array()) {
    for (const Json& item : *items) total += count(item);
  } else if (const auto* members = value.if_object()) {
    for (const auto& [key, member] : *members) total += count(member);
  }
  return total;
}

void same_again(const Json& value, const std::string& text) {
  const auto again = parse_json(text);
  require(again.has_value(), again ? "" : "what was written cannot be read: " + again.error().message());
  require(*again == value && value == *again, "a value changed on its way through text");
  require(to_text(*again) == to_text(value), "the same value is written in two ways");
}

}  // namespace

FUZZ_TARGET(json) {
  const auto value = parse_json(input);
  const auto located = parse_json_located(input);
  require(value.has_value() == located.has_value(), "the two readers disagree");
  const auto payload = Payload::parse(std::string(input));
  // A payload is checked without being built, so duplicate keys are not seen yet.
  require(payload.has_value() || !value.has_value(), "a payload refused what the reader takes");

  static simdjson::dom::parser other(1u << 20);
  const bool other_takes = !input.empty() && other.parse(input.data(), input.size(), true).error() == simdjson::SUCCESS;
  if (payload && !value) {
    bool refused = false;
    try {
      (void)payload->value();
    } catch (const Error&) {
      refused = true;
    }
    require(refused && located.error().reason.find("duplicate") != std::string::npos,
            "only a duplicate key is found late");
  }
  if (!payload) {
    require(located.error().offset <= input.size(), "a fault outside the text");
    const bool deep = located.error().reason.find("deep") != std::string::npos ||
                      located.error().reason.find("nest") != std::string::npos;
    // Of a byte order mark the standard says that a reader may ignore it. Newer versions of the other one do.
    const bool marked = input.starts_with("\xEF\xBB\xBF");
    require(!other_takes || deep || marked, "refused what is JSON: " + located.error().reason);
  }
  if (!value) return;

  require(*value == *located, "the two readers read different values");
  require(first_invalid_utf8(input) == all_utf8, "a text that is not UTF-8 was read");
  require(payload->value() == *value, "a payload has another value");
  require(payload->text().size() <= input.size(), "a payload grew");
  same_again(*value, to_text(*value));
  same_again(*value, to_pretty_text(*value));
  Json copy = *value;
  require(copy == *value, "a copy differs");
  require(count(places_in(input, 128)) == count(*value), "not every value has its place");
}
