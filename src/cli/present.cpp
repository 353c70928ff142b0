#include "cli/present.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "protocol/clean_text.h"
#include "protocol/codec.h"

namespace patchbay::cli {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? encode(*value) : Json();
}

std::string paint(std::string_view text, std::string_view code, bool color) {
  return color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

Json status_json(const ServerStatus& status) {
  const bool connected = status.server.has_value();
  return {{"name", status.name},
          {"state", to_string(status.state)},
          {"reason", status.reason},
          {"era", status.era.empty() ? Json() : Json(status.era)},
          {"protocolVersion", connected ? Json(status.server->protocol_version) : Json()},
          {"serverInfo", connected ? encode(status.server->info) : Json()},
          {"toolCount", status.tool_count},
          {"error", status.error ? Json(status.error->message()) : Json()}};
}

Json tools_json(const std::vector<ServerStatus>& servers, const Catalog& catalog, const std::string& only_server) {
  Json server_list = Json::array();
  for (const auto& status : servers) {
    if (only_server.empty() || status.name == only_server) server_list.push_back(status_json(status));
  }
  Json tool_list = Json::array();
  for (const auto& entry : catalog.tools()) {
    if (!only_server.empty() && entry.server != only_server) continue;
    const auto& tool = *entry.tool;
    tool_list.push_back(Json{{"name", entry.name},
                             {"server", entry.server},
                             {"tool", tool.name},
                             {"description", tool.description ? Json(*tool.description) : Json()},
                             {"inputSchema", tool.input_schema},
                             {"annotations", or_null(tool.annotations)}});
  }
  return {{"servers", std::move(server_list)}, {"tools", std::move(tool_list)}};
}

Json error_json(const Error& error) {
  Json detail = error.detail().empty() ? Json() : Json(error.detail());
  Json body{{"code", to_string(error.code())}, {"message", error.message()}, {"detail", std::move(detail)}};
  if (error.rpc_code()) body["rpcCode"] = *error.rpc_code();
  if (!error.rpc_data().empty()) {
    if (auto data = parse_json(error.rpc_data())) body["rpcData"] = std::move(*data);
  }
  return {{"error", std::move(body)}};
}

std::string safe_line(std::string_view text, std::size_t max_width) {
  auto line = clean_line(text);
  if (line.size() <= max_width) return line;
  return fmt::format("{}…", cut_utf8(line, max_width - 1));
}

std::string status_line(const ServerStatus& status, bool color) {
  std::string line = fmt::format("{}  ", safe_line(status.name, 60));
  switch (status.state) {
    case ServerState::connected:
      line += paint("connected", "32", color);
      line += fmt::format("  {}", plural(status.tool_count, "tool"));
      if (status.server) {
        line += fmt::format("  ({}{}{}, revision {})", safe_line(status.server->info.name, 40),
                            status.server->info.version.empty() ? "" : " ", safe_line(status.server->info.version, 20),
                            status.server->protocol_version);
      }
      break;
    case ServerState::failed:
      line += paint("failed", "31", color);
      break;
    default:
      line += paint(to_string(status.state), "33", color);
  }
  if (!status.reason.empty() && status.state != ServerState::failed) line += fmt::format("  {}", status.reason);
  if (status.error && status.state != ServerState::pending)
    line += fmt::format("  {}", safe_line(status.error->message(), 400));
  return line;
}

std::string tool_line(const CatalogEntry& entry, std::size_t name_width, std::size_t width) {
  std::string hints;
  if (const auto& annotations = entry.tool->annotations) {
    if (annotations->read_only_hint == true) hints += " (readOnly)";
    if (annotations->destructive_hint == true) hints += " (destructive)";
  }
  auto text = entry.tool->description.value_or(fmt::format("MCP tool {} from {}", entry.tool->name, entry.server));
  const std::size_t used = name_width + 4 + hints.size();
  const std::size_t room = width > used + 20 ? width - used : 20;
  return fmt::format("  {:<{}}  {}{}", entry.name, name_width, safe_line(text, room), hints);
}

std::string error_text(const Error& error) {
  std::string text = fmt::format("patchbay: {}\n", clean_for_display(error.message()));
  if (!error.detail().empty()) {
    auto detail = clean_for_display(error.detail());
    for (auto line : split(trim(detail), '\n')) text += fmt::format("  | {}\n", line);
  }
  return text;
}

}  // namespace patchbay::cli
