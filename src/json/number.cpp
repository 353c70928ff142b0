#include "json/number.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace patchbay {
namespace {

bool digit(char c) noexcept { return static_cast<unsigned char>(c - '0') <= 9; }

bool has_nonzero_digit(std::string_view text) noexcept {
  for (char c : text) {
    if (c == 'e' || c == 'E') break;
    if (c >= '1' && c <= '9') return true;
  }
  return false;
}

// Whether the value is at least 1, to tell an overflow from an underflow. Only asked about
// nonzero numbers far out of range, so a saturated exponent decides correctly.
bool at_least_one(std::string_view text) noexcept {
  long long exponent = 0;
  const auto mark = text.find_first_of("eE");
  if (mark != std::string_view::npos) {
    std::size_t from = mark + 1;
    const bool negative = text[from] == '-';
    if (text[from] == '+' || negative) ++from;
    for (; from < text.size(); ++from) {
      if (exponent < 1'000'000'000'000) exponent = exponent * 10 + (text[from] - '0');
    }
    if (negative) exponent = -exponent;
  }
  const auto mantissa = text.substr(0, mark);
  const auto first = mantissa.find_first_of("123456789");
  auto point = mantissa.find('.');
  if (point == std::string_view::npos) point = mantissa.size();
  // The power of ten of the first nonzero digit.
  const auto power = first < point ? static_cast<long long>(point - first) - 1 : -static_cast<long long>(first - point);
  return power + exponent >= 0;
}

}  // namespace

std::size_t number_length(std::string_view text, bool& integral) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = begin;
  integral = true;
  if (at != end && *at == '-') ++at;
  if (at == end || !digit(*at)) return 0;
  if (*at == '0') {
    ++at;
  } else {
    while (at != end && digit(*at)) ++at;
  }
  if (at != end && *at == '.') {
    ++at;
    if (at == end || !digit(*at)) return 0;
    while (at != end && digit(*at)) ++at;
    integral = false;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (at == end || !digit(*at)) return 0;
    while (at != end && digit(*at)) ++at;
    integral = false;
  }
  return static_cast<std::size_t>(at - begin);
}

Number convert_number(std::string_view text, bool integral) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (integral) {
    if (text == "-0") return -0.0;
    std::int64_t value = 0;
    if (std::from_chars(begin, end, value).ec == std::errc()) return value;
    std::uint64_t large = 0;
    if (*begin != '-' && std::from_chars(begin, end, large).ec == std::errc()) return large;
    return std::monostate();
  }
  double value = 0;
  const auto read = std::from_chars(begin, end, value);
  const bool lost = read.ec != std::errc() || std::isinf(value) || (value == 0 && has_nonzero_digit(text));
  if (lost) return std::monostate();
  return value;
}

std::optional<Number> read_number(std::string_view text) noexcept {
  bool integral = false;
  if (text.empty() || number_length(text, integral) != text.size()) return std::nullopt;
  return convert_number(text, integral);
}

double rounded_number(std::string_view text) noexcept {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc()) return value;
  const double magnitude = at_least_one(text) ? std::numeric_limits<double>::infinity() : 0.0;
  return text.front() == '-' ? -magnitude : magnitude;
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[40];
  // Plain shortest form may spell a large double as a long integer, which would read back
  // as an integer of more than 64 bits; the scientific form reads back as this double.
  const auto written = std::fabs(value) >= 1e17
                           ? std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific)
                           : std::to_chars(buffer, std::end(buffer), value);
  out.append(buffer, written.ptr);
}

}  // namespace patchbay
