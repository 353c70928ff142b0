// JsonScanner: one forward pass over the bytes of a JSON text (RFC 8259), validating every
// byte it crosses. It either skips a value and returns its slice, or builds a Json from it.
// Readers that know the outline of a text (the JSON-RPC envelope) pull its tokens and
// let the scanner skip the values. Nesting is kept in bits, never on the stack. Pure; it
// borrows the text and owns nothing but the first fault.
//
// After any function returned false the scanner has a fault and must not be used further.
// It does not check UTF-8 by itself: call check_utf8() once for a text not checked before.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

// A string between its quotes; `escaped` when it holds a backslash.
struct StringToken {
  std::string_view raw;
  bool escaped = false;
};

struct NumberToken {
  std::string_view text;
  bool integral = false;
};

// Values in one text, each container and each thing in one. A byte or two of text can become 32 in memory,
// so their number is bounded as well. The default is that of Limits::nodes.
inline constexpr std::size_t most_nodes = 4'000'000;

class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text, std::size_t max_depth = JsonOptions().max_depth,
                       std::size_t max_nodes = most_nodes) noexcept
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        max_depth_(max_depth),
        max_nodes_(max_nodes),
        nodes_left_(max_nodes) {}

  bool check_utf8();

  // The next character after white space, 0 at the end (a raw NUL is not a token either).
  char peek() noexcept {
    skip_space();
    return at_ == end_ ? '\0' : *at_;
  }
  // Crosses `c` after white space, if it is there.
  bool accept(char c) noexcept {
    if (peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  // Tokens at the current place, without white space in front.
  bool string(StringToken& token);
  bool number(NumberToken& token);

  // A string, from its quote, of a text that was validated before: `out` becomes what it
  // stands for, in one pass. Takes room for the rest of the text at first.
  void validated_string(std::string& out);

  bool skip_value(std::string_view& slice);
  bool build_value(Json& value);
  // Nothing but white space is left.
  bool finish();

  // The caller crossed a bracket by itself: values inside count as one deeper.
  bool enter() { return depth_++ < max_depth_ || fail_depth(); }
  void leave() noexcept { --depth_; }

  // Crossed so far by skip_value and build_value, and what count() added.
  std::size_t nodes() const noexcept { return max_nodes_ - nodes_left_; }
  std::size_t keys() const noexcept { return keys_; }
  // For what the caller makes of the text by itself.
  bool count(std::size_t nodes) {
    if (nodes > nodes_left_) return fail_nodes();
    nodes_left_ -= nodes;
    return true;
  }

  bool fail(std::string reason) { return fail_at(std::move(reason), offset()); }
  bool fail_at(std::string reason, std::size_t offset);
  const JsonFault& fault() const noexcept { return fault_; }
  // The same as an error: Errc::limit for too many values, else Errc::protocol.
  Error error() const;

 private:
  template <class Sink>
  bool walk(Sink& sink);
  void skip_space() noexcept {
    while (at_ != end_ && static_cast<unsigned char>(*at_) <= ' ' &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
      ++at_;
    }
  }
  bool long_string(StringToken& token);
  bool escape(std::size_t string_offset);
  bool fail_depth();
  bool fail_nodes();
  bool fail_value();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t max_depth_;
  std::size_t max_nodes_;
  std::size_t nodes_left_;
  std::size_t keys_ = 0;
  std::size_t depth_ = 0;
  JsonFault fault_;
  bool too_many_ = false;
};

// Appends the characters a string token stands for. A lone surrogate becomes U+FFFD.
void append_unescaped(std::string& out, StringToken token);

// "expected ',' or '}' at byte 17"
Error to_error(const JsonFault& fault);

// Values of a text that was validated before: no limits, no UTF-8 check.
std::expected<Json, JsonFault> build_validated(std::string_view text);

// The first byte of `text` that a JSON string cannot hold as is: quote, backslash, or
// control character; text.size() when there is none.
std::size_t plain_length(std::string_view text) noexcept;

}  // namespace patchbay
