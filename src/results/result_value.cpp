#include "results/result_value.h"

#include "base/strings.h"

namespace patchbay {

std::optional<Json> structured_text(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('{') && !text.starts_with('[')) return std::nullopt;
  auto parsed = parse_json(text);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

Json value_of_result(Json sent) {
  if (auto* structured = sent.find("structuredContent"); structured && !structured->is_null()) {
    return std::move(*structured);
  }
  std::string text;
  bool any = false;
  for (const auto& block : std::as_const(sent)["content"].items()) {
    if (block["type"] != Json("text")) continue;
    const auto& written = block["text"];
    const auto words = written.text();
    if (!words) continue;
    if (std::exchange(any, true)) text += '\n';
    text += *words;
  }
  if (!any) return sent;
  if (auto value = structured_text(text)) return std::move(*value);
  return text;
}

}  // namespace patchbay
