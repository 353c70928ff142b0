// Where an organisation's files are. The binary has one answer, which nothing that a person
// sets can change. It is a function in a file of its own because a program of the tests is
// linked with another one (tests/fakes/organised_patchbay.cpp).
#pragma once

#include <string>

namespace patchbay::cli {

struct OrganisationPlace {
  std::string directory;
  unsigned owner = 0;  // who must own what is in there
};

OrganisationPlace organisation_place();

}  // namespace patchbay::cli
