// What a machine can lack that a test cannot do without. ./test asks the machine once and names
// what is not there in PATCHBAY_TEST_LACKS; a test that needs it is then skipped and counted as
// such. Without that variable nothing is lacking: where the capability is there, or nobody
// looked, the test runs and may fail. Any thread.
#pragma once

#include <string_view>

namespace patchbay::test {

// `names` as in PATCHBAY_TEST_LACKS: separated by blanks.
bool names_capability(std::string_view names, std::string_view one);
bool lacks(std::string_view capability);

// Network and mount namespaces of one's own (unshare), as root or with a user namespace.
inline constexpr std::string_view namespaces = "namespaces";
// The address ::1.
inline constexpr std::string_view ipv6 = "ipv6";
// Being root, to become somebody else.
inline constexpr std::string_view root = "root";
// The key service of the kernel (add_key, keyctl).
inline constexpr std::string_view keys = "keys";
// Landlock, for sandboxes; and bubblewrap that may make namespaces.
inline constexpr std::string_view landlock = "landlock";
inline constexpr std::string_view bubblewrap = "bubblewrap";

}  // namespace patchbay::test

// The first line of such a test. ./test reads the reason: "needs CAPABILITY".
#define NEEDS(capability) \
  if (::patchbay::test::lacks(::patchbay::test::capability)) GTEST_SKIP() << "needs " << ::patchbay::test::capability
