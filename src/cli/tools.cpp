// `patchbay tools [SERVER]`: every tool under its name, and how its server is.
#include <algorithm>

#include <fmt/format.h>

#include "cli/context.h"
#include "cli/present.h"

namespace patchbay::cli {

namespace {

void print_tools(Context& context, const std::string& only) {
  const auto catalog = context.host.catalog();
  std::size_t width = 0;
  for (const auto& entry : catalog->tools()) width = std::max(width, entry.name.size());
  for (const auto& status : context.host.status()) {
    if (!only.empty() && status.name != only) continue;
    auto shown = status;
    const bool failed = status.state == ServerState::failed || status.state == ServerState::needs_auth;
    if (failed && context.told.contains(status.name)) shown.error.reset();
    context.io.out(status_line(shown, context.io.color) + "\n");
    if (failed && shown.error) {
      context.told.emplace(status.name, shown.error->message());
      if (!shown.error->detail().empty()) context.io.out(indented(shown.error->detail()));
    }
    for (const auto& entry : catalog->tools()) {
      if (entry.server == status.name) context.io.out(tool_line(entry, width, context.io.width()) + "\n");
    }
  }
}

bool is_server(const Context& context, const std::string& word) {
  return std::ranges::any_of(context.host.status(), [&](const ServerStatus& status) { return status.name == word; });
}

// Everything about one tool, so that it can be called without guessing.
Task<int> show_tool(Context& context, std::string word) {
  context.waiting.begin(fmt::format("looking for {}", word));
  auto entry = co_await context.host.find_tool(word);
  context.waiting.end();
  if (context.settings.json) {
    context.print_json(tool_json(entry));
  } else {
    context.io.out(tool_page(entry));
  }
  co_return 0;
}

}  // namespace

Task<int> tools(Context& context) {
  const auto only = context.settings.words.empty() ? std::string() : context.settings.words.front();
  const bool names_tool = only.find('/') != std::string::npos || only.starts_with("mcp__");
  if (!only.empty() && names_tool && !is_server(context, only)) co_return co_await show_tool(context, only);
  co_await start_servers(context, only);
  if (context.settings.json) {
    context.print_json(tools_json(context.host.status(), *context.host.catalog(), only));
  } else {
    print_tools(context, only);
    if (context.host.status().empty()) {
      context.io.talk("No server is configured. Run `patchbay --help` for how to name one.\n");
    }
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
