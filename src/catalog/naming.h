// The names under which tools are shown to a model: mcp__<server>__<tool>, made of
// [A-Za-z0-9_-] and at most 64 characters, one distinct name per tool. The identity of
// a tool stays its (server, tool) pair exactly as declared; names are derived from the
// whole set at once and do not depend on the order in which servers answered.
// Pure: values in, values out. The catalog calls it; nothing ever splits a name to find
// out where a call goes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>

namespace patchbay {

inline constexpr std::size_t exposed_name_limit = 64;
inline constexpr std::string_view full_name_prefix = "mcp__";
inline constexpr std::string_view full_name_separator = "__";

// Each code point outside [A-Za-z0-9_-] becomes one '_'; each byte that is not part of
// UTF-8 as well.
std::string normalise_name(std::string_view text);
void append_normalised(std::string& out, std::string_view text);

// The full name before shortening and before collisions are settled.
std::string normalised_full_name(const ToolId& id);
// The full name spelled with the characters the server declared.
std::string original_full_name(const ToolId& id);

// What of `text` is behind a server's part in one spelling: of mcp__server__rest and of server/rest. Nothing when the
// text does not begin so.
std::optional<std::string_view> behind_server(std::string_view text, std::string_view spelling) noexcept;

// What `text` may name of this server: behind server/, behind mcp__server__ as declared, and as a model sees it. Each
// once, and none when the text does not address this server. The only answer to "is this text about that server?".
std::vector<std::string_view> addressed_parts(std::string_view text, std::string_view server);
bool addresses_server(std::string_view text, std::string_view server);

// One name per id, in the order of `ids`; equal ids get equal names.
//  - A name that is free and short enough is the normalised full name.
//  - Among ids that normalise to the same name, the only one that already was in normal
//    form keeps it; all the others get a hash of their original. Where two or more were
//    in normal form ("a" + "b__c", "a__b" + "c"), none may take the other's calls: all
//    get a hash.
//  - Longer names are cut and end in a hash.
// A hash depends only on its own id, so names stay the same from run to run.
std::vector<std::string> expose_names(std::span<const ToolId> ids);

// In how direct a way `text` names a tool; a smaller value is the better match.
enum class Spelling : std::uint8_t {
  exposed,     // the name the model sees
  path,        // server/tool
  original,    // mcp__server__tool with the characters as declared
  normalised,  // the full name before shortening or hashing
  bare,        // the tool's own name, whatever its server
};

// A ToolId that belongs to somebody else.
struct ToolName {
  std::string_view server;
  std::string_view tool;
  NamePrefix prefix = NamePrefix::server;
};

std::optional<Spelling> spelling_of(std::string_view text, const ToolName& id, std::string_view exposed);

}  // namespace patchbay
