// What a model reads where a program gets an Error. X5.
#include <array>

#include <gtest/gtest.h>

#include <patchbay/catalog.h>
#include <patchbay/failure.h>

#include "host/server_error.h"

namespace patchbay {
namespace {

Error carried(Error error, CarriedOut whether) { return std::move(error).with_carried_out(whether); }

// As Host::call throws it.
Error of_call(Error error, CarriedOut whether) {
  return error_of_call("docs", "search", carried(std::move(error), whether));
}

struct Case {
  Error error;
  std::string expected;
};

TEST(FailureText, SaysWhatHappenedAndWhetherItWasCarriedOut) {
  constexpr auto no = "\nThe call was not carried out.";
  constexpr auto refused =
      "\nThe server refused the call and did not carry it out; the same call will be refused again.";
  constexpr auto unknown = "\nThe call may have been carried out; check that before you repeat it.";
  const std::vector<Case> cases{
      {of_call(Error::rpc(-32603, "disk full"), CarriedOut::unknown),
       std::string("MCP error -32603: disk full") + unknown},
      {of_call(Error::rpc(-32602, "no \"q\""), CarriedOut::refused),
       std::string("MCP error -32602: no \"q\"") + refused},
      {Error::rpc(-32000, "plain"), "MCP error -32000: plain"},
      {of_call(Error(Errc::connect, "server \"docs\" exited with status 3"), CarriedOut::no),
       std::string("MCP server 'docs' is not connected: it exited with status 3") + no},
      {carried(Error(Errc::connect, "server \"docs\": it exited with status 3"), CarriedOut::no),
       std::string("MCP server 'docs' is not connected: it exited with status 3") + no},
      {carried(Error(Errc::closed, "server \"docs\" is being closed"), CarriedOut::no),
       std::string("MCP server 'docs' is not connected: it is being closed") + no},
      {carried(Error(Errc::unauthorized, "server \"docs\": 401"), CarriedOut::no),
       std::string("MCP server 'docs' is not connected: 401") + no},
      // It was connected when the call was sent.
      {of_call(Error(Errc::closed, "the connection was lost"), CarriedOut::unknown),
       std::string("MCP error: the connection was lost") + unknown},
      {of_call(Error(Errc::timeout, "no answer within 20 ms"), CarriedOut::unknown),
       std::string("MCP error: no answer within 20 ms") + unknown},
      {of_call(Error(Errc::cancelled, "cancelled"), CarriedOut::unknown),
       std::string("MCP error: cancelled") + unknown},
      {of_call(Error(Errc::denied, "a rule denies it"), CarriedOut::no),
       std::string("MCP error: a rule denies it") + no},
      {of_call(Error(Errc::invalid_argument, "the arguments do not match the tool \"search\": /n: expected integer"),
               CarriedOut::no),
       std::string("MCP error: the arguments do not match the tool \"search\": /n: expected integer") + no},
  };
  for (const auto& [error, expected] : cases) EXPECT_EQ(failure_text(error, "docs"), expected);
}

TEST(FailureText, AToolThatNobodyHasIsUnknown) {
  const std::array servers{ServerTools{"docs", {std::make_shared<const Tool>(Tool{.name = "search"})}}};
  const Catalog catalog(servers);
  const auto text = [&](std::string_view name) { return failure_text(catalog.require(name).error(), ""); };
  EXPECT_EQ(text("everything"), "MCP error: unknown tool 'everything'");
  EXPECT_EQ(text("mcp__docs__serch"),
            "MCP error: unknown tool 'mcp__docs__serch'; did you mean \"mcp__docs__search\"?");
}

TEST(FailureText, WordsOfAServerAreCleanedAndBounded) {
  EXPECT_EQ(failure_text(Error::rpc(1, "a\x1b[31mred\u202e"), "s"), "MCP error 1: ared");
  EXPECT_LT(failure_text(Error::rpc(1, std::string(100'000, 'x')), "s").size(), 5000u);
}

TEST(FailureText, AFailureIsAResultThatSaysItIsOne) {
  const auto result = failure_result(carried(Error::rpc(-32603, "no"), CarriedOut::refused), "s");
  EXPECT_TRUE(result.is_error);
  EXPECT_EQ(text_of(result), failure_text(carried(Error::rpc(-32603, "no"), CarriedOut::refused), "s"));
}

// W4
TEST(OnlyReads, IsWhatTheServerSaysAndFalseOtherwise) {
  Tool tool;
  EXPECT_FALSE(only_reads(tool));
  tool.annotations.emplace();
  EXPECT_FALSE(only_reads(tool));
  tool.annotations->read_only_hint = false;
  EXPECT_FALSE(only_reads(tool));
  tool.annotations->read_only_hint = true;
  EXPECT_TRUE(only_reads(tool));
}

}  // namespace
}  // namespace patchbay
