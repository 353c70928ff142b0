#include "cli/texts/model_words.h"

#include <variant>

#include <fmt/format.h>

#include "protocol/content.h"

namespace patchbay::cli {

std::string model_text(const ModelResult& result) {
  std::string out;
  for (const auto& block : result.blocks) {
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
    if (const auto* text = std::get_if<ModelText>(&block)) {
      out += text->text;
    } else {
      const auto& image = std::get<ModelImage>(block);
      out += fmt::format("[image {}, {} x {}, {}]", image.mime_type, image.width, image.height,
                         size_text(base64_decoded_size(image.data)));
    }
  }
  return out;
}

Json model_json(const ModelResult& result) {
  Json blocks = Json::array();
  for (const auto& block : result.blocks) {
    if (const auto* text = std::get_if<ModelText>(&block)) {
      blocks.push_back({{"type", "text"}, {"text", text->text}});
    } else {
      const auto& image = std::get<ModelImage>(block);
      blocks.push_back({{"type", "image"},
                        {"mimeType", image.mime_type},
                        {"width", image.width},
                        {"height", image.height},
                        {"data", image.data}});
    }
  }
  Json notes = Json::array();
  for (const auto& note : result.notes) notes.push_back(note);
  return {{"blocks", std::move(blocks)},
          {"isError", result.is_error},
          {"handle", result.handle.empty() ? Json() : Json(result.handle)},
          {"tokens", result.tokens},
          {"notes", std::move(notes)}};
}

std::string reading_words() {
  return "To read parts of it: patchbay results read {id}, with --pointer /JSON/POINTER, --skip LINES --lines LINES, "
         "--grep PATTERN or --count.";
}

}  // namespace patchbay::cli
