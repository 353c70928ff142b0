// `patchbay tools [SERVER]`: every tool under its name, and how its server is.
#include <algorithm>

#include <fmt/format.h>

#include "cli/context.h"
#include "cli/present.h"

namespace patchbay::cli {

void print_tools(Context& context, const std::string& only) {
  const auto catalog = context.host.catalog();
  std::size_t width = 0;
  for (const auto& entry : catalog->tools()) width = std::max(width, entry.name.size());
  for (const auto& status : context.host.status()) {
    if (!only.empty() && status.name != only) continue;
    context.io.out(status_line(status, context.io.color) + "\n");
    for (const auto& entry : catalog->tools()) {
      if (entry.server == status.name) context.io.out(tool_line(entry, width, 118) + "\n");
    }
  }
}

Task<int> tools(Context& context) {
  const auto only = context.settings.words.empty() ? std::string() : context.settings.words.front();
  co_await start_servers(context, only);
  if (context.settings.json) {
    context.print_json(tools_json(context.host.status(), *context.host.catalog(), only));
  } else {
    print_tools(context, only);
    if (context.host.status().empty())
      context.io.talk("No server is configured. Run `patchbay --help` for how to name one.\n");
  }
  co_return listing_exit_code(context, only);
}

// `patchbay`: what is here and what to type next.
Task<int> overview(Context& context) {
  co_await start_servers(context, "");
  if (context.settings.json) {
    context.print_json(tools_json(context.host.status(), *context.host.catalog(), ""));
    co_return listing_exit_code(context, "");
  }
  print_tools(context, "");
  const auto catalog = context.host.catalog();
  std::string next = "\nNext:\n";
  const CatalogEntry* shown = nullptr;
  for (const auto& entry : catalog->tools()) {
    const bool reads = entry.tool->annotations && entry.tool->annotations->read_only_hint == true;
    if (reads && (!shown || entry.tool->name == "list_dir")) shown = &entry;
  }
  if (!shown && !catalog->empty()) shown = &catalog->tools().front();
  if (shown) {
    std::string arguments;
    if (const auto* required = shown->tool->input_schema["required"].if_array()) {
      for (const auto& name : *required) {
        if (const auto* text = name.if_string()) arguments += fmt::format(" {}=...", safe_line(*text, 30));
      }
    }
    next += fmt::format("  patchbay call {}{}\n", shown->name, arguments);
  }
  next += "  patchbay tools --json\n";
  bool pending = false;
  for (const auto& status : context.host.status()) pending |= status.state == ServerState::pending;
  if (pending) next += "  patchbay --trust-project      starts the servers this project brings along\n";
  if (context.host.config().servers.empty()) {
    next +=
        "  patchbay --mcp-config '{\"name\":{\"command\":\"your-server\"}}' tools\n"
        "  or declare servers in .mcp.json: {\"mcpServers\":{\"name\":{\"command\":\"your-server\",\"args\":[]}}}\n";
  }
  next += "  patchbay --help\n";
  context.io.out(next);
  co_return listing_exit_code(context, "");
}

}  // namespace patchbay::cli
