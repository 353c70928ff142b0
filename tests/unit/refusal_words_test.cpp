// What a refusal of a server is shown as: the words of an error in JSON, and not its braces. L5, X4.
#include <gtest/gtest.h>

#include "transport/http_requester.h"

namespace patchbay {
namespace {

TEST(RefusalWords, AreThoseOfTheErrorInIt) {
  struct Case {
    const char* body;
    const char* words;
  };
  for (const auto& [body, words] : {
           Case{R"({"error":"unauthorized","error_description":"no token"})", "no token"},
           Case{R"({"error":"unauthorized"})", "unauthorized"},
           Case{R"({"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"sign in first"}})", "sign in first"},
           Case{R"({"detail":"who are you?"})", "who are you?"},
           Case{"{\"error_description\":\"no \\u001b[31mtoken\\nhere\"}", "no token here"},
           Case{R"({"code":7})", R"({"code":7})"},
           Case{"[1]", "[1]"},
           Case{"Unauthorized", "Unauthorized"},
           Case{"", ""},
       }) {
    EXPECT_EQ(explanation(body), words) << body;
  }
  EXPECT_LE(explanation(R"({"error_description":")" + std::string(5000, 'x') + R"("})").size(), 210u);
}

}  // namespace
}  // namespace patchbay
