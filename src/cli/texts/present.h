// How results look: JSON for scripts, text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include <patchbay/host.h>

#include "cli/texts/typed_where.h"

namespace patchbay::cli {

Json status_json(const ServerStatus& status);
// What a server wrote (cli/known_secrets has looked at it); null when there is nothing.
Json detail_json(std::string_view detail);
Json tools_json(const std::vector<ServerStatus>& servers, const Catalog& catalog, const std::string& only_server);
Json tool_json(const CatalogEntry& entry);
Json error_json(const Error& error);
// What a server listed, with the server's name in front.
Json with_server(const std::string& server, const Json& item);
Json prompt_json(const std::string& server, const Prompt& prompt);
// Lines of listings; of a description at most `room` bytes.
std::string prompt_line(const std::string& server, const Prompt& prompt, std::size_t room);
std::string resource_line(const Resource& resource, std::size_t room);
std::string resource_line(const ResourceTemplate& pattern, std::size_t room);

// What a server says, as one line, safe for a terminal.
std::string safe_line(std::string_view text, std::size_t max_width);
// A name or a path on one line: what does not show itself is written out, so that two that differ look different.
std::string safe_name(std::string_view name, std::size_t max_width);
// A problem of a file, whatever of the file it quotes.
std::string problem_text(const ConfigProblem& problem);
// A message of ours with words of others in it: what does not show itself is written out, and lines behind the first
// are indented, so that none of them can be taken for another message.
std::string message_text(std::string_view message);
// The same on one line.
std::string message_line(std::string_view message, std::size_t max_width);
// A message and what else there is to say: "; " between them, and a new sentence after a question.
std::string continued(std::string message, std::string_view more);
// JSON for stdout: as little as possible for programs, and for a terminal what people can read and it cannot misread.
std::string json_text(const Json& value, bool terminal);
// JSON with everything a terminal could misread written as \u escapes; the value is the same.
std::string safe_json(std::string_view json);
// The project declares it, and nobody approved or rejected it.
bool awaits_approval(const ServerStatus& status);
// How many of a server's tools are listed, and why not all.
struct ToolCount {
  std::size_t listed = 0;
  std::size_t denied = 0;  // by rules
};
// What to say where no server is declared; with a line feed.
std::string no_servers_text(TypedWhere where = TypedWhere::shell);
// Says which servers of the project need approval, and how to give it; with a line feed.
std::string approval_line(const std::vector<std::string>& servers);
std::string status_line(const ServerStatus& status, bool color, ToolCount tools);
// Untrusted lines, each behind a bar.
std::string indented(std::string_view text);
std::string error_text(const Error& error);

// Of what a server wrote before it ended, the line that says why: the first that names an error, else the last.
std::string cause_line(std::string_view detail);
// The command that shows what a server wrote.
std::string log_words(const std::string& server, TypedWhere where = TypedWhere::shell);

// Why a server failed where others are listed beside it: on one line, and below it what the server wrote, when that is
// short, and where to see all of it. What only flags declare has no entry that another command would find.
struct ShownFailure {
  std::string cause;
  std::string below;
};
ShownFailure shown_failure(const std::string& server, ConfigScope scope, const Error& error,
                           TypedWhere where = TypedWhere::shell);

// Text of several lines for a terminal of so many columns: what is longer goes on below, indented more. 0: as it is.
std::string wrapped_lines(std::string_view text, std::size_t columns);

}  // namespace patchbay::cli
