// What a model gets of a result, and the pure half of keeping results: handles, pointers, shapes, parts. X1, X2, W7,
// N4.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "protocol/codec.h"
#include "results/fit.h"
#include "results/handle.h"
#include "results/image_header.h"
#include "results/outline.h"
#include "results/pointer.h"
#include "results/read_part.h"
#include "results/result_value.h"
#include "results/scaling.h"
#include "results/stored_result.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using namespace std::string_literals;

Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : Json();
}

CallToolResult texts(std::vector<std::string> all) {
  CallToolResult result;
  for (auto& one : all) result.content.emplace_back(TextContent{.text = std::move(one)});
  return result;
}

std::string text_at(const ModelResult& result, std::size_t at) {
  const auto* text = at < result.blocks.size() ? std::get_if<ModelText>(&result.blocks[at]) : nullptr;
  return text ? text->text : "(no text)";
}

ModelResult all_of(const CallToolResult& result) { return whole(draft_of(result), {}, "t", {}); }

std::string big16(unsigned number) { return {static_cast<char>(number >> 8 & 0xFF), static_cast<char>(number & 0xFF)}; }
std::string big32(unsigned number) { return big16(number >> 16) + big16(number); }
std::string little16(unsigned number) {
  return {static_cast<char>(number & 0xFF), static_cast<char>(number >> 8 & 0xFF)};
}

std::string png(unsigned width, unsigned height) {
  return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s + big32(width) + big32(height) + "\x08\x06\0\0\0"s;
}
// With a profile in front of its size.
std::string jpeg(unsigned width, unsigned height) {
  return "\xff\xd8\xff\xe0"s + big16(40'000) + std::string(39'998, 'p') + "\xff\xc2"s + big16(17) + "\x08"s +
         big16(height) + big16(width) + "\x03\x01\x22\0\x02\x11\x01\x03\x11\x01"s;
}
std::string gif(unsigned width, unsigned height) { return "GIF89a" + little16(width) + little16(height) + "\0\0\0"s; }
std::string webp(unsigned width, unsigned height) {
  auto little24 = [](unsigned n) { return little16(n) + std::string(1, static_cast<char>(n >> 16 & 0xFF)); };
  return "RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0"s + little24(width - 1) + little24(height - 1);
}

ImageContent image(const std::string& bytes, std::string type = "image/png") {
  return {.data = base64_encode(bytes), .mime_type = std::move(type)};
}

// Text and structured content ----------------------------------------------------------------

TEST(ResultForModel, TextAndStructuredContent_BothArriveUnlessTheTextIsTheSameJson) {
  struct Case {
    std::vector<std::string> texts;
    std::string structured;
    bool both;
  };
  const std::vector<Case> cases{
      {{"marker-t"}, R"({"marker":"s"})", true},
      {{R"({"marker":"s"})"}, R"({"marker":"s"})", false},
      {{"  {\n  \"b\": 2, \"a\": [1.0] }\n"}, R"({"a":[1],"b":2})", false},
      {{R"({"a":1})"}, R"({"a":2})", true},
      {{R"({"a":1,"a":1})"}, R"({"a":1})", true},
      {{"found 2", R"({"rows":[1,2]})"}, R"({"rows":[1,2]})", false},
      {{"[1,", "2]"}, "[1,2]", false},
      {{"hello"}, R"({"result":"hello"})", false},
      {{"5"}, R"({"result":5})", false},
      {{"6"}, R"({"result":5})", true},
      {{"{not json"}, R"({"not":"json"})", true},
      {{"null"}, "null", false},
  };
  for (const auto& one : cases) {
    for (const bool failed : {false, true}) {
      SCOPED_TRACE(one.texts.front() + " and " + one.structured);
      auto result = texts(one.texts);
      result.structured_content = json(one.structured);
      result.is_error = failed;
      const auto given = all_of(result);
      EXPECT_EQ(given.is_error, failed);
      ASSERT_THAT(given.blocks, SizeIs(one.both ? 2 : 1));
      for (const auto& text : one.texts) EXPECT_THAT(text_at(given, 0), HasSubstr(text));
      if (one.both) EXPECT_EQ(text_at(given, 1), "Structured content:\n" + one.structured);
    }
  }
}

