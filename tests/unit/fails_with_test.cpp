#include "support/fails_with.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using test::Fails;
using test::FailsSaying;
using test::FailsWith;
using test::FailsWithRpc;
using testing::HasSubstr;
using testing::Not;

TEST(FailsWith, ASuccessIsNotAFailureOfAnyKind) {
  const Result<int> success = 7;
  EXPECT_THAT(success, Not(FailsWith(Errc::cancelled)));
  EXPECT_THAT(success, Not(FailsSaying("")));
  EXPECT_THAT(success, Not(Fails(testing::_)));
  EXPECT_THAT(Result<>(), Not(FailsWith(Error(Errc::cancelled, ""))));
  EXPECT_EQ(test::failure_of(success).code(), Errc::internal);
  testing::StringMatchResultListener said;
  testing::ExplainMatchResult(FailsWith(Errc::limit), success, &said);
  EXPECT_EQ(said.str(), "which succeeded");
}

TEST(FailsWith, CodeMessageAndAnswerAreReported) {
  const Result<> failure = fail(Errc::limit, "too long");
  EXPECT_THAT(failure, FailsWith(Errc::limit));
  EXPECT_THAT(failure, FailsWith(Errc::limit, HasSubstr("long")));
  EXPECT_THAT(failure, FailsWith(Error(Errc::limit, "too long")));
  EXPECT_THAT(failure, Not(FailsWith(Errc::closed)));
  EXPECT_THAT(failure, Not(FailsWith(Errc::limit, "long")));
  EXPECT_THAT(failure, Not(FailsWithRpc(-32602)));
  const Result<> answered = std::unexpected(Error::rpc(-32602, "no"));
  EXPECT_THAT(answered, FailsWithRpc(-32602));
  EXPECT_THAT(answered, Not(FailsWithRpc(-32601)));
  const std::expected<int, std::string> other = std::unexpected("a text");
  EXPECT_THAT(other, Fails("a text"));
  testing::StringMatchResultListener said;
  testing::ExplainMatchResult(FailsWith(Errc::closed), failure, &said);
  EXPECT_THAT(said.str(), HasSubstr("which failed: limit: too long"));
}

}  // namespace
}  // namespace patchbay
