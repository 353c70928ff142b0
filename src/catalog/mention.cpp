#include "catalog/mention.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

// scheme:rest (RFC 3986), with something behind the colon.
bool is_uri(std::string_view text) {
  if (text.empty() || !is_letter(text.front())) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ':') return i + 1 < text.size();
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  }
  return false;
}

// The server that `text` begins with, and how long its name is there; the longest where several fit.
struct Begun {
  std::string_view server;
  std::size_t length = 0;
};
class Servers {
 public:
  explicit Servers(std::span<const std::string> names) {
    for (const auto& name : names) {
      if (!name.empty()) spellings_.push_back({name, name});
    }
    const auto declared = spellings_.size();
    for (const auto& name : names) {
      auto plain = normalise_name(name);
      if (plain == name || plain.empty()) continue;
      const auto taken = std::ranges::count(spellings_, plain, &Spelled::text);
      if (taken == 0) {
        spellings_.push_back({std::move(plain), name});
      } else {
        // Of two that would be spelled alike, neither is meant.
        for (std::size_t i = declared; i < spellings_.size(); ++i) {
          if (spellings_[i].text == plain) spellings_[i].server = {};
        }
      }
    }
    std::ranges::sort(spellings_, [](const auto& a, const auto& b) {
      return std::make_tuple(b.text.size(), std::string_view(a.text)) <
             std::make_tuple(a.text.size(), std::string_view(b.text));
    });
  }
  std::optional<Begun> begun(std::string_view text) const {
    for (const auto& one : spellings_) {
      if (one.server.empty() || !text.starts_with(one.text)) continue;
      if (text.size() > one.text.size() && text[one.text.size()] == ':') return Begun{one.server, one.text.size()};
    }
    return std::nullopt;
  }

 private:
  struct Spelled {
    std::string text;
    std::string_view server;
  };
  std::vector<Spelled> spellings_;  // the longest first
};

// What ends a sentence or closes a bracket that was not opened in the URI is not part of it.
std::string_view without_punctuation(std::string_view uri) {
  while (!uri.empty()) {
    const char last = uri.back();
    if (std::string_view(".,;:!?'\"`*").contains(last)) {
      uri.remove_suffix(1);
      continue;
    }
    const auto bracket = std::string_view(")]}>").find(last);
    if (bracket == std::string_view::npos) break;
    const char open = "([{<"[bracket];
    if (std::ranges::count(uri, open) >= std::ranges::count(uri, last)) break;
    uri.remove_suffix(1);
  }
  return uri;
}

std::optional<Mention> split_mention(std::string_view text, const Servers& servers) {
  const auto begun = servers.begun(text);
  if (!begun) return std::nullopt;
  const auto uri = text.substr(begun->length + 1);
  if (uri.size() > longest_mention || !is_uri(uri)) return std::nullopt;
  return Mention{std::string(begun->server), std::string(uri), 0, text.size()};
}

}  // namespace

std::vector<Mention> mentions_in(std::string_view text, std::span<const std::string> names) {
  std::vector<Mention> out;
  if (!text.contains('@')) return out;
  const Servers servers(names);
  for (std::size_t at = text.find('@'); at != text.npos && out.size() < most_mentions; at = text.find('@', at + 1)) {
    if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '\\' || text[at - 1] == '@' || text[at - 1] == '.')) {
      continue;
    }
    // Nobody looks further than a mention may go.
    auto rest = text.substr(at + 1, 2 * longest_mention);
    std::optional<Mention> found;
    std::size_t marks = 1;
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      const auto end = rest.find_first_of("\"\n");
      if (end == rest.npos || rest[end] != '"') continue;
      found = split_mention(rest.substr(0, end), servers);
      marks = 3;
    } else {
      const auto end = std::ranges::find_if(rest, is_blank) - rest.begin();
      found = split_mention(without_punctuation(rest.substr(0, static_cast<std::size_t>(end))), servers);
    }
    if (!found) continue;
    found->begin = at;
    found->end += at + marks;
    at = found->end - 1;
    out.push_back(std::move(*found));
  }
  return out;
}

std::optional<Mention> mention_of(std::string_view text, std::span<const std::string> names) {
  const bool marked = text.starts_with('@');
  auto found = split_mention(marked ? text.substr(1) : text, Servers(names));
  if (found && marked) ++found->end;
  return found;
}

