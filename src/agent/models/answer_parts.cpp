#include "agent/models/answer_parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"

namespace patchbay {

std::string data_url(const ModelImage& image) { return fmt::format("data:{};base64,{}", image.mime_type, image.data); }

std::string instead_of(const ModelImage& image) {
  return fmt::format("(an image of {} x {} pixels; this model is not given images)", image.width, image.height);
}

std::string joined_texts(const std::vector<std::string>& texts) { return join(texts, "\n\n"); }

std::string plain_name(std::string_view name, std::size_t most) {
  std::string plain(name.substr(0, most));
  for (char& c : plain) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fits) c = '_';
  }
  return plain.empty() ? "unknown" : plain;
}

std::string plain_id(std::string_view id, std::size_t most) {
  auto plain = plain_name(id, most);
  if (plain == id) return plain;
  const auto sum = sha256_hex(id).substr(0, 16);
  return fmt::format("{}_{}", std::string_view(plain).substr(0, most - sum.size() - 1), sum);
}

std::string short_id(std::string_view id, std::size_t most) {
  return id.size() <= most ? std::string(id) : sha256_hex(id).substr(0, std::min<std::size_t>(most, 32));
}

std::vector<const ModelTool*> named_tools(const ModelRequest& request) {
  std::vector<const ModelTool*> named;
  if (!request.deferred) return named;
  const auto add = [&](std::string_view name) {
    const auto* tool = request.deferred->find(name);
    if (tool == nullptr || (request.tools && request.tools->find(name) != nullptr)) return;
    if (std::ranges::find(named, tool) == named.end()) named.push_back(tool);
  };
  for (const auto& message : request.messages) {
    for (const auto& part : message->parts) {
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) std::ranges::for_each(outcome->found, add);
      const auto* news = std::get_if<ModelNews>(&part);
      if (news == nullptr) continue;
      for (const auto& tool : news->added) add(tool.name);
    }
  }
  return named;
}

std::string arguments_text(const ModelToolUse& use) { return use.broken.empty() ? to_text(use.input) : "{}"; }

std::string_view first_quoted(std::string_view message) noexcept {
  const auto begin = message.find_first_of("'\"`");
  if (begin == std::string_view::npos) return {};
  const auto end = message.find(message[begin], begin + 1);
  return end == std::string_view::npos ? std::string_view() : message.substr(begin + 1, end - begin - 1);
}

void read_arguments(ModelToolUse& use, std::string_view arguments) {
  use.input = Json::object();
  use.broken.clear();
  if (trim(arguments).empty()) return;
  auto value = parse_json(arguments);
  if (value && value->is_object()) {
    use.input = std::move(*value);
  } else {
    use.broken = arguments;
  }
}

ProviderFailure too_many_items() {
  return {.status = 413, .type = "answer_too_large", .message = "the answer has too many parts"};
}

ProviderFailure cut_off() { return {.type = "cut_off", .message = "the answer was cut off"}; }

ProviderFailure damaged(const Error& error) {
  return {.type = "damaged", .message = fmt::format("the answer is not JSON: {}", error.message())};
}

namespace {

bool begins_raw_call(std::string_view text) {
  constexpr std::array<std::string_view, 5> beginnings{"<tool_call>", "<|tool_call", "<function=", "[TOOL_CALLS]",
                                                       "<｜tool▁calls▁begin｜>"};
  return std::ranges::any_of(beginnings, [&](auto some) { return text.starts_with(some); });
}

// As a word of its own: "look" is not in "looking".
bool names_tool(std::string_view text, const ToolPool& tools) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return std::ranges::any_of(tools.tools, [&](const ModelTool& tool) {
    for (auto at = text.find(tool.name); at != std::string_view::npos; at = text.find(tool.name, at + 1)) {
      const auto end = at + tool.name.size();
      if ((at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]))) return true;
    }
    return false;
  });
}

}  // namespace

bool holds_raw_call(std::string_view text) {
  return std::ranges::any_of(split(text, '\n'), [](auto line) { return begins_raw_call(trim(line)); });
}

bool is_raw_call(std::string_view text, const ToolPool& tools) {
  text = trim(text);
  if (text.empty()) return false;
  const char last = text.back();
  if (begins_raw_call(text)) return (last == '>' || last == '}' || last == ']') && names_tool(text, tools);
  if (text.front() != '{' || last != '}') return false;
  const auto call = parse_json(text);
  if (!call) return false;
  const auto name = (*call)["name"].text();
  return name && tools.find(*name) != nullptr &&
         ((*call)["parameters"].is_object() || (*call)["arguments"].is_object());
}

void ObjectEnd::feed(std::string_view piece) noexcept {
  for (const char c : piece) {
    if (in_text_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_text_ = false;
      }
    } else if (c == '"') {
      in_text_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == 0) {
      reached_ = true;
    }
  }
}

CallIds::CallIds(const ModelRequest& request) {
  for (const auto& message : request.messages) {
    for (const auto& part : message->parts) {
      if (const auto* use = std::get_if<ModelToolUse>(&part)) taken_.insert(use->id);
    }
  }
  next_ = taken_.size() + 1;
}

std::string CallIds::take(std::string_view given) {
  std::string id(given.size() <= longest_call_id ? given : std::string_view());
  while (id.empty() || taken_.contains(id)) id = fmt::format("call_{}", next_++);
  taken_.insert(id);
  return id;
}

}  // namespace patchbay
