#include "support/places.h"

namespace patchbay::test {
namespace {

std::string below(std::string_view folder, std::string_view path) {
  std::string all(folder);
  if (!path.empty()) all.append("/").append(path);
  return all;
}

}  // namespace

std::string built(std::string_view name) { return below(PATCHBAY_BIN_DIR, name); }

std::string in_sources(std::string_view path) { return below(PATCHBAY_SOURCE_DIR, path); }

}  // namespace patchbay::test
