#include "secrets/redact.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(Redact, SecretsAreTakenOutAndEverythingElseStays) {
  struct Row {
    std::string before;
    std::string after;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"a":1,"b":[true,null,"x",1.5]})", R"({"a":1,"b":[true,null,"x",1.5]})"},
           {R"({"token":"abc"})", R"({"token":"[redacted]"})"},
           {R"({"password":123456})", R"({"password":"[redacted]"})"},
           {R"({"env":{"API_KEY":"abc","HOME":"/root"}})", R"({"env":{"API_KEY":"[redacted]","HOME":"/root"}})"},
           {R"([{"secret":"a"},{"secret":"b"}])", R"([{"secret":"[redacted]"},{"secret":"[redacted]"}])"},
           // Whatever lies below a secret name is secret too.
           {R"({"tokens":["a","b"]})", R"({"tokens":["[redacted]","[redacted]"]})"},
           {R"({"credentials":{"user":"u","pass":{"p":"q"}}})",
            R"({"credentials":{"user":"[redacted]","pass":{"p":"[redacted]"}}})"},
           // That there was none, or a switch, is not a secret.
           {R"({"token":null,"secret":true})", R"({"token":null,"secret":true})"},
           {R"({"params":{"_meta":{"progressToken":5}}})", R"({"params":{"_meta":{"progressToken":5}}})"},
           {R"({"h":"Authorization: Bearer abc.def"})", R"({"h":"Authorization: Bearer [redacted]"})"},
           {R"("bearer abc")", R"("bearer [redacted]")"},
           {R"("BEARER abc, BEARER def; x")", R"("BEARER [redacted], BEARER [redacted]; x")"},
           {R"("write \"Bearer …\" there")", R"("write \"Bearer …\" there")"},
           {R"("Bearer  abc")", R"("Bearer  [redacted]")"},
           {R"("Bearer\tabc")", R"("Bearer\t[redacted]")"},
           {R"("bearer , then bearer abc")", R"("bearer , then bearer [redacted]")"},
           {R"("a bearer")", R"("a bearer")"},
           {R"("bearer ")", R"("bearer ")"},
           {R"("the bearers of news")", R"("the bearers of news")"},
           {R"("\"Bearer abc\"")", R"("\"Bearer [redacted]\"")"},
           {"5", "5"},
       }) {
    EXPECT_EQ(redacted_text(row.before), row.after) << row.before;
  }
}

TEST(Redact, ATextThatIsNoJsonIsNotShownAtAll) {
  EXPECT_EQ(redacted_text("token=abc"), "[9 bytes that are not JSON]");
  EXPECT_EQ(redacted_text(""), "[0 bytes that are not JSON]");
  EXPECT_EQ(redacted_text(R"({"token":"abc")"), "[14 bytes that are not JSON]");
}

TEST(Redact, TheOrderOfMembersStays) {
  EXPECT_EQ(redacted_text(R"({"z":1,"token":"x","a":2})"), R"({"z":1,"token":"[redacted]","a":2})");
}

}  // namespace
}  // namespace patchbay
