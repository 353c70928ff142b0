#include <patchbay/model.h>

namespace patchbay {

std::string text_of(const ModelMessage& message) {
  std::string all;
  for (const auto& part : message.parts) {
    const auto* text = std::get_if<ModelText>(&part);
    if (!text) continue;
    if (!all.empty()) all += '\n';
    all += text->text;
  }
  return all;
}

std::string_view to_string(ModelStop stop) noexcept {
  switch (stop) {
    case ModelStop::end_turn:
      return "end_turn";
    case ModelStop::tool_use:
      return "tool_use";
    case ModelStop::max_tokens:
      return "max_tokens";
    case ModelStop::refusal:
      return "refusal";
    case ModelStop::pause:
      return "pause";
    case ModelStop::context_full:
      return "context_full";
    case ModelStop::malformed:
      return "malformed";
    case ModelStop::other:
      return "other";
  }
  return "other";
}

}  // namespace patchbay
