// `patchbay search QUERY`: the tools of all servers that do what the words say, the best first, as `tools SERVER` shows
// them.
#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/search/tool_query.h"
#include "cli/context.h"
#include "cli/texts/present.h"
#include "cli/texts/tool_text.h"

namespace patchbay::cli {

Task<int> search(Context& context) {
  const auto query = join(context.settings.words, " ");
  (void)co_await start_servers(context, "");
  const auto catalog = context.host.catalog();
  ToolIndexes indexes;
  const auto matches =
      match_tools(*catalog, indexes.of(catalog), query, context.settings.limit.value_or(usual_results));
  if (context.settings.json) {
    Json tools = Json::array();
    for (const auto* entry : matches.tools) tools.push_back(tool_json(*entry));
    Json unknown = Json::array();
    for (const auto& name : matches.unknown) unknown.push_back(name);
    context.print_json(
        {{"servers", servers_json(context, "")}, {"tools", std::move(tools)}, {"unknown", std::move(unknown)}});
    co_return listing_exit_code(context, "");
  }
  for (const auto* entry : matches.tools) {
    print_lines(context.io, tool_with_arguments(*entry, out_columns(context.io)) + "\n");
  }
  for (const auto& name : matches.unknown) {
    context.io.talk(fmt::format("patchbay: there is no tool called \"{}\"\n", safe_name(name, 80)));
  }
  if (matches.tools.empty() && matches.unknown.empty()) {
    if (context.statuses().empty()) {
      context.io.talk(no_servers_text());
    } else {
      const Error none(Errc::invalid_argument, std::string(trim(nothing_found_text(query))));
      context.io.talk(message_text(with_failures(context, none).message()) + "\n");
    }
  }
  co_return listing_exit_code(context, "");
}

}  // namespace patchbay::cli
