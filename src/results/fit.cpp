#include "results/fit.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "base/strings.h"
#include "protocol/content.h"
#include "results/image_header.h"
#include "results/result_value.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::uint64_t bytes_in_token = 4;
constexpr std::uint64_t most_asked = 500'000;
constexpr std::size_t preview = 2'000;      // bytes of a long text
constexpr std::size_t shown_whole = 8'000;  // of a text beside a longer one
constexpr std::size_t most_previews = 8;
constexpr std::size_t most_listed = 20;
constexpr std::string_view structured_heading = "Structured content:\n";

std::uint64_t characters_in(std::string_view text) noexcept {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string one_line(std::string_view text, std::size_t most = 300) {
  const auto piece = cut_utf8(text, most);
  return clean_line(piece) + (piece.size() < text.size() ? "…" : "");
}

bool is_image(const ResourceContents& contents) {
  return contents.blob && contents.mime_type && contents.mime_type->starts_with("image/");
}

class Drafting {
 public:
  Drafting(const ImageLimits& limits, const ScaledImages& scaled) : limits_(limits), scaled_(scaled) {}

  ModelDraft make(const CallToolResult& result) && {
    many_ = image_count(result) > limits_.few;
    for (const auto& block : result.content) {
      std::visit([this](const auto& one) { add(one); }, block);
      ++at_;
    }
    if (result.structured_content) {
      auto written = to_text(*result.structured_content);
      if (!is_said(*result.structured_content, written)) draft_.structured = std::move(written);
    }
    draft_.is_error = result.is_error;
    if (draft_.blocks.empty() && draft_.structured.empty()) draft_.blocks.emplace_back(ModelText{"(no output)"});
    for (const auto& block : draft_.blocks) {
      if (const auto* text = std::get_if<ModelText>(&block)) count(text->text);
    }
    count(draft_.structured);
    return std::move(draft_);
  }

 private:
  static std::size_t image_count(const CallToolResult& result) {
    return static_cast<std::size_t>(
        std::ranges::count_if(result.content, [](const Content& block) { return image_data(block) != nullptr; }));
  }

  void count(std::string_view text) { draft_.text_bytes += text.size(); }

  void text(std::string_view piece) {
    auto* last = draft_.blocks.empty() ? nullptr : std::get_if<ModelText>(&draft_.blocks.back());
    if (last == nullptr) {
      draft_.blocks.emplace_back(ModelText{std::string(piece)});
    } else {
      last->text += '\n';
      last->text += piece;
    }
  }

  // A line in its place, and where the rest can be found.
  void instead(std::string line) {
    if (draft_.not_shown.size() < most_listed) draft_.not_shown.push_back(at_);
    text(line);
  }

  void image(const std::string& data, std::string_view claimed) {
    auto refuse = [&](std::string_view why) {
      instead(fmt::format("[image {}, {}: {}]", one_line(claimed, 80), size_text(base64_decoded_size(data)), why));
    };
    if (images_ >= limits_.most) return refuse("not shown, there are too many images");
    if (const auto made = scaled_.find(at_); made != scaled_.end()) return scaled(made->second, data);
    if (data.size() > limits_.bytes) return refuse("not shown, it is larger than a model accepts");
    auto plain = plain_base64(data);
    if (!plain) return refuse("not shown, its data is damaged");
    const auto header = image_header_of_base64(*plain);
    if (!header) return refuse("not shown, it is not a png, jpeg, webp or gif image");
    const auto side = std::max(header->width, header->height);
    if (side > (many_ ? limits_.side_many : limits_.side)) {
      return refuse(
          fmt::format("not shown, {} x {} pixels are more than a model accepts", header->width, header->height));
    }
    if (image_bytes_ + plain->size() > limits_.bytes_all) return refuse("not shown, all images together are too large");
    ++images_;
    image_bytes_ += plain->size();
    draft_.blocks.emplace_back(
        ModelImage{std::move(*plain), std::string(header->mime_type), header->width, header->height});
  }

  // The line in front says where all of it is.
  void scaled(const ScaledImage& made, const std::string& data) {
    const auto line = fmt::format("[image, {}: shown smaller, {} x {} pixels]", size_text(base64_decoded_size(data)),
                                  made.width, made.height);
    if (image_bytes_ + made.data.size() > limits_.bytes_all) {
      return instead(fmt::format("[image {}, {}: not shown, all images together are too large]", made.mime_type,
                                 size_text(base64_decoded_size(data))));
    }
    instead(line);
    ++images_;
    image_bytes_ += made.data.size();
    draft_.blocks.emplace_back(ModelImage{made.data, made.mime_type, made.width, made.height});
  }

  void add(const TextContent& block) {
    texts_.push_back(block.text);
    text(block.text);
  }
  void add(const ImageContent& block) { image(block.data, block.mime_type); }
  void add(const AudioContent& block) {
    instead(fmt::format("[audio {}, {}: not shown]", one_line(block.mime_type, 80),
                        size_text(base64_decoded_size(block.data))));
  }
  void add(const ResourceLink& block) {
    std::string line =
        fmt::format("[resource link {}: {}", one_line(block.title.value_or(block.name)), one_line(block.uri, 2000));
    if (block.mime_type) line += ", " + one_line(*block.mime_type, 80);
    if (block.size && *block.size >= 0) line += ", " + size_text(static_cast<std::size_t>(*block.size));
    if (block.description) line += " (" + one_line(*block.description, 1000) + ")";
    text(line + "]");
  }
  void add(const EmbeddedResource& block) {
    const auto& contents = block.resource;
    const auto type = contents.mime_type ? ", " + one_line(*contents.mime_type, 80) : std::string();
    const auto head = fmt::format("resource {}{}", one_line(contents.uri, 2000), type);
    if (contents.text) {
      text(fmt::format("[{}]", head));
      text(*contents.text);
    } else if (is_image(contents)) {
      text(fmt::format("[{}]", head));
      image(*contents.blob, *contents.mime_type);
    } else if (contents.blob) {
      instead(fmt::format("[{}, {}: not shown]", head, size_text(base64_decoded_size(*contents.blob))));
    } else {
      text(fmt::format("[{}]", head));
    }
  }
  template <class Other>
  void add(const Other& block) {
    text(text_of(Content(block)));
  }

  // Whether some text, or all of them, is the same JSON. Some libraries put a value that is no object into "result".
  bool is_said(const Json& structured, std::string_view written) const {
    const Json* wrapped = structured.is_object() && structured.size() == 1 ? structured.find("result") : nullptr;
    auto same = [&](std::string_view text) {
      const auto plain = trim(text);
      if (plain == written) return true;
      if (wrapped != nullptr && wrapped->text() == text) return true;
      // The first letter of a value says what it is.
      auto may_be = [&](const Json& value) {
        if (plain.empty()) return false;
        if (value.is_object() || value.is_array()) return plain.front() == (value.is_object() ? '{' : '[');
        return plain.size() <= 400;
      };
      if (!may_be(structured) && (wrapped == nullptr || !may_be(*wrapped))) return false;
      const auto parsed = parse_json(plain);
      return parsed && (*parsed == structured || (wrapped != nullptr && *parsed == *wrapped));
    };
    if (texts_.empty() || texts_.size() > most_compared) return false;
    if (std::ranges::any_of(texts_, same)) return true;
    if (texts_.size() == 1) return false;
    std::string all;
    for (const auto one : texts_) {
      if (!all.empty()) all += '\n';
      all += one;
    }
    return same(all);
  }

  static constexpr std::size_t most_compared = 64;
  const ImageLimits& limits_;
  const ScaledImages& scaled_;
  ModelDraft draft_;
  std::vector<std::string_view> texts_;
  std::size_t at_ = 0;
  std::size_t images_ = 0;
  std::size_t image_bytes_ = 0;
  bool many_ = false;
};

std::string tool_text(std::string_view tool) { return tool.empty() ? "the tool" : one_line(tool, 200); }

void add_text(ModelResult& result, std::string text) {
  result.tokens += tokens_of(text.size());
  result.blocks.emplace_back(ModelText{std::move(text)});
}

ModelResult of(const ModelDraft& draft, std::string_view handle) {
  ModelResult result;
  result.is_error = draft.is_error;
  result.handle = std::string(handle);
  return result;
}

// Where to find what only a line stands for.
std::string elsewhere(const ModelDraft& draft, std::string_view handle) {
  std::vector<std::string> places;
  for (const auto at : draft.not_shown) places.push_back(fmt::format("{}/raw#/content/{}", handle, at));
  return fmt::format("(What is not shown is kept: {})", join(places, ", "));
}

std::string large_note(std::string_view tool, std::uint64_t tokens, std::string_view what) {
  return fmt::format("the result of {} has about {} tokens{}", tool_text(tool), tokens, what);
}

struct Piece {
  std::string_view heading;
  std::string_view text;
};

}  // namespace

