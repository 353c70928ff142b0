#include "settings/folders.h"

namespace patchbay {
namespace {

std::string folder(const VariableLookup& lookup, std::string_view variable, std::string_view below_home) {
  auto absolute = [&](std::string_view name) {
    auto value = lookup(name);
    return value && value->starts_with('/') ? std::move(*value) : std::string();
  };
  if (auto set = absolute(variable); !set.empty()) return set + "/patchbay";
  if (auto home = absolute("HOME"); !home.empty()) return home + std::string(below_home);
  return {};
}

}  // namespace

std::string cache_folder(const VariableLookup& lookup) { return folder(lookup, "XDG_CACHE_HOME", "/.cache/patchbay"); }

std::string state_folder(const VariableLookup& lookup) {
  return folder(lookup, "XDG_STATE_HOME", "/.local/state/patchbay");
}

}  // namespace patchbay
