// What may be shown of an entry: everything but secrets, and no value of a variable.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/new_entry.h"
#include "config/import_plan.h"
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

// Where a value ends and a command of a shell may follow, for hiding that would hide what runs. One that `=` gives is
// a word, perhaps in quotes; one behind a colon may have blanks, as headers have. What a shell would run is no value.
std::size_t end_of_value(std::string_view text, char sign) {
  auto end = text.size();
  const char first = text.empty() ? ' ' : text.front();
  if (first == '\'' || first == '"') {
    const auto close = text.find(first, 1);
    end = close == std::string_view::npos ? text.size() : close + 1;
  } else {
    for (std::string_view stop : {"; ", "| ", "& ", "\n"}) end = std::min(end, text.find(stop));
    if (sign == '=') end = std::min(end, text.find(' '));
  }
  const auto value = text.substr(0, end);
  return value.find("$(") == std::string_view::npos && value.find('`') == std::string_view::npos ? end : 0;
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
    // A reference has signs of its own: ${secret:NAME}.
    const auto sign = arg.find_first_of("=:", reference_at(arg).value_or("").size());
    if (sign != std::string::npos && is_secret_name(std::string_view(arg).substr(0, sign))) {
      auto value = std::string_view(arg).substr(sign + 1);
      const auto blanks = std::min(value.find_first_not_of(' '), value.size());
      value.remove_prefix(blanks);
      const auto end = end_of_value(value, arg[sign]);
      out.push_back(arg.substr(0, sign + 1 + blanks) + (end == 0 ? std::string() : masked(value.substr(0, end))) +
                    std::string(value.substr(end)));
    } else if (arg.find("://") != std::string::npos) {
      out.push_back(redacted_url(arg));
    } else {
      secret_follows = flag && sign == std::string::npos && is_secret_name(arg);
      out.push_back(redacted(Json(arg)).as_string());
    }
  }
  return out;
}

// Variables with which a program can be made to run other code, or to trust and reach others, whatever its
// command line says. Compared in capitals.
constexpr auto steering_names = std::to_array<std::string_view>({"PATH",
                                                                 "HOME",
                                                                 "SHELL",
                                                                 "ENV",
                                                                 "BASH_ENV",
                                                                 "IFS",
                                                                 "NODE_PATH",
                                                                 "NODE_OPTIONS",
                                                                 "PERL5LIB",
                                                                 "PERL5OPT",
                                                                 "RUBYLIB",
                                                                 "RUBYOPT",
                                                                 "CLASSPATH",
                                                                 "_JAVA_OPTIONS",
                                                                 "GCONV_PATH",
                                                                 "EDITOR",
                                                                 "PAGER",
                                                                 "HTTP_PROXY",
                                                                 "ALL_PROXY",
                                                                 "HTTPS_PROXY",
                                                                 "SSL_CERT_FILE",
                                                                 "SSL_CERT_DIR",
                                                                 "NODE_EXTRA_CA_CERTS",
                                                                 "LUA_PATH",
                                                                 "LUA_CPATH",
                                                                 "RUSTC_WRAPPER",
                                                                 "BROWSER",
                                                                 "VISUAL",
                                                                 "PROMPT_COMMAND",
                                                                 "MALLOC_CONF"});
constexpr auto steering_beginnings = std::to_array<std::string_view>(
    {"LD_",         "DYLD_",    "GIT_",    "PYTHON",  "JAVA_TOOL_", "JDK_JAVA_", "NODE_TLS_",
     "NPM_CONFIG_", "UV_",      "PIP_",    "DOTNET_", "DOCKER_",    "XDG_",      "BUN_",
     "DENO_",       "OPENSSL_", "PHP_INI", "PHPRC",   "R_PROFILE",  "BASH_FUNC_"});

bool steers_programs(std::string_view name) {
  auto capitals = std::string(name);
  for (char& c : capitals) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return std::ranges::find(steering_names, capitals) != steering_names.end() ||
         std::ranges::any_of(steering_beginnings, [&](auto beginning) { return capitals.starts_with(beginning); });
}

std::string shown_variable(const ServerConfig& server, std::string_view name, const std::string& value) {
  const bool stranger = server.origin.trust == ConfigTrust::needs_approval;
  const bool open = steers_programs(name) || (stranger && !is_secret_name(name) && !looks_like_token(value));
  if (!open) return masked(value);
  return value.find("://") == std::string::npos ? value : redacted_url(value);
}

template <class Shown>
void show_members(Json& entry, std::string_view key, Shown shown) {
  Json* members = entry.find(key);
  if (members == nullptr || !members->is_object()) return;
  Json::Object out;
  for (const auto& [name, value] : members->as_object()) {
    out.append(name, value.is_string() ? Json(shown(name, value.as_string())) : Json(hidden));
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
  show_members(entry, "env",
               [&](const std::string& name, const std::string& value) { return shown_variable(server, name, value); });
  show_members(entry, "headers", [](const std::string&, const std::string& value) { return masked(value); });
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

std::vector<std::string> shown_details(const ServerConfig& server) {
  const auto entry = shown_entry(server);
  std::vector<std::string> lines;
  std::vector<std::string> last;
  for (const auto& [key, value] : entry.as_object()) {
    if (key == "type" || key == "command" || key == "args" || key == "url") continue;
    if (key == "env") {
      for (const auto& [name, text] : value.as_object()) {
        if (steers_programs(name)) {
          last.push_back(fmt::format("sets {}={}  (decides what code runs)", name, text.as_string()));
        } else {
          lines.push_back(fmt::format("sets {}={}", name, text.as_string()));
        }
      }
    } else if (key == "headers") {
      for (const auto& [name, text] : value.as_object()) {
        lines.push_back(fmt::format("sends the header {}: {}", name, text.as_string()));
      }
    } else if (key == "envFile") {
      last.push_back(fmt::format("sets what the file {} says", value.as_string()));
    } else if (key == "cwd") {
      last.push_back(fmt::format("in the directory {}", value.as_string()));
    } else if (key == "headersHelper") {
      last.push_back(fmt::format("runs for more headers: {}", value.as_string()));
    } else {
      lines.push_back(fmt::format("{}: {}", key, value.is_string() ? value.as_string() : to_text(value)));
    }
  }
  lines.insert(lines.end(), std::make_move_iterator(last.begin()), std::make_move_iterator(last.end()));
  for (auto& line : lines) line = clean_line(line);
  return lines;
}

std::string shown_whole(const ServerConfig& server, std::string_view indent) {
  auto text = fmt::format("{}{}\n", indent, shown_target(server));
  for (const auto& line : shown_details(server)) text += fmt::format("{}  {}\n", indent, line);
  return text;
}

}  // namespace patchbay::cli
