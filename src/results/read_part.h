// A part of a kept result for a model or a person: a slice of its text, the lines that match a pattern, or how much
// there is. Pure, bounded; any thread, but not a loop's: a large value takes its time.
#pragma once

#include <cstddef>
#include <optional>

#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/results.h>

namespace patchbay {

// `value`: what the handle and pointer of the query stand for.
Result<ResultPart> read_part(const Json& value, const ResultQuery& query);

// Where more lines match than are in the part: the `skip_lines` that goes on behind it.
std::optional<std::size_t> next_match(const ResultQuery& query, const ResultPart& part);

}  // namespace patchbay
