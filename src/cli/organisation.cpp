#include "cli/organisation.h"

#include <patchbay/config.h>

namespace patchbay::cli {

OrganisationPlace organisation_place() {
  const LoadRequest usual;
  return {.directory = usual.enterprise_dir, .owner = usual.enterprise_owner};
}

}  // namespace patchbay::cli
