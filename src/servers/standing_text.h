// Why a declared server is not used, in words for people: ServerConfig::reason. Pure; settle.h decides, merge.h asks.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <patchbay/config.h>

#include "servers/settle.h"

namespace patchbay {

// "local entry in /p/.mcp.json:3"
std::string entry_at(const ConfigOrigin& origin);
// What two entries of one server have in common.
std::string_view common_part(const ServerConfig& server) noexcept;

// Of entries[at]; empty for one that is used.
std::string standing_text(std::span<const DeclaredEntry> entries, std::size_t at, const EntryAnswers& answers,
                          const Standing& standing, const VariableLookup& variables);

// What would make it active, where a program can offer that: ServerConfig::remedy.
std::optional<Remedy> standing_remedy(const ServerConfig& server, const Standing& standing);

// "approved by enableAllProjectMcpServers in /home/me/.claude/settings.json:2"; empty for an answer.
std::string decided_text(std::string_view done, const StandingBy& by);

}  // namespace patchbay
