// Which scopes are asked for: never more than somebody named. A1 A3.
#include "auth/scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Scopes, AreSplitOnce) {
  EXPECT_THAT(split_scopes(" a  b\ta\n c "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_scopes(""), IsEmpty());
  EXPECT_THAT(split_scopes("   "), IsEmpty());
  EXPECT_EQ(join_scopes({"a", "b"}), "a b");
  EXPECT_THAT(scope_union({"a", "b"}, {"c", "a"}), ElementsAre("a", "b", "c"));
  std::string many;
  for (int i = 0; i < 2000; ++i) many += std::to_string(i) + " ";
  EXPECT_THAT(split_scopes(many), SizeIs(1000));
}

TEST(Scopes, TheClosestSourceCounts) {
  struct Case {
    std::string name;
    ScopeSources sources;
    Scopes expected;
  };
  const Scopes offline{"offline_access"};
  for (const auto& [name, sources, expected] : std::vector<Case>{
           {"nobody", {}, {}},
           {"everybody", {"u", "c", Scopes{"r"}, Scopes{"d"}, Scopes{"i"}}, {"u"}},
           {"the challenge", {{}, "c d", Scopes{"r"}, Scopes{"d"}, {}}, {"c", "d"}},
           {"an empty challenge", {{}, " ", Scopes{"r"}, {}, {}}, {"r"}},
           {"all of the resource", {{}, {}, Scopes{"r", "s"}, Scopes{"d"}, {}}, {"r", "s"}},
           {"an empty list of the resource", {{}, {}, Scopes{}, Scopes{"d"}, {}}, {"d"}},
           {"the document that the entry names", {{}, {}, {}, Scopes{"d"}, {}}, {"d"}},
           {"not what the issuer knows", {{}, {}, {}, {}, Scopes{"i"}}, {}},
           {"the user wants none", {"", "c", Scopes{"r"}, {}, {}}, {}},
           {"offline_access where it is offered", {"u", {}, {}, {}, offline}, {"u", "offline_access"}},
           {"once", {"offline_access u", {}, {}, {}, offline}, {"offline_access", "u"}},
           {"not where it is not", {"u", {}, {}, {}, Scopes{"x"}}, {"u"}},
           {"not alone", {{}, {}, {}, {}, offline}, {}},
       }) {
    EXPECT_EQ(wanted_scopes(sources), expected) << name;
  }
}

TEST(Scopes, StepUpAddsToWhatWasAskedFor) {
  EXPECT_THAT(stepped_up({"a", "b"}, "b c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(stepped_up({"a"}, std::nullopt), ElementsAre("a"));
  EXPECT_THAT(stepped_up({}, "c"), ElementsAre("c"));
}

}  // namespace
}  // namespace patchbay
