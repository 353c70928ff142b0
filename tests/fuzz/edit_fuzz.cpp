// Edits of any text: the first line says what to do (a verb and keys), the rest is the text. What
// comes out has the value that was asked for, every other member is spelled as before, and no
// comment outside a value that was taken away is lost.
#include <algorithm>

#include "base/strings.h"
#include "fuzz/fuzz.h"
#include "store/edit.h"
#include "text/jsonc.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::optional<Json> value_of(std::string_view text) {
  auto plain = without_comments(text);
  if (!plain) return std::nullopt;
  if (plain->find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  auto value = parse_json(*plain);
  return value ? std::optional<Json>(std::move(*value)) : std::nullopt;
}

// The words of a text without blanks, comments and commas: what must stay when members come and go.
std::vector<std::string> words_of(std::string_view text) {
  const auto plain = without_comments(text).value_or("");
  std::vector<std::string> words;
  std::string word;
  auto end = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '"') {
      end();
      const auto begin = i;
      for (++i; plain[i] != '"'; ++i) {
        if (plain[i] == '\\') ++i;
      }
      words.push_back(plain.substr(begin, i + 1 - begin));
    } else if (std::string_view(" \t\r\n,").find(c) != std::string_view::npos) {
      end();
    } else if (std::string_view("{}[]:").find(c) != std::string_view::npos) {
      end();
      words.emplace_back(1, c);
    } else {
      word += c;
    }
  }
  end();
  return words;
}

std::vector<std::string> comments_of(std::string_view text) {
  const auto plain = without_comments(text).value_or("");
  std::vector<std::string> comments;
  for (std::size_t i = 0; i < text.size();) {
    const bool line = text.substr(i).starts_with("//");
    if (plain[i] == '"') {
      for (++i; plain[i] != '"'; ++i) {
        if (plain[i] == '\\') ++i;
      }
      ++i;
    } else if (line || text.substr(i).starts_with("/*")) {
      const auto end = line ? std::min(text.find_first_of("\r\n", i), text.size()) : text.find("*/", i + 2) + 2;
      comments.emplace_back(text.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
  return comments;
}

template <class List>
bool in_order(const List& small, const List& large) {
  auto at = large.begin();
  for (const auto& one : small) {
    at = std::find(at, large.end(), one);
    if (at == large.end()) return false;
    ++at;
  }
  return true;
}

}  // namespace

FUZZ_TARGET(edit) {
  auto order = fuzz::take_line(input);
  std::vector<std::string> path;
  const char verb = order.empty() ? 's' : order.front();
  if (!order.empty()) order.remove_prefix(1);
  while (!order.empty() && path.size() < 4) {
    const auto end = std::min(order.find('/'), order.size());
    path.emplace_back(order.substr(0, end));
    order.remove_prefix(std::min(end + 1, order.size()));
  }
  if (path.empty()) path.emplace_back("a");
  const Json value{{"command", "x"}, {"args", Json::array({"1", Json::object()})}};
  const auto edit = verb == 'r'   ? remove_member(path)
                    : verb == 'n' ? rename_member(path, "new")
                    : verb == 'i' ? add_item(path, "item")
                    : verb == 'o' ? remove_item(path, "item")
                                  : set_member(path, value);

  const auto out = edit_text(input, edit);
  if (!out) {
    require(!out.error().reason.empty(), "a refusal without a reason");
    require(out.error().offset <= input.size(), "a refusal outside the text");
    if (std::ranges::all_of(path, [](const auto& key) { return valid_utf8(key); })) {
      require(!out.error().reason.ends_with("so nothing was changed"), "a valid text was not edited right");
    }
    return;
  }
  if (verb == 'i' || verb == 'o') {
    require(in_order(words_of(verb == 'i' ? input : *out), words_of(verb == 'i' ? *out : input)), "a word was changed");
    require(comments_of(*out) == comments_of(input), "a comment was lost among items");
    require(edit_text(*out, edit).value_or("") == *out, "the same again changed the text");
    return;
  }
  auto before = value_of(input);
  const auto after = value_of(*out);
  require(before && after, "an edit of or to something that is not JSON");
  Json* parent = &*before;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (parent->find(path[i]) == nullptr) (*parent)[path[i]] = Json::object();
    parent = parent->find(path[i]);
  }
  const bool existed = parent->find(path.back()) != nullptr;
  if (verb == 'r') {
    parent->as_object().erase(path.back());
  } else if (verb == 'n') {
    Json moved = *parent->find(path.back());
    parent->as_object().erase(path.back());
    parent->as_object().set("new", std::move(moved));
  } else {
    (*parent)[path.back()] = value;
  }
  require(*before == *after, "the value is not the one that was asked for");

  const bool adds = verb != 'r' && verb != 'n' && !existed;
  if (adds) require(in_order(words_of(input), words_of(*out)), "a word was changed while adding");
  if (verb == 'r') require(in_order(words_of(*out), words_of(input)), "a word was changed while removing");
  if (adds || verb == 'n') require(comments_of(*out) == comments_of(input), "a comment was lost");
  if (verb == 'r') require(in_order(comments_of(*out), comments_of(input)), "a comment was made");
  // Doing it again changes nothing.
  if (verb != 'r' && verb != 'n')
    require(edit_text(*out, edit).value_or("") == *out, "setting the same again changed the text");
}
