// Lists and contents of servers as a model is given them: cleaned, in bounds, with what was left out said and how to
// get it. The bytes of a resource are changed here and nowhere before. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/model_view.h>
#include <patchbay/status.h>
#include <patchbay/types.h>

#include "catalog/search/tool_query.h"

namespace patchbay {

// Most bytes of one list, of the tools that a search returns, and of what is not text.
inline constexpr std::size_t longest_list = 50'000;
inline constexpr std::size_t longest_found = 400'000;
inline constexpr std::size_t longest_blob = 5u << 20;  // of base64

// A server that could not be asked, and why, for whoever searches: what is looked for may be its.
Json server_away_json(const ServerStatus& status);
// Whether it is worth telling: it is connecting, has failed, wants a sign-in or awaits approval. One that is disabled
// or rejected is not.
bool is_away(const ServerStatus& status) noexcept;
Json servers_away_json(const std::vector<ServerStatus>& statuses);

// The answer of tool_search. Takes out of `matches` what does not fit: the model does not have these.
CallToolResult found_tools(ToolMatches& matches, const std::vector<ServerStatus>& statuses, ModelApi api);

struct ServerResources {
  std::string server;
  std::vector<Resource> resources;
  std::vector<ResourceTemplate> templates;
  std::string problem = {};  // why there are none, or only those of before
};
// From the `first` on, counted through resources and then templates of all servers.
CallToolResult listed_resources(const std::vector<ServerResources>& all, const std::vector<ServerStatus>& statuses,
                                std::size_t first);

struct ServerSkill;
// Those that nobody has rejected, in bounds.
CallToolResult listed_skills(const std::vector<ServerSkill>& all);

// One content after the other: text from byte `offset` on, at most `longest` bytes of all of them together; images and
// sound as such; of everything else, what it is.
std::vector<Content> contents_for_model(const std::vector<ResourceContents>& contents, std::size_t offset,
                                        std::size_t longest);

}  // namespace patchbay
