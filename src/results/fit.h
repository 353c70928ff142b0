// What a model is given of a result: its texts, cleaned; its structured content as well, unless the text is the same
// JSON; images that a model's API takes; a line for everything else. First all of it (draft_of), then what fits: whole,
// or shortened with a handle, or cut. Pure; any thread, but not a loop's: a large result takes its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/results.h>
#include <patchbay/types.h>

namespace patchbay {

// What APIs of models take; a request with more is refused as a whole.
struct ImageLimits {
  std::uint32_t side = 8000;       // pixels
  std::uint32_t side_many = 2000;  // of each, when there are more than `few`
  std::size_t few = 20;
  std::size_t most = 100;
  std::size_t bytes = 5u << 20;       // of one, as base64
  std::size_t bytes_all = 16u << 20;  // of all
};

struct TextBudget {
  std::uint64_t tokens = 25'000;            // MAX_MCP_OUTPUT_TOKENS
  std::optional<std::uint64_t> characters;  // of a tool that asks for another one (anthropic/maxResultSizeChars)
  std::uint64_t remark = 10'000;            // tokens beyond which the user hears of it
};

// Four bytes each: what is known of the tokens of an API that does not say how it counts.
std::uint64_t tokens_of(std::uint64_t bytes) noexcept;

// What a tool asks for in its `_meta`, at most 500,000.
std::optional<std::uint64_t> asked_characters(const Json& tool_meta);

struct ModelDraft {
  std::vector<ModelBlock> blocks = {};  // texts as they were sent, each between two images in one piece
  std::string structured = {};          // as JSON; empty: there is none, or the text is the same
  bool is_error = false;
  std::vector<std::size_t> not_shown = {};  // blocks of the result that only a line stands for; at most `most_listed`
  std::uint64_t text_bytes = 0;             // of all texts and `structured`
};

// What an image was made to, so that a model takes it (scaling.h); by its place in the content.
struct ScaledImage {
  std::string data = {};  // base64
  std::string mime_type = {};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const ScaledImage&) const = default;
};
using ScaledImages = std::map<std::size_t, ScaledImage>;

// The base64 of a block that is an image; null for every other.
const std::string* image_data(const Content& block) noexcept;

ModelDraft draft_of(const CallToolResult& result, const ImageLimits& limits = {}, const ScaledImages& scaled = {});

bool fits(const ModelDraft& draft, const TextBudget& budget) noexcept;

// All of it. `handle`: of the kept result, when not everything is shown.
ModelResult whole(ModelDraft draft, const TextBudget& budget, std::string_view tool, std::string_view handle);

// Of one that is kept: what it is, its shape, how to go on and how its texts begin.
struct KeptAs {
  std::string handle = {};
  std::string outline = {};  // of its value; empty: it is a text
  std::string reading = {};  // ResultOptions::reading
};
ModelResult shortened(ModelDraft draft, std::string_view tool, const KeptAs& kept);

// Of one that is not: as much as fits, and why.
ModelResult cut(ModelDraft draft, const TextBudget& budget, std::string_view tool, std::string_view why);

}  // namespace patchbay
