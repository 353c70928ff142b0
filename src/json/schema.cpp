#include "json/schema.h"

#include "json/schema_program.h"

namespace patchbay {

Result<Schema> Schema::compile(const Json& schema, const SchemaOptions& options) {
  auto program = schema::compile(schema, options);
  if (!program) return std::unexpected(program.error());
  return Schema(std::move(*program));
}

Result<std::vector<Violation>> Schema::validate(const Json& value, const ValidateOptions& options) const {
  // Most values are valid, and the quick verdict needs neither paths nor texts.
  const auto verdict = schema::accepts(*program_, value, options);
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict) return std::vector<Violation>();
  return schema::violations(*program_, value, options);
}

Result<bool> Schema::accepts(const Json& value, const ValidateOptions& options) const {
  return schema::accepts(*program_, value, options);
}

SchemaDialect Schema::dialect() const noexcept { return program_->root->resource->dialect.draft; }

std::size_t Schema::subschemas() const noexcept { return program_->nodes.size(); }

std::string describe(std::span<const Violation> violations, std::string_view root) {
  std::string out;
  for (const Violation& violation : violations) {
    if (!out.empty()) out += '\n';
    out += violation.instance_path.empty() ? root : std::string_view(violation.instance_path);
    out += ": ";
    out += violation.message;
  }
  return out;
}

}  // namespace patchbay
