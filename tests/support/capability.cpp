#include "support/capability.h"

#include <cstdlib>

namespace patchbay::test {

bool names_capability(std::string_view names, std::string_view one) {
  while (!names.empty()) {
    const auto end = names.find(' ');
    if (names.substr(0, end) == one) return true;
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
  return false;
}

bool lacks(std::string_view capability) {
  const char* names = std::getenv("PATCHBAY_TEST_LACKS");
  return names && names_capability(names, capability);
}

}  // namespace patchbay::test
