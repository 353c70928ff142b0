// Numbers through the writer and back: a million reals and a million integers in an
// optimised build, fewer under a sanitizer. The seed is fixed and printed; PATCHBAY_SEED
// chooses another.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <patchbay/json.h>

namespace patchbay {
namespace {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    !defined(NDEBUG)
constexpr int count = 50'000;
#else
constexpr int count = 1'000'000;
#endif

std::mt19937_64 seeded(const char* what, int how_many = count) {
  const char* chosen = std::getenv("PATCHBAY_SEED");
  const std::uint64_t seed = chosen ? std::strtoull(chosen, nullptr, 10) : 8259;
  std::printf("%d %s, seed %llu\n", how_many, what, static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return std::mt19937_64(seed);
}

// The double as such, and inside a value, comes back with the same bits.
void round_trip(double value) {
  std::string text;
  append_text(text, Json(value));
  const auto read = parse_json(text);
  ASSERT_TRUE(read) << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(read->to_double().value()), std::bit_cast<std::uint64_t>(value)) << text;
  ASSERT_EQ(to_text(*read), text);
}

TEST(NumberRoundTrip, DoublesOfAnyBitsComeBackTheSame) {
  auto random = seeded("doubles of random bits");
  for (int done = 0; done < count;) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ++done;
    ASSERT_NO_FATAL_FAILURE(round_trip(value));
  }
}

TEST(NumberRoundTrip, DoublesAtTheBordersOfEachExponentComeBackTheSame) {
  // For each power of two: itself, its neighbours, both signs.
  for (std::uint64_t exponent = 0; exponent < 0x7FF; ++exponent) {
    for (const std::uint64_t fraction : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 52) - 1}) {
      for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
        ASSERT_NO_FATAL_FAILURE(round_trip(std::bit_cast<double>(sign | exponent << 52 | fraction)));
      }
    }
  }
}

// Decimals as people and programs write them: one to twenty digits, a point anywhere, an
// exponent now and then. strtod, which is exact in glibc, is the judge.
TEST(NumberRoundTrip, DecimalTextsAreReadAsTheNearestDouble) {
  auto random = seeded("decimal texts");
  std::string text;
  for (int i = 0; i < count; ++i) {
    text.clear();
    auto bits = random();
    const auto take = [&](unsigned choices) {
      const auto chosen = static_cast<unsigned>(bits % choices);
      bits /= choices;
      return chosen;
    };
    if (take(2) == 0) text += '-';
    const unsigned before = 1 + take(10);
    const unsigned behind = 1 + take(10);
    text += static_cast<char>(before == 1 ? '0' : '1' + take(9));
    const auto digits = random();
    auto more = digits;
    for (unsigned k = 1; k < before; ++k, more /= 10) text += static_cast<char>('0' + more % 10);
    text += '.';
    for (unsigned k = 0; k < behind; ++k, more = more / 10 + digits) text += static_cast<char>('0' + more % 10);
    if (take(3) == 0) {
      text += take(2) == 0 ? 'e' : 'E';
      const unsigned sign = take(3);
      if (sign != 0) text += sign == 1 ? '+' : '-';
      text += std::to_string(take(290));
    }
    const double expected = std::strtod(text.c_str(), nullptr);
    const auto read = parse_json(text);
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read->to_double().value()), std::bit_cast<std::uint64_t>(expected)) << text;
    ASSERT_EQ(parse_json(to_text(*read)).value(), *read) << text;
  }
}

template <class Integer>
void round_trip_integer(Integer value) {
  const Json json(value);
  const std::string text = to_text(json);
  char digits[24];
  ASSERT_EQ(text, std::string(digits, std::to_chars(digits, std::end(digits), value).ptr));
  const auto read = parse_json(text);
  ASSERT_TRUE(read) << text;
  ASSERT_EQ(read->kind(), json.kind()) << text;
  if constexpr (std::is_signed_v<Integer>) {
    ASSERT_EQ(read->to_int(), value) << text;
  } else {
    ASSERT_EQ(read->to_uint(), value) << text;
  }
}

TEST(NumberRoundTrip, IntegersOf64BitsComeBackExactly) {
  auto random = seeded("integers");
  for (int i = 0; i < count / 2; ++i) {
    // As many short ones as long ones.
    const auto bits = random() >> (random() % 64);
    ASSERT_NO_FATAL_FAILURE(round_trip_integer(static_cast<std::int64_t>(i % 2 == 0 ? bits : ~bits)));
    ASSERT_NO_FATAL_FAILURE(round_trip_integer(bits));
  }
  for (unsigned shift = 0; shift < 64; ++shift) {
    const auto power = std::uint64_t{1} << shift;
    for (const auto value : {power - 1, power, power + 1, ~power, ~power + 1, 0 - power}) {
      ASSERT_NO_FATAL_FAILURE(round_trip_integer(value));
      ASSERT_NO_FATAL_FAILURE(round_trip_integer(static_cast<std::int64_t>(value)));
    }
  }
}

// Numbers that no machine type holds keep every byte of their text.
TEST(NumberRoundTrip, NumbersBeyondEveryTypeKeepTheirText) {
  auto random = seeded("numbers kept as text", count / 10);
  std::string text;
  for (int i = 0; i < count / 10; ++i) {
    text = random() % 2 == 0 ? "-" : "";
    text += static_cast<char>('1' + random() % 9);
    const auto kind = random() % 3;
    const auto digits = kind == 0 ? 20 + random() % 40 : random() % 20;
    for (std::uint64_t k = 0; k < digits; ++k) text += static_cast<char>('0' + random() % 10);
    if (kind != 0) {
      if (random() % 2 == 0) text += "." + std::to_string(random());
      text += kind == 1 ? (random() % 2 == 0 ? "e" : "E+") : "e-";
      text += std::to_string((kind == 1 ? 309 : 400) + random() % 1'000'000);
    }
    const auto read = parse_json(text);
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(read->kind(), Json::Kind::big_number) << text;
    ASSERT_EQ(to_text(*read), text);
    ASSERT_EQ(to_text(Json::array({*read, Json{{"n", *read}}})), "[" + text + ",{\"n\":" + text + "}]");
    ASSERT_EQ(parse_json(to_text(*read)).value(), *read);
  }
}

}  // namespace
}  // namespace patchbay
