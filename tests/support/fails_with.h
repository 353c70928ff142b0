// Matchers for a std::expected that has to hold an error. Reading error() of one that holds a
// value is undefined, so a test that does may pass; these say "which succeeded" instead.
//
//   EXPECT_THAT(result, FailsWith(Errc::limit));
//   EXPECT_THAT(result, FailsWith(Errc::limit, HasSubstr("too long")));
//   EXPECT_THAT(result, FailsWith(Error(Errc::limit, "too long")));   // the whole error
//   EXPECT_THAT(result, FailsSaying("too long"));                     // its message alone
//   EXPECT_THAT(result, FailsWithRpc(-32602));                        // what the peer answered
//   EXPECT_THAT(result, Fails("a text"));                             // an error that is no Error
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <patchbay/error.h>

namespace patchbay::test {

// `error` is a value or a matcher.
MATCHER_P(Fails, error, negation ? "succeeds, or fails otherwise" : "fails in a certain way") {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  *result_listener << "which failed: ";
  if constexpr (requires { arg.error().code(); }) {
    *result_listener << to_string(arg.error().code()) << ": " << arg.error().message() << "; it ";
  }
  return testing::ExplainMatchResult(error, arg.error(), result_listener);
}

inline auto FailsWith(Errc code) {
  return Fails(testing::ResultOf(
      "has the code", [](const Error& error) { return std::string(to_string(error.code())); },
      std::string(to_string(code))));
}

template <class Message>
auto FailsSaying(Message message) {
  return Fails(testing::Property("message", &Error::message, std::move(message)));
}

template <class Message>
auto FailsWith(Errc code, Message message) {
  return testing::AllOf(FailsWith(code), FailsSaying(std::move(message)));
}

inline auto FailsWith(Error whole) { return Fails(testing::Eq(std::move(whole))); }

inline auto FailsWithRpc(std::int64_t code) {
  return Fails(testing::Property("rpc_code", &Error::rpc_code, testing::Optional(code)));
}

// The error for a test to keep; of a success one that no test expects.
template <class T>
Error failure_of(const Result<T>& result) {
  return result ? Error(Errc::internal, "it succeeded") : result.error();
}

}  // namespace patchbay::test