std::uint64_t tokens_of(std::uint64_t bytes) noexcept { return (bytes + bytes_in_token - 1) / bytes_in_token; }

std::optional<std::uint64_t> asked_characters(const Json& tool_meta) {
  const auto asked = tool_meta["anthropic/maxResultSizeChars"].to_int();
  if (!asked || *asked <= 0) return std::nullopt;
  return std::min(static_cast<std::uint64_t>(*asked), most_asked);
}

const std::string* image_data(const Content& block) noexcept {
  if (const auto* image = std::get_if<ImageContent>(&block)) return &image->data;
  const auto* embedded = std::get_if<EmbeddedResource>(&block);
  return embedded != nullptr && is_image(embedded->resource) ? &*embedded->resource.blob : nullptr;
}

ModelDraft draft_of(const CallToolResult& result, const ImageLimits& limits, const ScaledImages& scaled) {
  return Drafting(limits, scaled).make(result);
}

bool fits(const ModelDraft& draft, const TextBudget& budget) noexcept {
  if (budget.characters) {
    auto characters = characters_in(draft.structured);
    for (const auto& block : draft.blocks) {
      if (const auto* text = std::get_if<ModelText>(&block)) characters += characters_in(text->text);
    }
    return characters <= *budget.characters;
  }
  return tokens_of(draft.text_bytes) <= budget.tokens;
}

