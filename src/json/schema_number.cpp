#include "json/schema_number.h"

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "json/number.h"

namespace patchbay::schema {
namespace {

// sign · 0.d1d2d3… · 10^point, digits without zeros at either end; zero has no digits.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t point = 0;
};

Decimal read_decimal(std::string_view text) {
  Decimal out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  }
  const auto mark = text.find_first_of("eE");
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view rest = text.substr(mark + 1);
    const bool down = rest.starts_with('-');
    if (down || rest.starts_with('+')) rest.remove_prefix(1);
    for (char c : rest) {
      // Saturates: no text is long enough to make up for such an exponent.
      if (exponent < 1'000'000'000'000'000) exponent = exponent * 10 + (c - '0');
    }
    if (down) exponent = -exponent;
    text = text.substr(0, mark);
  }
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  out.digits = whole;
  if (dot != std::string_view::npos) out.digits += text.substr(dot + 1);
  const auto first = out.digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  out.point = static_cast<std::int64_t>(whole.size()) + exponent - static_cast<std::int64_t>(first);
  out.digits.erase(out.digits.find_last_not_of('0') + 1);
  out.digits.erase(0, first);
  return out;
}

Decimal decimal_of(const Json& number) {
  if (number.kind() == Json::Kind::big_number) return read_decimal(number.number_text());
  char buffer[40];
  std::to_chars_result written{};
  if (number.kind() == Json::Kind::real) {
    written = std::to_chars(buffer, std::end(buffer), *number.to_double(), std::chars_format::scientific);
  } else if (number.kind() == Json::Kind::unsigned_integer) {
    written = std::to_chars(buffer, std::end(buffer), *number.to_uint());
  } else {
    written = std::to_chars(buffer, std::end(buffer), *number.to_int());
  }
  return read_decimal({buffer, written.ptr});
}

std::strong_ordering compare_decimals(const Decimal& left, const Decimal& right) {
  const auto sign = [](const Decimal& value) { return value.digits.empty() ? 0 : value.negative ? -1 : 1; };
  if (sign(left) != sign(right)) return sign(left) <=> sign(right);
  if (sign(left) == 0) return std::strong_ordering::equal;
  auto order = left.point <=> right.point;
  if (order == 0) order = left.digits <=> right.digits;
  if (!left.negative) return order;
  return order == 0 ? order : order < 0 ? std::strong_ordering::greater : std::strong_ordering::less;
}

// Holds every int64, uint64 and double exactly: 64 bits of mantissa on x86-64, 113 on ARM.
long double wide(const Json& number) {
  if (number.kind() == Json::Kind::real) return *number.to_double();
  if (number.kind() == Json::Kind::unsigned_integer) return static_cast<long double>(*number.to_uint());
  return static_cast<long double>(*number.to_int());
}

__extension__ using Wide = unsigned __int128;

std::uint64_t times(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % modulus);
}

std::uint64_t power_of_ten(std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1 % modulus;
  std::uint64_t base = 10 % modulus;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = times(result, base, modulus);
    base = times(base, base, modulus);
  }
  return result;
}

}  // namespace

bool stands_for(const Json& number, std::string_view text) {
  return compare_decimals(decimal_of(number), read_decimal(text)) == 0;
}

bool is_integral(const Json& number) {
  switch (number.kind()) {
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      return true;
    case Json::Kind::real: {
      const double value = *number.to_double();
      return std::trunc(value) == value;
    }
    case Json::Kind::big_number: {
      const Decimal value = read_decimal(number.number_text());
      return value.point >= static_cast<std::int64_t>(value.digits.size());
    }
    default:
      return false;
  }
}

std::strong_ordering compare_numbers(const Json& left, const Json& right) {
  if (left.kind() == Json::Kind::integer && right.kind() == Json::Kind::integer)
    return *left.to_int() <=> *right.to_int();
  if (left.kind() == Json::Kind::big_number || right.kind() == Json::Kind::big_number) {
    return compare_decimals(decimal_of(left), decimal_of(right));
  }
  const long double a = wide(left);
  const long double b = wide(right);
  return a < b ? std::strong_ordering::less : a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

bool equal_values(const Json& left, const Json& right) {
  const bool big = left.kind() == Json::Kind::big_number || right.kind() == Json::Kind::big_number;
  if (big && left.is_number() && right.is_number()) return compare_numbers(left, right) == 0;
  return left == right;
}

std::optional<Divisor> Divisor::from(const Json& number) {
  const Decimal value = decimal_of(number);
  if (value.digits.empty() || value.negative || value.digits.size() > 18) return std::nullopt;
  Divisor out;
  std::from_chars(value.digits.data(), value.digits.data() + value.digits.size(), out.digits_);
  out.exponent_ = value.point - static_cast<std::int64_t>(value.digits.size());
  out.integer_ = number.to_int().value_or(0);
  return out;
}

bool Divisor::divides(const Json& number) const {
  if (number.kind() == Json::Kind::integer && integer_ != 0) return *number.to_int() % integer_ == 0;
  const Decimal value = decimal_of(number);
  if (value.digits.empty()) return true;
  // Neither mantissa ends in zero, so a multiple cannot have the smaller power of ten.
  const std::int64_t exponent = value.point - static_cast<std::int64_t>(value.digits.size()) - exponent_;
  if (exponent < 0) return false;
  std::uint64_t rest = 0;
  for (char c : value.digits) {
    rest = static_cast<std::uint64_t>((static_cast<Wide>(rest) * 10 + static_cast<unsigned>(c - '0')) % digits_);
  }
  return times(rest, power_of_ten(static_cast<std::uint64_t>(exponent), digits_), digits_) == 0;
}

}  // namespace patchbay::schema
