// The short way from bytes to the result of a tool call. Most results are one block of text;
// building a JSON value first and taking it apart again costs several times what reading them
// costs. Whatever is not as expected is left to the general way, which also finds the words
// for what is wrong: this one only says no.
#include <utility>

#include "json/scanner.h"
#include "protocol/wire_parts.h"

namespace patchbay {
namespace {

class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : scanner_(text, static_cast<std::size_t>(-1)) {}

  bool read(CallToolResult& out, bool (*known)(std::string_view, std::string_view)) {
    bool has_content = false, has_structured = false, has_flag = false, has_meta = false, has_known = false;
    const bool read = object([&](std::string_view key) {
      if (key == "content") return once(has_content) && content(out.content);
      if (key == "structuredContent")
        return once(has_structured) && scanner_.build_value(out.structured_content.emplace());
      if (key == "isError") return once(has_flag) && flag(out.is_error);
      if (key == "_meta") return once(has_meta) && scanner_.build_value(out.meta) && out.meta.is_object();
      std::string_view value;
      return known != nullptr && once(has_known) && scanner_.skip_value(value) && known(key, value);
    });
    return read && has_content && scanner_.finish();
  }

 private:
  static bool once(bool& seen) noexcept { return !std::exchange(seen, true); }

  // Calls member(key) in front of each value.
  template <class Member>
  bool object(Member member) {
    if (!scanner_.accept('{')) return false;
    if (scanner_.accept('}')) return true;
    do {
      StringToken key;
      if (scanner_.peek() != '"' || !scanner_.string(key) || key.escaped) return false;
      if (!scanner_.accept(':')) return false;
      scanner_.peek();
      if (!member(key.raw)) return false;
    } while (scanner_.accept(','));
    return scanner_.accept('}');
  }

  bool content(std::vector<Content>& blocks) {
    if (!scanner_.accept('[')) return false;
    if (scanner_.accept(']')) return true;
    do {
      auto& block = std::get<TextContent>(blocks.emplace_back());
      bool has_type = false, has_text = false;
      const bool read = object([&](std::string_view key) {
        if (scanner_.peek() != '"') return false;
        if (key == "text") return once(has_text) && text(block.text);
        StringToken value;
        return key == "type" && once(has_type) && scanner_.string(value) && value.raw == "text";
      });
      if (!read || !has_type || !has_text) return false;
    } while (scanner_.accept(','));
    return scanner_.accept(']');
  }

  bool text(std::string& out) {
    if (scanner_.left() < large_text) {
      StringToken value;
      if (!scanner_.string(value)) return false;
      append_unescaped(out, value);
      return true;
    }
    // In one pass, into room for all there is. Only a text that fills it takes it along.
    scanner_.validated_string(room_);
    if (room_.size() > room_.capacity() / 2) {
      out = std::move(room_);
    } else {
      out = room_;
    }
    return true;
  }

  bool flag(bool& out) {
    std::string_view value;
    if (!scanner_.skip_value(value)) return false;
    out = value == "true";
    return out || value == "false";
  }

  static constexpr std::size_t large_text = 4096;

  JsonScanner scanner_;
  std::string room_;
};

}  // namespace

bool read_plain_result(std::string_view text, CallToolResult& out,
                       bool (*known)(std::string_view key, std::string_view value)) {
  out = {};
  return PlainReader(text).read(out, known);
}

}  // namespace patchbay
