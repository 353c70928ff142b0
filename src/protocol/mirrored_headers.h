// What a modern request over HTTP repeats of itself in headers, so that gateways can route
// it without reading the body: its method, the thing it names, and the tool arguments whose
// schema asks for it (`x-mcp-header`). The client writes them, the server compares them.
// Pure: values in, values out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// One annotated property of a tool's input schema.
struct MirroredArgument {
  enum class Type { string, integer, boolean };
  std::string header;             // "Mcp-Param-" and the annotated name
  std::vector<std::string> path;  // property names from the root of the arguments
  Type type = Type::string;

  bool operator==(const MirroredArgument&) const = default;
};
using MirroredArguments = std::vector<MirroredArgument>;

// The annotations of an input schema. An error says which rule one of them breaks; such a
// tool is not to be used over HTTP.
Result<MirroredArguments> mirrored_arguments(const Json& input_schema);

// A value as a header can carry it: as it is, or in the base64 form when it could be
// changed or misread on its way.
std::string to_header_value(std::string_view value);
// The reverse. An error when the base64 form is broken.
Result<std::string> from_header_value(std::string_view header);

// The text an argument has in its header; nothing when it is absent or null.
// Errc::invalid_argument when it is of another type or an integer beyond 2^53-1.
Result<std::optional<std::string>> mirrored_value(const MirroredArgument& argument, const Json& arguments);
// Whether the header (as received, blanks trimmed) says what the arguments say.
Result<void> check_mirrored(const MirroredArgument& argument, const Json& arguments,
                            std::optional<std::string_view> header);

// The parameter a method is routed by ("name", "uri", "taskId"); empty when it has none.
std::string_view routed_parameter(std::string_view method) noexcept;

using HeaderList = std::vector<std::pair<std::string, std::string>>;
// Mcp-Method, Mcp-Name and the arguments of one request.
Result<HeaderList> mirrored_headers(std::string_view method, const Json& params, const MirroredArguments& arguments);

}  // namespace patchbay
