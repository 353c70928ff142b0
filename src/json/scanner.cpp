#include "json/scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "json/number.h"
#include "json/utf8.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace patchbay {
namespace {

bool special(char c) noexcept { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

const char* find_special(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F);
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                      _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    if (const int mask = _mm_movemask_epi8(hits)) return at + std::countr_zero(static_cast<unsigned>(mask));
  }
#endif
  while (at != end && !special(*at)) ++at;
  return at;
}

#if defined(__SSE2__)
// One bit for each of 64 bytes that a string cannot hold as is.
std::uint64_t special_bits(const char* at) noexcept {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F);
  std::uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i * 16));
    const __m128i hits = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                      _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
    bits |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hits))) << (i * 16);
  }
  return bits;
}
#endif

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
  void end() {}
  bool key(StringToken) { return true; }
  void string(StringToken) {}
  void number(NumberToken) {}
  void boolean(bool) {}
  void null() {}
  std::string duplicate() const { return {}; }
};

}  // namespace

// Containers under construction are reached by address: a container grows only while it
// is the innermost one, so nothing on the way to it moves.
class JsonBuilder {
 public:
  explicit JsonBuilder(Json& root) : root_(root) {}

  void begin_object() {
    Json& value = slot();
    auto& object = value.data_.emplace<Json::Object>();
    if (const auto expected = expected_size()) object.members_.reserve(expected);
    open_.push_back(&value);
  }
  void begin_array() {
    Json& value = slot();
    auto& array = value.data_.emplace<Json::Array>();
    if (const auto expected = expected_size()) array.reserve(expected);
    open_.push_back(&value);
  }
  void end() {
    const auto size = open_.back()->size();
    open_.pop_back();
    if (open_.size() < levels) sizes_[open_.size()] = static_cast<std::uint8_t>(std::min(size, most_expected));
  }
  bool key(StringToken token) {
    key_.clear();
    append_unescaped(key_, token);
    return !open_.back()->if_object()->contains(key_);
  }
  void string(StringToken token) {
    if (!token.escaped) {
      slot().data_.emplace<std::string>(token.raw);
      return;
    }
    auto& text = slot().data_.emplace<std::string>();
    text.reserve(token.raw.size());
    append_unescaped(text, token);
  }
  void number(NumberToken token) {
    auto& data = slot().data_;
    const Number number = convert_number(token.text, token.integral);
    if (const auto* integer = std::get_if<std::int64_t>(&number)) {
      data = *integer;
    } else if (const auto* real = std::get_if<double>(&number)) {
      data = *real;
    } else if (const auto* large = std::get_if<std::uint64_t>(&number)) {
      data = *large;
    } else {
      data.emplace<Json::BigNumber>(std::string(token.text));
    }
  }
  void boolean(bool value) { slot().data_ = value; }
  void null() { slot(); }
  std::string duplicate() const { return fmt::format("duplicate key \"{}\"", std::string_view(key_).substr(0, 64)); }

 private:
  // A new null at the current place.
  Json& slot() {
    if (open_.empty()) {
      root_ = Json();
      return root_;
    }
    if (auto* array = open_.back()->if_array()) return array->emplace_back();
    return open_.back()->if_object()->append_null(std::move(key_));
  }

  // What comes in rows has rows of one size: a container is given room for as many values as
  // the one before it at its level had. Few, so that one large row costs the next ones little.
  static constexpr std::size_t most_expected = 16;
  static constexpr std::size_t levels = 16;
  // Deeper down nothing is expected: levels that shared an expectation would multiply it.
  std::size_t expected_size() const noexcept { return open_.size() < levels ? sizes_[open_.size()] : 0; }

  Json& root_;
  std::vector<Json*> open_;
  std::string key_;
  std::array<std::uint8_t, levels> sizes_{};
};

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
  const std::size_t begins = offset();
  const char* const first = ++at_;
  token.escaped = false;
#if defined(__SSE2__)
  // Most strings are short. Long ones are full of escapes; a block at a time, each costs little
  // more than its bit.
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
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  const auto length = number_length(rest, token.integral);
  if (length == 0) return fail("malformed number");
  if (token.integral && length < rest.size() && rest[length] >= '0' && rest[length] <= '9') {
    return fail("a number must not begin with 0");
  }
  token.text = rest.substr(0, length);
  at_ += length;
  return true;
}

bool JsonScanner::literal(std::string_view word) {
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return fail_value();
  at_ += word.size();
  return true;
}

template <class Sink>
bool JsonScanner::walk(Sink& sink) {
  Nesting nesting;
  StringToken string_token;
  NumberToken number_token;

value:
  if (nodes_left_ == 0) return fail_nodes();
  --nodes_left_;
  skip_space();
  if (at_ == end_) return fail_value();
  switch (*at_) {
    case '{':
    case '[': {
      if (depth_ + nesting.size() >= max_depth_) return fail_depth();
      const bool object = *at_ == '{';
      ++at_;
      nesting.push(object);
      if (object) {
        sink.begin_object();
        skip_space();
        if (at_ == end_ || *at_ != '}') goto key;
      } else {
        sink.begin_array();
        skip_space();
        if (at_ == end_ || *at_ != ']') goto value;
      }
      ++at_;
      nesting.pop();
      sink.end();
      break;
    }
    case '"':
      if (!string(string_token)) return false;
      sink.string(string_token);
      break;
    case 't':
      if (!literal("true")) return false;
      sink.boolean(true);
      break;
    case 'f':
      if (!literal("false")) return false;
      sink.boolean(false);
      break;
    case 'n':
      if (!literal("null")) return false;
      sink.null();
      break;
    default:
      if (*at_ != '-' && (*at_ < '0' || *at_ > '9')) return fail_value();
      if (!number(number_token)) return false;
      sink.number(number_token);
  }

after_value:
  if (nesting.empty()) return true;
  skip_space();
  if (nesting.in_object()) {
    if (at_ == end_ || (*at_ != ',' && *at_ != '}')) return fail("expected ',' or '}'");
    if (*at_++ == ',') {
      skip_space();
      goto key;
    }
  } else {
    if (at_ == end_ || (*at_ != ',' && *at_ != ']')) return fail("expected ',' or ']'");
    if (*at_++ == ',') goto value;
  }
  nesting.pop();
  sink.end();
  goto after_value;

key: {
  const std::size_t begins = offset();
  if (at_ == end_) return fail("the text ends where a key or '}' was expected");
  if (*at_ != '"') return fail("expected a string as a key");
  if (!string(string_token)) return false;
  ++keys_;
  if (!sink.key(string_token)) return fail_at(sink.duplicate(), begins);
  skip_space();
  if (at_ == end_ || *at_ != ':') return fail("expected ':'");
  ++at_;
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
  JsonBuilder builder(value);
  return walk(builder);
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
