// Handles: "@result:ID" stands for the value of a kept result where somebody writes arguments, "@result:ID#/rows/0" for
// a value in it, "@result:ID/raw" for the result as its server sent it. Finds them and puts the values in their place.
// Pure; any thread. Called by host/results before a call is checked.
//
// A text that is a handle and nothing else becomes the value, whatever type it has. In a longer text a handle becomes
// the text of the value: a text as it is, anything else as JSON. It ends at a blank, a quote, a bracket, a comma, a
// semicolon, or before a full stop, colon, question or exclamation mark that ends a word. What is behind "#" is the
// fragment of a URI: a character that would end the handle is written "%20". "\@result:" is the plain text "@result:".
// What was put in is not looked at again, and neither are names of members.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

inline constexpr std::string_view handle_mark = "@result:";

struct ResultRef {
  std::string id = {};
  bool raw = false;
  std::string pointer = {};
  bool operator==(const ResultRef&) const = default;
};

std::string handle_of(std::string_view id);

// With or without the mark, and nothing behind it.
std::optional<ResultRef> parse_handle(std::string_view text);

// Whether a JSON text may have one: cheap, and never wrongly false for what a model or a person writes.
inline bool may_name_results(std::string_view json) noexcept { return json.find(handle_mark) != json.npos; }

// The value that a reference stands for; it stays where it is until all are put in.
using ResultLookup = std::function<Result<const Json*>(const ResultRef&)>;

// The arguments with the values in place of their handles; at most `most_bytes` are put in.
Result<Json> with_results(Json arguments, const ResultLookup& lookup, std::size_t most_bytes);

}  // namespace patchbay
