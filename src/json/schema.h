// JSON Schema 2020-12 and draft-07: compiled once, then asked about many values.
// Used for a tool's arguments before they are sent, for structuredContent against an
// outputSchema and for elicitation forms. Pure: it opens no file and no connection; a
// $ref leads into the schema itself, into a document the caller supplies, or into the
// meta-schemas of both drafts, and anything else is an error when compiling.
//
// A compiled Schema is immutable; copies share it and several threads may use it. Both
// schema and value may come from a stranger, so everything is bounded: the number of
// subschemas and the size of patterns when compiling, steps and depth when validating.
// Passing a bound is Errc::limit, which says nothing about whether the value is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

namespace schema {
struct Program;
}

enum class SchemaDialect : std::uint8_t { draft_2020_12, draft_07 };

// Absolute URI without fragment → document.
using SchemaDocuments = std::map<std::string, Json, std::less<>>;

struct SchemaOptions {
  // For schemas without $schema. The protocol says 2020-12.
  SchemaDialect default_dialect = SchemaDialect::draft_2020_12;
  // Where the schema came from; relative references are resolved against it.
  std::string base_uri;
  // Documents that $ref and $schema may name. Those that are used are copied.
  const SchemaDocuments* documents = nullptr;
  // `format` is an annotation unless this says otherwise. Known then: date-time, date, time,
  // duration, email, idn-email, hostname, idn-hostname, ipv4, ipv6, uri, uri-reference, iri,
  // iri-reference, uri-template, uuid, json-pointer, relative-json-pointer, regex.
  bool assert_formats = false;

  std::size_t max_subschemas = 10'000;
  std::size_t max_pattern_bytes = 8'192;
};

struct ValidateOptions {
  // Evaluations of a subschema, plus one for each further unit of work of about the same
  // cost: members, enum values, comparisons, backtracking in patterns. 10 million take
  // 0.1 s in most schemas and about a second at worst.
  std::uint64_t max_steps = 10'000'000;
  // Nested evaluations; each costs some hundred bytes of stack.
  std::uint32_t max_depth = 1'000;
  // validate() stops looking once it has found this many.
  std::size_t max_violations = 20;
};

struct Violation {
  std::string instance_path;    // JSON pointer to the offending value, "" for the whole
  std::string keyword;          // "required"; "false" for the schema that accepts nothing
  std::string schema_location;  // URI of the resource, '#', JSON pointer to the keyword
  std::string message;          // "expected string, found integer"

  bool operator==(const Violation&) const = default;
};

class Schema {
 public:
  // Errc::invalid_argument: not a schema, a $ref that leads nowhere, a pattern that is no
  // regular expression; the message names the place. Errc::unsupported: a dialect or a
  // required vocabulary we do not know. Errc::limit: a bound of the options.
  static Result<Schema> compile(const Json& schema, const SchemaOptions& options = {});

  // Empty when the value is valid.
  Result<std::vector<Violation>> validate(const Json& value, const ValidateOptions& options = {}) const;
  // The same verdict without reasons; ends at the first violation and allocates nothing
  // unless the schema has patterns or unevaluated* over large values.
  Result<bool> accepts(const Json& value, const ValidateOptions& options = {}) const;

  // For json/coerce.cpp.
  const schema::Program& program() const noexcept { return *program_; }

  SchemaDialect dialect() const noexcept;
  // How many subschemas were compiled, those of referenced documents included.
  std::size_t subschemas() const noexcept;

 private:
  explicit Schema(std::shared_ptr<const schema::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const schema::Program> program_;
};

// One line each, for people and models: "/size: expected integer, found string". `root`
// stands for the whole value, as in "arguments: missing property \"path\"".
std::string describe(std::span<const Violation> violations, std::string_view root = "value");

}  // namespace patchbay
