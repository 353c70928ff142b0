#include "support/capability.h"

#include <gtest/gtest.h>

namespace patchbay::test {
namespace {

TEST(Capability, IsLackingOnlyByItsWholeName) {
  EXPECT_TRUE(names_capability("namespaces", namespaces));
  EXPECT_TRUE(names_capability("ipv6 namespaces", namespaces));
  EXPECT_TRUE(names_capability("ipv6 namespaces", ipv6));
  EXPECT_FALSE(names_capability("", namespaces));
  EXPECT_FALSE(names_capability("names namespaces2", namespaces));
}

}  // namespace
}  // namespace patchbay::test
