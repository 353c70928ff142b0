#include "catalog/search/terms.h"

#include <algorithm>
#include <array>

namespace patchbay {
namespace {

constexpr std::size_t longest_term = 64;  // bytes; what is longer is data and not a word

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Letters of other scripts are bytes that ASCII does not have.
bool is_other(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool is_word(char c) { return is_lower(c) || is_upper(c) || is_digit(c) || is_other(c); }
bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'; }

bool has_vowel(std::string_view word) { return std::ranges::any_of(word, is_vowel); }

// "stopp" of "stopped" is "stop"; "call" of "calling" stays.
void undouble(std::string& word) {
  const auto n = word.size();
  if (n > 3 && word[n - 1] == word[n - 2] && !is_vowel(word[n - 1]) && word[n - 1] != 'l' && word[n - 1] != 's') {
    word.pop_back();
  }
}

// Less than a real stemmer: what it makes of a word only has to be the same for the forms of that word.
void stem(std::string& word) {
  if (std::ranges::any_of(word, [](char c) { return is_digit(c) || is_other(c); })) return;
  const auto ends = [&](std::string_view ending) { return word.ends_with(ending); };
  if (word.size() > 4 && ends("ies")) {
    word.replace(word.size() - 3, 3, "y");
  } else if (word.size() > 4 && (ends("sses") || ends("shes") || ends("ches") || ends("xes") || ends("zes"))) {
    word.resize(word.size() - 2);
  } else if (word.size() > 3 && ends("s") && !ends("ss") && !ends("us") && !ends("is")) {
    word.pop_back();
  }
  if (word.size() > 5 && ends("ing") && has_vowel(std::string_view(word).substr(0, word.size() - 3))) {
    word.resize(word.size() - 3);
    undouble(word);
  } else if (word.size() > 4 && ends("ed") && has_vowel(std::string_view(word).substr(0, word.size() - 2))) {
    word.resize(word.size() - 2);
    undouble(word);
  }
  // "create" and "creating" meet without it.
  if (word.size() > 4 && ends("e")) word.pop_back();
}

// Calls `take` with each word as it is written, cut where camelCase goes on: readHTTPFile is read, HTTP, File.
template <class Take>
void each_word(std::string_view text, Take take) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    const std::size_t first = i++;
    for (; i < text.size() && is_word(text[i]); ++i) {
      const char before = text[i - 1];
      if (is_upper(text[i]) && !is_upper(before)) break;
      // The last capital of several belongs to what follows it.
      if (is_upper(text[i]) && i + 1 < text.size() && is_lower(text[i + 1])) break;
    }
    take(text.substr(first, i - first));
  }
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (auto& c : out) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

constexpr auto common_words = std::to_array<std::string_view>(
    {"a",   "about", "all",  "an",    "and",   "any",  "are",  "as",   "at",    "be",     "by",   "can",
     "do",  "for",   "from", "give",  "have",  "how",  "i",    "in",   "into",  "is",     "it",   "its",
     "let", "me",    "my",   "need",  "of",    "on",   "one",  "or",   "our",   "please", "some", "that",
     "the", "their", "them", "there", "thing", "this", "to",   "tool", "up",    "us",     "use",  "want",
     "was", "what",  "when", "where", "which", "who",  "will", "with", "would", "you",    "your"});
static_assert(std::ranges::is_sorted(common_words));

}  // namespace

std::vector<std::string> terms_of(std::string_view text) {
  std::vector<std::string> out;
  each_word(text, [&](std::string_view word) {
    if (word.size() > longest_term) return;
    auto term = lower(word);
    stem(term);
    out.push_back(std::move(term));
  });
  return out;
}

std::vector<std::string> name_terms_of(std::string_view name) {
  auto out = terms_of(name);
  if (out.size() < 2) return out;
  std::string whole;
  each_word(name, [&](std::string_view word) {
    if (whole.size() <= longest_term) whole += lower(word);
  });
  if (whole.size() > longest_term) return out;
  stem(whole);
  out.push_back(std::move(whole));
  return out;
}

std::vector<std::string> query_terms_of(std::string_view query, std::size_t most) {
  std::vector<std::string> out;
  std::vector<std::string> common;
  const auto add = [&](std::vector<std::string>& to, std::string term) {
    if (to.size() < most && std::ranges::find(to, term) == to.end()) to.push_back(std::move(term));
  };
  each_word(query, [&](std::string_view word) {
    if (word.size() > longest_term) return;
    auto term = lower(word);
    const bool is_common = std::ranges::binary_search(common_words, std::string_view(term));
    stem(term);
    add(is_common ? common : out, std::move(term));
  });
  return out.empty() ? common : out;
}

}  // namespace patchbay