ModelResult whole(ModelDraft draft, const TextBudget& budget, std::string_view tool, std::string_view handle) {
  auto result = of(draft, handle);
  for (auto& block : draft.blocks) {
    if (auto* text = std::get_if<ModelText>(&block)) {
      add_text(result, clean_for_display(text->text));
    } else {
      result.blocks.push_back(std::move(block));
    }
  }
  if (!draft.structured.empty()) {
    const auto text = clean_for_display(draft.structured);
    const bool alone = draft.blocks.empty();
    add_text(result, alone ? text : std::string(structured_heading) + text);
  }
  if (!handle.empty() && !draft.not_shown.empty()) add_text(result, elsewhere(draft, handle));
  if (result.tokens > budget.remark) result.notes.push_back(large_note(tool, result.tokens, ""));
  return result;
}

ModelResult shortened(ModelDraft draft, std::string_view tool, const KeptAs& kept) {
  auto result = of(draft, kept.handle);
  const auto tokens = tokens_of(draft.text_bytes);
  std::string text = fmt::format("The result of {} is too large to show: {}, about {} tokens. All of it is kept as {}.",
                                 tool_text(tool), size_text(draft.text_bytes), tokens, kept.handle);
  if (!kept.outline.empty()) text += fmt::format("\nShape: {}", kept.outline);
  text += fmt::format(
      "\nTo pass it on without reading it, write {} as an argument of a tool{}.", kept.handle,
      kept.outline.empty() ? std::string() : fmt::format(", or {}#/JSON/POINTER for a part of it", kept.handle));
  if (!kept.reading.empty()) {
    auto reading = kept.reading;
    constexpr std::string_view place = "{id}";
    for (std::size_t at = 0; (at = reading.find(place, at)) != reading.npos; at += kept.handle.size()) {
      reading.replace(at, place.size(), kept.handle);
    }
    text += "\n" + reading;
  }
  if (!draft.not_shown.empty()) text += "\n" + elsewhere(draft, kept.handle);

  std::vector<Piece> pieces;
  for (const auto& block : draft.blocks) {
    if (const auto* one = std::get_if<ModelText>(&block)) pieces.push_back({"Text", one->text});
  }
  if (!draft.structured.empty()) pieces.push_back({"Structured content", draft.structured});
  std::size_t shown = 0, whole_left = shown_whole;
  for (const auto& [heading, all] : pieces) {
    if (shown++ == most_previews) {
      text += fmt::format("\n\n({} more texts)", pieces.size() - most_previews);
      break;
    }
    if (all.size() <= whole_left) {
      whole_left -= all.size();
      text += fmt::format("\n\n{}:\n{}", heading, clean_for_display(all));
      continue;
    }
    const auto beginning = cut_utf8(all, preview);
    text += fmt::format("\n\n{}, its first {} of {} bytes:\n{}…", heading, beginning.size(), all.size(),
                        clean_for_display(beginning));
  }
  add_text(result, std::move(text));
  for (auto& block : draft.blocks) {
    if (std::holds_alternative<ModelImage>(block)) result.blocks.push_back(std::move(block));
  }
  result.notes.push_back(
      large_note(tool, tokens, fmt::format("; it is kept as {}, and the model was given its beginning", kept.handle)));
  return result;
}

ModelResult cut(ModelDraft draft, const TextBudget& budget, std::string_view tool, std::string_view why) {
  auto result = of(draft, {});
  const auto tokens = tokens_of(draft.text_bytes);
  const auto room = budget.characters.value_or(budget.tokens * bytes_in_token);
  // The structured content has its share beside a text, and a text beside it.
  auto left = room;
  const auto reserved = std::min<std::uint64_t>(draft.structured.size(), room / 2);
  auto take = [&](std::string_view text, std::uint64_t most) {
    const auto piece = cut_utf8(text, static_cast<std::size_t>(std::min(left, most)));
    left -= piece.size();
    return clean_for_display(piece) + (piece.size() < text.size() ? "…" : "");
  };
  for (auto& block : draft.blocks) {
    if (auto* text = std::get_if<ModelText>(&block)) {
      const auto most = left > reserved ? left - reserved : 0;
      if (most > 0) add_text(result, take(text->text, most));
    } else {
      result.blocks.push_back(std::move(block));
    }
  }
  if (!draft.structured.empty()) add_text(result, std::string(structured_heading) + take(draft.structured, left));
  const auto reason = why.empty() ? std::string() : fmt::format(" ({})", one_line(why, 500));
  add_text(result, fmt::format("(The result was cut: it has {}, about {} tokens, and could not be kept{}. Ask for less "
                               "of it if you need the rest.)",
                               size_text(draft.text_bytes), tokens, reason));
  result.notes.push_back(large_note(tool, tokens, fmt::format("; it was cut{}", reason)));
  return result;
}

}  // namespace patchbay
