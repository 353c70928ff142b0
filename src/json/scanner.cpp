#include "json/scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "json/builder.h"
#include "json/number.h"
#include "json/short_tokens.h"
#include "json/utf8.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace patchbay {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

unsigned hex4(const char* at) noexcept {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) value = value << 4 | static_cast<unsigned>(hex_digit(at[i]));
  return value;
}

char* put_utf8(char* to, unsigned code) noexcept {
  if (code < 0x80) {
    *to++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *to++ = static_cast<char>(0xC0 | code >> 6);
    *to++ = static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *to++ = static_cast<char>(0xE0 | code >> 12);
    *to++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *to++ = static_cast<char>(0xF0 | code >> 18);
    *to++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
    *to++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (code & 0x3F));
  }
  return to;
}

// Which of the open brackets are objects: the innermost 64 in a word, the rest behind it.
class Nesting {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  bool in_object() const noexcept { return (word_ & 1) != 0; }
  void push(bool object) {
    if (size_ != 0 && size_ % 64 == 0) outer_.push_back(word_);
    word_ = word_ << 1 | (object ? 1u : 0u);
    ++size_;
  }
  void pop() noexcept {
    --size_;
    word_ >>= 1;
    if (size_ != 0 && size_ % 64 == 0) {
      word_ = outer_.back();
      outer_.pop_back();
    }
  }

 private:
  std::size_t size_ = 0;
  std::uint64_t word_ = 0;
  std::vector<std::uint64_t> outer_;
};

struct Skipper {
  void begin_object() {}
  void begin_array() {}
  void end(bool) {}
  bool key(StringToken) { return true; }
  void string(StringToken) {}
  void number(NumberToken) {}
  void integer(std::int64_t) {}
  void real(double) {}
  void boolean(bool) {}
  void null() {}
  std::string duplicate() const { return {}; }
};

}  // namespace

std::size_t plain_length(std::string_view text) noexcept {
  return static_cast<std::size_t>(find_special(text.data(), text.data() + text.size()) - text.data());
}

namespace {

// Copies up to the next backslash or `stop`, or all of it; returns how much. What lies behind that in
// `to` may be overwritten, but not beyond as many bytes as `from` has.
std::size_t copy_plain(char* to, const char* from, const char* end, char stop) noexcept {
  const char* at = from;
#if defined(__SSE2__)
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i other = _mm_set1_epi8(stop);
  for (; end - at >= 16; at += 16, to += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    const __m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, backslash), _mm_cmpeq_epi8(bytes, other));
    if (const int mask = _mm_movemask_epi8(hits)) {
      return static_cast<std::size_t>(at - from) +
             static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(mask)));
    }
  }
#endif
  while (at != end && *at != '\\' && *at != stop) *to++ = *at++;
  return static_cast<std::size_t>(at - from);
}

// Writes what a string stands for from `at` up to its quote, or to the end; never more bytes
// than it crosses. Both pointers are left behind what was read and written.
void unescape(char*& to, const char*& at, const char* end) noexcept {
  while (true) {
    const std::size_t plain = copy_plain(to, at, end, '"');
    to += plain;
    at += plain;
    if (at == end || *at == '"') return;
    const char kind = at[1];
    at += 2;
    switch (kind) {
      case 'b':
        *to++ = '\b';
        break;
      case 'f':
        *to++ = '\f';
        break;
      case 'n':
        *to++ = '\n';
        break;
      case 'r':
        *to++ = '\r';
        break;
      case 't':
        *to++ = '\t';
        break;
      case 'u': {
        unsigned code = hex4(at);
        at += 4;
        if (code >= 0xD800 && code <= 0xDFFF) {
          const bool paired = code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u';
          const unsigned low = paired ? hex4(at + 2) : 0;
          if (low >= 0xDC00 && low <= 0xDFFF) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
          } else {
            code = 0xFFFD;
          }
        }
        to = put_utf8(to, code);
        break;
      }
      default:
        *to++ = kind;
    }
  }
}

}  // namespace

void append_unescaped(std::string& out, StringToken token) {
  if (!token.escaped) {
    out.append(token.raw);
    return;
  }
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + token.raw.size(), [&](char* data, std::size_t) {
    char* to = data + before;
    const char* at = token.raw.data();
    unescape(to, at, at + token.raw.size());
    return static_cast<std::size_t>(to - data);
  });
}

void JsonScanner::validated_string(std::string& out) {
  out.resize_and_overwrite(static_cast<std::size_t>(end_ - at_), [&](char* data, std::size_t) {
    char* to = data;
    const char* at = at_ + 1;
    unescape(to, at, end_);
    at_ = at == end_ ? at : at + 1;
    return static_cast<std::size_t>(to - data);
  });
}

