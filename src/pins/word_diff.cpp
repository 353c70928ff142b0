#include "pins/word_diff.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "text/visible_text.h"

namespace patchbay {
namespace {

// Beyond this many words that differ on either side, the middle is shown as one piece.
constexpr std::size_t most_words = 1000;

enum class Kind : std::uint8_t { letters, blank, sign };

Kind kind_of(char c) noexcept {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return Kind::blank;
  const bool ascii_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  // A character that is not ASCII stays whole.
  return ascii_letter || static_cast<unsigned char>(c) >= 0x80 ? Kind::letters : Kind::sign;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto kind = kind_of(text.front());
    std::size_t size = 1;
    while (kind != Kind::sign && size < text.size() && kind_of(text[size]) == kind) ++size;
    words.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

using Words = std::span<const std::string_view>;

// Which words of each are in the other, in the same order: a longest common row of them.
struct Shared {
  std::vector<bool> before;
  std::vector<bool> now;
};
Shared shared_words(Words before, Words now) {
  Shared out{std::vector<bool>(before.size()), std::vector<bool>(now.size())};
  if (before.size() > most_words || now.size() > most_words) return out;
  const auto columns = now.size() + 1;
  std::vector<std::uint16_t> longest((before.size() + 1) * columns);
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = now.size(); j-- > 0;) {
      longest[i * columns + j] = before[i] == now[j]
                                     ? static_cast<std::uint16_t>(longest[(i + 1) * columns + j + 1] + 1)
                                     : std::max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < before.size() && j < now.size();) {
    if (before[i] == now[j]) {
      out.before[i++] = out.now[j++] = true;
    } else if (longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

// As it is shown, with nothing in it that could be taken for a mark.
std::string plain(std::string_view text, bool between_marks) {
  const auto visible = visible_text(text);
  const auto opens = [](char c) { return c == '[' || c == '{'; };
  const auto closes = [](char c) { return c == ']' || c == '}'; };
  const auto inside = [](char c) { return c == '-' || c == '+'; };
  std::string out;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    const char c = visible[i];
    const bool last = i + 1 == visible.size();
    const char next = last ? '\0' : visible[i + 1];
    const bool begins = opens(c) && (last ? between_marks : inside(next));
    if (begins || (closes(c) && i == 0 && between_marks)) out += '\\';
    out += c;
    if (inside(c) && closes(next)) out += '\\';
  }
  return out;
}

std::string marked(Words words, const std::vector<bool>& shared, std::string_view open, std::string_view close) {
  std::string out;
  for (std::size_t i = 0; i < words.size();) {
    const bool same = shared[i];
    std::size_t end = i;
    std::string piece;
    while (end < words.size() && shared[end] == same) piece += words[end++];
    const auto shown = plain(piece, !same);
    if (same) {
      out += shown;
    } else {
      out.append(open).append(shown).append(close);
    }
    i = end;
  }
  return out;
}

}  // namespace

WordDiff word_diff(std::string_view before, std::string_view now) {
  const auto old_words = words_of(before);
  const auto new_words = words_of(now);
  const Words left(old_words), right(new_words);
  std::size_t head = 0;
  while (head < left.size() && head < right.size() && left[head] == right[head]) ++head;
  std::size_t tail = 0;
  while (tail < left.size() - head && tail < right.size() - head &&
         left[left.size() - 1 - tail] == right[right.size() - 1 - tail]) {
    ++tail;
  }
  const auto middle =
      shared_words(left.subspan(head, left.size() - head - tail), right.subspan(head, right.size() - head - tail));
  auto whole = [&](const std::vector<bool>& part) {
    std::vector<bool> all(head, true);
    all.insert(all.end(), part.begin(), part.end());
    all.insert(all.end(), tail, true);
    return all;
  };
  return {marked(left, whole(middle.before), "[-", "-]"), marked(right, whole(middle.now), "{+", "+}")};
}

}  // namespace patchbay
