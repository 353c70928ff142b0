// `patchbay tools [SERVER]`: every tool under its name, and how its server is.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "cli/context.h"
#include "cli/texts/present.h"
#include "cli/texts/tool_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {

namespace {

void print_tools(Context& context, const std::string& only) {
  const auto catalog = context.host.catalog();
  std::size_t width = 0;
  for (const auto& entry : catalog->tools()) width = std::max(width, entry.name.size());
  for (const auto& status : context.statuses()) {
    if (!only.empty() && status.name != only) continue;
    auto shown = status;
    const bool failed = status.state == ServerState::failed || status.state == ServerState::needs_auth;
    if (context.told.contains(status.name)) shown.error.reset();
    ShownFailure failure;
    if (failed && shown.error) {
      context.told.emplace(status.name, *shown.error);
      failure = shown_failure(status.name, status.origin.scope, *shown.error);
      shown.error = shown.error->with_message(failure.cause);
    }
    print_lines(context.io, status_line(shown, context.io.color, tools_of(*catalog, status)) + "\n" + failure.below);
    for (const auto& entry : catalog->tools()) {
      if (entry.server != status.name) continue;
      const auto columns = out_columns(context.io);
      print_lines(context.io,
                  (only.empty() ? tool_line(entry, width, columns) : tool_with_arguments(entry, columns)) + "\n");
    }
  }
}

bool is_server(const Context& context, const std::string& word) {
  return std::ranges::any_of(context.statuses(), [&](const ServerStatus& status) { return status.name == word; });
}

// Everything about one tool, so that it can be called without guessing.
Task<int> show_tool(Context& context, std::string word) {
  context.waiting.begin(fmt::format("looking for {}", word));
  auto entry = co_await context.host.find_tool(word);
  context.waiting.end();
  if (context.settings.json) {
    context.print_json(tool_json(entry));
  } else {
    print_lines(context.io, tool_page(entry));
  }
  co_return 0;
}

// A word that is not a server: a tool of one, or a slip.
Task<int> show_named(Context& context, std::string word) {
  auto shown = co_await as_result(show_tool(context, word));
  if (shown) co_return *shown;
  if (shown.error().code() != Errc::invalid_argument) throw shown.error();
  std::vector<std::string> names;
  for (const auto& status : context.statuses()) names.push_back(status.name);
  const bool none = names.empty();
  for (const auto& entry : context.host.catalog()->tools()) names.push_back(entry.tool->name);
  // Several tools of that name: the error names them.
  if (std::ranges::find(names, word) != names.end()) throw shown.error();
  const auto meant = nearest(word, names);
  throw Error(Errc::invalid_argument, fmt::format("there is no server and no tool called \"{}\"{}", safe_name(word, 80),
                                                  !meant.empty() ? fmt::format("; did you mean \"{}\"?", meant)
                                                  : none ? "; no server is configured (to add one: patchbay add)"
                                                         : "; to list all tools: patchbay tools"));
}

}  // namespace

Task<int> tools(Context& context) {
  const auto only = context.settings.words.empty() ? std::string() : context.settings.words.front();
  const bool names_tool = only.find('/') != std::string::npos || only.starts_with("mcp__");
  if (!only.empty() && names_tool && !is_server(context, only)) co_return co_await show_tool(context, only);
  // As for `call`, a bare name will do for a tool.
  if (!only.empty() && !is_server(context, only)) co_return co_await show_named(context, only);
  if (only.empty()) {
    co_await start_servers(context, "");
  } else {
    // How many of its tools are denied is a part of the answer.
    co_await start_to_look(context, only);
  }
  if (context.settings.json) {
    context.print_json(tools_json(context.statuses(), *context.host.catalog(), only));
  } else {
    print_tools(context, only);
    if (context.statuses().empty()) context.io.talk(no_servers_text());
  }
  co_return listing_exit_code(context, only);
}

// `patchbay`: what is here and what to type next.
Task<int> overview(Context& context) {
  co_await start_servers(context, "");
  if (context.settings.json) {
    context.print_json(tools_json(context.statuses(), *context.host.catalog(), ""));
    co_return listing_exit_code(context, "");
  }
  print_tools(context, "");
  if (context.session) print_lines(context.io, "\n" + context.session->line);
  const auto catalog = context.host.catalog();
  std::string next = "\nNext:\n";
  const CatalogEntry* shown = nullptr;
  for (const auto& entry : catalog->tools()) {
    const bool reads = only_reads(*entry.tool);
    if (reads && (!shown || entry.tool->name == "list_dir")) shown = &entry;
  }
  if (!shown && !catalog->empty()) shown = &catalog->tools().front();
  if (shown) {
    next += fmt::format("  {}\n", call_line(*shown));
  }
  if (!catalog->empty()) {
    next += "  patchbay tools --json\n";
    next += "  patchbay chat      a model that uses these tools\n";
  }
  if (context.host.config().servers.empty()) next += "  patchbay add NAME -- COMMAND    (or: patchbay add NAME URL)\n";
  std::vector<std::string> pending;
  for (const auto& status : context.statuses()) {
    if (awaits_approval(status)) pending.push_back(status.name);
  }
  if (!pending.empty()) {
    next += fmt::format("  patchbay approve{}      approve servers of this project; to list them: patchbay list\n",
                        shell_operands(pending));
  }
  const bool failed = std::ranges::any_of(context.statuses(), [](const ServerStatus& status) {
    return status.state == ServerState::failed || status.state == ServerState::needs_auth;
  });
  if (failed) next += "  patchbay doctor      find out why servers failed\n";
  if (catalog->empty() && pending.empty() && !failed && !context.statuses().empty()) {
    next += "  patchbay list      why no server is used, and what changes that\n";
  }
  next += "  patchbay --help\n";
  print_lines(context.io, next);
  co_return listing_exit_code(context, "");
}

}  // namespace patchbay::cli
