#include "agent/definitions.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "entries/parse.h"
#include "protocol/skills_frontmatter.h"
#include "text/clean_text.h"
#include "text/document.h"
#include "text/places.h"
#include "text/wildcard.h"
#include "text/yaml.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_tool = 300;

// What other programs call the tools of the built-in server.
struct Alias {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array aliases{
    Alias{"Read", "read_file"},      Alias{"Write", "write_file"}, Alias{"Edit", "edit_file"},
    Alias{"MultiEdit", "edit_file"}, Alias{"Glob", "glob"},        Alias{"Grep", "grep"},
    Alias{"LS", "list_dir"},         Alias{"Bash", "run_command"},
};

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// The header's text with the byte it begins at, and what is below it. The text was read by read_frontmatter().
struct Parts {
  std::string_view header;
  std::string_view body;
};
Parts parts_of(std::string_view text) {
  const auto begin = text.find('\n') + 1;
  for (auto at = begin; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.starts_with("---") && trim(line.substr(3)).empty()) {
      return {text.substr(begin, at - begin), text.substr(std::min(end + 1, text.size()))};
    }
    at = end + 1;
  }
  return {text.substr(begin), {}};
}

// At commas that are in no parentheses.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const auto name = trim(text.substr(begin, i - begin)); !name.empty()) out.emplace_back(name);
    begin = i + 1;
  }
  return out;
}

class Reader {
 public:
  using Member = ConfigDocument::Member;

  Reader(std::string_view text, const std::string& file, const DefinitionBounds& bounds)
      : file_(file), bounds_(bounds), parts_(parts_of(text)), positions_(parts_.header) {}

  ReadDefinition read(ConfigScope scope, ConfigTrust trust) {
    const auto document = read_yaml_text(parts_.header, {.strict = true, .only_json_numbers = false});
    if (!document) {
      problem(document.error().offset, document.error().reason, Severity::error);
      return finish();
    }
    const auto top = document->top();
    definition_.file = file_;
    definition_.name = text_of(top, "name", true);
    if (!definition_.name.empty() && !is_plain_name(definition_.name)) {
      problem(place_of(member_of(top, "name")),
              fmt::format("\"name\" consists of at most {} letters, digits, - and _", longest_name), Severity::error);
    }
    definition_.description = text_of(top, "description", true);
    if (definition_.description.size() > bounds_.description) {
      problem(place_of(member_of(top, "description")),
              fmt::format("\"description\" has more than {} bytes", bounds_.description), Severity::error);
    }
    definition_.model = text_of(top, "model", false);
    if (definition_.model == "inherit") definition_.model.clear();
    definition_.tools = names_of(top, "tools", Severity::warning);
    definition_.disallowed_tools =
        names_of(top, "disallowedTools", Severity::note).value_or(std::vector<std::string>());
    read_servers(member_of(top, "mcpServers"), scope, trust);
    definition_.instructions = std::string(trim(parts_.body));
    if (definition_.instructions.size() > bounds_.instructions) {
      problem(parts_.header.size(), fmt::format("the instructions have more than {} bytes", bounds_.instructions),
              Severity::error);
    }
    return finish();
  }

 private:
  ReadDefinition finish() {
    ReadDefinition out;
    if (std::ranges::none_of(problems_, [](const auto& p) { return p.severity == Severity::error; })) {
      out.definition = std::move(definition_);
    }
    out.problems = std::move(problems_);
    return out;
  }

  static std::size_t place_of(const Member& member) { return member.place ? member.place->key : 0; }

  void problem(std::size_t offset, std::string message, Severity severity) {
    const auto at = positions_.at(offset);
    // The line of the mark comes before the first.
    problems_.push_back({file_, at.line + 1, at.column, std::move(message), {}, severity});
  }

