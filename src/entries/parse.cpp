#include "entries/parse.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "json/kind_text.h"
#include "text/report.h"

namespace patchbay {
namespace {

struct Servers {
  ConfigDocument::Member map;
  bool bare = false;
};

// Which object of the file holds the servers; nothing after a problem was reported.
std::optional<Servers> find_servers(const ConfigDocument& document, ServerMap map, ConfigReport& report) {
  const auto* top = document.root.if_object();
  if (top == nullptr) {
    report.error(document.place.value, fmt::format("expected an object with \"mcpServers\", found {}; {}",
                                                   kind_with_article(document.root), fix_the_file));
    return std::nullopt;
  }
  if (auto servers = member_of(document.top(), "mcpServers")) {
    if (servers.value->is_object()) return Servers{servers, false};
    report.error(servers.place->value, fmt::format("\"mcpServers\" must be an object, found {}; {}",
                                                   kind_with_article(*servers.value), fix_the_file));
    return std::nullopt;
  }
  if (map == ServerMap::wrapped) return std::nullopt;
  std::size_t i = 0;
  for (const auto& [key, value] : *top) {
    const auto& member = document.place.children[i++];
    // A server may be called "servers"; a map of servers has no command of its own.
    bool entry = value.find("command") != nullptr || value.find("type") != nullptr || value.find("url") != nullptr;
    if (key == "servers" && !entry) {
      report.error(member.key, "\"servers\" is not read here; rename it to \"mcpServers\"");
      return std::nullopt;
    }
    if (!entry && edit_distance(to_lower_ascii(key), "mcpservers", 2) <= 2) {
      report.error(member.key, fmt::format("{} is not read; did you mean \"mcpServers\"?", quoted_name(key)));
      return std::nullopt;
    }
  }
  if (map == ServerMap::wrapped_or_bare) return Servers{document.top(), true};
  report.error(document.place.value, "\"mcpServers\" is missing; put the servers into an object with this name");
  return std::nullopt;
}

void read_map(const Servers& servers, const ConfigOrigin& origin, ConfigReport& report, ParsedServers& out) {
  std::size_t i = 0;
  for (const auto& [name, value] : *servers.map.value->if_object()) {
    ConfigDocument::Member at{&value, &servers.map.place->children[i++]};
    if (servers.bare && name.starts_with('$')) continue;  // "$schema"
    if (auto server = read_entry(name, at, origin, report, out.uses)) {
      out.servers.push_back(std::move(*server));
    } else {
      auto where = origin;
      auto [line, column] = report.position(at.place->key);
      where.line = line;
      where.column = column;
      out.broken.push_back({std::string(name), std::move(where), std::move(server).error(), true});
    }
  }
}

}  // namespace

ParsedServers parse_servers(std::string_view text, const ConfigOrigin& origin, ServerMap map) {
  ParsedServers out;
  auto document = read_document(text, origin.file, "an object with \"mcpServers\"");
  if (!document) {
    out.problems.push_back(std::move(document).error());
    return out;
  }
  ConfigReport report(text, origin.file, out.problems);
  if (auto servers = find_servers(*document, map, report)) read_map(*servers, origin, report, out);
  return out;
}

ParsedServers parse_server_map(std::string_view text, const ConfigDocument::Member& map, const ConfigOrigin& origin) {
  ParsedServers out;
  ConfigReport report(text, origin.file, out.problems);
  if (map.value->is_object()) {
    read_map({map, false}, origin, report, out);
  } else {
    report.error(map.place->value, fmt::format("\"mcpServers\" must be an object, found {}; {}",
                                               kind_with_article(*map.value), fix_the_file));
  }
  return out;
}

}  // namespace patchbay
