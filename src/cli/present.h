// How results look: JSON for scripts, text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include <patchbay/host.h>

namespace patchbay::cli {

Json status_json(const ServerStatus& status);
// What a server wrote, for programs and their logs: without secrets; null when there is nothing.
Json detail_json(std::string_view detail);
Json tools_json(const std::vector<ServerStatus>& servers, const Catalog& catalog, const std::string& only_server);
Json tool_json(const CatalogEntry& entry);
Json error_json(const Error& error);
// What a server listed, with the server's name in front.
Json with_server(const std::string& server, const Json& item);

// What a server says, as one line or as a block, safe for a terminal.
std::string safe_line(std::string_view text, std::size_t max_width);
// JSON with everything a terminal could misread written as \u escapes; the value is the same.
std::string safe_json(std::string_view json);
// Names for a line that may be pasted, one blank before each: one word each, whatever a file says, and clean.
std::string operands(const std::vector<std::string>& names);
// `shown`: how many of its tools may be seen.
std::string status_line(const ServerStatus& status, bool color, std::size_t shown);
std::string tool_line(const CatalogEntry& entry, std::size_t name_width, std::size_t width);
// A tool's whole description and its arguments.
std::string tool_page(const CatalogEntry& entry);
// Untrusted lines, each behind a bar.
std::string indented(std::string_view text);
std::string error_text(const Error& error);

}  // namespace patchbay::cli
