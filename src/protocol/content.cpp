#include "protocol/content.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "text/clean_text.h"

namespace patchbay {

namespace {

// Above this a block of a type nobody knows is named instead of quoted: it may be data.
constexpr std::size_t quoted_json = 2048;

// A marker stays one line whatever the server calls its things.
template <class... Parts>
std::string marker(fmt::format_string<Parts...> format, Parts&&... parts) {
  return "[" + clean_line(fmt::format(format, std::forward<Parts>(parts)...)) + "]";
}

std::string media_marker(std::string_view kind, const std::string& mime_type, std::string_view data) {
  return marker("{} {}, {}", kind, mime_type, size_text(base64_decoded_size(data)));
}

struct TextOf {
  std::string operator()(const TextContent& block) const { return block.text; }
  std::string operator()(const ImageContent& block) const { return media_marker("image", block.mime_type, block.data); }
  std::string operator()(const AudioContent& block) const { return media_marker("audio", block.mime_type, block.data); }
  std::string operator()(const ResourceLink& block) const { return marker("resource {} {}", block.name, block.uri); }
  std::string operator()(const EmbeddedResource& block) const {
    const ResourceContents& resource = block.resource;
    if (resource.text) return *resource.text;
    const std::string type = resource.mime_type ? " " + *resource.mime_type : std::string();
    if (!resource.blob) return marker("resource {}{}", resource.uri, type);
    return marker("resource {}{}, {}", resource.uri, type, size_text(base64_decoded_size(*resource.blob)));
  }
  std::string operator()(const ToolUse& block) const {
    return marker("tool call {} {}", block.name, to_text(block.input));
  }
  std::string operator()(const ToolResult& block) const;
  std::string operator()(const UnknownContent& block) const {
    std::string json = to_text(block.raw);
    if (json.size() <= quoted_json) return json;
    return marker("{} content, {}", block.type.empty() ? "unknown" : block.type, size_text(json.size()));
  }
};

std::string text_of_result(const std::vector<Content>& content, const std::optional<Json>& structured) {
  std::string out;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (i != 0) out += '\n';
    out += text_of(content[i]);
  }
  if (!out.empty()) return out;
  return structured ? to_text(*structured) : "(no output)";
}

std::string TextOf::operator()(const ToolResult& block) const {
  return text_of_result(block.content, block.structured_content);
}

struct SizeOf {
  std::size_t operator()(const TextContent& block) const { return block.text.size(); }
  std::size_t operator()(const ImageContent& block) const { return base64_decoded_size(block.data); }
  std::size_t operator()(const AudioContent& block) const { return base64_decoded_size(block.data); }
  std::size_t operator()(const ResourceLink& block) const { return block.uri.size() + block.name.size(); }
  std::size_t operator()(const EmbeddedResource& block) const {
    if (block.resource.text) return block.resource.text->size();
    return block.resource.blob ? base64_decoded_size(*block.resource.blob) : 0;
  }
  std::size_t operator()(const ToolUse& block) const { return to_text(block.input).size(); }
  std::size_t operator()(const ToolResult& block) const;
  std::size_t operator()(const UnknownContent& block) const { return to_text(block.raw).size(); }
};

std::size_t size_of_result(const std::vector<Content>& content, const std::optional<Json>& structured) {
  std::size_t total = structured ? to_text(*structured).size() : 0;
  for (const Content& block : content) total += approximate_size(block);
  return total;
}

std::size_t SizeOf::operator()(const ToolResult& block) const {
  return size_of_result(block.content, block.structured_content);
}

}  // namespace

std::size_t base64_decoded_size(std::string_view base64) noexcept {
  const auto digits = static_cast<std::size_t>(std::count_if(base64.begin(), base64.end(), [](char c) {
    return c != '=' && c != '\n' && c != '\r' && c != ' ' && c != '\t';
  }));
  return digits / 4 * 3 + digits % 4 * 3 / 4;
}

std::size_t approximate_size(const Content& content) { return std::visit(SizeOf{}, content); }

std::size_t approximate_size(const CallToolResult& result) {
  return size_of_result(result.content, result.structured_content);
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kilo = 1024;
  constexpr std::size_t mega = kilo * kilo;
  if (bytes < kilo) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  if (bytes + kilo / 2 < mega) return fmt::format("{} KB", (bytes + kilo / 2) / kilo);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / static_cast<double>(mega));
}

std::string text_of(const Content& content) { return std::visit(TextOf{}, content); }

std::string text_of(const CallToolResult& result) { return text_of_result(result.content, result.structured_content); }

}  // namespace patchbay
