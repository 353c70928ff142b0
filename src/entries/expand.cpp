#include "entries/expand.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr auto secret_kinds = std::to_array<std::pair<std::string_view, SecretKind>>({
    {"env", SecretKind::environment},
    {"file", SecretKind::file},
    {"secret", SecretKind::stored},
    {"cmd", SecretKind::command},
});

// What editors write: ${input:id}. Anything else in braces may be a shell's.
constexpr auto foreign_words = std::to_array<std::string_view>({"input", "config", "command", "workspaceFolder"});

// One ${...} of a text.
struct Reference {
  std::size_t begin = 0;  // of "${"
  std::size_t end = 0;    // behind "}"
  std::optional<SecretKind> secret;
  std::string_view name;  // of the variable, or the argument of a secret reference
  std::optional<std::string_view> fallback;
};

// Letters, digits and _; a plugin's settings have a dot: user_config.KEY.
bool is_name(std::string_view text) noexcept {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  constexpr std::string_view settings = "user_config.";
  if (text.starts_with(settings)) {
    text.remove_prefix(settings.size());
    return !text.empty() && std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c) || c == '-'; });
  }
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c); });
}

// Where the reference that begins at `open` ends: at the "}" that closes it, counting those in between, so that
// a command may have some.
std::size_t closing(std::string_view text, std::size_t open) noexcept {
  std::size_t depth = 0;
  for (auto i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::optional<Reference> secret_at(std::string_view text, std::size_t at) noexcept {
  auto inside = text.substr(at + 2);
  for (auto [word, kind] : secret_kinds) {
    if (!inside.starts_with(word) || inside.size() <= word.size() || inside[word.size()] != ':') continue;
    auto close = closing(text, at + 1);
    auto begin = at + 2 + word.size() + 1;
    if (close == std::string_view::npos || close == begin) return std::nullopt;
    auto argument = text.substr(begin, close - begin);
    // ${env:-x} is a variable called env with a default.
    if (argument.starts_with('-')) return std::nullopt;
    return Reference{at, close + 1, kind, argument, std::nullopt};
  }
  return std::nullopt;
}

std::optional<Reference> variable_at(std::string_view text, std::size_t at) noexcept {
  auto close = text.find('}', at + 2);
  if (close == std::string_view::npos) return std::nullopt;
  auto inside = text.substr(at + 2, close - at - 2);
  auto dash = inside.find(":-");
  Reference reference{at, close + 1, std::nullopt, inside.substr(0, dash), std::nullopt};
  if (dash != std::string_view::npos) reference.fallback = inside.substr(dash + 2);
  if (!is_name(reference.name)) return std::nullopt;
  return reference;
}

// The next reference at or behind `from`.
std::optional<Reference> next_reference(std::string_view text, std::size_t from) noexcept {
  for (auto at = text.find("${", from); at != std::string_view::npos; at = text.find("${", at + 2)) {
    if (auto secret = secret_at(text, at)) return secret;
    if (auto variable = variable_at(text, at)) return variable;
    // Go on right behind "${": a form we know may be inside one we do not.
  }
  return std::nullopt;
}

// Calls `visit(text, place)` for everything in an entry that may hold a reference.
template <class Server, class Visit>
void each_text(Server& server, Visit&& visit) {
  visit(server.command, std::string("command"));
  for (std::size_t i = 0; i < server.args.size(); ++i) visit(server.args[i], fmt::format("args[{}]", i));
  for (auto& [name, value] : server.env) visit(value, "env." + name);
  if (server.env_file) visit(*server.env_file, std::string("envFile"));
  if (server.cwd) visit(*server.cwd, std::string("cwd"));
  visit(server.url, std::string("url"));
  for (auto& [name, value] : server.headers) visit(value, "headers." + name);
  visit(server.tls.ca, std::string("tls.ca"));
  visit(server.tls.cert, std::string("tls.cert"));
  visit(server.tls.key, std::string("tls.key"));
  visit(server.tls.passphrase, std::string("tls.passphrase"));
}

}  // namespace

std::string_view to_string(SecretKind kind) noexcept {
  for (auto [word, one] : secret_kinds) {
    if (one == kind) return word;
  }
  return "env";
}

Expanded expand(std::string_view text, const VariableLookup& lookup, const SecretValues& secrets) {
  Expanded out;
  std::size_t done = 0;
  while (auto reference = next_reference(text, done)) {
    out.text += text.substr(done, reference->begin - done);
    const auto whole = text.substr(reference->begin, reference->end - reference->begin);
    done = reference->end;
    if (reference->secret) {
      auto found = secrets.find({*reference->secret, std::string(reference->name)});
      out.text += found == secrets.end() ? whole : std::string_view(found->second);
    } else if (auto value = lookup(reference->name)) {
      out.text += *value;
    } else if (reference->fallback) {
      out.text += *reference->fallback;
    } else {
      out.text += whole;
      if (std::ranges::find(out.missing, reference->name) == out.missing.end()) {
        out.missing.emplace_back(reference->name);
      }
    }
  }
  out.text += text.substr(done);
  return out;
}

std::vector<std::string> variables_in(std::string_view text) {
  return expand(text, [](std::string_view) { return std::nullopt; }).missing;
}

bool has_open_reference(std::string_view text) noexcept {
  const auto last = text.rfind("${");
  return last != std::string_view::npos && text.find('}', last) == std::string_view::npos;
}

std::vector<SecretReference> secret_references(std::string_view text, const std::string& place) {
  std::vector<SecretReference> out;
  std::size_t done = 0;
  while (auto reference = next_reference(text, done)) {
    done = reference->end;
    if (reference->secret) out.push_back({*reference->secret, std::string(reference->name), place});
  }
  return out;
}

std::vector<SecretReference> secret_references(const ServerConfig& server) {
  std::vector<SecretReference> out;
  each_text(server, [&](const std::string& text, const std::string& place) {
    for (auto& reference : secret_references(text, place)) {
      const bool known = std::ranges::any_of(
          out, [&](const auto& one) { return one.kind == reference.kind && one.argument == reference.argument; });
      if (!known) out.push_back(std::move(reference));
    }
  });
  return out;
}

bool has_references(const ServerConfig& server) {
  bool found = false;
  each_text(server, [&](const std::string& text, const std::string&) {
    const auto nothing = [](std::string_view) { return std::optional<std::string>(std::string()); };
    found = found || !secret_references(text, {}).empty() || expand(text, nothing).text != text;
  });
  return found;
}

bool came_with_repository(const ConfigOrigin& origin) noexcept {
  return origin.trust == ConfigTrust::needs_approval || origin.scope == ConfigScope::project;
}

bool is_users_own(const ConfigOrigin& origin) noexcept {
  return !came_with_repository(origin) && origin.scope != ConfigScope::plugin && origin.scope != ConfigScope::connector;
}

std::string reference_fault(const SecretReference& reference, const ConfigOrigin& origin) {
  if (reference.kind == SecretKind::environment) return {};
  const bool own = is_users_own(origin);
  const bool commands = own && (origin.scope == ConfigScope::user || origin.scope == ConfigScope::enterprise);
  if (reference.kind == SecretKind::command ? commands : own) return {};
  return fmt::format("${{{}:…}} in \"{}\" is not used in an entry of {} scope from {}; {}", to_string(reference.kind),
                     reference.place, to_string(origin.scope), origin.file,
                     own ? "declare the server in user scope" : "declare the server in user scope, or use ${VARIABLE}");
}

std::optional<std::string> variable_of(const ServerConfig& server, std::string_view name,
                                       const VariableLookup& lookup) {
  for (const auto& [known, value] : server.variables) {
    if (known == name) return value;
  }
  return lookup(name);
}

std::string unset_text(std::string_view variable, std::string_view place, bool required) {
  if (required) {
    return fmt::format("the variable {} used in \"{}\" is not set, so the server does not start; set it", variable,
                       place);
  }
  return fmt::format(
      "the variable {} used in \"{}\" is not set, so the text ${{{}}} is used unchanged; set it or write "
      "${{{}:-default}}",
      variable, place, variable, variable);
}

MissingValues missing_values(const ServerConfig& server, const VariableLookup& lookup) {
  MissingValues out;
  auto add = [](std::vector<std::string>& list, std::string text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  };
  each_text(server, [&](const std::string& text, const std::string& place) {
    auto variables = [&](std::string_view name) { return variable_of(server, name, lookup); };
    for (auto& name : expand(text, variables).missing) add(out.variables, std::move(name));
    for (const auto& reference : secret_references(text, place)) {
      if (reference.kind == SecretKind::environment && !variables(reference.argument)) {
        add(out.variables, reference.argument);
      }
    }
    for (std::string_view word : foreign_words) {
      const auto begin = fmt::format("${{{}:", word);
      for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
        const auto end = text.find('}', at);
        if (end == std::string::npos || text[at + begin.size()] == '-') continue;  // ${config:-x} has a default
        add(out.references, text.substr(at, end - at + 1));
      }
    }
  });
  return out;
}

