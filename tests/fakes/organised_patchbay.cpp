// The binary of an organisation: all of patchbay but for organisation_place(), which says that
// the files in /etc are in the directory that PATCHBAY_TEST_ORGANISATION names and belong to
// who runs this. So no test has to change /etc.
#include <unistd.h>

#include <cstdlib>

#include "cli/organisation.h"

namespace patchbay::cli {

OrganisationPlace organisation_place() {
  const char* directory = std::getenv("PATCHBAY_TEST_ORGANISATION");
  return {.directory = directory ? directory : "/nonexistent", .owner = ::getuid()};
}

}  // namespace patchbay::cli
