// From the words of `add` and `add-json` to an entry as it is written into a file. Pure: what to ask
// and where to write is decided by the commands. The words are those people paste from a vendor's page.
#pragma once

#include <string>
#include <vector>

#include <patchbay/config.h>

#include "cli/settings.h"

namespace patchbay::cli {

struct NewEntry {
  std::string name;
  Json entry;                      // an object
  ServerConfig server;             // the same, read: origin and standing are not filled in
  std::vector<std::string> notes;  // what was ignored, assumed or looks wrong
};

// Why no server may be added under this name; empty when it may.
std::string new_name_fault(std::string_view name);

// `variables` are looked at for MCP_OAUTH_CALLBACK_PORT. Errors are Errc::invalid_argument.
Result<NewEntry> entry_from_words(const Settings& settings, const VariableLookup& variables);
Result<NewEntry> entry_from_json(const std::string& name, std::string_view json);

// The command line or the URL, secrets hidden, for one line.
std::string shown_target(const ServerConfig& server);
// The entry as it may be shown: variables as they are written, secrets hidden. What decides which code runs is
// shown in any case, and of an entry that a repository brought along all that is no secret.
Json shown_entry(const ServerConfig& server);
// What else an entry says beside its command line or URL, a line for each: what somebody who is asked about it
// must have seen. What can change which code runs comes last, next to the question.
std::vector<std::string> shown_details(const ServerConfig& server);
// Both, for one that is told of beside another: a line each that begins with `indent`, the details further in.
std::string shown_whole(const ServerConfig& server, std::string_view indent);

}  // namespace patchbay::cli