TEST(ResultForModel, AnEmptyResult_IsItsJsonOrSaysSo) {
  EXPECT_EQ(text_at(all_of({}), 0), "(no output)");
  CallToolResult structured;
  structured.structured_content = json(R"({"rows":[]})");
  EXPECT_EQ(text_at(all_of(structured), 0), R"({"rows":[]})");
  EXPECT_THAT(all_of(structured).blocks, SizeIs(1));
}

TEST(ResultForModel, EveryKindOfContent_IsInItsPlace) {
  auto result = texts({"before"});
  result.content.emplace_back(image(png(3, 4), "image/jpeg"));
  result.content.emplace_back(TextContent{.text = "between"});
  result.content.emplace_back(ResourceLink{
      .uri = "file:///a.md", .name = "a", .description = "what\nit is", .mime_type = "text/markdown", .size = 12});
  result.content.emplace_back(
      EmbeddedResource{.resource = {.uri = "file:///b.md", .mime_type = "text/markdown", .text = "inside b"}});
  result.content.emplace_back(AudioContent{.data = "AAAA", .mime_type = "audio/wav"});
  result.content.emplace_back(
      EmbeddedResource{.resource = {.uri = "x:c", .mime_type = "application/zip", .blob = "AAAA"}});
  result.content.emplace_back(
      EmbeddedResource{.resource = {.uri = "x:d", .mime_type = "image/gif", .blob = base64_encode(gif(7, 8))}});
  const auto draft = draft_of(result);
  EXPECT_THAT(draft.not_shown, ElementsAre(5, 6));
  const auto given = whole(draft, {}, "t", "@result:abcdefgh");
  EXPECT_THAT(
      given.blocks,
      ElementsAre(ModelBlock(ModelText{"before"}), ModelBlock(ModelImage{base64_encode(png(3, 4)), "image/png", 3, 4}),
                  ModelBlock(ModelText{"between\n"
                                       "[resource link a: file:///a.md, text/markdown, 12 bytes (what it is)]\n"
                                       "[resource file:///b.md, text/markdown]\n"
                                       "inside b\n"
                                       "[audio audio/wav, 3 bytes: not shown]\n"
                                       "[resource x:c, application/zip, 3 bytes: not shown]\n"
                                       "[resource x:d, image/gif]"}),
                  ModelBlock(ModelImage{base64_encode(gif(7, 8)), "image/gif", 7, 8}),
                  ModelBlock(ModelText{"(What is not shown is kept: @result:abcdefgh/raw#/content/5, "
                                       "@result:abcdefgh/raw#/content/6)"})));
  EXPECT_EQ(given.handle, "@result:abcdefgh");
}

// W7: what a model reads is cleaned, wherever it stands.
TEST(ResultForModel, WhatItReads_IsCleanedAndWhatIsKeptIsNot) {
  const auto hidden = "a\x1b[31mb\u202ec\u200bd\U000e0041e"s;
  auto result = texts({hidden});
  result.structured_content = Json{{hidden, hidden}};
  result.content.emplace_back(ResourceLink{.uri = "x:" + hidden, .name = hidden});
  auto draft = draft_of(result);
  EXPECT_THAT(draft.structured, HasSubstr("\u202e")) << "bytes stay as long as it may be kept";
  const auto given = whole(draft, {}, hidden, {});
  for (const auto& block : given.blocks) {
    const auto& text = std::get<ModelText>(block).text;
    for (const auto* bad : {"\x1b", "\u202e", "\u200b", "\U000e0041"}) EXPECT_THAT(text, Not(HasSubstr(bad)));
  }
  EXPECT_THAT(text_at(given, 0), HasSubstr("abcde"));
  const auto small = shortened(draft, hidden, {.handle = "@result:abcdefgh", .outline = {}, .reading = {}});
  EXPECT_THAT(text_at(small, 0), AllOf(HasSubstr("abcde"), Not(HasSubstr("\u202e"))));
  const auto stopped = cut(draft, {.tokens = 2, .characters = {}}, hidden, hidden);
  for (const auto& block : stopped.blocks) EXPECT_THAT(std::get<ModelText>(block).text, Not(HasSubstr("\u202e")));
}

