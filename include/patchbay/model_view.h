// What a model API is given of the tools: each under its name, with a description and a schema as that API accepts
// them, and all of them as one list (ToolPool) for the tools of a request. The catalog keeps what servers sent; only
// these views change what an API would refuse, one tool at a time and with the reason. A program that talks to a model
// calls this; Patchbay itself sends nothing to one here. Pure: values in, values out; any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/types.h>

namespace patchbay {

enum class ModelApi : std::uint8_t {
  anthropic,         // Messages
  openai_chat,       // chat completions
  openai_responses,  // responses
  gemini,            // generateContent
  local,             // chat completions of llama.cpp, LM Studio and others that make a grammar of all tools
};
std::string_view to_string(ModelApi api) noexcept;

// The longest description of a tool and the longest instructions of a server, in characters.
inline constexpr std::size_t longest_model_text = 2048;

struct ModelTool {
  std::string name;                          // what the model calls it
  std::string catalog_name;                  // what Host::call takes; empty: one of the program's own
  std::string description;                   // cleaned, at most longest_model_text characters, never empty
  std::shared_ptr<const Json> input_schema;  // the server's own where nothing had to be changed; never null
  std::vector<std::string> changes;          // what the API would have refused, and what was done about it

  bool operator==(const ModelTool& other) const;
};

struct ToolLeftOut {
  std::string name;  // in the catalog
  std::string reason;
  bool operator==(const ToolLeftOut&) const = default;
};

// What servers say about themselves to a model (ServerDescription::instructions).
struct ServerInstructions {
  std::string server;
  std::string text;
  bool operator==(const ServerInstructions&) const = default;
};

// False for a tool that its server made for the user interface alone (MCP Apps: _meta.ui.visibility without "model").
bool is_for_model(const Tool& tool) noexcept;

// One tool. Errc::unsupported with the reason when this API cannot have it.
Result<ModelTool> view_tool(const CatalogEntry& entry, ModelApi api);

// Everything a request needs from the servers, as one snapshot. The same input gives the same bytes.
struct ToolPool {
  std::vector<ModelTool> tools;  // the program's own first, then those of servers; both sorted bytewise by name
  std::size_t own = 0;           // so many are the program's own: a cache breakpoint belongs after them
  std::vector<ToolLeftOut> left_out;
  std::vector<ServerInstructions> instructions;  // cleaned and cut, sorted by server; none that are empty

  const ModelTool* find(std::string_view name) const noexcept;
  bool operator==(const ToolPool&) const = default;
};

// A name is given once: the program's own tools keep theirs.
ToolPool make_tool_pool(std::span<const Tool> own, const Catalog& catalog,
                        std::span<const ServerInstructions> instructions, ModelApi api);

// One element of the request's tools, as the API spells it.
Json to_json(const ModelTool& tool, ModelApi api);
// The value of `tools` in a request; for Gemini what is in `functionDeclarations`. For Anthropic the last of the
// program's own tools has the cache breakpoint.
Json to_json(const ToolPool& pool, ModelApi api);

}  // namespace patchbay
