#include <limits>
#include <ranges>

#include <gtest/gtest.h>

#include <patchbay/json.h>

namespace patchbay {
namespace {

Json nested_arrays(std::size_t depth) {
  Json value = 1;
  for (std::size_t i = 0; i < depth; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  return value;
}

TEST(Json, BracesMakeObjectsAndArrayMakesArrays) {
  const Json value = {
      {"name", "x"}, {"list", Json::array({1, "two", nullptr, true})}, {"inner", {{"a", 1}, {"b", 2.5}}}};
  EXPECT_EQ(to_text(value), R"({"name":"x","list":[1,"two",null,true],"inner":{"a":1,"b":2.5}})");
  EXPECT_EQ(to_text(Json::array()), "[]");
  EXPECT_EQ(to_text(Json::object()), "{}");
  EXPECT_EQ(to_text(Json()), "null");
}

TEST(Json, KindsAreWhatWasGiven) {
  EXPECT_EQ(Json(true).kind(), Json::Kind::boolean);
  EXPECT_EQ(Json(-1).kind(), Json::Kind::integer);
  EXPECT_EQ(Json(7u).kind(), Json::Kind::integer);
  EXPECT_EQ(Json(UINT64_MAX).kind(), Json::Kind::unsigned_integer);
  EXPECT_EQ(Json(1.0).kind(), Json::Kind::real);
  EXPECT_EQ(Json("s").kind(), Json::Kind::string);
  EXPECT_EQ(Json(std::string_view("s")).kind(), Json::Kind::string);
  EXPECT_EQ(Json::number("1e999").kind(), Json::Kind::big_number);
  EXPECT_EQ(Json::number("12").kind(), Json::Kind::integer);
  EXPECT_THROW(Json::number("1x"), Error);
  EXPECT_THROW(Json::number(""), Error);
}

TEST(Json, NumbersConvertOnlyWhenExact) {
  EXPECT_EQ(Json(2.0).to_int(), 2);
  EXPECT_EQ(Json(2.5).to_int(), std::nullopt);
  EXPECT_EQ(Json(1e300).to_int(), std::nullopt);
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).to_int(), std::nullopt);
  EXPECT_EQ(Json(UINT64_MAX).to_int(), std::nullopt);
  EXPECT_EQ(Json(UINT64_MAX).to_uint(), UINT64_MAX);
  EXPECT_EQ(Json(-1).to_uint(), std::nullopt);
  EXPECT_EQ(Json(3).to_uint(), 3u);
  EXPECT_EQ(Json(0x1p63).to_int(), std::nullopt);
  EXPECT_EQ(Json(0x1p63).to_uint(), 1ull << 63);
  EXPECT_EQ(Json(-0x1p63).to_int(), INT64_MIN);
  EXPECT_EQ(Json(0x1p64).to_uint(), std::nullopt);
  EXPECT_EQ(Json::number("100000000000000000000").to_double(), 1e20);
  EXPECT_EQ(Json::number("1e400").to_double(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Json::number("-1e400").to_double(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Json::number("1e-400").to_double(), 0.0);
  EXPECT_EQ(Json::number("0.000000001e-400").to_double(), 0.0);
  EXPECT_EQ(Json("5").to_int(), std::nullopt);
  EXPECT_EQ(Json("5").to_double(), std::nullopt);
}

TEST(Json, NumbersAreEqualByValue) {
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(Json(0x1p63), Json(1ull << 63));
  EXPECT_NE(Json(INT64_MAX), Json(0x1p63));  // would be equal after rounding
  EXPECT_NE(Json((1ll << 53) + 1), Json(0x1p53));
  EXPECT_NE(Json(1), Json(1.5));
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json(1), Json("1"));
  EXPECT_NE(Json(-1), Json(UINT64_MAX));
  EXPECT_EQ(Json(0.0), Json(-0.0));
  EXPECT_EQ(Json::number("1e999"), Json::number("1e999"));
  EXPECT_NE(Json::number("1e999"), Json::number("2e999"));
}

TEST(Json, ObjectsKeepOrderAndCompareWithoutIt) {
  Json value;
  value["z"] = 1;
  value["a"] = 2;
  value["m"] = 3;
  EXPECT_EQ(to_text(value), R"({"z":1,"a":2,"m":3})");
  EXPECT_EQ(value, (Json{{"a", 2}, {"m", 3}, {"z", 1}}));
  EXPECT_NE(value, (Json{{"a", 2}, {"m", 3}, {"y", 1}}));
  EXPECT_NE(value, (Json{{"a", 2}, {"m", 3}}));
  value.as_object().set("a", "two");
  EXPECT_TRUE(value.as_object().erase("z"));
  EXPECT_FALSE(value.as_object().erase("z"));
  EXPECT_EQ(to_text(value), R"({"a":"two","m":3})");
}

TEST(Json, LargeObjectsStayConsistentThroughEveryChange) {
  Json::Object object;
  for (int i = 0; i < 700; ++i) object["key" + std::to_string(i)] = i;
  for (int i = 0; i < 700; ++i) ASSERT_EQ(object.find("key" + std::to_string(i))->as_int(), i);
  EXPECT_EQ(object.find("key700"), nullptr);
  for (int i = 0; i < 700; i += 7) ASSERT_TRUE(object.erase("key" + std::to_string(i)));
  const Json::Object copy = object;
  for (int i = 0; i < 700; ++i) {
    const auto* found = copy.find("key" + std::to_string(i));
    ASSERT_EQ(found != nullptr, i % 7 != 0) << i;
    if (found) ASSERT_EQ(found->as_int(), i);
  }
  EXPECT_EQ(copy, object);
  object["key1"] = "other";
  EXPECT_NE(copy, object);
  // Back across the threshold where the index goes away.
  std::vector<std::string> keys;
  for (const auto& [key, value] : object) keys.emplace_back(key);
  for (std::size_t i = 3; i < keys.size(); ++i) object.erase(keys[i]);
  EXPECT_EQ(object.size(), 3u);
  EXPECT_TRUE(object.contains(keys[0]));
  EXPECT_FALSE(object.contains(keys[3]));
}

TEST(Json, AccessNamesTheKindThatWasFound) {
  const auto message = [](auto&& access) -> std::string {
    try {
      access();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(message([] { Json(1).as_text(); }), "expected a string, found an integer");
  EXPECT_EQ(message([] { Json("x").as_int(); }), "expected an integer, found a string");
  EXPECT_EQ(message([] { (void)Json(Json::array()).as_object(); }), "expected an object, found an array");
  EXPECT_EQ(message([] { Json().as_bool(); }), "expected a boolean, found null");
  EXPECT_EQ(message([] { Json(true).as_double(); }), "expected a number, found a boolean");
  EXPECT_EQ(message([] { Json(1)["x"] = 2; }), "expected an object, found an integer");
  EXPECT_EQ(message([] { Json(1).push_back(2); }), "expected an array, found an integer");
  EXPECT_NE(message([] { Json(1.5).as_int(); }), "no error");
}

TEST(Json, AbsentMembersReadAsNull) {
  const Json value = {{"a", {{"b", 5}}}};
  EXPECT_EQ(value["a"]["b"].as_int(), 5);
  EXPECT_TRUE(value["a"]["c"]["d"].is_null());
  EXPECT_EQ(value.find("x"), nullptr);
  EXPECT_EQ(Json(3).find("x"), nullptr);
  EXPECT_EQ(Json(3).size(), 0u);
}

TEST(Json, AssigningAPartOfAValueToItselfIsSafe) {
  Json value = {{"a", Json::array({1, {{"deep", "text that is longer than any small buffer"}}})}};
  value = std::move(value["a"]);
  ASSERT_TRUE(value.is_array());
  value = std::move(value.as_array()[1]);
  EXPECT_EQ(to_text(value), R"({"deep":"text that is longer than any small buffer"})");
  Json copied = {{"a", {{"b", 1}}}};
  copied = copied["a"];
  EXPECT_EQ(to_text(copied), R"({"b":1})");
  Json objects = {{"o", {{"p", "q"}}}};
  objects.as_object() = std::move(objects["o"].as_object());
  EXPECT_EQ(to_text(objects), R"({"p":"q"})");
}

TEST(Json, DepthUsesNoStack) {
  constexpr std::size_t depth = 30'000;
  Json deep = nested_arrays(depth);
  Json copy = deep;
  EXPECT_EQ(copy, deep);
  const std::string text = to_text(copy);
  EXPECT_EQ(text.size(), 2 * depth + 1);
  copy = Json();
  auto read = parse_json(text, {.max_depth = depth});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, deep);
  Json mixed = 1;
  for (int i = 0; i < 20'000; ++i) {
    Json outer;
    outer["left"] = 1;
    outer["down"] = std::move(mixed);
    outer["right"] = Json::array({1, Json::array({2})});
    mixed = std::move(outer);
  }
  EXPECT_EQ(Json(mixed), mixed);
}

TEST(JsonViews, TextsArraysAndObjectsAreReadWithoutTheirStorage) {
  const Json value{{"name", "ada"}, {"list", Json::array({1, "two"})}, {"empty", Json::object()}};
  EXPECT_EQ(value["name"].text(), "ada");
  EXPECT_EQ(value["name"].as_text(), "ada");
  EXPECT_EQ(value["list"].text(), std::nullopt);
  EXPECT_EQ(value["list"].items().size(), 2u);
  EXPECT_EQ(value["list"].items()[1].text(), "two");
  EXPECT_TRUE(value["name"].items().empty());
  std::vector<std::string> names;
  for (auto [name, each] : value.members()) names.push_back(std::string(name) + " " + to_text(each));
  EXPECT_EQ(names, (std::vector<std::string>{R"(name "ada")", R"(list [1,"two"])", "empty {}"}));
  EXPECT_EQ(value.members().size(), 3u);
  EXPECT_TRUE(value["empty"].members().empty());
  EXPECT_TRUE(value["list"].members().empty());
  EXPECT_THROW((void)value["list"].as_text(), Error);
}

TEST(JsonViews, ArraysAndObjectsAreRangesWithRandomAccess) {
  static_assert(std::ranges::random_access_range<Json::Items> && std::ranges::sized_range<Json::Items>);
  static_assert(std::ranges::random_access_range<Json::Members> && std::ranges::sized_range<Json::Members>);
  const Json list = Json::array({3, 1, 2});
  EXPECT_EQ(std::ranges::max(list.items() | std::views::transform(&Json::as_int)), 3);
  EXPECT_EQ(std::ranges::distance(list.items()), 3);
  EXPECT_EQ(list.items().begin()[2], Json(2));
  EXPECT_EQ(*(list.items().end() - 3), Json(3));
  std::vector<std::int64_t> backwards;
  for (const auto& each : list.items() | std::views::reverse) backwards.push_back(each.as_int());
  EXPECT_EQ(backwards, (std::vector<std::int64_t>{2, 1, 3}));
  const Json object{{"a", 1}, {"b", 2}};
  EXPECT_EQ(object.members()[1].name, "b");
  const auto members = object.members();
  const auto found = std::ranges::find_if(members, [](const auto& each) { return each.value == Json(2); });
  EXPECT_EQ(found - members.begin(), 1);
  EXPECT_TRUE(Json().items().begin() == Json().items().end());
}

TEST(JsonViews, AMemberCanBeTakenOut) {
  Json value{{"a", 1}, {"b", 2}};
  EXPECT_TRUE(value.erase("a"));
  EXPECT_FALSE(value.erase("a"));
  EXPECT_FALSE(Json(1).erase("a"));
  EXPECT_EQ(value, (Json{{"b", 2}}));
}

}  // namespace
}  // namespace patchbay
