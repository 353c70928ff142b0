// Rows of docs/requirements.md: R4.
// The state a client carries between the rounds of one call opens for that call, that client and
// that time alone.
#include "server/request_state.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace patchbay {
namespace {

TEST(RequestState, OpensForTheSameCallOfTheSameClientAlone) {
  const Sealer sealer(system_random());
  const Json params{{"name", "ask"}, {"arguments", {{"a", 1}, {"b", 2}}}};
  const Json reordered{{"arguments", {{"b", 2}, {"a", 1}}}, {"name", "ask"}};
  const Json others{{"name", "ask"}, {"arguments", {{"a", 1}, {"b", 3}}}};
  const auto sealed = seal_state(sealer, {1000, {{"q", Json("yes")}}}, {"tools/call", params, "ann"});

  struct Case {
    const char* label;
    StateOwner owner;
    std::int64_t now;
    bool opens;
  };
  const Case cases[] = {
      {"the call itself", {"tools/call", params, "ann"}, 999, true},
      {"keys in another order", {"tools/call", reordered, "ann"}, 999, true},
      {"another method", {"prompts/get", params, "ann"}, 999, false},
      {"other arguments", {"tools/call", others, "ann"}, 999, false},
      {"another client", {"tools/call", params, "bob"}, 999, false},
      {"a client nobody asked who it is", {"tools/call", params, ""}, 999, false},
      {"too late", {"tools/call", params, "ann"}, 1000, false},
  };
  for (const auto& one : cases) {
    auto opened = open_state(sealer, sealed, one.owner, one.now);
    EXPECT_EQ(opened.has_value(), one.opens) << one.label;
    if (opened) {
      EXPECT_EQ(opened->answers.at(0).second, Json("yes")) << one.label;
    } else {
      EXPECT_EQ(opened.error().code(), Errc::invalid_argument) << one.label;
    }
  }
  auto altered = sealed;
  altered[altered.size() / 2] = altered[altered.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(open_state(sealer, altered, {"tools/call", params, "ann"}, 999));
}

}  // namespace
}  // namespace patchbay
