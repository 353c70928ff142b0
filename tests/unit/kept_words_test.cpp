// What is said of servers that are missing from a cached list, and of their last failure. W5 L5
#include "cli/texts/kept_words.h"

#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr sys_seconds now{seconds(1'800'000'000)};

KeptState state(ServerState what, std::string error, seconds age) { return {what, "", std::move(error), now - age}; }

TEST(KeptWords, AFailureSaysWhenAndWhy) {
  EXPECT_EQ(failure_words("a", state(ServerState::failed, "server \"a\" exited with status 7", seconds(200)), now),
            "failed 3 minutes ago: it exited with status 7");
  EXPECT_EQ(failure_words("a", state(ServerState::needs_auth, "", seconds(1)), now),
            "refused its credentials just now");
  EXPECT_EQ(failure_words("a", state(ServerState::connected, "", seconds(1)), now), "");
}

TEST(KeptWords, OneServerIsNamedWithItsReasonAndTheCommand) {
  EXPECT_EQ(
      unlisted_lines({{"my db", KeptUse::expired}}, "tools"),
      "patchbay: \"my db\" is not listed: its cached list is too old; to ask the server: patchbay tools 'my db'\n");
  EXPECT_EQ(unlisted_lines({{"a", KeptUse::switched_off}}, "prompts"),
            "patchbay: \"a\" is not listed: the cache is switched off by MCP_DISCOVERY_CACHE=0; to ask the server: "
            "patchbay prompts a\n");
}

TEST(KeptWords, ServersWithTheSameReasonShareALine) {
  EXPECT_EQ(unlisted_lines({{"a", KeptUse::expired}, {"b", KeptUse::unreadable}, {"c", KeptUse::expired}}, "tools"),
            "patchbay: \"b\" is not listed: its cached list cannot be read; to ask the server: patchbay tools b\n"
            "patchbay: \"a\", \"c\" are not listed: the cached list of each is too old; to ask the servers: patchbay "
            "tools\n");
}

TEST(KeptWords, AFailureIsShownInsteadOfAMissingList) {
  EXPECT_EQ(
      unlisted_lines({{"a", KeptUse::not_listed, "failed 3 minutes ago: it exited with status 7", true},
                      {"b", KeptUse::not_listed}},
                     "tools"),
      "patchbay: \"a\" is not listed: it failed 3 minutes ago: it exited with status 7; to see its log: patchbay "
      "logs a; to ask the server: patchbay tools a\n"
      "patchbay: \"b\" is not listed: its cached list does not exist: the server has not listed it yet; to ask the "
      "server: patchbay tools b\n");
}

}  // namespace
}  // namespace patchbay::cli
