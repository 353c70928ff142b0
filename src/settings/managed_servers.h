// Servers that an organisation's settings file declares ("managedMcpServers"), beside what else there is: http and sse
// over https, written out without variables. Pure; load calls it for files of the organisation alone.
#pragma once

#include <string>
#include <string_view>

#include "entries/parse.h"

namespace patchbay {

// An entry that is not so is broken, and keeps its name from everybody else. Nothing when the file has no such key.
ParsedServers managed_servers(std::string_view text, const std::string& file);

}  // namespace patchbay
