// What may be shown of an entry: everything but secrets, and no value of a variable.
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/new_entry.h"
#include "config/signature.h"
#include "net/url.h"
#include "protocol/clean_text.h"
#include "protocol/redact.h"

namespace patchbay::cli {
namespace {

constexpr std::string_view hidden = "[redacted]";

// ${NAME} says where a secret comes from and is none; a default behind :- may be one.
std::optional<std::string> reference_at(std::string_view text) {
  if (!text.starts_with("${")) return std::nullopt;
  const auto close = text.find('}');
  if (close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, close + 1));
}

std::string shown_reference(const std::string& reference) {
  const auto dash = reference.find(":-");
  if (dash == std::string::npos || dash + 3 >= reference.size()) return reference;
  return fmt::format("{}{}}}", reference.substr(0, dash + 2), hidden);
}

// A value that may be a secret: nothing of it is shown but variables and the scheme of a credential.
std::string masked(std::string_view value) {
  if (value.empty()) return {};
  std::string out;
  for (std::string_view scheme : {"Bearer ", "Basic ", "bearer ", "basic ", "token ", "Token "}) {
    if (value.starts_with(scheme)) {
      out = scheme;
      value.remove_prefix(scheme.size());
      break;
    }
  }
  bool literal = false;
  while (!value.empty()) {
    if (auto reference = reference_at(value)) {
      out += shown_reference(*reference);
      value.remove_prefix(reference->size());
      literal = false;
      continue;
    }
    const auto next = value.find("${", 1);
    if (!literal) out += hidden;
    literal = true;
    value.remove_prefix(std::min(next, value.size()));
  }
  return out;
}

// --api-key VALUE, --api-key=VALUE, API_KEY=VALUE, Authorization: VALUE, and URLs with a password.
std::vector<std::string> shown_args(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  bool secret_follows = false;
  for (const auto& arg : args) {
    const bool flag = arg.starts_with('-');
    if (secret_follows && !flag) {
      out.push_back(masked(arg));
      secret_follows = false;
      continue;
    }
    secret_follows = false;
    const auto sign = arg.find_first_of("=:");
    if (sign != std::string::npos && is_secret_name(std::string_view(arg).substr(0, sign))) {
      auto value = std::string_view(arg).substr(sign + 1);
      const auto blanks = std::min(value.find_first_not_of(' '), value.size());
      out.push_back(arg.substr(0, sign + 1 + blanks) + masked(value.substr(blanks)));
    } else if (arg.find("://") != std::string::npos) {
      out.push_back(redacted_url(arg));
    } else {
      secret_follows = flag && sign == std::string::npos && is_secret_name(arg);
      out.push_back(redacted(Json(arg)).as_string());
    }
  }
  return out;
}

void mask_members(Json& entry, std::string_view key) {
  Json* members = entry.find(key);
  if (members == nullptr || !members->is_object()) return;
  Json::Object out;
  for (const auto& [name, value] : members->as_object()) {
    out.append(name, value.is_string() ? Json(masked(value.as_string())) : Json(hidden));
  }
  *members = std::move(out);
}

}  // namespace

std::string shown_target(const ServerConfig& server) {
  if (server.kind != ServerKind::stdio) return clean_line(redacted_url(server.url));
  std::string line = server.command;
  for (const auto& arg : shown_args(server.args)) line += " " + arg;
  return clean_line(line);
}

Json shown_entry(const ServerConfig& server) {
  auto entry = canonical_entry(server);
  mask_members(entry, "env");
  mask_members(entry, "headers");
  if (Json* args = entry.find("args")) {
    Json shown = Json::array();
    for (auto& arg : shown_args(server.args)) shown.push_back(std::move(arg));
    *args = std::move(shown);
  }
  if (Json* url = entry.find("url")) *url = redacted_url(server.url);
  // What is left has its secrets under names that say so.
  Json::Object out;
  for (const auto& [key, value] : entry.as_object()) {
    const bool done = key == "env" || key == "headers" || key == "args" || key == "url";
    out.append(key, done ? value : redacted(Json{{key, value}})[key]);
  }
  return out;
}

}  // namespace patchbay::cli
