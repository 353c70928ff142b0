// What a request repeats in headers: any value survives the way into a header and back, and
// the headers a client writes are those a server expects.
// Input: an input schema on a line of its own, then params of a tool call.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "protocol/methods.h"
#include "protocol/mirrored_headers.h"

using namespace patchbay;
using fuzz::require;

namespace {

bool fits_header(std::string_view value) {
  if (value.starts_with(' ') || value.ends_with(' ')) return false;
  return std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

FUZZ_TARGET(mirrored_headers) {
  const std::string as_header = to_header_value(input);
  require(fits_header(as_header), "a header value that no header can hold");
  const auto back = from_header_value(as_header);
  require(back.has_value() && *back == input, "a value changed on its way through a header");
  (void)from_header_value(input);

  const auto schema = parse_json(fuzz::take_line(input));
  const auto params = parse_json(input);
  if (!schema || !params) return;
  const auto arguments = mirrored_arguments(*schema);
  if (!arguments) return;
  const auto headers = mirrored_headers(method::call_tool, *params, *arguments);
  if (!headers) return;
  for (const auto& [name, value] : *headers) require(fits_header(name) && fits_header(value), "an unfit header");
  for (const MirroredArgument& argument : *arguments) {
    std::optional<std::string_view> header;
    for (const auto& [name, value] : *headers) {
      if (name == argument.header) header = value;
    }
    const auto checked = check_mirrored(argument, (*params)["arguments"], header);
    require(checked.has_value(), checked ? "" : "our own header is refused: " + checked.error().message());
  }
}