bool JsonScanner::fail_at(std::string reason, std::size_t offset) {
  fault_ = {offset, std::move(reason)};
  return false;
}

bool JsonScanner::fail_depth() { return fail(fmt::format("nested deeper than {} levels", max_depth_)); }

bool JsonScanner::fail_nodes() {
  too_many_ = true;
  return fail(fmt::format("more than {} values", max_nodes_));
}

bool JsonScanner::fail_value() {
  if (at_ == begin_ && std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with("\xEF\xBB\xBF")) {
    return fail("expected a JSON value, found a byte order mark");
  }
  return fail("expected a JSON value");
}

bool JsonScanner::check_utf8() {
  const auto offset = first_invalid_utf8({begin_, static_cast<std::size_t>(end_ - begin_)});
  return offset == all_utf8 || fail_at("invalid UTF-8", offset);
}

bool JsonScanner::escape(std::size_t string_offset) {
  // at_ is on the backslash.
  if (end_ - at_ < 2) return fail_at("unterminated string", string_offset);
  switch (at_[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      at_ += 2;
      return true;
    case 'u':
      for (int i = 2; i < 6; ++i) {
        if (end_ - at_ <= i) return fail_at("unterminated string", string_offset);
        if (hex_digit(at_[i]) < 0) return fail("expected four hexadecimal digits after \\u");
      }
      at_ += 6;
      return true;
    default:
      return fail("unknown escape in a string");
  }
}

bool JsonScanner::string(StringToken& token) {
  if (at_ == end_ || *at_ != '"') return fail("expected a string");
  const char* const behind = short_string(at_, end_, token);
  if (behind == nullptr) return long_string(token);
  at_ = behind;
  return true;
}

// From its quote.
[[gnu::noinline]] bool JsonScanner::long_string(StringToken& token) {
  const std::size_t begins = offset();
  const char* const first = ++at_;
  token.escaped = false;
#if defined(__SSE2__)
  // Long ones are full of escapes; a block at a time, each costs little more than its bit.
  if (end_ - at_ >= 16) at_ = find_special(at_, at_ + 16);
  while (end_ - at_ >= 64 && *at_ != '"') {
    const char* const block = at_;
    std::uint64_t bits = special_bits(block);
    while (bits != 0) {
      at_ = block + std::countr_zero(bits);
      if (*at_ == '"') {
        token.raw = {first, static_cast<std::size_t>(at_ - first)};
        ++at_;
        return true;
      }
      if (*at_ != '\\') return fail("control character in a string");
      token.escaped = true;
      if (!escape(begins)) return false;
      const auto crossed = at_ - block;
      if (crossed >= 64) break;
      bits &= ~std::uint64_t{0} << crossed;
    }
    if (at_ - block < 64) at_ = block + 64;
  }
#endif
  while (true) {
    at_ = find_special(at_, end_);
    if (at_ == end_) return fail_at("unterminated string", begins);
    if (*at_ == '"') break;
    if (*at_ != '\\') return fail("control character in a string");
    token.escaped = true;
    if (!escape(begins)) return false;
  }
  token.raw = {first, static_cast<std::size_t>(at_ - first)};
  ++at_;
  return true;
}

bool JsonScanner::number(NumberToken& token) {
  const auto length = number_length({at_, static_cast<std::size_t>(end_ - at_)}, token.integral);
  const char* const behind = at_ + length;
  if (length == 0) return fail("malformed number");
  if (behind != end_ && *behind >= '0' && *behind <= '9') return fail("a number must not begin with 0");
  token.text = {at_, length};
  at_ = behind;
  return true;
}

// Keeps its place in variables of its own, which no call can change, and writes it back where it must be known: most
// tokens are crossed without that.
template <class Sink>
bool JsonScanner::walk(Sink& sink) {
  Nesting nesting;
  const char* at = at_;
  const char* const end = end_;
  std::size_t nodes = nodes_left_;
  std::size_t keys = keys_;

value:
  at = after_blanks(at, end);
  if (nodes == 0) {
    at_ = at;
    return fail_nodes();
  }
  --nodes;
  if (at == end) {
    at_ = at;
    return fail_value();
  }
  switch (*at) {
    case '{':
    case '[': {
      const bool object = *at == '{';
      if (depth_ + nesting.size() >= max_depth_) {
        at_ = at;
        return fail_depth();
      }
      at = after_blanks(at + 1, end);
      nesting.push(object);
      if (object) {
        sink.begin_object();
        if (at == end || *at != '}') goto key;
      } else {
        sink.begin_array();
        if (at == end || *at != ']') goto value;
      }
      ++at;
      nesting.pop();
      sink.end(object);
      break;
    }
    case '"': {
      StringToken token;
      if (const char* const behind = short_string(at, end, token)) {
        at = behind;
      } else {
        at_ = at;
        if (!long_string(token)) return false;
        at = at_;
      }
      sink.string(token);
      break;
    }
    case 't':
      if (end - at < 4 || std::memcmp(at, "true", 4) != 0) {
        at_ = at;
        return fail_value();
      }
      at += 4;
      sink.boolean(true);
      break;
    case 'f':
      if (end - at < 5 || std::memcmp(at, "false", 5) != 0) {
        at_ = at;
        return fail_value();
      }
      at += 5;
      sink.boolean(false);
      break;
    case 'n':
      if (end - at < 4 || std::memcmp(at, "null", 4) != 0) {
        at_ = at;
        return fail_value();
      }
      at += 4;
      sink.null();
      break;
    default: {
      if (const auto number = short_number(at, end); number.behind != nullptr) {
        at = number.behind;
        if (number.integral) {
          sink.integer(number.value);
        } else {
          sink.real(static_cast<double>(number.value) / powers_of_ten[number.decimals]);
        }
        break;
      }
      NumberToken token;
      at_ = at;
      if (*at != '-' && (*at < '0' || *at > '9')) return fail_value();
      if (!number(token)) return false;
      at = at_;
      sink.number(token);
    }
  }

after_value:
  if (nesting.empty()) {
    at_ = at;
    nodes_left_ = nodes;
    keys_ = keys;
    return true;
  }
  at = after_blanks(at, end);
  if (nesting.in_object()) {
    if (at != end && *at == ',') {
      at = after_blanks(at + 1, end);
      goto key;
    }
    if (at == end || *at != '}') {
      at_ = at;
      return fail("expected ',' or '}'");
    }
    sink.end(true);
  } else {
    if (at != end && *at == ',') {
      ++at;
      goto value;
    }
    if (at == end || *at != ']') {
      at_ = at;
      return fail("expected ',' or ']'");
    }
    sink.end(false);
  }
  ++at;
  nesting.pop();
  goto after_value;

key: {
  const char* const begins = at;
  StringToken token;
  if (const char* const behind = short_string(at, end, token)) {
    at = behind;
  } else {
    at_ = at;
    if (at == end) return fail("the text ends where a key or '}' was expected");
    if (*at != '"') return fail("expected a string as a key");
    if (!long_string(token)) return false;
    at = at_;
  }
  ++keys;
  if (!sink.key(token)) return fail_at(sink.duplicate(), static_cast<std::size_t>(begins - begin_));
  at = after_blanks(at, end);
  if (at == end || *at != ':') {
    at_ = at;
    return fail("expected ':'");
  }
  ++at;
  goto value;
}
}

bool JsonScanner::skip_value(std::string_view& slice) {
  skip_space();
  const char* const first = at_;
  Skipper skipper;
  if (!walk(skipper)) return false;
  slice = {first, static_cast<std::size_t>(at_ - first)};
  return true;
}

bool JsonScanner::build_value(Json& value) {
  JsonBuilder builder(end_);
  if (!walk(builder)) return false;
  value = builder.take();
  return true;
}

bool JsonScanner::finish() {
  skip_space();
  return at_ == end_ || fail("expected the end of the text after the value");
}

Error JsonScanner::error() const {
  auto error = to_error(fault_);
  return too_many_ ? Error(Errc::limit, error.message()) : error;
}

Error to_error(const JsonFault& fault) {
  return Error(Errc::protocol, fmt::format("{} at byte {}", fault.reason, fault.offset));
}

std::expected<Json, JsonFault> build_validated(std::string_view text) {
  JsonScanner scanner(text, static_cast<std::size_t>(-1), static_cast<std::size_t>(-1));
  Json value;
  if (scanner.build_value(value) && scanner.finish()) return value;
  return std::unexpected(scanner.fault());
}

std::expected<Json, JsonFault> parse_json_located(std::string_view text, JsonOptions options) {
  JsonScanner scanner(text, options.max_depth);
  Json value;
  if (scanner.check_utf8() && scanner.build_value(value) && scanner.finish()) return value;
  return std::unexpected(scanner.fault());
}

Result<Json> parse_json(std::string_view text, JsonOptions options) {
  JsonScanner scanner(text, options.max_depth);
  Json value;
  if (scanner.check_utf8() && scanner.build_value(value) && scanner.finish()) return value;
  return std::unexpected(scanner.error());
}

}  // namespace patchbay
