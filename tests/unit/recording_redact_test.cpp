// What leaves a ring without its secrets, and is still a message that can be replayed. N8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording/redact.h"

namespace patchbay {
namespace {

struct Case {
  const char* name;
  const char* message;
  const char* without;
};

class FrameSecrets : public testing::TestWithParam<Case> {};

TEST_P(FrameSecrets, AreTakenOut) {
  const auto message = parse_json(GetParam().message);
  ASSERT_TRUE(message.has_value());
  const auto once = without_secrets(*message);
  EXPECT_EQ(to_text(once), GetParam().without);
  // What went through it once stays as it is: a replayed request is compared so.
  EXPECT_EQ(without_secrets(once), once);
}

INSTANTIATE_TEST_SUITE_P(
    N8, FrameSecrets,
    testing::Values(
        Case{"by name", R"({"params":{"arguments":{"api_key":"abc","text":"kept"}}})",
             R"({"params":{"arguments":{"api_key":"[redacted]","text":"kept"}}})"},
        Case{"however deep", R"({"credentials":{"user":{"name":"x","pin":12}}})",
             R"({"credentials":{"user":{"name":"[redacted]","pin":0}}})"},
        Case{"kinds stay", R"({"token":5,"secrets":["a",true,null]})",
             R"({"token":0,"secrets":["[redacted]",true,null]})"},
        Case{"a progress token is none", R"({"_meta":{"progressToken":7}})", R"({"_meta":{"progressToken":7}})"},
        Case{"bearer in a text", R"({"text":"send Authorization: Bearer abcdef0123456789"})",
             R"({"text":"send Authorization: Bearer [redacted]"})"},
        Case{"a word like a token", R"({"text":"use sk-0123456789abcdef, or KEY=ghp_0123456789abcdef."})",
             R"({"text":"use [redacted], or KEY=[redacted]"})"},
        Case{"a schema stays one",
             R"({"tools":[{"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}}]})",
             R"({"tools":[{"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}}]})"},
        Case{
            "but an example of a secret goes",
            R"({"inputSchema":{"properties":{"token":{"type":"string","default":"hunter2","enum":["hunter2"]}}}})",
            R"({"inputSchema":{"properties":{"token":{"type":"string","default":"[redacted]","enum":["[redacted]"]}}}})"},
        Case{"a value that is written as text",
             R"({"text":"{\"password\": \"hunter2\", \"a\": 1}","same":"{\"a\":  1}"})",
             R"({"text":"{\"password\":\"[redacted]\",\"a\":1}","same":"{\"a\":  1}"})"},
        Case{"a named value in a text", R"({"text":"PASSWORD=hunter2 and http://x/?token=abc&page=2"})",
             R"({"text":"PASSWORD=[redacted] and http://x/?token=[redacted]&page=2"})"},
        Case{"properties of a value are no schema", R"({"arguments":{"properties":{"token":{"value":"hunter2"}}}})",
             R"({"arguments":{"properties":{"token":{"value":"[redacted]"}}}})"}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) {
        if (c == ' ') c = '_';
      }
      return name;
    });

TEST(FrameSecretsByValue, AreTakenOutAfterThat) {
  const auto known = [](Json value) {
    value["text"] = "known";
    return value;
  };
  EXPECT_EQ(redacted_frame(R"({"password":"x","text":"y"})", known), R"({"password":"[redacted]","text":"known"})");
  EXPECT_EQ(redacted_frame("half of {", {}), R"("[9 bytes that are not JSON]")");
}

}  // namespace
}  // namespace patchbay
