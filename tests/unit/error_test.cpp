// What stays of an error when it is passed on in other words.
#include <gtest/gtest.h>

#include <patchbay/error.h>

namespace patchbay {
namespace {

TEST(ErrorTest, OtherWordsChangeNothingElse) {
  const auto error = Error::rpc(-32000, "no", R"({"a":1})")
                         .with_http_status(500)
                         .with_detail("stderr")
                         .with_carried_out(CarriedOut::unknown)
                         .with_remedy({Remedy::Kind::approve_server, "docs"});
  for (const auto& other : {error.with_message("docs: no"), error.within("docs")}) {
    EXPECT_EQ(other.message(), "docs: no");
    EXPECT_EQ(other.code(), Errc::rpc);
    EXPECT_EQ(other.rpc_code(), -32000);
    EXPECT_EQ(other.rpc_data(), R"({"a":1})");
    EXPECT_EQ(other.http_status(), 500);
    EXPECT_EQ(other.detail(), "stderr");
    EXPECT_EQ(other.carried_out(), CarriedOut::unknown);
    EXPECT_EQ(other.remedy(), (Remedy{Remedy::Kind::approve_server, "docs"}));
  }
}

TEST(ErrorTest, AMarkedFailureIsKnownInAnyWords) {
  const Error plain(Errc::closed, "gone");
  const auto failure = plain.marked();
  EXPECT_TRUE(failure.within("docs").is_same_failure(failure));
  EXPECT_TRUE(failure.with_message("other words").is_same_failure(failure));
  EXPECT_TRUE(failure.marked().is_same_failure(failure)) << "a mark is kept";
  EXPECT_FALSE(plain.marked().is_same_failure(failure)) << "another failure with the same words";
  EXPECT_FALSE(plain.is_same_failure(plain)) << "nobody marked it";
  EXPECT_EQ(plain, failure);
}

}  // namespace
}  // namespace patchbay
