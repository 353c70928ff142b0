// The tool list of a catalog as a program would send it to a model: for tests that compare it byte for byte.
#pragma once

#include <string>

#include <patchbay/catalog.h>

#include "protocol/codec.h"

namespace patchbay::test {

inline std::string tool_list_text(const Catalog& catalog) {
  std::string text;
  for (const auto& entry : catalog.tools()) text += entry.name + " " + to_text(encode(*entry.tool)) + "\n";
  return text;
}

}  // namespace patchbay::test
