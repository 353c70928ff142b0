#include "cli/organisation.h"

#include <patchbay/config.h>

namespace patchbay::cli {

OrganisationPlace organisation_place() { return {.directory = OrganisationDir().path()}; }

}  // namespace patchbay::cli
