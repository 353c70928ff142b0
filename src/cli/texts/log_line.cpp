#include "cli/texts/log_line.h"

#include <algorithm>

#include <fmt/format.h>

#include <patchbay/json.h>

namespace patchbay::cli {
namespace {

std::string written(std::string_view value) {
  const bool plain = !value.empty() && std::ranges::all_of(value, [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  return plain ? std::string(value) : to_text(Json(std::string(value)));
}

}  // namespace

std::string log_line(const LogEvent& event) {
  std::string line;
  auto add = [&line](std::string_view name, std::string_view value) {
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, written(value));
  };
  if (!event.server.empty()) add("server", event.server);
  add("event", event.event);
  for (const auto& field : event.fields) add(field.name, field.value);
  return line;
}

}  // namespace patchbay::cli
