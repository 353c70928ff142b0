#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <patchbay/json.h>

namespace patchbay {
namespace {

TEST(JsonWriter, EscapesOnlyWhatJsonDemands) {
  const std::pair<std::string, std::string> cases[] = {
      {"", R"("")"},
      {"plain /slash'", R"("plain /slash'")"},
      {"quote\" back\\", R"("quote\" back\\")"},
      {"\b\f\n\r\t", R"("\b\f\n\r\t")"},
      {std::string("\0\x01\x1f", 3), R"("\u0000\u0001\u001f")"},
      {"\x7f", "\"\x7f\""},
      {"\u00e9 \u20ac \U0001F600", "\"\u00e9 \u20ac \U0001F600\""},
      {"\u2028\u2029", "\"\u2028\u2029\""},
  };
  for (const auto& [given, expected] : cases) {
    EXPECT_EQ(to_text(Json(given)), expected);
    EXPECT_EQ(parse_json(expected).value().as_text(), given);
  }
}

TEST(JsonWriter, EveryEscapePositionInLongStrings) {
  for (std::size_t length = 1; length < 70; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = '"';
      const std::string written = to_text(Json(text));
      ASSERT_EQ(written.size(), length + 3);
      ASSERT_EQ(parse_json(written).value().as_text(), text);
    }
  }
}

TEST(JsonWriter, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(to_text(Json("a\xFF"
                         "b")),
            "\"a\uFFFDb\"");
  EXPECT_EQ(to_text(Json("\xC3")), "\"\uFFFD\"");
  EXPECT_EQ(to_text(Json("\xED\xA0\x80")), "\"\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(to_text(Json(std::string(3, '\x80') + "\u00e9\n")), "\"\uFFFD\uFFFD\uFFFD\u00e9\\n\"");
}

TEST(JsonWriter, NumbersAreShortest) {
  const std::pair<Json, std::string_view> cases[] = {
      {0, "0"},
      {-7, "-7"},
      {INT64_MIN, "-9223372036854775808"},
      {INT64_MAX, "9223372036854775807"},
      {UINT64_MAX, "18446744073709551615"},
      {0.1, "0.1"},
      {1.5, "1.5"},
      {-0.0, "-0"},
      {1.0, "1"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {1e17, "1e+17"},
      {1e23, "1e+23"},
      {123456789012345680000.0, "1.2345678901234568e+20"},
      {std::numeric_limits<double>::infinity(), "null"},
      {-std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
      {Json::number("123456789012345678901234567890"), "123456789012345678901234567890"},
      {Json::number("1e400"), "1e400"},
      {Json::number("-1.50E-999"), "-1.50E-999"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(to_text(value), text);
}

TEST(JsonWriter, RandomDoublesReadBackTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = to_text(Json(value));
    const auto read = parse_json(text).value().to_double();
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*read), std::bit_cast<std::uint64_t>(value)) << text;
  }
}

TEST(JsonWriter, RandomIntegersAndIntegralDoublesReadBackTheSame) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const int shift = static_cast<int>(random() % 64);
    const auto wide = random() >> shift;
    const Json integer(static_cast<std::int64_t>(wide));
    const Json large(wide);
    const Json real(static_cast<double>(wide));
    ASSERT_EQ(parse_json(to_text(integer)).value(), integer);
    ASSERT_EQ(parse_json(to_text(integer)).value().kind(), integer.kind());
    ASSERT_EQ(parse_json(to_text(large)).value(), large);
    ASSERT_EQ(parse_json(to_text(real)).value(), real) << to_text(real);
  }
}

TEST(JsonWriter, PrettyIsForPeople) {
  const Json value = {
      {"a", 1}, {"empty", Json::array()}, {"none", Json::object()}, {"list", Json::array({1, {{"b", "c"}}})}};
  EXPECT_EQ(to_pretty_text(value), R"({
  "a": 1,
  "empty": [],
  "none": {},
  "list": [
    1,
    {
      "b": "c"
    }
  ]
})");
  EXPECT_EQ(to_pretty_text(Json("x")), "\"x\"");
  EXPECT_EQ(parse_json(to_pretty_text(value)).value(), value);
}

TEST(JsonWriter, AppendsBehindWhatIsThere) {
  std::string out = "x=";
  append_text(out, Json::array({1, 2}));
  EXPECT_EQ(out, "x=[1,2]");
}

}  // namespace
}  // namespace patchbay
