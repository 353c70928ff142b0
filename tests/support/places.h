// Where tests find the programs that were built and the files of the sources. Kept behind
// functions so that no test is compiled with the name of a folder: two checkouts then share
// what the compiler cache holds.
#pragma once

#include <string>
#include <string_view>

namespace patchbay::test {

/// The program NAME of this build; the folder of all of them for no name.
std::string built(std::string_view name = {});

/// The file at PATH below the top of the sources; the top itself for no path.
std::string in_sources(std::string_view path = {});

}  // namespace patchbay::test
