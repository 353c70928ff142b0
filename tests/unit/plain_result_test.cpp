// The short way of reading a call's result agrees with the general one wherever it answers.
#include <string_view>

#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire.h"

namespace patchbay {
namespace {

const Wire& legacy() { return *find_wire(legacy_versions()[0]); }
const Wire& modern() { return *find_wire(modern_versions()[0]); }

// What Session makes of a result without the short way.
CallToolResult general(const Wire& wire, std::string_view text) {
  auto outcome = wire.outcome(method::call_tool, *parse_json(text));
  return *decode<CallToolResult>(std::get<Json>(std::move(*outcome)));
}

class PlainResult : public testing::TestWithParam<std::string_view> {};
class NotPlainResult : public testing::TestWithParam<std::string_view> {};

TEST_P(PlainResult, IsReadLikeAnyOther) {
  for (const Wire* wire : {&legacy(), &modern()}) {
    CallToolResult plain;
    plain.content.emplace_back(TextContent{.text = "left over"});
    ASSERT_TRUE(wire->read_plain(GetParam(), plain)) << wire->version();
    EXPECT_EQ(plain, general(*wire, GetParam())) << wire->version();
  }
}

TEST_P(NotPlainResult, IsLeftToTheGeneralWay) {
  CallToolResult plain;
  EXPECT_FALSE(legacy().read_plain(GetParam(), plain));
  EXPECT_FALSE(modern().read_plain(GetParam(), plain));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, PlainResult,
    testing::Values(R"({"content":[]})", R"({"content":[{"type":"text","text":"said"}]})",
                    R"( { "content" : [ { "text" : "a" , "type" : "text" } , { "type" : "text" , "text" : "" } ] } )",
                    R"({"isError":true,"content":[{"type":"text","text":"no"}]})",
                    R"({"content":[{"type":"text","text":"a\nb\t\"c\" \\ \/ \u00e9 \ud83d\ude00 \ud800 end of it"}]})",
                    R"({"content":[],"structuredContent":{"a":[1,2.5,null,{"b":"c"}]},"isError":false})",
                    R"({"content":[],"structuredContent":null})", R"({"content":[],"_meta":{"a":1}})"));

INSTANTIATE_TEST_SUITE_P(
    Texts, NotPlainResult,
    testing::Values(R"({})", R"([])", R"(null)", R"({"content":null})", R"({"content":{}})",
                    R"({"content":[{"type":"text"}]})", R"({"content":[{"text":"a"}]})", R"({"content":[{}]})",
                    R"({"content":[{"type":"image","data":"","mimeType":"a/b"}]})",
                    R"({"content":[{"type":"text","text":"a","annotations":{}}]})",
                    R"({"content":[{"type":"text","text":"a","_meta":{}}]})",
                    R"({"content":[{"type":"text","text":"a","text":"b"}]})",
                    R"({"content":[{"type":"text","text":null}]})", R"({"content":[1]})",
                    R"({"content":[],"content":[]})", R"({"content":[],"isError":null})",
                    R"({"content":[],"isError":"true"})", R"({"content":[],"_meta":null})",
                    R"({"content":[],"_meta":[]})", R"({"content":[],"structuredContent":{"a":1,"a":2}})",
                    R"({"content":[],"unknown":1})", R"({"conten\u0074":[]})", R"({"content":[],"resultType":"other"})",
                    R"({"content":[],"resultType":"input_required"})", R"({"content":[],"resultType":1})"));

TEST(PlainResultEnvelope, OfTheNewerEraIsTakenOff) {
  constexpr std::string_view text = R"({"resultType":"complete","content":[{"type":"text","text":"a"}],)"
                                    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}})";
  CallToolResult plain;
  ASSERT_TRUE(modern().read_plain(text, plain));
  EXPECT_EQ(plain, general(modern(), text));
  EXPECT_TRUE(plain.meta.is_null());
  EXPECT_FALSE(legacy().read_plain(text, plain));
}

}  // namespace
}  // namespace patchbay
