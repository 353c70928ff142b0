#include "store/edit_layout.h"

#include <algorithm>

namespace patchbay {
namespace {

bool is_short_list(const Json::Array& array) {
  std::size_t width = 0;
  for (const auto& item : array) {
    if (item.is_object() || item.is_array()) return false;
    width += to_text(item).size() + 2;
  }
  return width <= one_line_width;
}

}  // namespace

std::size_t TextWalker::next(std::size_t at) const noexcept {
  while (at < text_.size()) {
    if (is_blank(text_[at])) {
      ++at;
    } else if (auto end = behind_comment(at); end != at) {
      at = end;
    } else {
      break;
    }
  }
  return at;
}

TextWalker::Comments TextWalker::comments_behind(std::size_t at) const noexcept {
  Comments out{at, false};
  while (at < text_.size()) {
    if (is_blank(text_[at])) {
      ++at;
    } else if (auto end = behind_comment(at); end != at) {
      out = {end, text_[at + 1] == '/'};
      at = end;
    } else {
      break;
    }
  }
  return out;
}

TextBody TextWalker::body(std::size_t open) const {
  TextBody body{open, open, {}, text_[open] == '['};
  for (auto at = next(open + 1);; at = next(at)) {
    if (text_[at] == '}' || text_[at] == ']') {
      body.close = at;
      return body;
    }
    if (text_[at] == ',') {
      body.members.back().comma = at++;
      continue;
    }
    TextMember member;
    member.key_begin = member.key_end = member.value_begin = at;
    if (!body.is_array) {
      member.key_end = behind_string(at);
      member.key = parse_json(text_.substr(at, member.key_end - at)).value_or(Json("")).as_text();
      member.value_begin = next(next(member.key_end) + 1);
    }
    at = member.value_end = behind_value(member.value_begin);
    body.members.push_back(std::move(member));
  }
}

std::size_t TextWalker::behind_comment(std::size_t at) const noexcept {
  const auto rest = text_.substr(at);
  if (rest.starts_with("//")) return std::min(text_.find_first_of("\r\n", at), text_.size());
  if (rest.starts_with("/*")) return text_.find("*/", at + 2) + 2;
  return at;
}

std::size_t TextWalker::behind_string(std::size_t at) const noexcept {
  for (++at; text_[at] != '"'; ++at) {
    if (text_[at] == '\\') ++at;
  }
  return at + 1;
}

// Counts brackets, so that depth costs no stack.
std::size_t TextWalker::behind_value(std::size_t at) const noexcept {
  std::size_t depth = 0;
  for (;;) {
    const char c = text_[at];
    if (c == '"') {
      at = behind_string(at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      --depth;
      ++at;
    } else if (c == ',' || c == ':') {
      ++at;
    } else {
      at = std::min(text_.find_first_of(" \t\r\n,:]}/", at), text_.size());
    }
    if (depth == 0) return at;
    at = next(at);
  }
}

std::string TextRenderer::on_one_line(const Json& value) const {
  std::string out;
  append_on_one_line(out, value);
  return out;
}

std::string TextRenderer::on_lines(const Json& value, const std::string& indent) const {
  std::string out;
  append_on_lines(out, value, indent);
  return out;
}

std::string TextRenderer::key(std::optional<std::string_view> name) const {
  return name ? to_text(Json(*name)) + std::string(colon()) : std::string();
}

void TextRenderer::append_on_one_line(std::string& out, const Json& value) const {
  const auto* object = value.if_object();
  const auto* array = value.if_array();
  if (object == nullptr && array == nullptr) {
    append_text(out, value);
    return;
  }
  const bool spaced = object != nullptr && one_line_.in_braces && !object->empty();
  bool first = true;
  auto separate = [&] {
    if (!first) out += one_line_.after_comma ? ", " : ",";
    first = false;
  };
  out += object != nullptr ? "{" : "[";
  if (spaced) out += ' ';
  if (object != nullptr) {
    for (const auto& [name, member] : *object) {
      separate();
      out += key(name);
      append_on_one_line(out, member);
    }
  } else {
    for (const auto& item : *array) {
      separate();
      append_on_one_line(out, item);
    }
  }
  if (spaced) out += ' ';
  out += object != nullptr ? "}" : "]";
}

void TextRenderer::append_on_lines(std::string& out, const Json& value, const std::string& indent) const {
  const auto* object = value.if_object();
  const auto* array = value.if_array();
  const bool plain = object == nullptr && array == nullptr;
  const bool empty = !plain && value.size() == 0;
  if (plain || empty || (array != nullptr && is_short_list(*array))) {
    append_on_one_line(out, value);
    return;
  }
  const auto inner = indent + layout_.unit;
  bool first = true;
  auto begin_line = [&] {
    if (!first) out += ',';
    first = false;
    out += layout_.newline + inner;
  };
  out += object != nullptr ? '{' : '[';
  if (object != nullptr) {
    for (const auto& [name, member] : *object) {
      begin_line();
      out += key(name);
      append_on_lines(out, member, inner);
    }
  } else {
    for (const auto& item : *array) {
      begin_line();
      append_on_lines(out, item, inner);
    }
  }
  out += layout_.newline + indent;
  out += object != nullptr ? '}' : ']';
}

}  // namespace patchbay