std::string missing_text(const MissingValues& missing) {
  std::string out;
  if (!missing.variables.empty()) {
    out = fmt::format("the {} {}, which the server needs, {} not set",
                      missing.variables.size() == 1 ? "variable" : "variables", fmt::join(missing.variables, ", "),
                      missing.variables.size() == 1 ? "is" : "are");
  }
  if (!missing.references.empty()) {
    out += fmt::format("{}{}, which only another client understands, {} no value here", out.empty() ? "" : "; ",
                       fmt::join(missing.references, ", "), missing.references.size() == 1 ? "has" : "have");
  }
  return out;
}

ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup, const SecretValues& secrets) {
  auto variables = [&](std::string_view name) { return variable_of(server, name, lookup); };
  std::vector<std::string> warnings;
  each_text(server, [&](std::string& text, const std::string& place) {
    auto expanded = expand(text, variables, secrets);
    text = std::move(expanded.text);
    for (const auto& name : expanded.missing) warnings.push_back(unset_text(name, place));
  });
  if (const auto plain = trim(server.url); plain.size() != server.url.size()) server.url = std::string(plain);
  server.warnings.insert(server.warnings.end(), warnings.begin(), warnings.end());
  return server;
}

ServerConfig expand_server(ServerConfig server, const VariableLookup& lookup) {
  return expand_server(std::move(server), lookup, {});
}

}  // namespace patchbay
