#include "config/folders.h"

namespace patchbay {

std::string cache_folder(const VariableLookup& lookup) {
  auto absolute = [&](std::string_view variable) {
    auto value = lookup(variable);
    return value && value->starts_with('/') ? std::move(*value) : std::string();
  };
  if (auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache + "/patchbay";
  if (auto home = absolute("HOME"); !home.empty()) return home + "/.cache/patchbay";
  return {};
}

}  // namespace patchbay
