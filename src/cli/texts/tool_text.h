// How a tool is shown to people: a line, its signature, a page, and the command that calls it. What a server says of
// it is shown escaped. Pure. Called by the commands that list, show and call tools.
#pragma once

#include <string>
#include <vector>

#include <patchbay/host.h>

#include "cli/texts/present.h"
#include "cli/texts/typed_where.h"

namespace patchbay::cli {

// Columns 0: nothing is cut that a person would read.
std::string tool_line(const CatalogEntry& entry, std::size_t name_width, std::size_t columns);
// With its arguments: mcp__files__move(from: string, to: string, force?: boolean), and below it what it does.
std::string tool_with_arguments(const CatalogEntry& entry, std::size_t columns);
// What is said where a search found nothing; with a line feed.
std::string nothing_found_text(std::string_view query);
// A tool's whole description, what its server claims of it, its arguments and a line that calls it.
std::string tool_page(const CatalogEntry& entry, TypedWhere where = TypedWhere::shell);

// The command that calls it: the words that were given (`arguments` is what they mean), and something of the right
// type for each required argument that is not among them.
std::string call_line(const CatalogEntry& entry, const std::vector<std::string>& given = {},
                      const Json& arguments = Json::object(), TypedWhere where = TypedWhere::shell);
// "add" needs a, b; missing: b, and the line to type. Empty when nothing is missing.
std::string missing_text(const CatalogEntry& entry, const std::vector<std::string>& given, const Json& arguments,
                         TypedWhere where = TypedWhere::shell);
// How many tools of this server there are to call, and how many are not among them because of rules.
ToolCount tools_of(const Catalog& catalog, const ServerStatus& status);

}  // namespace patchbay::cli