PromptWord prompt_word(std::string text) {
  const auto equals = text.find('=');
  PromptWord out{std::move(text)};
  if (equals != std::string::npos && equals > 0) out.equals = equals;
  return out;
}

Result<PromptLine> parse_prompt_line(std::string_view text) {
  if (text.size() > longest_prompt_line) {
    return fail(Errc::invalid_argument, fmt::format("a prompt may be {} bytes long", longest_prompt_line));
  }
  PromptLine out;
  bool named = false;
  std::size_t i = 0;
  for (;;) {
    while (i < text.size() && is_blank(text[i])) ++i;
    if (i == text.size()) break;
    PromptWord word;
    bool quoted_before = false;  // before the first "="
    while (i < text.size() && !is_blank(text[i])) {
      const char c = text[i++];
      if (c != '"' && c != '\'') {
        if (c == '=' && !word.equals && !quoted_before && !word.text.empty()) word.equals = word.text.size();
        word.text += c;
        continue;
      }
      if (!word.equals) quoted_before = true;
      bool closed = false;
      while (i < text.size() && !closed) {
        const char inside = text[i++];
        if (inside == c) {
          closed = true;
        } else if (c == '"' && inside == '\\' && i < text.size() && (text[i] == '"' || text[i] == '\\')) {
          word.text += text[i++];
        } else {
          word.text += inside;
        }
      }
      if (!closed) {
        return fail(Errc::invalid_argument, fmt::format("a quote ({}) is opened and not closed", c));
      }
    }
    if (named) {
      out.words.push_back(std::move(word));
      continue;
    }
    named = true;
    out.name = word.text.starts_with('/') ? word.text.substr(1) : word.text;
  }
  if (out.name.empty()) {
    return fail(Errc::invalid_argument, "there is no name of a prompt; it is written /mcp__server__prompt");
  }
  return out;
}

Result<std::map<std::string, std::string>> prompt_arguments(std::string_view shown, const Prompt& prompt,
                                                            std::span<const PromptWord> words) {
  const auto error = [&](std::string what) {
    return fail(Errc::invalid_argument, fmt::format("the prompt \"{}\" {}", clean_line(shown), what));
  };
  std::map<std::string, std::string> out;
  std::vector<const PromptWord*> unnamed;
  std::vector<std::string> names;
  for (const auto& argument : prompt.arguments) names.push_back(argument.name);
  for (const auto& word : words) {
    const auto name = word.equals ? word.text.substr(0, *word.equals) : std::string();
    if (!word.equals || std::ranges::find(names, name) == names.end()) {
      unnamed.push_back(&word);
    } else if (!out.emplace(name, word.text.substr(*word.equals + 1)).second) {
      return error(fmt::format("is given \"{}\" twice", clean_excerpt(name, 80)));
    }
  }
  auto next = unnamed.begin();
  for (const auto& name : names) {
    if (next == unnamed.end()) break;
    if (out.contains(name)) continue;
    out.emplace(name, (*next++)->text);
  }
  if (next != unnamed.end()) {
    const auto word = clean_excerpt((*next)->text, 80);
    if (names.empty()) return error(fmt::format("takes no arguments, so \"{}\" has no place", word));
    const auto meant = (*next)->equals ? nearest((*next)->text.substr(0, *(*next)->equals), names) : std::string();
    if (!meant.empty())
      return error(fmt::format("has no argument for \"{}\"; did you mean \"{}\"?", word, clean_line(meant)));
    return error(
        fmt::format("has no argument for \"{}\"; its arguments are {}, and a value with blanks is written in "
                    "quotes",
                    word, clean_excerpt(join(names, ", "), 400)));
  }
  std::vector<std::string> missing;
  for (const auto& argument : prompt.arguments) {
    if (argument.required == true && !out.contains(argument.name)) missing.push_back(argument.name);
  }
  if (!missing.empty()) {
    return error(fmt::format("also needs {}; its arguments are {}", clean_excerpt(join(missing, ", "), 400),
                             clean_excerpt(join(names, ", "), 400)));
  }
  return out;
}

}  // namespace patchbay
