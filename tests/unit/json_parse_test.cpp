#include <random>

#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "json/scanner.h"

namespace patchbay {
namespace {

using namespace std::string_literals;
using Kind = Json::Kind;

std::string fault(std::string_view text, JsonOptions options = {}) {
  auto read = parse_json(text, options);
  if (read) return "accepted";
  EXPECT_EQ(read.error().code(), Errc::protocol);
  auto payload = Payload::parse(std::string(text), options);
  if (!read.error().message().starts_with("duplicate key")) {
    // Skipping and building must agree on what is JSON, and on where it is not.
    EXPECT_FALSE(payload) << text;
    if (!payload) EXPECT_EQ(payload.error().message(), read.error().message());
  } else {
    EXPECT_TRUE(payload) << text;
  }
  return read.error().message();
}

TEST(JsonParse, AcceptsWhatTheGrammarAllows) {
  // Text, and how it is written back.
  const std::pair<std::string, std::string> cases[] = {
      {"null", "null"},
      {"true", "true"},
      {"false", "false"},
      {" \t\r\n null \t\r\n ", "null"},
      {"0", "0"},
      {"-0", "-0"},
      {"-0.0", "-0"},
      {"1", "1"},
      {"-1", "-1"},
      {"10", "10"},
      {"1.5", "1.5"},
      {"-1.5", "-1.5"},
      {"0.1", "0.1"},
      {"0.0", "0"},
      {"1.0", "1"},
      {"1e2", "100"},
      {"1E2", "100"},
      {"1e+2", "100"},
      {"1e-2", "0.01"},
      {"1.25e2", "125"},
      {"0e1", "0"},
      {"0e+1", "0"},
      {"0E-0", "0"},
      {"1e00000000000000000001", "10"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "18446744073709551616"},
      {"-9223372036854775809", "-9223372036854775809"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"1e400", "1e400"},
      {"-1e400", "-1e400"},
      {"1e-400", "1e-400"},
      {"1e99999999999999999999", "1e99999999999999999999"},
      {"0e99999999999999999999", "0"},
      {"0.1234567890123456789012345", "0.12345678901234568"},
      {"2.2250738585072011e-308", "2.225073858507201e-308"},
      {"9007199254740993.0", "9007199254740992"},
      {"123456789012345678901234567890.5", "1.2345678901234568e+29"},
      {R"("")", R"("")"},
      {R"("a")", R"("a")"},
      {R"("\"\\\/\b\f\n\r\t")", R"("\"\\/\b\f\n\r\t")"},
      {R"("\u0041\u00e9\u20ac")", "\"A\u00e9\u20ac\""},
      {R"("\u00E9")", "\"\u00e9\""},
      {R"("\u0000")", R"("\u0000")"},
      {R"("\u001f")", R"("\u001f")"},
      {R"("\ud83d\ude00")", "\"\U0001F600\""},
      {R"("\uD83D\uDE00")", "\"\U0001F600\""},
      {R"("\udbff\udfff")", "\"\U0010FFFF\""},
      {R"("\ud800\udc00")", "\"\U00010000\""},
      {R"("\ud83d")", "\"\uFFFD\""},
      {R"("\ude00")", "\"\uFFFD\""},
      {R"("\ude00\ud83d")", "\"\uFFFD\uFFFD\""},
      {R"("\ud83d\ud83d\ude00")", "\"\uFFFD\U0001F600\""},
      {R"("\ud83dx")", "\"\uFFFDx\""},
      {R"("\ud83d\n")", "\"\uFFFD\\n\""},
      {R"("\ud83d\u0041")", "\"\uFFFDA\""},
      {R"("a\ud83d")", "\"a\uFFFD\""},
      {R"("\\u0041")", R"("\\u0041")"},
      {"\"\x7f\"", "\"\x7f\""},
      {"\"\u2028\u2029\"", "\"\u2028\u2029\""},
      {"\"\uFFFE\uFFFF\"", "\"\uFFFE\uFFFF\""},
      {"\"\uFEFF\"", "\"\uFEFF\""},
      {"[]", "[]"},
      {"[ ]", "[]"},
      {"[1]", "[1]"},
      {"[1,2,3]", "[1,2,3]"},
      {" [ 1 , 2 ] ", "[1,2]"},
      {"[[]]", "[[]]"},
      {"[[],[]]", "[[],[]]"},
      {"[{}]", "[{}]"},
      {"[[1],{\"a\":[2]},3]", "[[1],{\"a\":[2]},3]"},
      {"[null,true,false,\"\",0]", "[null,true,false,\"\",0]"},
      {"{}", "{}"},
      {"{ }", "{}"},
      {R"({"a":1})", R"({"a":1})"},
      {R"( { "a" : 1 , "b" : [ ] } )", R"({"a":1,"b":[]})"},
      {R"({"":0})", R"({"":0})"},
      {R"({"b":1,"a":2})", R"({"b":1,"a":2})"},
      {R"({"a":{"a":{"a":{}}}})", R"({"a":{"a":{"a":{}}}})"},
      {R"({"a":1,"A":2})", R"({"a":1,"A":2})"},
      {R"({"\u0061":1})", R"({"a":1})"},
      {R"({"a\nb":1})", R"({"a\nb":1})"},
  };
  for (const auto& [text, expected] : cases) {
    auto read = parse_json(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message();
    EXPECT_EQ(to_text(*read), expected) << text;
    EXPECT_TRUE(Payload::parse(text)) << text;
    EXPECT_EQ(to_text(parse_json(expected).value()), expected) << "a second reading changes nothing";
  }
}

TEST(JsonParse, RejectsWithReasonAndOffset) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "expected a JSON value at byte 0"},
      {"   ", "expected a JSON value at byte 3"},
      {"\xEF\xBB\xBF{}", "expected a JSON value, found a byte order mark at byte 0"},
      {"\xFE\xFF", "invalid UTF-8 at byte 0"},
      {"\0"s, "expected a JSON value at byte 0"},
      {"1\0"s, "expected the end of the text after the value at byte 1"},
      {"1 2", "expected the end of the text after the value at byte 2"},
      {"{} {}", "expected the end of the text after the value at byte 3"},
      {"[]]", "expected the end of the text after the value at byte 2"},
      {"nul", "expected a JSON value at byte 0"},
      {"nulL", "expected a JSON value at byte 0"},
      {"nulll", "expected the end of the text after the value at byte 4"},
      {"True", "expected a JSON value at byte 0"},
      {"truE", "expected a JSON value at byte 0"},
      {"fals", "expected a JSON value at byte 0"},
      {"NaN", "expected a JSON value at byte 0"},
      {"Infinity", "expected a JSON value at byte 0"},
      {"-Infinity", "malformed number at byte 0"},
      {"undefined", "expected a JSON value at byte 0"},
      {"'a'", "expected a JSON value at byte 0"},
      {"// c\n1", "expected a JSON value at byte 0"},
      {"1 // c", "expected the end of the text after the value at byte 2"},
      {"/* c */ 1", "expected a JSON value at byte 0"},
      {"\x0b"
       "1",
       "expected a JSON value at byte 0"},
      {"\f1", "expected a JSON value at byte 0"},
      {"\xC2\xA0"
       "1",
       "expected a JSON value at byte 0"},
      {"-", "malformed number at byte 0"},
      {"+1", "expected a JSON value at byte 0"},
      {".5", "expected a JSON value at byte 0"},
      {"1.", "malformed number at byte 0"},
      {"1.e1", "malformed number at byte 0"},
      {"-.5", "malformed number at byte 0"},
      {"01", "a number must not begin with 0 at byte 0"},
      {"-01", "a number must not begin with 0 at byte 0"},
      {"00", "a number must not begin with 0 at byte 0"},
      {"1e", "malformed number at byte 0"},
      {"1e+", "malformed number at byte 0"},
      {"1e1.5", "expected the end of the text after the value at byte 3"},
      {"1.5.5", "expected the end of the text after the value at byte 3"},
      {"--1", "malformed number at byte 0"},
      {"0x10", "expected the end of the text after the value at byte 1"},
      {"1_000", "expected the end of the text after the value at byte 1"},
      {"1a", "expected the end of the text after the value at byte 1"},
      {"[1 2]", "expected ',' or ']' at byte 3"},
      {"[", "expected a JSON value at byte 1"},
      {"[1", "expected ',' or ']' at byte 2"},
      {"[1,", "expected a JSON value at byte 3"},
      {"[1,]", "expected a JSON value at byte 3"},
      {"[,1]", "expected a JSON value at byte 1"},
      {"[,]", "expected a JSON value at byte 1"},
      {"[1,,2]", "expected a JSON value at byte 3"},
      {"[1}", "expected ',' or ']' at byte 2"},
      {"]", "expected a JSON value at byte 0"},
      {"}", "expected a JSON value at byte 0"},
      {",", "expected a JSON value at byte 0"},
      {":", "expected a JSON value at byte 0"},
      {"{", "the text ends where a key or '}' was expected at byte 1"},
      {"{]", "expected a string as a key at byte 1"},
      {"{1:2}", "expected a string as a key at byte 1"},
      {"{a:1}", "expected a string as a key at byte 1"},
      {"{'a':1}", "expected a string as a key at byte 1"},
      {"{null:1}", "expected a string as a key at byte 1"},
      {R"({"a")", "expected ':' at byte 4"},
      {R"({"a" 1})", "expected ':' at byte 5"},
      {R"({"a"=1})", "expected ':' at byte 4"},
      {R"({"a":)", "expected a JSON value at byte 5"},
      {R"({"a":})", "expected a JSON value at byte 5"},
      {R"({"a":1)", "expected ',' or '}' at byte 6"},
      {R"({"a":1,)", "the text ends where a key or '}' was expected at byte 7"},
      {R"({"a":1,})", "expected a string as a key at byte 7"},
      {R"({,"a":1})", "expected a string as a key at byte 1"},
      {R"({"a":1 "b":2})", "expected ',' or '}' at byte 7"},
      {R"({"a":1])", "expected ',' or '}' at byte 6"},
      {R"({"a":1:2})", "expected ',' or '}' at byte 6"},
      {R"({"a":1;"b":2})", "expected ',' or '}' at byte 6"},
      {R"({"a":1}})", "expected the end of the text after the value at byte 7"},
      {R"([{"a":[1,{"b":tru}]}])", "expected a JSON value at byte 14"},
      {"\"", "unterminated string at byte 0"},
      {"\"abc", "unterminated string at byte 0"},
      {"[\"abc", "unterminated string at byte 1"},
      {"\"abc\\", "unterminated string at byte 0"},
      {"\"abc\\\"", "unterminated string at byte 0"},
      {"\"\\u12", "unterminated string at byte 0"},
      {"\"a\nb\"", "control character in a string at byte 2"},
      {"\"a\tb\"", "control character in a string at byte 2"},
      {"\"a\0b\""s, "control character in a string at byte 2"},
      {"\"a\x1f"
       "b\"",
       "control character in a string at byte 2"},
      {"{\"a\rb\":1}", "control character in a string at byte 3"},
      {R"("\a")", "unknown escape in a string at byte 1"},
      {R"("\x41")", "unknown escape in a string at byte 1"},
      {R"("\'")", "unknown escape in a string at byte 1"},
      {R"("\U0041")", "unknown escape in a string at byte 1"},
      {"\"\\\n\"", "unknown escape in a string at byte 1"},
      {R"("\u")", "expected four hexadecimal digits after \\u at byte 1"},
      {R"("\u12G4")", "expected four hexadecimal digits after \\u at byte 1"},
      {R"("ab\u 123")", "expected four hexadecimal digits after \\u at byte 3"},
      {"\"\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xC3\"", "invalid UTF-8 at byte 1"},
      {"\"ab\xC0\xAF\"", "invalid UTF-8 at byte 3"},
      {"\"\xE0\x80\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xED\xA0\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xED\xB0\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xF4\x90\x80\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xF0\x80\x80\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xF0\x9F\x98\"", "invalid UTF-8 at byte 1"},
      {"\"\xF8\x88\x80\x80\x80\"", "invalid UTF-8 at byte 1"},
      {"\"\xFF\"", "invalid UTF-8 at byte 1"},
      {"\"\u00e9\u20ac\U0001F600\xFF\"", "invalid UTF-8 at byte 10"},
      {R"({"a":1,"a":2})", "duplicate key \"a\" at byte 7"},
      {R"({"a":1,"b":2,"a":3})", "duplicate key \"a\" at byte 13"},
      {R"({"a":1,"\u0061":2})", "duplicate key \"a\" at byte 7"},
      {R"({"":1,"":2})", "duplicate key \"\" at byte 6"},
      {R"([{"x":{"k":1,"k":1}}])", "duplicate key \"k\" at byte 13"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(fault(text), expected) << text;
}

TEST(JsonParse, NumbersTakeTheNarrowestExactKind) {
  const std::pair<std::string_view, Kind> cases[] = {
      {"0", Kind::integer},
      {"-1", Kind::integer},
      {"9223372036854775807", Kind::integer},
      {"-9223372036854775808", Kind::integer},
      {"9223372036854775808", Kind::unsigned_integer},
      {"18446744073709551615", Kind::unsigned_integer},
      {"18446744073709551616", Kind::big_number},
      {"-9223372036854775809", Kind::big_number},
      {"-0", Kind::real},
      {"1.0", Kind::real},
      {"1e2", Kind::real},
      {"1e308", Kind::real},
      {"1e309", Kind::big_number},
      {"-1e309", Kind::big_number},
      {"5e-324", Kind::real},
      {"1e-330", Kind::big_number},
      {"0e-330", Kind::real},
      {"0.0e999", Kind::real},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(parse_json(text).value().kind(), kind) << text;
}

TEST(JsonParse, DepthIsLimitedAndCountedFromTheOutside) {
  const auto arrays = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto objects = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += i + 1 == depth ? "{" : R"({"a":)";
    return text + std::string(depth, '}');
  };
  EXPECT_EQ(fault(arrays(128)), "accepted");
  EXPECT_EQ(fault(arrays(129)), "nested deeper than 128 levels at byte 128");
  EXPECT_EQ(fault(objects(128)), "accepted");
  EXPECT_EQ(fault(objects(129)), "nested deeper than 128 levels at byte 640");
  EXPECT_EQ(fault("[[1],[2]]", {.max_depth = 2}), "accepted");
  EXPECT_EQ(fault("[[1],[[2]]]", {.max_depth = 2}), "nested deeper than 2 levels at byte 6");
  EXPECT_EQ(fault("1", {.max_depth = 0}), "accepted");
  EXPECT_EQ(fault("[]", {.max_depth = 0}), "nested deeper than 0 levels at byte 0");
  for (std::size_t depth : {63, 64, 65, 127, 128}) {
    // Alternating kinds, so that a wrong bit in the nesting would show.
    std::string text;
    std::string tail;
    for (std::size_t i = 0; i < depth; ++i) {
      text += i % 3 == 0 ? R"({"k":)" : "[";
      tail.insert(0, i % 3 == 0 ? R"(,"z":0})" : ",0]");
    }
    EXPECT_EQ(fault(text + "1" + tail), "accepted") << depth;
    EXPECT_NE(fault(text + "1" + tail.substr(0, tail.size() - 1)), "accepted") << depth;
  }
  // Very many brackets neither overflow nor take long.
  EXPECT_NE(fault(std::string(200'000, '[')), "accepted");
  EXPECT_EQ(fault(std::string(200'000, '['), {.max_depth = 400'000}), "expected a JSON value at byte 200000");
}

// L7: a byte or two of text can become forty in memory.
TEST(JsonParse, ValuesAreCountedAndLimited) {
  const auto nodes = [](std::string_view text, std::size_t most) -> std::string {
    JsonScanner scanner(text, 128, most);
    std::string_view slice;
    if (scanner.skip_value(slice)) return std::to_string(scanner.nodes());
    return std::string(to_string(scanner.error().code())) + " " + scanner.error().message();
  };
  EXPECT_EQ(nodes("1", 1), "1");
  EXPECT_EQ(nodes("1", 0), "limit more than 0 values at byte 0");
  EXPECT_EQ(nodes("[1,2,[]]", 4), "4");
  EXPECT_EQ(nodes("[1,2,[]]", 3), "limit more than 3 values at byte 5");
  EXPECT_EQ(nodes(R"({"a":{"b":null}})", 3), "3");
  EXPECT_EQ(nodes("[1,x]", 3), "protocol expected a JSON value at byte 3");

  std::string many = "[1";
  for (std::size_t i = 1; i < most_nodes; ++i) many += ",1";
  many += "]";
  const auto value = parse_json(many);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), Errc::limit);
  EXPECT_EQ(Payload::parse(many).error().code(), Errc::limit);
}

TEST(JsonParse, LongStringsAtEveryAlignment) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(parse_json("\"" + large + "\"").value().as_text(), large);
  for (std::size_t length = 0; length < 80; ++length) {
    const std::string plain(length, 'y');
    ASSERT_EQ(parse_json("\"" + plain + "\"").value().as_text(), plain);
    ASSERT_EQ(parse_json("\"" + plain + "\\n\"").value().as_text(), plain + "\n");
    ASSERT_EQ(fault("\"" + plain + "\x01\""), "control character in a string at byte " + std::to_string(length + 1));
    ASSERT_EQ(fault("\"" + plain), "unterminated string at byte 0");
  }
  std::string escaped = "\"";
  std::string meant;
  for (int i = 0; i < 100'000; ++i) {
    escaped += "\\\"\\u00e9z";
    meant += "\"\u00e9z";
  }
  EXPECT_EQ(parse_json(escaped + "\"").value().as_text(), meant);
}

TEST(JsonParse, DuplicatesAreFoundAmongManyKeys) {
  for (int count : {15, 16, 17, 18, 100, 20'000}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    auto unique = text;
    unique.back() = '}';
    auto read = parse_json(unique);
    ASSERT_TRUE(read) << count;
    EXPECT_EQ(read->size(), static_cast<std::size_t>(count));
    EXPECT_EQ((*read)["key7"].as_int(), 7);
    EXPECT_EQ(read->as_object().begin()[count - 1].name, "key" + std::to_string(count - 1));
    for (const char* key : {"key0", "key14"}) {
      EXPECT_EQ(fault(text + "\"" + key + "\":0}"),
                "duplicate key \"" + std::string(key) + "\" at byte " + std::to_string(text.size()));
    }
  }
}

TEST(JsonParse, EveryPrefixAndEveryChangedByteIsHandled) {
  const std::string text =
      R"({"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"a\u00e9\n\ud83d\ude00"}],"n":-1.5e3,"ok":true,"no":null}})";
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_NE(fault(text.substr(0, length)), "accepted");
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string altered = text;
    for (int change = 0; change < 2; ++change) altered[random() % altered.size()] = static_cast<char>(random());
    // Whatever is accepted is written and read back as the same value.
    if (auto read = parse_json(altered)) {
      auto again = parse_json(to_text(*read));
      ASSERT_TRUE(again) << altered;
      ASSERT_EQ(*again, *read) << altered;
    } else {
      fault(altered);
    }
  }
}

TEST(JsonParse, LocatedFaultsCarryTheOffsetApart) {
  auto read = parse_json_located("{\n  \"a\": 1,\n}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().offset, 12u);
  EXPECT_EQ(read.error().reason, "expected a string as a key");
}

}  // namespace
}  // namespace patchbay
