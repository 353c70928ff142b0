#include "agent/fit_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t around_part = 64;  // what a provider writes around each

std::size_t bytes_of_block(const ModelBlock& block) {
  if (const auto* text = std::get_if<ModelText>(&block)) return text->text.size() + around_part;
  return std::get<ModelImage>(block).data.size() + around_part;
}

struct SizeOf {
  std::size_t operator()(const ModelText& text) const { return text.text.size(); }
  std::size_t operator()(const ModelImage& image) const { return image.data.size(); }
  std::size_t operator()(const ModelToolUse& use) const {
    return use.id.size() + use.name.size() + use.broken.size() + to_text(use.input).size();
  }
  std::size_t operator()(const ModelToolOutcome& outcome) const {
    std::size_t size = outcome.id.size() + outcome.name.size();
    for (const auto& block : outcome.blocks) size += bytes_of_block(block);
    for (const auto& name : outcome.found) size += name.size() + around_part;
    return size;
  }
  std::size_t operator()(const ProviderBlock& block) const { return to_text(block.value).size(); }
  std::size_t operator()(const ModelNews& news) const { return news.text.size(); }
};

// Calls `look` with every image; the text it returns takes the image's place. A message without such is not copied.
template <class Look>
void replace_images(ModelRequest& request, const Look& look) {
  for (auto& message : request.messages) {
    std::shared_ptr<ModelMessage> changed;
    const auto change = [&]() -> ModelMessage& {
      if (!changed) changed = std::make_shared<ModelMessage>(*message);
      return *changed;
    };
    for (std::size_t i = 0; i < message->parts.size(); ++i) {
      if (const auto* image = std::get_if<ModelImage>(&message->parts[i])) {
        if (auto text = look(*image); !text.empty()) change().parts[i] = ModelText{std::move(text)};
      } else if (const auto* outcome = std::get_if<ModelToolOutcome>(&message->parts[i])) {
        for (std::size_t k = 0; k < outcome->blocks.size(); ++k) {
          const auto* shown = std::get_if<ModelImage>(&outcome->blocks[k]);
          if (!shown) continue;
          if (auto text = look(*shown); !text.empty()) {
            std::get<ModelToolOutcome>(change().parts[i]).blocks[k] = ModelText{std::move(text)};
          }
        }
      }
    }
    if (changed) message = std::move(changed);
  }
}

std::string left_out(const ModelImage& image, std::string_view why) {
  return fmt::format("[image {}, {} × {} pixels, left out: {}]", image.mime_type, image.width, image.height, why);
}

// Cuts texts of the oldest outcomes until `excess` bytes are saved. What is left to save.
std::size_t cut_outcomes(ModelRequest& request, std::size_t excess, std::size_t least) {
  for (auto& message : request.messages) {
    if (excess == 0) break;
    std::shared_ptr<ModelMessage> changed;
    for (std::size_t i = 0; i < message->parts.size() && excess > 0; ++i) {
      const auto* outcome = std::get_if<ModelToolOutcome>(&message->parts[i]);
      if (!outcome) continue;
      for (std::size_t k = 0; k < outcome->blocks.size() && excess > 0; ++k) {
        const auto* text = std::get_if<ModelText>(&outcome->blocks[k]);
        if (!text || text->text.size() <= least) continue;
        auto kept = std::string(cut_utf8(text->text, least)) + " … [cut: the request would be too large]";
        if (kept.size() >= text->text.size()) continue;
        excess -= std::min(excess, text->text.size() - kept.size());
        if (!changed) changed = std::make_shared<ModelMessage>(*message);
        std::get<ModelToolOutcome>(changed->parts[i]).blocks[k] = ModelText{std::move(kept)};
      }
    }
    if (changed) message = std::move(changed);
  }
  return excess;
}

}  // namespace

std::size_t bytes_of(const ModelMessage& message) {
  std::size_t size = around_part;
  for (const auto& part : message.parts) size += std::visit(SizeOf(), part) + around_part;
  return size;
}

std::size_t bytes_of(const ToolPool& tools) {
  std::size_t size = 0;
  for (const auto& tool : tools.tools) {
    size += tool.name.size() + tool.description.size() + to_text(*tool.input_schema).size() + around_part;
  }
  return size;
}

FittedRequest fit_request(ModelRequest request, const ModelInfo& model, const RequestLimits& limits) {
  FittedRequest out;
  std::size_t images = 0, refused = 0;
  replace_images(request, [&](const ModelImage&) { return ++images, std::string(); });
  if (images > 0) {
    const auto most = images > limits.many ? limits.pixels_of_many : limits.pixels;
    replace_images(request, [&](const ModelImage& image) -> std::string {
      if (!model.takes_images) return ++refused, left_out(image, "this model takes no images");
      if (image.width <= most && image.height <= most) return {};
      ++refused;
      return left_out(image, fmt::format("at most {} pixels a side are taken{}", most,
                                         images > limits.many ? " where there are many images" : ""));
    });
  }
  if (refused > 0) out.notes.push_back(fmt::format("{} left out of the request", plural(refused, "image")));
  std::size_t bytes = request.system.size();
  if (request.tools) bytes += bytes_of(*request.tools);
  if (request.deferred) bytes += bytes_of(*request.deferred);
  for (const auto& message : request.messages) bytes += bytes_of(*message);
  if (bytes > limits.bytes) {
    std::size_t excess = bytes - limits.bytes;
    std::size_t dropped = 0;
    replace_images(request, [&](const ModelImage& image) -> std::string {
      if (excess == 0) return {};
      excess -= std::min(excess, image.data.size());
      ++dropped;
      return left_out(image, "the request would be too large");
    });
    const bool cut = excess > 0;
    if (cut) excess = cut_outcomes(request, excess, limits.least_text);
    out.notes.push_back(fmt::format("the request was larger than {} MB: {} left out{}", limits.bytes / 1'000'000,
                                    plural(dropped, "image"), cut ? ", and old results cut" : ""));
  }
  out.request = std::move(request);
  return out;
}

}  // namespace patchbay
