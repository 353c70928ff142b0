#include "json/writer.h"

#include <charconv>
#include <cstring>

#include <boost/container/small_vector.hpp>

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

// Whether none of eight bytes is beyond ASCII or must be escaped.
bool plain(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101u, highs = ones << 7;
  const auto zeros = [](std::uint64_t word) { return (word - ones) & ~word; };
  return ((bytes | (bytes - ones * 0x20) | zeros(bytes ^ ones * '"') | zeros(bytes ^ ones * '\\')) & highs) == 0;
}

// Names and short values are most of what is written: eight bytes at a time, the last ones together with some before.
bool short_and_plain(std::string_view text) noexcept {
  const auto size = text.size();
  const char* const data = text.data();
  const auto at = [data]<class Word>(std::size_t offset, Word) {
    Word word;
    std::memcpy(&word, data + offset, sizeof word);
    return static_cast<std::uint64_t>(word);
  };
  if (size > 32) return false;
  if (size >= 8) {
    for (std::size_t i = 0; i + 8 < size; i += 8) {
      if (!plain(at(i, std::uint64_t()))) return false;
    }
    return plain(at(size - 8, std::uint64_t()));
  }
  if (size >= 4) return plain(at(0, std::uint32_t()) | at(size - 4, std::uint32_t()) << 32);
  for (const char c : text) {
    if (c < 0x20 || c == '"' || c == '\\') return false;
  }
  return true;
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
      out += value.as_bool() ? "true" : "false";
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
      append_json_string(out, value.as_text());
      break;
    case Json::Kind::array:
    case Json::Kind::object:
      break;
  }
}

enum class Layout { compact, pretty };

void write(std::string& out, const Json& root, Layout layout) {
  // What is not written yet of an array or object.
  struct Open {
    bool object;
    Json::Items items;
    Json::Members members;
    std::size_t next;
    std::size_t size() const noexcept { return object ? members.size() : items.size(); }
  };
  boost::container::small_vector<Open, 8> open;
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
      out += value->is_object() ? '{' : '[';
      open.push_back({value->is_object(), value->items(), value->members(), 0});
    }
    // Close what is complete, then step to the next child.
    while (!open.empty() && open.back().next == open.back().size()) {
      const bool object = open.back().object;
      const bool empty = open.back().size() == 0;
      open.pop_back();
      if (!empty) new_line();
      out += object ? '}' : ']';
    }
    if (open.empty()) return;
    Open& top = open.back();
    const std::size_t position = top.next++;
    if (position != 0) out += ',';
    new_line();
    if (top.object) {
      const auto [name, member] = top.members[position];
      append_json_string(out, name);
      out += layout == Layout::compact ? ":" : ": ";
      value = &member;
    } else {
      value = &top.items[position];
    }
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  if (short_and_plain(text)) {
    const auto begins = out.size();
    const auto size = begins + text.size() + 2;
    out.resize_and_overwrite(size, [&](char* all, std::size_t) {  // the second may be the room there is
      all[begins] = '"';
      std::memcpy(all + begins + 1, text.data(), text.size());
      all[size - 1] = '"';
      return size;
    });
    return;
  }
  out += '"';
  if (first_invalid_utf8(text) == all_utf8) {
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
