#include "config/expand.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace patchbay {
namespace {

struct Reference {
  std::string_view name;
  std::optional<std::string_view> fallback;
};

bool is_name(std::string_view text) noexcept {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c); });
}

// What stands between "${" and "}", if it is one of the two forms we replace.
std::optional<Reference> reference_in(std::string_view inside) noexcept {
  auto dash = inside.find(":-");
  Reference reference{inside.substr(0, dash), std::nullopt};
  if (dash != std::string_view::npos) reference.fallback = inside.substr(dash + 2);
  if (!is_name(reference.name)) return std::nullopt;
  return reference;
}

}  // namespace

Expanded expand(std::string_view text, const VariableLookup& lookup) {
  Expanded out;
  for (;;) {
    auto open = text.find("${");
    auto close = open == std::string_view::npos ? open : text.find('}', open + 2);
    if (close == std::string_view::npos) {
      out.text += text;
      return out;
    }
    out.text += text.substr(0, open);
    auto whole = text.substr(open, close + 1 - open);
    auto reference = reference_in(text.substr(open + 2, close - open - 2));
    if (!reference) {
      // Go on right behind "${": a form we know may stand inside one we do not.
      out.text += "${";
      text.remove_prefix(open + 2);
      continue;
    }
    if (auto value = lookup(reference->name)) {
      out.text += *value;
    } else if (reference->fallback) {
      out.text += *reference->fallback;
    } else {
      out.text += whole;
      if (std::ranges::find(out.missing, reference->name) == out.missing.end()) {
        out.missing.emplace_back(reference->name);
      }
    }
    text.remove_prefix(close + 1);
  }
}

ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup) {
  auto replace = [&](std::string& text, const std::string& place) {
    auto expanded = expand(text, lookup);
    text = std::move(expanded.text);
    for (const auto& name : expanded.missing) {
      server.warnings.push_back(
          fmt::format("the variable {} used in \"{}\" is not set, so ${{{}}} is passed on as it is; set it or write "
                      "${{{}:-default}}",
                      name, place, name, name));
    }
  };
  replace(server.command, "command");
  for (std::size_t i = 0; i < server.args.size(); ++i) replace(server.args[i], fmt::format("args[{}]", i));
  for (auto& [name, value] : server.env) replace(value, "env." + name);
  if (server.cwd) replace(*server.cwd, "cwd");
  replace(server.url, "url");
  for (auto& [name, value] : server.headers) replace(value, "headers." + name);
  return server;
}

}  // namespace patchbay
