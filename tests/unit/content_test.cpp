// Results as plain text, and what blocks weigh.
#include "protocol/content.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <patchbay/types.h>

namespace patchbay {
namespace {

struct Case {
  std::string name;
  CallToolResult result;
  std::string text;
};

// X1
TEST(Content, Results_ReadAsText) {
  const std::string twelve_kb(16384, 'A');  // 12 KB in base64
  const std::vector<Case> cases{
      {"text blocks joined",
       {.content = {TextContent{.text = "a"}, TextContent{.text = "b\n"}, TextContent{.text = "c"}}},
       "a\nb\n\nc"},
      {"nothing", {}, "(no output)"},
      {"an empty text", {.content = {TextContent{}}}, "(no output)"},
      {"structured only", {.structured_content = Json{{"t", 18}}}, R"({"t":18})"},
      {"structured null", {.structured_content = Json()}, "null"},
      {"structured beside text", {.content = {TextContent{.text = "x"}}, .structured_content = Json{{"t", 18}}}, "x"},
      {"an error reads the same", {.content = {TextContent{.text = "no such file"}}, .is_error = true}, "no such file"},
      {"image", {.content = {ImageContent{.data = twelve_kb, .mime_type = "image/png"}}}, "[image image/png, 12 KB]"},
      {"audio", {.content = {AudioContent{.data = "AAA=", .mime_type = "audio/wav"}}}, "[audio audio/wav, 2 bytes]"},
      {"link", {.content = {ResourceLink{.uri = "file:///m.rs", .name = "m.rs"}}}, "[resource m.rs file:///m.rs]"},
      {"link whose name tries to leave the line",
       {.content = {ResourceLink{.uri = "a:b", .name = "x]\n\x1b[31mroot:"}}},
       "[resource x] root: a:b]"},
      {"resource text", {.content = {EmbeddedResource{.resource = {.uri = "a:b", .text = "fn\n"}}}}, "fn\n"},
      {"resource blob",
       {.content = {EmbeddedResource{.resource = {.uri = "a:b", .mime_type = "x/y", .blob = "AAAA"}}}},
       "[resource a:b x/y, 3 bytes]"},
      {"resource with neither", {.content = {EmbeddedResource{.resource = {.uri = "a:b"}}}}, "[resource a:b]"},
      {"tool use", {.content = {ToolUse{.id = "1", .name = "t", .input = Json{{"a", 1}}}}}, R"([tool call t {"a":1}])"},
      {"tool result", {.content = {ToolResult{.tool_use_id = "1", .content = {TextContent{.text = "in"}}}}}, "in"},
      {"small unknown", {.content = {UnknownContent{"map", Json{{"type", "map"}}}}}, R"({"type":"map"})"},
      {"large unknown",
       {.content = {UnknownContent{"video", Json{{"type", "video"}, {"data", std::string(3000, 'A')}}}}},
       "[video content, 3 KB]"},
      {"mixed",
       {.content = {TextContent{.text = "see"}, ImageContent{.data = "", .mime_type = "image/png"}}},
       "see\n[image image/png, 0 bytes]"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(text_of(each.result), each.text);
  }
}

TEST(Content, Base64Size_IsKnownWithoutDecoding) {
  struct Pair {
    std::string text;
    std::size_t size;
  };
  for (const auto& [text, size] : std::vector<Pair>{{"", 0},
                                                    {"Zg==", 1},
                                                    {"Zm8=", 2},
                                                    {"Zm9v", 3},
                                                    {"Zm9vYg==", 4},
                                                    {"Zm9vYg", 4},
                                                    {"Zm9v\r\nYmFy\n", 6},
                                                    {"Z", 0}}) {
    EXPECT_EQ(base64_decoded_size(text), size) << text;
  }
}

TEST(Content, Sizes_CountWhatAReaderGets) {
  const CallToolResult result{.content = {TextContent{.text = "12345"}, ImageContent{.data = "AAAA"},
                                          EmbeddedResource{.resource = {.blob = "AAAAAAAA"}},
                                          ToolResult{.content = {TextContent{.text = "1"}}}},
                              .structured_content = Json{{"a", 1}}};
  EXPECT_EQ(approximate_size(result), 5u + 3u + 6u + 1u + 7u);
}

TEST(Content, SizeText_IsForPeople) {
  struct Pair {
    std::size_t bytes;
    std::string text;
  };
  for (const auto& [bytes, text] : std::vector<Pair>{{0, "0 bytes"},
                                                     {1, "1 byte"},
                                                     {1023, "1023 bytes"},
                                                     {1024, "1 KB"},
                                                     {12'288, "12 KB"},
                                                     {1'048'000, "1023 KB"},
                                                     {1'048'576, "1.0 MB"},
                                                     {3'565'158, "3.4 MB"}}) {
    EXPECT_EQ(size_text(bytes), text);
  }
}

}  // namespace
}  // namespace patchbay
