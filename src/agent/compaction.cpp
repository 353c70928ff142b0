#include "agent/compaction.h"

#include <algorithm>

#include <fmt/format.h>

#include "agent/fit_request.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t image_tokens = 1'600;
constexpr std::size_t long_result = 400;       // bytes; a shorter one stays
constexpr std::size_t most_of_person = 8'000;  // bytes of what the person said, where there is no summary
constexpr std::size_t longest_of_person = 1'000;

bool has_outcomes(const ModelMessage& message) {
  return std::ranges::any_of(message.parts,
                             [](const auto& part) { return std::holds_alternative<ModelToolOutcome>(part); });
}

std::size_t bytes_of_blocks(const ModelToolOutcome& outcome) {
  std::size_t size = 0;
  for (const auto& block : outcome.blocks) {
    const auto* text = std::get_if<ModelText>(&block);
    size += text ? text->text.size() : std::get<ModelImage>(block).data.size();
  }
  return size;
}

std::string line_for(const ModelToolOutcome& outcome, std::size_t bytes, const std::string& handle) {
  if (!handle.empty()) {
    return fmt::format("[result of {}, {} bytes, was taken out of the conversation; it is kept as {}]", outcome.name,
                       bytes, handle);
  }
  return fmt::format("[result of {}, {} bytes, was taken out of the conversation; the call was made]", outcome.name,
                     bytes);
}

std::string said_by_person(const ModelMessages& messages, std::size_t before) {
  std::string all;
  for (std::size_t i = before; i-- > 0;) {
    if (messages[i]->role != Role::user) continue;
    const auto said = text_of(*messages[i]);
    if (said.empty()) continue;
    if (all.size() + longest_of_person > most_of_person) break;
    all = fmt::format("- {}{}\n{}", cut_utf8(said, longest_of_person), said.size() > longest_of_person ? "…" : "", all);
  }
  return all;
}

}  // namespace

std::size_t tokens_of(const ModelMessage& message) {
  std::size_t images = 0, image_bytes = 0;
  const auto count = [&](const ModelImage& image) {
    ++images;
    image_bytes += image.data.size();
  };
  for (const auto& part : message.parts) {
    if (const auto* image = std::get_if<ModelImage>(&part)) count(*image);
    if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
      for (const auto& block : outcome->blocks) {
        if (const auto* shown = std::get_if<ModelImage>(&block)) count(*shown);
      }
    }
  }
  return (bytes_of(message) - image_bytes) / 4 + images * image_tokens;
}

std::size_t tokens_of(const ModelMessages& messages, std::size_t from) {
  std::size_t tokens = 0;
  for (std::size_t i = from; i < messages.size(); ++i) tokens += tokens_of(*messages[i]);
  return tokens;
}

ModelMessages without_old_results(const ModelMessages& messages, std::size_t keep,
                                  const std::function<std::string(const std::string&)>& handle_of) {
  ModelMessages out = messages;
  const auto end = out.size() - std::min(out.size(), keep);
  for (std::size_t i = 0; i < end; ++i) {
    std::shared_ptr<ModelMessage> changed;
    for (std::size_t k = 0; k < out[i]->parts.size(); ++k) {
      const auto* outcome = std::get_if<ModelToolOutcome>(&out[i]->parts[k]);
      if (!outcome) continue;
      const auto bytes = bytes_of_blocks(*outcome);
      if (bytes <= long_result) continue;
      if (!changed) changed = std::make_shared<ModelMessage>(*out[i]);
      auto& shorter = std::get<ModelToolOutcome>(changed->parts[k]);
      shorter.blocks = {ModelText{line_for(shorter, bytes, handle_of(shorter.id))}};
    }
    if (changed) out[i] = std::move(changed);
  }
  return out;
}

std::size_t cut_at(const ModelMessages& messages, std::size_t keep_tokens) {
  // A message of the model can be the first one behind a summary, and one of the person that answers no call.
  std::size_t best = 0, tokens = 0;
  for (std::size_t i = messages.size(); i-- > 1;) {
    tokens += tokens_of(*messages[i]);
    const bool fits = tokens <= keep_tokens;
    if (!fits && best != 0) break;
    if (messages[i]->role == Role::assistant || !has_outcomes(*messages[i])) {
      best = i;
      if (!fits) break;
    }
  }
  return best;
}

std::string_view summary_request() noexcept {
  return "[This conversation has become too long and goes on with a summary of it. Write that summary now, for "
         "yourself: "
         "what the person wants, in their words where they matter; what was decided; what was done, with names of "
         "files, "
         "tools, servers and handles; what was found out; what is left to do. Call no tool. Write nothing else.]";
}

ModelMessages with_summary(const ModelMessages& messages, std::size_t from, std::string_view summary) {
  if (from == 0 || from >= messages.size()) return messages;
  auto first = std::make_shared<ModelMessage>();
  if (summary.empty()) {
    first->parts.emplace_back(ModelText{fmt::format(
        "[The beginning of this conversation was taken out, because it was too long. What the person said in "
        "it:]\n{}",
        said_by_person(messages, from))});
  } else {
    first->parts.emplace_back(ModelText{fmt::format(
        "[The beginning of this conversation was too long and became this summary, which you wrote:]\n{}", summary)});
  }
  ModelMessages out;
  if (messages[from]->role == Role::user) {
    for (const auto& part : messages[from]->parts) first->parts.push_back(part);
    ++from;
  }
  out.push_back(std::move(first));
  out.insert(out.end(), messages.begin() + static_cast<std::ptrdiff_t>(from), messages.end());
  return out;
}

}  // namespace patchbay
