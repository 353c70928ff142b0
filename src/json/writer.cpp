#include "json/writer.h"

#include <charconv>

#include <patchbay/json.h>

#include "json/number.h"
#include "json/scanner.h"
#include "json/utf8.h"

namespace patchbay {
namespace {

void append_escape(std::string& out, char c) {
  static constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
  }
}

// Names and short values are most of what is written: one look at each byte is enough.
bool short_and_plain(std::string_view text) noexcept {
  if (text.size() > 32) return false;
  bool plain = true;
  for (const char c : text) plain &= c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  return plain;
}

void append_escaped(std::string& out, std::string_view text) {
  while (true) {
    const auto plain = plain_length(text);
    out.append(text.substr(0, plain));
    if (plain == text.size()) return;
    append_escape(out, text[plain]);
    text.remove_prefix(plain + 1);
  }
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 16);
  for (std::size_t offset = 0; offset < text.size();) {
    const auto length = utf8_sequence(text, offset);
    if (length == 0) {
      repaired += "\xEF\xBF\xBD";
      ++offset;
    } else {
      repaired.append(text, offset, length);
      offset += length;
    }
  }
  return repaired;
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, std::end(buffer), value).ptr);
}

void append_scalar(std::string& out, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      out += "null";
      break;
    case Json::Kind::boolean:
      out += *value.if_bool() ? "true" : "false";
      break;
    case Json::Kind::integer:
      append_integer(out, *value.to_int());
      break;
    case Json::Kind::unsigned_integer:
      append_integer(out, *value.to_uint());
      break;
    case Json::Kind::real:
      append_number(out, *value.to_double());
      break;
    case Json::Kind::big_number:
      out += value.number_text();
      break;
    case Json::Kind::string:
      append_json_string(out, *value.if_string());
      break;
    case Json::Kind::array:
    case Json::Kind::object:
      break;
  }
}

enum class Layout { compact, pretty };

void write(std::string& out, const Json& root, Layout layout) {
  struct Open {
    const Json* container;
    std::size_t next;
  };
  if (root.kind() < Json::Kind::array) {
    append_scalar(out, root);
    return;
  }
  std::vector<Open> open;
  open.reserve(16);
  const auto new_line = [&] {
    if (layout == Layout::compact) return;
    out += '\n';
    out.append(2 * open.size(), ' ');
  };
  const Json* value = &root;
  while (true) {
    if (value->kind() < Json::Kind::array) {
      append_scalar(out, *value);
    } else {
      out += value->is_array() ? '[' : '{';
      open.push_back({value, 0});
    }
    // Close what is complete, then step to the next child.
    while (!open.empty() && open.back().next == open.back().container->size()) {
      const Json& done = *open.back().container;
      open.pop_back();
      if (done.size() != 0) new_line();
      out += done.is_array() ? ']' : '}';
    }
    if (open.empty()) return;
    Open& top = open.back();
    const std::size_t position = top.next++;
    if (position != 0) out += ',';
    new_line();
    if (const auto* array = top.container->if_array()) {
      value = &(*array)[position];
    } else {
      const auto& member = top.container->if_object()->begin()[static_cast<std::ptrdiff_t>(position)];
      append_json_string(out, member.first);
      out += layout == Layout::compact ? ":" : ": ";
      value = &member.second;
    }
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (short_and_plain(text)) {
    out += text;
  } else if (first_invalid_utf8(text) == all_utf8) {
    append_escaped(out, text);
  } else {
    append_escaped(out, repaired_utf8(text));
  }
  out += '"';
}

void append_text(std::string& out, const Json& value) { write(out, value, Layout::compact); }

std::string to_text(const Json& value) {
  std::string out;
  append_text(out, value);
  return out;
}

std::string to_pretty_text(const Json& value) {
  std::string out;
  write(out, value, Layout::pretty);
  return out;
}

}  // namespace patchbay
