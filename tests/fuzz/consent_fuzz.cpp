// What is shown of an entry to somebody who decides: no character that does not show itself, no line that we did not
// begin, and never the same for two different texts.
#include <algorithm>

#include "base/strings.h"
#include "entries/consent_text.h"
#include "fuzz/fuzz.h"
#include "text/utf8.h"
#include "text/visible_text.h"

using namespace patchbay;
using fuzz::require;

namespace {

void require_visible(std::string_view shown) {
  require(valid_utf8(shown), "shown text is not UTF-8");
  for (std::size_t at = 0; at < shown.size();) {
    const auto character = decode_utf8(shown, at);
    require(shows_itself(character.value), "a character that does not show itself");
    at += character.length;
  }
}

void require_no_gap(std::string_view shown) {
  require_visible(shown);
  require(shown.find("   ") == std::string_view::npos, "a run of blanks");
}

unsigned number(std::string_view digits, unsigned base) {
  unsigned value = 0;
  for (char c : digits) value = value * base + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  return value;
}

// The text that was shown: that there is one answer is what makes it exact.
std::string read_back(std::string_view shown) {
  std::string out;
  for (std::size_t at = 0; at < shown.size();) {
    if (shown[at] != '\\') {
      out += shown[at++];
      continue;
    }
    require(at + 1 < shown.size(), "an escape without an end");
    const char kind = shown[at + 1];
    at += 2;
    const auto digits = [&](std::size_t count) {
      const auto text = shown.substr(at, count);
      at += count;
      return number(text, 16);
    };
    switch (kind) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '\\':
      case '\'':
        out += kind;
        break;
      case 'x':
        out += static_cast<char>(digits(2));
        break;
      case 'u':
        append_utf8(out, digits(4));
        break;
      case 'U':
        append_utf8(out, digits(8));
        break;
      default: {
        require(kind == '{', "an unknown escape");
        const auto end = shown.find(" blanks}", at);
        require(end != std::string_view::npos, "a count without an end");
        out.append(number(shown.substr(at, end - at), 10), ' ');
        at = end + 8;
      }
    }
  }
  return out;
}

std::string word_read_back(std::string_view shown) {
  if (!shown.starts_with('\'')) return std::string(shown);
  require(shown.size() >= 2 && shown.ends_with('\''), "a quoted word without an end");
  return read_back(shown.substr(1, shown.size() - 2));
}

}  // namespace

// First line: the name of a variable; second: a directory; the rest: an argument, and the variable's value.
FUZZ_TARGET(consent) {
  const auto whole = visible_text(input);
  require_no_gap(whole);
  require(read_back(whole) == input, "a text is not shown exactly");
  require(word_read_back(visible_word(input)) == input, "a word is not shown exactly");
  require_visible(visible_message(input));

  const auto name = std::string(fuzz::take_line(input));
  const auto directory = std::string(fuzz::take_line(input));
  ServerConfig server;
  server.name = name;
  server.command = "sh";
  server.args = {"-c", std::string(input)};
  server.env = {{name, std::string(input)}};
  server.cwd = directory;
  server.origin.trust = ConfigTrust::needs_approval;
  const auto text = consent_text(server);
  for (const auto& line : text.details) require_no_gap(line);
  require_no_gap(text.target);
  require(text.target == "runs: sh -c " + visible_word(input), "a command is not shown as it is");
  const bool hidden = may_hide(name, input);
  const auto variable = "sets " + visible_word(name) + "=" + visible_word(input);
  const bool open = std::ranges::any_of(text.details, [&](const auto& line) { return line.starts_with(variable); });
  require(open != hidden, "a value is hidden that may not be, or shown that is secret");

  // Every line is one of ours, and fits.
  const auto block = consent_block(server, "  ", 40);
  require(block.ends_with('\n'), "a line without an end");
  for (const auto line : split(std::string_view(block).substr(0, block.size() - 1), '\n')) {
    require_visible(line.substr(2));
    const bool ours = std::ranges::any_of(
        std::initializer_list<std::string_view>{"  runs: ", "  sets ", "  in the directory ", "    | ", "  (that was "},
        [&](auto begin) { return line.starts_with(begin); });
    require(ours, "a line that begins with text of theirs");
  }
}
