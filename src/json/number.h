// The texts of JSON numbers: reading one into the machine type that holds it, and the
// shortest text of a double. Pure; used by the value, the scanner and the writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace patchbay {

// monostate: a JSON number that no machine type holds (an integer wider than 64 bits, a
// real that would become infinite or vanish to zero); its text is its value.
using Number = std::variant<std::monostate, std::int64_t, std::uint64_t, double>;

// The length of the JSON number at the beginning of `text`, 0 when there is none.
// `integral` says that it has neither fraction nor exponent.
std::size_t number_length(std::string_view text, bool& integral) noexcept;

// `text` is one whole JSON number as number_length found it.
Number convert_number(std::string_view text, bool integral) noexcept;

// nullopt when `text` is not a JSON number.
std::optional<Number> read_number(std::string_view text) noexcept;

// The nearest double of a JSON number, infinite or zero beyond its range.
double rounded_number(std::string_view text) noexcept;

void append_number(std::string& out, double value);

}  // namespace patchbay
