// The trace context of requests: what of TRACEPARENT is understood, and that each request is a span of its own. N8.
#include "rpc/trace_context.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

const std::string trace = "0af7651916cd43dd8448eb211c80319c";
const std::string given = "00-" + trace + "-b7ad6b7169203331-01";

std::shared_ptr<const TraceContext> from(std::map<std::string, std::string> variables) {
  return TraceContext::from(
      [variables](std::string_view name) {
        const auto found = variables.find(std::string(name));
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      system_random());
}

TEST(TraceParents, AreReadAsTheSpecificationSays) {
  EXPECT_EQ(parse_traceparent(given), (TraceParent{trace, "b7ad6b7169203331", "01"}));
  EXPECT_TRUE(parse_traceparent("cc-" + trace + "-b7ad6b7169203331-01-what-will-be"));
  for (const auto& wrong : std::vector<std::string>{
           "", given + "-more", "ff" + given.substr(2), given.substr(0, 54),
           "00-" + std::string(32, '0') + "-b7ad6b7169203331-01", "00-" + trace + "-0000000000000000-01",
           "00-" + trace + "-b7ad6b7169203331_01", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    EXPECT_EQ(parse_traceparent(wrong), std::nullopt) << wrong;
  }
}

TEST(TraceContexts, AreThereWhenSomebodyAsksForThem) {
  EXPECT_EQ(from({}), nullptr);
  EXPECT_EQ(from({{"TRACEPARENT", "nonsense"}}), nullptr);
  EXPECT_EQ(from({{"MCP_TRACE_CONTEXT", "0"}}), nullptr);
  EXPECT_NE(from({{"MCP_TRACE_CONTEXT", "1"}}), nullptr);
  EXPECT_NE(from({{"TRACEPARENT", given}}), nullptr);
}

TEST(TraceContexts, EachRequestIsASpanOfItsOwn) {
  const auto context = from({{"TRACEPARENT", given}, {"TRACESTATE", "a=1"}});
  const auto first = context->next(), second = context->next();
  EXPECT_THAT(first, MatchesRegex("00-" + trace + "-[0-9a-f]{16}-01"));
  EXPECT_NE(first, second);
  EXPECT_NE(first, given);
  const auto fresh = from({{"MCP_TRACE_CONTEXT", "1"}});
  const auto one = fresh->next();
  EXPECT_TRUE(parse_traceparent(one)) << one;
  EXPECT_NE(one.substr(3, 32), fresh->next().substr(3, 32));
}

TEST(TraceContexts, StandInTheMetaOfARequest) {
  const auto context = from({{"TRACEPARENT", given}, {"TRACESTATE", "a=1"}});
  const auto added = context->added(Payload(Json{{"name", "x"}, {"_meta", Json{{"progressToken", 1}}}}));
  EXPECT_EQ(added.value()["name"], Json("x"));
  EXPECT_EQ(added.value()["_meta"]["progressToken"], Json(1));
  EXPECT_THAT(std::string(added.value()["_meta"]["traceparent"].as_text()), StartsWith("00-" + trace));
  EXPECT_EQ(added.value()["_meta"]["tracestate"], Json("a=1"));
  EXPECT_THAT(std::string(context->added({}).value()["_meta"]["traceparent"].as_text()), StartsWith("00-"));
  // What is there already is somebody's own, and a list is no place for it.
  const Json theirs{{"_meta", Json{{"traceparent", "00-x"}}}};
  EXPECT_EQ(context->added(Payload(theirs)).value(), theirs);
  EXPECT_EQ(context->added(Payload(Json::array({1}))).value(), Json::array({1}));
}

TEST(TraceContexts, WithoutRandomnessTheyAreStillValid) {
  const TraceContext context(std::nullopt, {}, [](std::span<std::uint8_t> bytes) { std::ranges::fill(bytes, 0); });
  EXPECT_TRUE(parse_traceparent(context.next()));
}

}  // namespace
}  // namespace patchbay
