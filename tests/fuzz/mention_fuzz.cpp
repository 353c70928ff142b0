// Mentions and lines of prompts: what is found lies in the text where it says, says the same when it is read alone, and
// stays within bounds; words of a prompt come back when they are quoted.
//
// Input: a line of servers, blanks between them, then a text.
#include <algorithm>

#include "base/strings.h"
#include "catalog/mention.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::string quoted(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

FUZZ_TARGET(mention) {
  std::vector<std::string> servers;
  for (const auto name : split(fuzz::take_line(input), ' ')) servers.emplace_back(name);
  if (servers.size() > 16) servers.resize(16);
  const std::string_view text = input;
  const auto found = mentions_in(text, servers);
  require(found.size() <= most_mentions, "too many");
  std::size_t end = 0;
  for (const auto& one : found) {
    require(one.begin >= end && one.end > one.begin && one.end <= text.size(), "it lies outside");
    end = one.end;
    require(text[one.begin] == '@', "it does not begin with its sign");
    require(std::ranges::find(servers, one.server) != servers.end(), "nobody has this server");
    require(one.uri.size() <= longest_mention && one.uri.contains(':'), "no URI");
    const auto part = text.substr(one.begin, one.end - one.begin);
    require(part.ends_with(one.uri) || part.ends_with(one.uri + "\""), "it is not what is there");
    const auto alone = mention_of("@" + one.server + ":" + one.uri, servers);
    // Another server may have a longer name that the whole begins with.
    require(alone && alone->server.size() >= one.server.size(), "it is not one when it stands alone");
  }

  const auto line = parse_prompt_line(text);
  if (!line) return;
  require(!line->name.empty(), "no name");
  std::string again = "/" + quoted(line->name);
  for (const auto& word : line->words) {
    require(!word.equals || (*word.equals > 0 && word.text.at(*word.equals) == '='), "no sign where one is said");
    again += " " + quoted(word.text);
  }
  const auto twice = parse_prompt_line(again);
  require(twice && twice->words.size() == line->words.size(), "other words when they are quoted");
  require(twice->name == line->name, "another name when it is quoted");
  Prompt prompt{.name = "p"};
  for (std::size_t i = 0; i < line->words.size(); ++i) {
    require(twice->words[i].text == line->words[i].text, "another word when it is quoted");
    require(!twice->words[i].equals, "a quoted word names nothing");
    if (i % 3 == 0) continue;
    const auto& word = line->words[i];
    prompt.arguments.push_back(
        {.name = word.equals ? word.text.substr(0, *word.equals) : word.text, .required = i % 2 == 0});
  }
  const auto arguments = prompt_arguments("/p", prompt, line->words);
  if (!arguments) return;
  require(arguments->size() == line->words.size(), "a word is lost");
  for (const auto& one : prompt.arguments) {
    require(one.required != true || arguments->contains(one.name), "a required argument is missing");
  }
}
