// An error that went through a connection is the error it was. X5 N9.
#include "rpc/error_data.h"

#include <gtest/gtest.h>

#include "host/server_error.h"
#include "rpc/peer.h"

namespace patchbay {
namespace {

std::optional<Error> through_a_connection(const Error& error) { return carried_error(rpc_error_of(carrying(error))); }

// X5 N9
TEST(ErrorData, EveryKindOfErrorComesBackAsItWas) {
  for (int code = 0; code <= static_cast<int>(Errc::internal); ++code) {
    const auto given = Error(static_cast<Errc>(code), "what happened").with_detail("stderr\n");
    const auto got = through_a_connection(given);
    ASSERT_TRUE(got) << to_string(given.code());
    EXPECT_EQ(*got, given);
    EXPECT_EQ(got->detail(), "stderr\n");
    EXPECT_EQ(got->carried_out(), std::nullopt);
  }
  for (const auto outcome : {CarriedOut::no, CarriedOut::refused, CarriedOut::unknown}) {
    EXPECT_EQ(through_a_connection(Error(Errc::closed, "x").with_carried_out(outcome))->carried_out(), outcome);
  }
  for (int kind = 0; kind <= static_cast<int>(Remedy::Kind::choose_permission_mode); ++kind) {
    const Remedy remedy{static_cast<Remedy::Kind>(kind), "docs", "/file"};
    EXPECT_EQ(through_a_connection(Error(Errc::denied, "x").with_remedy(remedy))->remedy(), remedy);
  }
  const auto rpc = Error::rpc(-32050, "boom", R"({"why":1})").with_http_status(500);
  EXPECT_EQ(*through_a_connection(rpc), rpc);
  EXPECT_EQ(through_a_connection(rpc)->http_status(), 500);
}

// N9: errors of others stay theirs.
TEST(ErrorData, WhatOthersSayIsNotRead) {
  EXPECT_FALSE(carried_error({-32603, "x", {}}));
  for (const auto* data : {"1", "{}", R"({"patchbay/error":1})", R"({"patchbay/error":{"code":"nonsense"}})"}) {
    EXPECT_FALSE(carried_error({-32603, "x", *Payload::parse(data)})) << data;
  }
}

// X5 N9: a call that went through two hosts is told of as if it had gone through one.
TEST(ErrorData, ACallThatIsPassedOnIsNamedOnce) {
  for (int code = 0; code <= static_cast<int>(Errc::internal); ++code) {
    for (const auto outcome : {CarriedOut::no, CarriedOut::unknown}) {
      for (const auto* message : {"no answer", "server \"docs\" exited", "server \"docs\": it said no"}) {
        auto error =
            static_cast<Errc>(code) == Errc::rpc ? Error::rpc(-5, message) : Error(static_cast<Errc>(code), message);
        error = std::move(error).with_carried_out(outcome);
        const auto once = error_of_call("docs", "search", error);
        const auto twice = error_of_call("docs", "search", once.original());
        EXPECT_EQ(twice.message(), once.message());
        EXPECT_EQ(twice.code(), once.code());
      }
    }
  }
}

}  // namespace
}  // namespace patchbay
