// The name of a server as a line of the log has it: as it is where it is one plain word, else as a JSON text, so that
// no name can be taken for another field. Pure; whoever reads such lines relies on it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

inline std::string log_name(std::string_view name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.:-").find(c) != std::string_view::npos;
  });
  return plain ? std::string(name) : to_text(Json(std::string(name)));
}

}  // namespace patchbay
