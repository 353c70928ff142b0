// What of a tool's definition counts when it is compared with an earlier one, in one spelling: the same tool in another
// notation has the same parts. host and lock files pin hashes of these parts. Pure; any thread. What a server says is
// untrusted, and bounded by whoever read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

// A JSON Schema with its keys sorted, without "$schema", and with what two drafts write in two ways written in one:
// "definitions" as "$defs", one-element "type" lists and "const". What means nothing when it is empty is left out.
Json canonical_schema(const Json& schema);

enum class ToolPart : std::uint8_t { title, description, input, output, annotations };
std::string_view to_string(ToolPart part) noexcept;  // "input schema"

// The parts of one tool, as text; empty: it has none. What it is called is not among them.
struct ToolParts {
  std::string title;
  std::string description;
  std::string input;
  std::string output;
  std::string annotations;

  const std::string& of(ToolPart part) const noexcept;
  bool operator==(const ToolParts&) const = default;
};
ToolParts parts_of(const Tool& tool);

inline constexpr ToolPart tool_parts[] = {ToolPart::title, ToolPart::description, ToolPart::input, ToolPart::output,
                                          ToolPart::annotations};

// One hash of all parts: 64 hexadecimal digits.
std::string print_of(const ToolParts& parts);

// The texts in a tool that hide something from whoever reads them: characters that do not show themselves where they
// do not belong (text/clean_text). Sorted, each once.
std::vector<std::string> hiding_texts(const Tool& tool);

}  // namespace patchbay
