// WWW-Authenticate, in every way in which servers write it. A1 A3.
#include "http/challenge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

HttpHeaders fields(std::initializer_list<std::string> values) {
  HttpHeaders headers;
  for (const auto& value : values) headers.add("WWW-Authenticate", value);
  return headers;
}

TEST(Challenges, AreReadInOrder) {
  struct Case {
    std::string field;
    std::vector<HttpChallenge> expected;
  };
  for (const auto& [field, expected] : std::vector<Case>{
           {"", {}},
           {"Bearer", {{"bearer", {}, ""}}},
           {"BEARER Realm=\"a\"", {{"bearer", {{"realm", "a"}}, ""}}},
           {"Bearer realm=\"a\", scope=\"x y\"", {{"bearer", {{"realm", "a"}, {"scope", "x y"}}, ""}}},
           {"Bearer scope=x,realm=y", {{"bearer", {{"scope", "x"}, {"realm", "y"}}, ""}}},
           {"Bearer  scope = \"x\" ,\trealm = y", {{"bearer", {{"scope", "x"}, {"realm", "y"}}, ""}}},
           // Two in one field, and what looks like one inside of quotes.
           {"Basic realm=\"a, Bearer b=c\", Bearer error=\"x\"",
            {{"basic", {{"realm", "a, Bearer b=c"}}, ""}, {"bearer", {{"error", "x"}}, ""}}},
           {"Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            {{"newauth", {{"realm", "apps"}, {"type", "1"}, {"title", "Login to \"apps\""}}, ""},
             {"basic", {{"realm", "simple"}}, ""}}},
           {"Negotiate, Basic", {{"negotiate", {}, ""}, {"basic", {}, ""}}},
           {"Negotiate YIIJ/+==, DPoP algs=\"ES256\"",
            {{"negotiate", {}, "YIIJ/+=="}, {"dpop", {{"algs", "ES256"}}, ""}}},
           {"Basic Bearer scope=x", {{"basic", {}, ""}, {"bearer", {{"scope", "x"}}, ""}}},
           // As it is sent, and should not be.
           {"Bearer resource_metadata=https://h.example/a?b=c, scope=x",
            {{"bearer", {{"resource_metadata", "https://h.example/a?b=c"}, {"scope", "x"}}, ""}}},
           {"Bearer realm=\"a\" error=\"b\"", {{"bearer", {{"realm", "a"}, {"error", "b"}}, ""}}},
           {", ,Bearer,, scope=\"\" ,", {{"bearer", {{"scope", ""}}, ""}}},
           {"Bearer scope=\"x\", scope=\"y\"", {{"bearer", {{"scope", "x"}, {"scope", "y"}}, ""}}},
           {"scope=x, Bearer", {{"bearer", {}, ""}}},
           {"Bearer \"x\", scope=y", {{"bearer", {{"scope", "y"}}, ""}}},
           {"Bearer (), scope=y", {{"bearer", {{"scope", "y"}}, ""}}},
           {"Bearer required, scope=y", {{"bearer", {{"scope", "y"}}, ""}}},
           {"Bearer error=\"insufficient", {{"bearer", {}, ""}}},
           {"Bearer error=\"insufficient\\", {{"bearer", {}, ""}}},
           {"\"", {}},
           {"=", {}},
       }) {
    EXPECT_EQ(parse_challenges(fields({field})), expected) << field;
  }
}

TEST(Challenges, EveryFieldCounts_AndNeitherContinuesTheOther) {
  const auto read = parse_challenges(fields({"Basic realm=a", "error=b, Bearer scope=c"}));
  EXPECT_EQ(read, (std::vector<HttpChallenge>{{"basic", {{"realm", "a"}}, ""}, {"bearer", {{"scope", "c"}}, ""}}));
  EXPECT_EQ(read[1].get("scope"), "c");
  EXPECT_EQ(read[1].get("realm"), "");
}

TEST(Challenges, AreBounded) {
  std::string many, long_one = "Bearer ";
  for (int i = 0; i < 1000; ++i) {
    many += "Bearer,";
    long_one += "a=b,";
  }
  EXPECT_THAT(parse_challenges(fields({many, many})), SizeIs(32));
  EXPECT_THAT(parse_challenges(fields({long_one})).front().parameters, SizeIs(64));
  EXPECT_THAT(parse_challenges({}), IsEmpty());
}

TEST(SignInChallenge, TheFirstThatSaysSomethingCounts) {
  struct Case {
    HttpHeaders headers;
    SignInChallenge expected;
  };
  SignInChallenge bearer{.present = true};
  SignInChallenge whole{.present = true,
                        .resource_metadata = "https://h.example/prm",
                        .scope = "a b",
                        .error = "insufficient_scope",
                        .error_description = "more"};
  SignInChallenge both{.present = true, .dpop = true, .scope = "a", .error = "use_dpop_nonce"};
  for (const auto& [headers, expected] : std::vector<Case>{
           {{}, {}},
           {fields({"Basic realm=\"a\", error=\"x\""}), {}},
           {fields({"bearer"}), bearer},
           {fields({"Bearer scope=\"\", resource_metadata=\"\""}), bearer},
           {fields({"Basic scope=z",
                    "Bearer error=\"insufficient_scope\", error_description=\"more\", scope=\"a b\", "
                    "resource_metadata=\"https://h.example/prm\""}),
            whole},
           {fields({"Bearer scope=\"a\"", "DPoP error=\"use_dpop_nonce\", scope=\"b\""}), both},
           // A description of one challenge is not that of another's error.
           {fields({"Bearer error_description=\"z\"", "Bearer error=\"x\""}), {.present = true, .error = "x"}},
       }) {
    EXPECT_EQ(sign_in_challenge(headers), expected);
  }
}

}  // namespace
}  // namespace patchbay
