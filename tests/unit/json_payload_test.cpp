#include <gtest/gtest.h>

#include <patchbay/json.h>

namespace patchbay {
namespace {

TEST(Payload, AbsentReadsAsNull) {
  const Payload payload;
  EXPECT_TRUE(payload.absent());
  EXPECT_FALSE(payload);
  EXPECT_EQ(payload.text(), "null");
  EXPECT_TRUE(payload.value().is_null());
  EXPECT_TRUE(Payload().take().is_null());
}

TEST(Payload, TextIsKeptByteForByte) {
  const std::string text = R"({ "b" : 1.50, "a":"\u0041" , "n":1e400 })";
  auto payload = Payload::parse(" \n" + text + "\t").value();
  EXPECT_EQ(payload.text(), text);
  EXPECT_EQ(payload.value()["a"].as_text(), "A");
  EXPECT_EQ(payload.text(), text) << "looking inside changes nothing";
}

TEST(Payload, ShortTextsSurviveMoves) {
  auto payload = Payload::parse("[1]").value();
  Payload moved = std::move(payload);
  EXPECT_EQ(moved.text(), "[1]");
  EXPECT_EQ(to_text(moved.value()), "[1]");
}

TEST(Payload, ValuesAreWrittenOnDemand) {
  const Payload payload(Json{{"a", 1}});
  EXPECT_TRUE(payload);
  EXPECT_EQ(payload.text(), R"({"a":1})");
  EXPECT_EQ(payload.text().data(), payload.text().data());
  EXPECT_EQ(payload.value(), (Json{{"a", 1}}));
}

TEST(Payload, ParseSaysWhereItFailed) {
  auto payload = Payload::parse("[1,}");
  ASSERT_FALSE(payload);
  EXPECT_EQ(payload.error(), Error(Errc::protocol, "expected a JSON value at byte 3"));
  EXPECT_FALSE(Payload::parse("[[1]]", {.max_depth = 1}));
}

TEST(Payload, DuplicateKeysAreFoundByLookingInside) {
  auto payload = Payload::parse(R"({"a":1,"a":2})").value();
  EXPECT_EQ(payload.text(), R"({"a":1,"a":2})");
  for (int i = 0; i < 2; ++i) {
    try {
      payload.value();
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error, Error(Errc::protocol, "duplicate key \"a\" at byte 7"));
    }
  }
}

TEST(Payload, CopiesShareTextAndValue) {
  auto first = Payload::parse(R"({"a":[1,2,3]})").value();
  const Payload second = first;
  EXPECT_EQ(first.text().data(), second.text().data());
  EXPECT_EQ(&first.value(), &second.value());
}

TEST(Payload, TakeMovesWhenAloneAndCopiesWhenShared) {
  auto payload = Payload::parse(R"({"a":"a string longer than the small buffer of std::string"})").value();
  Payload other = payload;
  const char* characters = payload.value()["a"].as_text().data();
  const Json copied = std::move(payload).take();
  EXPECT_NE(copied["a"].as_text().data(), characters);
  EXPECT_EQ(other.value(), copied);
  const Json moved = std::move(other).take();
  EXPECT_EQ(moved["a"].as_text().data(), characters);
  EXPECT_EQ(moved, copied);
  EXPECT_EQ(std::move(*Payload::parse("[1,2]")).take(), Json::array({1, 2}));
}

TEST(Payload, SmallSlicesDoNotPinTheirBlock) {
  auto block =
      std::make_shared<const std::string>("[\"" + std::string(1000, 'x') + "\",[1],\"" + std::string(400, 'y') + "\"]");
  const std::weak_ptr<const std::string> watch = block;
  auto small = Payload::from_validated(block, std::string_view(*block).substr(1004, 3));
  auto large = Payload::from_validated(block, std::string_view(*block).substr(1008, 402));
  EXPECT_EQ(small.text(), "[1]");
  EXPECT_EQ(large.text().data(), block->data() + 1008) << "a large slice is not copied";
  block.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(large.value().as_text(), std::string(400, 'y'));
  large = {};
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(small.value(), Json::array({1}));
}

TEST(Payload, ValidatedTextIsReadWhateverItsDepth) {
  const std::string text = std::string(5000, '[') + std::string(5000, ']');
  auto payload = Payload::parse(text, {.max_depth = 5000}).value();
  EXPECT_EQ(to_text(payload.value()), text);
}

}  // namespace
}  // namespace patchbay
