// Compiling a stranger's schema and checking a stranger's value with it end within their
// bounds, and the quick verdict is the verdict of the explaining one.
// Input: options (one byte: bit 0 formats count, bit 1 draft-07), the schema on the rest of
// that line, then the value.
#include "fuzz/fuzz.h"
#include "json/schema.h"
#include "json/schema_formats.h"
#include "json/schema_number.h"
#include "json/schema_uri.h"
#include "json/utf8.h"

using namespace patchbay;
using fuzz::require;

namespace {

// Work of this size is done in well under a second even with every sanitizer.
constexpr std::uint64_t steps = 20'000;

void check_value(const Schema& schema, const Json& value) {
  const ValidateOptions bounds{.max_steps = steps};
  const auto quick = schema.accepts(value, bounds);
  const auto slow = schema.validate(value, bounds);
  if (!quick) require(quick.error().code() == Errc::limit, "a verdict failed in another way than by a bound");
  if (!slow) require(slow.error().code() == Errc::limit, "an explanation failed in another way than by a bound");
  if (quick && slow) require(*quick == slow->empty(), "accepts and validate disagree");
  if (slow) {
    require(slow->size() <= bounds.max_violations, "more violations than asked for");
    (void)describe(*slow);
  }
}

void check_texts(std::string_view text) {
  for (const char* name : {"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname",
                           "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid",
                           "json-pointer", "relative-json-pointer", "regex"}) {
    const auto check = schema::find_format(name);
    require(check != nullptr, "a format is missing");
    (void)check(text);
  }
  (void)schema::percent_decoded(text);
  const std::string resolved = schema::resolve_uri("http://example.org/a/b?q#f", text);
  require(resolved.find('#') == std::string::npos, "a resolved URI has a fragment");
  require(schema::resolve_uri(resolved, "") == resolved, "an empty reference leads elsewhere");
}

void check_numbers(const Json& left, const Json& right) {
  const auto order = schema::compare_numbers(left, right);
  require((0 <=> order) == schema::compare_numbers(right, left), "an order that depends on the side");
  require((order == 0) == schema::equal_values(left, right), "equal in one way and not in the other");
  require(schema::compare_numbers(left, left) == 0, "a number that is not itself");
  (void)schema::is_integral(left);
  if (const auto divisor = schema::Divisor::from(left)) (void)divisor->divides(right);
}

}  // namespace

FUZZ_TARGET(schema) {
  if (input.empty()) return;
  const auto bits = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const auto schema_text = fuzz::take_line(input);
  const auto schema_value = parse_json(schema_text);
  const auto value = parse_json(input);
  if (!schema_value) return;
  if (value && value->is_number() && schema_value->is_number()) check_numbers(*schema_value, *value);
  if (value && value->is_string()) check_texts(value->as_text());

  const SchemaOptions options{
      .default_dialect = (bits & 2) != 0 ? SchemaDialect::draft_07 : SchemaDialect::draft_2020_12,
      .base_uri = "http://example.org/schema",
      .assert_formats = (bits & 1) != 0,
      .max_subschemas = 2'000,
      .max_pattern_bytes = 512};
  const auto compiled = Schema::compile(*schema_value, options);
  if (!compiled) {
    const auto code = compiled.error().code();
    require(code == Errc::invalid_argument || code == Errc::unsupported || code == Errc::limit,
            "compiling failed in an unknown way");
    return;
  }
  require(compiled->subschemas() <= options.max_subschemas, "more subschemas than allowed");
  if (value) check_value(*compiled, *value);
  check_value(*compiled, *schema_value);
}