  std::string text_of(const Member& top, std::string_view key, bool required) {
    const auto member = member_of(top, key);
    const auto text = member ? member.value->text() : std::nullopt;
    if (text && !trim(*text).empty()) return std::string(trim(*text));
    if (required || (member && !member.value->is_null() && !text)) {
      problem(place_of(member), fmt::format("\"{}\" {}", key, member ? "is not a text" : "is missing"),
              Severity::error);
    }
    return {};
  }

  // Nothing: it is not there. Names with parentheses are conditions on arguments, which nobody judges here.
  std::optional<std::vector<std::string>> names_of(const Member& top, std::string_view key, Severity conditions) {
    const auto member = member_of(top, key);
    if (!member || member.value->is_null()) return std::nullopt;
    std::vector<std::string> names;
    if (const auto text = member.value->text()) {
      names = split_names(*text);
    } else if (member.value->is_array()) {
      for (const auto& item : member.value->items()) {
        const auto name = item.text();
        if (!name) {
          problem(place_of(member), fmt::format("\"{}\" is a list of names", key), Severity::error);
          return names;
        }
        names.emplace_back(trim(*name));
      }
    } else {
      problem(place_of(member), fmt::format("\"{}\" is a list of names", key), Severity::error);
      return names;
    }
    if (names.size() > bounds_.names) {
      problem(place_of(member), fmt::format("\"{}\" has more than {} names", key, bounds_.names), Severity::error);
      names.resize(bounds_.names);
    }
    for (auto& name : names) {
      if (name.size() > longest_tool) {
        problem(place_of(member), fmt::format("a name in \"{}\" is longer than {} bytes", key, longest_tool),
                Severity::error);
      }
      const auto open = name.find('(');
      if (open == std::string::npos) continue;
      if (conditions == Severity::warning) {
        problem(place_of(member),
                fmt::format("{:?} is left out of \"{}\": conditions on arguments belong into permission rules",
                            clean_excerpt(name, longest_name), key),
                Severity::warning);
        name.clear();
      } else {
        name = std::string(trim(std::string_view(name).substr(0, open)));
      }
    }
    std::erase(names, "");
    return names;
  }

  void read_servers(const Member& servers, ConfigScope scope, ConfigTrust trust) {
    if (!servers || servers.value->is_null()) return;
    if (!servers.value->is_array()) {
      problem(place_of(servers), "\"mcpServers\" is a list of names and of entries under their names", Severity::error);
      return;
    }
    if (servers.value->size() > bounds_.names) {
      problem(place_of(servers), fmt::format("\"mcpServers\" has more than {} servers", bounds_.names),
              Severity::error);
      return;
    }
    auto& names = definition_.servers.emplace();
    for (std::size_t i = 0; i < servers.value->size(); ++i) {
      const auto& item = servers.value->items()[i];
      static const Place nowhere;
      const auto& place = i < servers.place->children.size() ? servers.place->children[i] : nowhere;
      if (const auto name = item.text(); name && !trim(*name).empty()) {
        names.emplace_back(trim(*name));
        continue;
      }
      if (!item.is_object() || item.size() != 1) {
        problem(place.value, "an item of \"mcpServers\" is a name, or one entry under its name", Severity::error);
        continue;
      }
      ConfigOrigin origin{.file = file_, .scope = scope, .trust = trust};
      auto parsed = parse_server_map(parts_.header, {&item, &place}, origin);
      for (auto& one : parsed.problems) {
        if (one.line > 0) ++one.line;
        problems_.push_back(std::move(one));
      }
      for (auto& server : parsed.servers) {
        if (server.origin.line > 0) ++server.origin.line;
        const auto same = [&](const ServerConfig& other) { return other.name == server.name; };
        if (std::ranges::any_of(definition_.own_servers, same)) {
          problem(place.value, fmt::format("there are two servers {:?}", server.name), Severity::error);
          continue;
        }
        definition_.own_servers.push_back(std::move(server));
      }
    }
  }

