#include <algorithm>

#include <fmt/format.h>

#include <patchbay/model_view.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "catalog/model_tool.h"
#include "catalog/naming.h"
#include "catalog/schema_view.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// How much of the description is kept for a schema that had to be put there.
constexpr std::size_t least_for_schema = longest_model_text / 2;
constexpr std::string_view cut_marker = " … [cut]";

// Every API takes [a-zA-Z0-9_-] up to 64 characters, which names in a catalog are; one also looks at the first.
bool begins_well(char c, ModelApi api) {
  return api != ModelApi::gemini || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string with_letter_first(std::string_view name) {
  const auto hash = "_" + sha256_hex(name).substr(0, 8);
  return "_" + std::string(name.substr(0, exposed_name_limit - 1 - hash.size())) + hash;
}

std::string hints_of(const Tool& tool) {
  std::string out;
  if (!tool.annotations) return out;
  if (tool.annotations->read_only_hint == true) out += " (readOnly)";
  if (tool.annotations->destructive_hint == true) out += " (destructive)";
  return out;
}

std::string describe(const Tool& tool, const std::string& fallback, const SchemaView& schema) {
  auto said = clean_for_display(tool.description.value_or(""));
  said = std::string(trim(said));
  if (said.empty()) said = fallback;
  std::string before = schema.before.empty() ? "" : cut_for_model(schema.before, least_for_schema) + "\n\n";
  const auto hints = hints_of(tool);
  std::size_t room = longest_model_text - characters_in(before) - characters_in(hints);
  if (schema.after.empty()) return before + cut_for_model(said, room) + hints;
  const std::string words = "\n\nJSON Schema of the arguments: ";
  room -= characters_in(words);
  auto text = cut_for_model(said, std::max(room - std::min(room, characters_in(schema.after)), room / 2));
  room -= characters_in(text);
  return before + text + hints + words + cut_for_model(schema.after, room);
}

}  // namespace

std::size_t characters_in(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut_for_model(std::string_view text, std::size_t most) {
  if (characters_in(text) <= most) return std::string(text);
  const auto marker = characters_in(cut_marker);
  std::size_t end = 0;
  for (std::size_t left = most - std::min(most, marker); end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && left-- == 0) break;
  }
  // Cleaned again: what joined two characters may stand at the end now.
  const auto kept = clean_for_display(text.substr(0, end));
  return std::string(trim(kept)) + std::string(cut_marker);
}

Result<ModelTool> view_named(const std::shared_ptr<const Tool>& tool, ModelName named, ModelApi api) {
  if (!is_for_model(*tool)) {
    return fail(Errc::unsupported, "its server made it for its user interface and not for models");
  }
  auto schema = view_schema(tool->input_schema, api);
  if (!schema) return std::unexpected(std::move(schema).error());
  ModelTool out;
  out.name = std::move(named.name);
  out.catalog_name = std::move(named.catalog_name);
  out.description = describe(*tool, named.fallback, *schema);
  out.input_schema = schema->changes.empty() ? std::shared_ptr<const Json>(tool, &tool->input_schema)
                                             : std::make_shared<const Json>(std::move(schema->schema));
  out.changes = std::move(schema->changes);
  if (!begins_well(out.name.front(), api)) {
    out.name = with_letter_first(out.name);
    out.changes.emplace_back("its name has another beginning: this API wants a letter first");
  }
  return out;
}

std::string_view to_string(ModelApi api) noexcept {
  switch (api) {
    case ModelApi::anthropic:
      return "anthropic";
    case ModelApi::openai_chat:
      return "openai-chat";
    case ModelApi::openai_responses:
      return "openai-responses";
    case ModelApi::gemini:
      return "gemini";
    case ModelApi::local:
      return "local";
  }
  return "unknown";
}

bool ModelTool::operator==(const ModelTool& other) const {
  return name == other.name && catalog_name == other.catalog_name && description == other.description &&
         (input_schema == other.input_schema || *input_schema == *other.input_schema) && changes == other.changes;
}

bool is_for_model(const Tool& tool) noexcept {
  const auto& visibility = tool.meta["ui"]["visibility"];
  if (!visibility.is_array()) return true;  // both, by default
  return std::ranges::any_of(visibility.items(), [](const Json& who) { return who.text() == "model"; });
}

Result<ModelTool> view_tool(const CatalogEntry& entry, ModelApi api) {
  auto fallback = fmt::format("MCP tool {} from {}", clean_line(entry.tool->name), clean_line(entry.server));
  return view_named(entry.tool, {entry.name, entry.name, std::move(fallback)}, api);
}

}  // namespace patchbay
