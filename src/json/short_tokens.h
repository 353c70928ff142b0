// Looking at the bytes of a JSON text: where a string ends, and crossing what most tokens are, short strings and short
// numbers, without a call. Pure; used by the scanner alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "json/scanner.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace patchbay {

inline bool special(char c) noexcept { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

#if defined(__SSE2__)
// One bit for each of 16 bytes that a string cannot hold as is.
inline unsigned special_bits_of_16(const char* at) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i control = _mm_set1_epi8(0x1F);
  const __m128i hits =
      _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                   _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
  return static_cast<unsigned>(_mm_movemask_epi8(hits));
}

inline std::uint64_t special_bits(const char* at) noexcept {
  std::uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<std::uint64_t>(special_bits_of_16(at + i * 16)) << (i * 16);
  return bits;
}
#endif

inline const char* find_special(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    if (const unsigned hits = special_bits_of_16(at)) return at + std::countr_zero(hits);
  }
#endif
  while (at != end && !special(*at)) ++at;
  return at;
}

// Most strings end within 16 bytes and have no escapes: what follows such a string, null for all others.
[[gnu::always_inline]] inline const char* short_string(const char* at, const char* end, StringToken& token) noexcept {
#if defined(__SSE2__)
  if (end - at <= 17 || *at != '"') return nullptr;  // two quotes and 16 bytes between them
  const auto length = static_cast<std::size_t>(std::countr_zero(special_bits_of_16(at + 1) | 0x10000));
  if (at[1 + length] != '"') return nullptr;
  token = {{at + 1, length}, false};
  return at + length + 2;
#else
  (void)at, (void)end, (void)token;
  return nullptr;
#endif
}

[[gnu::always_inline]] inline const char* after_blanks(const char* at, const char* end) noexcept {
  while (at != end && static_cast<unsigned char>(*at) <= ' ' &&
         (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
    ++at;
  }
  return at;
}

// Up to 15 digits without an exponent, which are most numbers there are. They fit a double exactly, as does the power
// of ten, so one division rounds as it should. `behind` is null for all others, and for what is not a number.
struct ShortNumber {
  const char* behind = nullptr;
  std::int64_t value = 0;
  bool integral = true;
  std::size_t decimals = 0;
};

inline constexpr double powers_of_ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

[[gnu::always_inline]] inline ShortNumber short_number(const char* at, const char* end) noexcept {
  if (end - at <= 18) return {};  // so that the end is not met on the way
  const bool negative = *at == '-';
  const char* const first = at + (negative ? 1 : 0);
  const char* const last = first + 16;
  const char* to = first;
  std::int64_t digits = 0;
  const auto is_digit = [&] { return to < last && static_cast<unsigned char>(*to - '0') <= 9; };
  for (; is_digit(); ++to) digits = digits * 10 + (*to - '0');
  if (to == first || (*first == '0' && to != first + 1)) return {};
  ShortNumber number;
  if (*to == '.') {
    const char* const point = ++to;
    for (; is_digit(); ++to) digits = digits * 10 + (*to - '0');
    if (to == point) return {};
    number.integral = false;
    number.decimals = static_cast<std::size_t>(to - point);
  }
  if (to >= last || *to == 'e' || *to == 'E' || (negative && digits == 0)) return {};
  number.behind = to;
  number.value = negative ? -digits : digits;
  return number;
}

}  // namespace patchbay