  const std::string& file_;
  const DefinitionBounds& bounds_;
  Parts parts_;
  PositionCounter positions_;
  AgentDefinition definition_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

ReadDefinition read_definition(std::string_view text, const std::string& file, ConfigScope scope, ConfigTrust trust,
                               const DefinitionBounds& bounds) {
  const auto fault = [&](std::string why) {
    ReadDefinition out;
    out.problems.push_back({file, 0, 0, std::move(why), {}, Severity::error});
    return out;
  };
  if (text.size() > bounds.bytes) return fault(fmt::format("it has more than {} bytes", bounds.bytes));
  // Strict, bounded, and says the line.
  if (const auto header = read_frontmatter(text); !header) return fault(header.error().message());
  if (!valid_utf8(text)) return fault("it is not UTF-8");
  return Reader(text, file, bounds).read(scope, trust);
}

AgentDefinition general_definition() {
  return {.name = "general-purpose",
          .description =
              "Works on a task of several steps by itself, with the tools that you have, and reports what "
              "came of it.",
          .instructions =
              "You work on one task for another agent. Nobody can answer questions: do what was asked as "
              "well as you can, and end with a report that has everything the other one needs to know, "
              "because it sees nothing else of your work."};
}

bool names_tool(std::string_view pattern, const CatalogEntry& entry, std::string_view server) {
  if (pattern == "*") return true;
  const ToolId id{std::string(server), entry.tool->name, entry.prefix};
  if (entry.prefix == NamePrefix::none) {
    for (const auto& alias : aliases) {
      if (pattern == alias.theirs && entry.tool->name == alias.ours) return true;
    }
    if (matches_wildcard(pattern, entry.tool->name)) return true;
  } else if (pattern == std::string(full_name_prefix) + std::string(server) ||
             pattern == std::string(full_name_prefix) + normalise_name(server)) {
    return true;  // the server whole
  }
  for (const auto rest : addressed_parts(pattern, server)) {
    if (rest == "*" || matches_wildcard(rest, entry.tool->name) ||
        matches_wildcard(rest, normalise_name(entry.tool->name))) {
      return true;
    }
  }
  if (pattern.starts_with(full_name_prefix) && pattern.contains('*') &&
      matches_wildcard(pattern, normalised_full_name(id))) {
    return true;
  }
  const auto spelling = spelling_of(pattern, {server, entry.tool->name, entry.prefix}, entry.name);
  return spelling && *spelling != Spelling::bare;
}

namespace {

bool any_names(const std::vector<std::string>& patterns, const CatalogEntry& entry, std::string_view server) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return names_tool(pattern, entry, server); });
}

bool names_server(std::string_view pattern, std::string_view server) {
  return pattern == std::string(full_name_prefix) + std::string(server) ||
         pattern == std::string(full_name_prefix) + normalise_name(server) || addresses_server(pattern, server);
}

}  // namespace

bool allows_own(const AgentDefinition& definition, const CatalogEntry& entry, std::string_view server) {
  if (any_names(definition.disallowed_tools, entry, server)) return false;
  if (!definition.tools || any_names(*definition.tools, entry, server)) return true;
  return std::ranges::none_of(*definition.tools,
                              [&](const std::string& pattern) { return names_server(pattern, server); });
}

bool allows(const AgentDefinition& definition, const CatalogEntry& entry) {
  if (any_names(definition.disallowed_tools, entry, entry.server)) return false;
  if (entry.prefix == NamePrefix::none || !definition.servers) {
    return !definition.tools || any_names(*definition.tools, entry, entry.server);
  }
  const auto named = std::ranges::find(*definition.servers, entry.server) != definition.servers->end();
  return named && allows_own(definition, entry, entry.server);
}

bool asks_for(const AgentDefinition& definition, std::string_view tool) {
  const auto is_it = [&](const std::string& name) { return name == tool; };
  return definition.tools && std::ranges::any_of(*definition.tools, is_it) &&
         std::ranges::none_of(definition.disallowed_tools, is_it);
}

}  // namespace patchbay
