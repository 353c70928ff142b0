// Exact arithmetic on JSON numbers for the numeric keywords: comparing, divisibility and
// "is it an integer" across 64-bit integers, doubles and numbers kept as text. A double
// stands for the shortest decimal that reads back as it, so that 0.0075 is a multiple of
// 0.0001. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay::schema {

bool is_integral(const Json& number);

// Both are numbers.
std::strong_ordering compare_numbers(const Json& left, const Json& right);

// Json equality, except that numbers kept as text are compared by value too.
bool equal_values(const Json& left, const Json& right);

// Whether a number stands for all digits of the text, which is a JSON number: 0.1 does for "0.10" and not for
// "0.1000000000000000000001".
bool stands_for(const Json& number, std::string_view text);

// A positive number, prepared for the question whether others are its multiples.
class Divisor {
 public:
  // nullopt unless positive and of at most 18 significant digits.
  static std::optional<Divisor> from(const Json& number);
  bool divides(const Json& number) const;

 private:
  std::uint64_t digits_ = 1;  // without zeros at the end
  std::int64_t exponent_ = 0;
  std::int64_t integer_ = 0;  // the value where it is an int64, else 0
};

}  // namespace patchbay::schema