// What fits -----------------------------------------------------------------------------------

TEST(ResultForModel, TheBudgetIsInTokensUnlessTheToolAsksForCharacters) {
  const auto draft = draft_of(texts({std::string(400, 'x')}));
  EXPECT_TRUE(fits(draft, {.tokens = 100, .characters = {}}));
  EXPECT_FALSE(fits(draft, {.tokens = 99, .characters = {}}));
  EXPECT_TRUE(fits(draft, {.tokens = 1, .characters = 400}));
  EXPECT_FALSE(fits(draft, {.tokens = 1000, .characters = 399}));
  // Characters, not bytes.
  EXPECT_TRUE(fits(draft_of(texts({"äöü"})), {.tokens = 1, .characters = 3}));

  EXPECT_EQ(asked_characters(json(R"({"anthropic/maxResultSizeChars":200000})")), 200'000u);
  EXPECT_EQ(asked_characters(json(R"({"anthropic/maxResultSizeChars":9000000000})")), 500'000u);
  for (const auto* meta :
       {"{}", "null", R"({"anthropic/maxResultSizeChars":"1"})", R"({"anthropic/maxResultSizeChars":-1})"}) {
    EXPECT_EQ(asked_characters(json(meta)), std::nullopt) << meta;
  }
}

TEST(ResultForModel, BeyondTenThousandTokens_TheUserHearsOfIt) {
  EXPECT_THAT(all_of(texts({std::string(40'000, 'x')})).notes, IsEmpty());
  EXPECT_THAT(all_of(texts({std::string(40'001, 'x')})).notes, ElementsAre(HasSubstr("about 10001 tokens")));
}

TEST(ResultForModel, ALargeOne_IsGivenAsSizeShapeBeginningAndHandle) {
  auto result = texts({"3 rows: marker-t", std::string(500'000, 'x')});
  result.content.emplace_back(image(png(3, 4)));
  result.structured_content = Json{{"rows", std::string(300'000, 'y')}, {"marker", "s"}};
  const auto given =
      shortened(draft_of(result), "mcp__s__t",
                {.handle = "@result:abcdefgh", .outline = "{rows:string}", .reading = "read {id} and {id}"});
  ASSERT_THAT(given.blocks, SizeIs(2));
  EXPECT_THAT(text_at(given, 0),
              AllOf(StartsWith("The result of mcp__s__t is too large to show: 781 KB, about 200"),
                    HasSubstr("\nShape: {rows:string}\n"), HasSubstr("read @result:abcdefgh and @result:abcdefgh"),
                    HasSubstr("@result:abcdefgh#/JSON/POINTER"), HasSubstr("marker-t\nxxx"),
                    HasSubstr("Structured content, its first 2000 of 300024 bytes:\n{\"rows\":\"yyy")));
  EXPECT_LT(text_at(given, 0).size(), 6000u);
  EXPECT_TRUE(std::holds_alternative<ModelImage>(given.blocks[1])) << "its images stay";
  EXPECT_EQ(given.handle, "@result:abcdefgh");
  EXPECT_THAT(given.notes, SizeIs(1));
}

TEST(ResultForModel, AShortTextBesideALongValue_IsShownWhole) {
  auto result = texts({"a summary of the rows"});
  result.structured_content = Json{{"rows", std::string(300'000, 'y')}};
  const auto given = shortened(draft_of(result), "t", {.handle = "@result:abcdefgh", .outline = {}, .reading = {}});
  EXPECT_THAT(text_at(given, 0), HasSubstr("\n\nText:\na summary of the rows\n\nStructured content, its first"));
}

TEST(ResultForModel, OneThatCannotBeKept_IsCutAndSaysWhy) {
  auto result = texts({std::string(1000, 'x')});
  result.structured_content = Json{{"marker", std::string(1000, 's')}};
  const auto given = cut(draft_of(result), {.tokens = 100, .characters = {}}, "t", "No space left on device");
  ASSERT_THAT(given.blocks, SizeIs(3));
  EXPECT_EQ(text_at(given, 0), std::string(200, 'x') + "…");
  EXPECT_THAT(text_at(given, 1), StartsWith("Structured content:\n{\"marker\":\"sss"));
  EXPECT_THAT(text_at(given, 2), AllOf(HasSubstr("was cut"), HasSubstr("No space left on device")));
  EXPECT_EQ(given.handle, "");
}

TEST(ResultForModel, VeryManyBlocks_BecomeOneText) {
  CallToolResult result;
  result.content.assign(250'000, TextContent{.text = "x"});
  const auto draft = draft_of(result);
  EXPECT_THAT(draft.blocks, SizeIs(1));
  EXPECT_EQ(draft.text_bytes, 499'999u);
  result.content.assign(100'000, AudioContent{.data = "AAAA", .mime_type = "audio/wav"});
  EXPECT_LE(draft_of(result).not_shown.size(), 20u);
}

// Images --------------------------------------------------------------------------------------

TEST(ResultImages, AreKnownByTheirFirstBytes) {
  EXPECT_EQ(image_header(png(640, 480)), (ImageHeader{"image/png", 640, 480}));
  EXPECT_EQ(image_header(jpeg(641, 481)), (ImageHeader{"image/jpeg", 641, 481}));
  EXPECT_EQ(image_header(gif(642, 482)), (ImageHeader{"image/gif", 642, 482}));
  EXPECT_EQ(image_header(webp(643, 483)), (ImageHeader{"image/webp", 643, 483}));
  EXPECT_EQ(image_header("RIFF\x1a\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x3f\x01\x40\0\0\0\0\0\0\0\0\0"s),
            (ImageHeader{"image/webp", 320, 257}));
  for (const auto& whole : {png(1, 1), jpeg(1, 1), gif(1, 1), webp(1, 1)}) {
    for (std::size_t size = 0; size < std::min<std::size_t>(whole.size(), 64); ++size)
      (void)image_header(whole.substr(0, size));
  }
  for (const auto& bad : {""s, "<svg/>"s, png(0, 5), "\xff\xd8\xff\xda"s, "BM"s})
    EXPECT_EQ(image_header(bad), std::nullopt);
}

TEST(ResultImages, ThatAModelWouldRefuse_AreReplacedByALine) {
  struct Case {
    ImageContent image;
    const char* why;
  };
  const std::vector<Case> cases{
      {image(png(8001, 1)), "8001 x 1 pixels are more"},
      // An image bomb: small, and enormous when somebody decodes it.
      {image(png(4'000'000'000, 4'000'000'000)), "pixels are more"},
      {{.data = base64_encode(png(5, 5)) + "!", .mime_type = "image/png"}, "damaged"},
      {image("<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"), "not a png, jpeg, webp or gif"},
      {image(png(5, 5) + std::string(4u << 20, 'x')), "larger than a model accepts"},
  };
  for (const auto& [content, why] : cases) {
    CallToolResult result;
    result.content.emplace_back(content);
    const auto draft = draft_of(result);
    ASSERT_THAT(draft.blocks, SizeIs(1)) << why;
    EXPECT_THAT(std::get<ModelText>(draft.blocks[0]).text, HasSubstr(why));
    EXPECT_THAT(draft.not_shown, ElementsAre(0));
  }
  CallToolResult many;
  for (int i = 0; i < 21; ++i) many.content.emplace_back(image(png(2001, 5)));
  EXPECT_THAT(draft_of(many).blocks, SizeIs(1)) << "of many, none may be as large as one alone";
  many.content.pop_back();
  EXPECT_THAT(draft_of(many).blocks, SizeIs(20));
}

// X2
TEST(ResultImages, ThatCanBeMadeSmaller_AreNamedWithWhatTheyMayBe) {
  CallToolResult result;
  result.content.emplace_back(TextContent{.text = "three"});
  result.content.emplace_back(image(png(8001, 100)));
  result.content.emplace_back(image(png(100, 100)));
  result.content.emplace_back(image(png(5, 5) + std::string(4u << 20, 'x')));
  result.content.emplace_back(image(gif(9000, 9000)));
  result.content.emplace_back(image(png(4'000'000'000, 4'000'000'000)));
  constexpr std::size_t bytes = (5u << 20) / 4 * 3;
  EXPECT_THAT(images_to_scale(result), ElementsAre(ImageToScale{1, 2000, bytes}, ImageToScale{3, 2000, bytes}));
  EXPECT_EQ(image_bytes(result, 1), png(8001, 100));
  EXPECT_EQ(image_bytes(result, 0), "");

  const auto draft =
      draft_of(result, {}, {{1, {.data = "c21hbGw=", .mime_type = "image/jpeg", .width = 2000, .height = 25}}});
  EXPECT_THAT(std::get<ModelText>(draft.blocks.at(0)).text, HasSubstr("shown smaller, 2000 x 25 pixels"));
  EXPECT_EQ(std::get<ModelImage>(draft.blocks.at(1)), (ModelImage{"c21hbGw=", "image/jpeg", 2000, 25}));
  EXPECT_THAT(draft.not_shown, ElementsAre(1, 3, 4, 5));
}

TEST(ResultImages, Base64IsMadeAsApisWantIt) {
  EXPECT_EQ(plain_base64("QU\nJD\r\n"), "QUJD");
  EXPECT_EQ(plain_base64("QQ"), "QQ==");
  for (const auto* bad : {"", "Q", "QQ=Q", "QUJD====", "QU-_"}) EXPECT_EQ(plain_base64(bad), std::nullopt) << bad;
}

// Shapes --------------------------------------------------------------------------------------

TEST(ResultShape, IsOneShortLine) {
  const std::map<std::string, std::string> cases{
      {R"({"items":[{"id":1},{"id":2}]})", "{items:[{id:number}]}"},
      {R"([{"id":1,"name":"a"},{"id":"x"}])", "[{id:number|string,name?:string}]"},
      {R"({"a":null,"b":true,"c":[],"d":{},"e":[1,"x",[2]]})",
       "{a:null,b:boolean,c:[],d:{},e:[number|string|[number]]}"},
      {R"({"strange key":1,"":2})", R"({"strange key":number,"":number})"},
      {"[]", "[]"},
      {"5", "number"},
  };
  for (const auto& [value, shape] : cases) EXPECT_EQ(outline_of(json(value)), shape) << value;
}

TEST(ResultShape, OfAMapIsThatOfItsValues) {
  Json map;
  for (int i = 0; i < 10'000; ++i) map[fmt::format("user-{}", i)] = Json{{"age", i}};
  EXPECT_EQ(outline_of(map), "{[name]:{age:number}}");
}

TEST(ResultShape, IsBoundedWhateverTheValueIs) {
  // No two objects are alike, names are long, and it is deep.
  Json rows = Json::array();
  for (int i = 0; i < 2000; ++i) {
    Json row;
    for (int j = 0; j < 60; ++j)
      row[fmt::format("{}-{}-{}", i, j, std::string(200, 'k'))] =
          Json::array({Json{{"x", j}}, i % 2 == 0 ? Json("a") : Json(i)});
    rows.push_back(std::move(row));
  }
  Json deep = 1;
  for (int i = 0; i < 120; ++i) deep = i % 2 == 0 ? Json{{"a", std::move(deep)}} : Json::array({std::move(deep)});
  EXPECT_LE(outline_of(rows).size(), 2100u);
  EXPECT_LE(outline_of(deep).size(), 100u);
  EXPECT_THAT(outline_of(Json{{"a\x1b[31m\u202e", 1}}), Not(AnyOf(HasSubstr("\x1b"), HasSubstr("\u202e"))));
}

// Handles -------------------------------------------------------------------------------------

TEST(ResultHandle, IsReadWithAndWithoutItsMark) {
  EXPECT_EQ(parse_handle("@result:abc2"), (ResultRef{"abc2", false, ""}));
  EXPECT_EQ(parse_handle("abc2#/a/b"), (ResultRef{"abc2", false, "/a/b"}));
  EXPECT_EQ(parse_handle("@result:abc2/raw#/content/0/text"), (ResultRef{"abc2", true, "/content/0/text"}));
  EXPECT_EQ(parse_handle("abc2#/with%20blank/%7e1"), (ResultRef{"abc2", false, "/with blank/~1"}));
  EXPECT_EQ(parse_handle("abc2#"), (ResultRef{"abc2", false, ""}));
  for (const auto* bad :
       {"", "@result:", "abc2 x", "../../etc", "abc2/rawer", "abc2/x", "abc2#a", "abc2#/a b", "a@result:abc"}) {
    EXPECT_EQ(parse_handle(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_handle(std::string(41, 'a')), std::nullopt);
}

struct Values {
  std::map<std::string, Json> all{{"aaaa", {}}, {"tttt", {}}};
  std::vector<ResultRef> asked;

  Values() {
    all["aaaa"] = parse_json(R"({"rows":[1,{"x":"@result:tttt"}],"name":"n","with blank":2})").value();
    all["tttt"] = "plain text";
  }
  Result<const Json*> operator()(const ResultRef& reference) {
    asked.push_back(reference);
    const auto found = all.find(reference.id);
    if (found == all.end()) return fail(Errc::invalid_argument, "unknown " + reference.id);
    return at_pointer(found->second, reference.pointer);
  }
};

TEST(ResultHandle, BecomesTheValueWhereItStandsAloneAndItsTextInALongerText) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"d":"@result:aaaa#/rows"})", R"({"d":[1,{"x":"@result:tttt"}]})"},
      {R"({"d":"@result:tttt"})", R"({"d":"plain text"})"},
      {R"({"deep":[{"d":"@result:aaaa#/rows/0"}]})", R"({"deep":[{"d":1}]})"},
      {R"({"d":"see @result:aaaa#/rows/0, then \"@result:aaaa#/name\"."})", R"({"d":"see 1, then \"n\"."})"},
      {R"({"d":"is it @result:aaaa#/name?"})", R"({"d":"is it n?"})"},
      {R"({"d":"all: @result:aaaa#/rows"})", R"({"d":"all: [1,{\"x\":\"@result:tttt\"}]"})"},
      {R"({"d":"@result:aaaa#/with%20blank"})", R"({"d":2})"},
      {R"({"d":"\\@result:aaaa"})", R"({"d":"@result:aaaa"})"},
      {R"({"d":"say \\@result:aaaa and @result:tttt"})", R"({"d":"say @result:aaaa and plain text"})"},
      {R"({"d":"me@result:aaaa"})", R"({"d":"me@result:aaaa"})"},
      {R"({"d":"@result: and @result:, too"})", R"({"d":"@result: and @result:, too"})"},
      {R"({"@result:aaaa":1})", R"({"@result:aaaa":1})"},
      {R"({"d":"@result:tttt#/"})", ""},
      {R"({"d":"@result:zzzz"})", ""},
      {R"({"d":["fine","of @result:zzzz"]})", ""},
  };
  for (const auto& [before, after] : cases) {
    Values values;
    EXPECT_TRUE(may_name_results(before));
    auto made = with_results(json(before), std::ref(values), 1 << 20);
    if (after.empty()) {
      EXPECT_FALSE(made) << before;
      if (!made) EXPECT_EQ(made.error().code(), Errc::invalid_argument);
    } else {
      ASSERT_TRUE(made) << before << made.error().message();
      EXPECT_EQ(to_text(*made), to_text(json(after))) << before;
    }
  }
}

TEST(ResultHandle, WhatIsPutInIsBounded) {
  Values values;
  values.all["tttt"] = std::string(1000, 'x');
  std::string many;
  for (int i = 0; i < 50; ++i) many += "@result:tttt ";
  const auto large = with_results(Json{{"d", many}}, std::ref(values), 10'000);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Errc::limit);
  values.all["tttt"] = "";
  many.clear();
  for (int i = 0; i < 1001; ++i) many += "@result:tttt ";
  EXPECT_FALSE(with_results(Json{{"d", many}}, std::ref(values), 10'000));
}

TEST(JsonPointer, LeadsToAValueOrSaysHowFarItLeads) {
  const auto root = json(R"({"a":[{"b":1}],"":2,"x/y":3,"m~n":4})");
  for (const auto& [pointer, value] : std::map<std::string, std::string>{
           {"", to_text(root)}, {"/a/0/b", "1"}, {"/", "2"}, {"/x~1y", "3"}, {"/m~0n", "4"}}) {
    const auto found = at_pointer(root, pointer);
    ASSERT_TRUE(found) << pointer;
    EXPECT_EQ(to_text(**found), value);
  }
  for (const auto& [pointer, says] : std::map<std::string, std::string>{{"a", "has to begin with"},
                                                                        {"/a/1", "\"/a\" is an array of 1 item"},
                                                                        {"/a/00", "nothing at"},
                                                                        {"/a/-", "nothing at"},
                                                                        {"/a/99999999999999999999", "nothing at"},
                                                                        {"/b", "the value is an object with a, "},
                                                                        {"/a/0/b/c", "a value of type"},
                                                                        {"/~2", "\"~\" is written"},
                                                                        {"/" + std::string(5000, 'x'), "too long"}}) {
    const auto found = at_pointer(root, pointer);
    ASSERT_FALSE(found) << pointer;
    EXPECT_EQ(found.error().code(), Errc::invalid_argument);
    EXPECT_THAT(found.error().message(), HasSubstr(says));
  }
}

// Reading on -----------------------------------------------------------------------------------

TEST(ResultPartOf, AValueIsItsStructuredContentElseTheJsonOfItsTextElseItsText) {
  const std::map<std::string, std::string> cases{
      {R"({"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}})", R"({"a":1})"},
      {R"({"content":[{"type":"text","text":" [1,2] "}]})", "[1,2]"},
      {R"({"content":[{"type":"text","text":"5"}]})", "\"5\""},
      {R"({"content":[{"type":"text","text":"{"},{"type":"text","text":"}"}]})", "{}"},
      {R"({"content":[{"type":"text","text":"{"},{"type":"image"}]})", "\"{\""},
      {R"({"content":[{"type":"image","data":""}]})", R"({"content":[{"type":"image","data":""}]})"},
      {"[]", "[]"},
  };
  for (const auto& [sent, value] : cases) EXPECT_EQ(to_text(value_of_result(json(sent))), value) << sent;
}

// The shape that a model reads is that of the value which pointers lead through.
TEST(ResultPartOf, TheOutlineOfAResultIsThatOfItsValue) {
  std::vector<CallToolResult> results{
      texts({" [1,2] "}), texts({"5"}), texts({"{", "\"a\":", "1}"}), texts({"{\"a\":1}"}), texts({"[1]", "[2]"}),
      texts({""}),        texts({})};
  results.front().structured_content = Json{{"b", Json::array({Json{{"c", 1}}})}};
  for (const auto& structured : {Json("a text"), Json(), Json(5)}) {
    results.push_back(texts({"{\"a\":1}"}));
    results.back().structured_content = structured;
  }
  results.emplace_back();
  results.back().content.emplace_back(ImageContent{.data = "aGVsbG8=", .mime_type = "image/png"});
  for (const auto& result : results) {
    const auto sent = encode(result);
    const auto value = value_of_result(sent);
    EXPECT_EQ(outline_of(result), value.is_string() ? std::string() : outline_of(value)) << to_text(sent);
  }
}

TEST(ResultPartOf, SlicesFollowEachOtherWithoutLosingAByte) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("line {} äöü\n", i);
  std::string read;
  ResultQuery query;
  query.bytes = 1000;
  for (int i = 0; i < 1000; ++i) {
    const auto part = read_part(Json(text), query);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->total_lines, 3000u);
    EXPECT_EQ(part->total_bytes, text.size());
    EXPECT_LE(part->text.size(), 1000u);
    read += part->text;
    if (!part->next_offset) break;
    query.offset = *part->next_offset;
  }
  EXPECT_EQ(read, text);
}

TEST(ResultPartOf, LinesPatternsAndCounts) {
  const Json value = "one\ntwo\nthree\nfour\n";
  auto part = [&](ResultQuery query) {
    auto made = read_part(value, query);
    EXPECT_TRUE(made);
    return made ? *made : ResultPart();
  };
  EXPECT_EQ(part({.skip_lines = 1, .lines = 2}).text, "two\nthree\n");
  EXPECT_EQ(part({.skip_lines = 9}).text, "");
  EXPECT_EQ(part({.pattern = "^t"}).text, "2: two\n3: three\n");
  EXPECT_EQ(part({.pattern = "^t", .skip_lines = 1, .lines = 1}).text, "3: three\n");
  EXPECT_EQ(part({.pattern = "o", .count = true}).text, "3 of 4 lines match");
  EXPECT_EQ(part({.count = true}).text, "19 bytes, 4 lines");
  const auto array = read_part(json("[1,2,3]"), {.count = true});
  EXPECT_EQ(array->text, fmt::format("3 items; as text: {} bytes, 5 lines", to_pretty_text(json("[1,2,3]")).size()));
  // What does not fit goes on where it ended.
  const ResultQuery some{.pattern = "o", .skip_lines = 1, .lines = 1};
  EXPECT_EQ(part(some).text, "2: two\n");
  EXPECT_EQ(next_match(some, part(some)), 2u);
  EXPECT_EQ(next_match({.pattern = "o", .skip_lines = 2}, part({.pattern = "o", .skip_lines = 2})), std::nullopt);
  EXPECT_EQ(next_match({.pattern = "o", .count = true}, part({.pattern = "o", .count = true})), std::nullopt);
  EXPECT_EQ(next_match({.lines = 1}, part({.lines = 1})), std::nullopt);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "row\n";
  ResultQuery rows{.pattern = "row"};
  std::size_t seen = 0;
  for (std::optional<std::size_t> next = 0; next; next = next_match(rows, *read_part(Json(many), rows))) {
    rows.skip_lines = *next;
    seen += static_cast<std::size_t>(std::ranges::count(read_part(Json(many), rows)->text, '\n'));
  }
  EXPECT_EQ(seen, 3000u);
  const auto wrong = read_part(value, {.pattern = "("});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Errc::invalid_argument);
  // A pattern that other engines need a lifetime for, on one long line.
  const Json hard = std::string(200'000, 'a');
  const auto found = read_part(hard, {.pattern = "(a*)*b"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->matches, 0u);
  const auto around =
      read_part(Json(std::string(50'000, 'a') + "needle" + std::string(50'000, 'b')), {.pattern = "needle"});
  EXPECT_THAT(around->text, AllOf(HasSubstr("aneedleb"), StartsWith("1: …")));
  EXPECT_LT(around->text.size(), 1100u);
}

// A hundred arrays in each other, and in the innermost so many numbers that their indentation alone would have 80 MB.
TEST(ResultPartOf, AValueThatIsAllIndentationIsNotIndented) {
  Json value = Json::array();
  for (int i = 0; i < 400'000; ++i) value.push_back(1);
  for (int i = 0; i < 100; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  const auto part = read_part(value, {.count = true});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->total_bytes, to_text(value).size());
  EXPECT_EQ(part->total_lines, 1u);
}

TEST(ResultPartOf, WhatIsReadIsCleaned) {
  const Json value = "a\x1b[31mb\nsee \u202e c";
  EXPECT_EQ(read_part(value, {})->text, "ab\nsee  c");
  EXPECT_THAT(read_part(value, {.pattern = "see"})->text, Not(HasSubstr("\u202e")));
}

TEST(StoredResult, ReadsWhatWasWrittenAndNothingElse) {
  StoredHead head{.id = result_id(12345),
                  .tool = "mcp__s__t",
                  .time = std::chrono::sys_seconds(std::chrono::seconds(1'800'000'000)),
                  .size = 4,
                  .packing = ResultPacking::zstd};
  ASSERT_TRUE(is_result_id(head.id));
  const auto text = write_stored_head(head) + "body";
  const auto read = read_stored_result(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->head, head);
  EXPECT_EQ(read->body, "body");
  for (const auto& bad :
       {""s, "{}\n"s, "x\n"s, text.substr(0, 20), R"({"patchbayResult":2})"s + "\n", std::string(10'000, ' ') + "\n"}) {
    EXPECT_FALSE(read_stored_result(bad)) << bad.substr(0, 40);
  }
  EXPECT_FALSE(is_result_id("../../ab"));
  EXPECT_FALSE(is_result_id("abcdefg"));
}

}  // namespace
}  // namespace patchbay
