#include "cli/words/typed_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "cli/texts/command_table.h"

namespace patchbay::cli {
namespace {

bool is_word_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.find(c) != std::string_view::npos;
  });
}

// NAME=value
bool is_assignment(std::string_view word) {
  const auto sign = word.find('=');
  return sign != std::string_view::npos && is_word_of(word.substr(0, sign), "_");
}

// Name: value, with the blank: https://host is none.
bool is_header_line(std::string_view word) {
  const auto colon = word.find(": ");
  return colon != std::string_view::npos && is_word_of(word.substr(0, colon), "_-");
}

// CLI11 takes [a,b] for two words; with something behind the bracket it does not.
constexpr char bracket_guard = '\x1f';

void guard_brackets(std::vector<std::string>& words, const std::vector<std::string>& with_value) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool value = i > 0 && std::ranges::find(with_value, words[i - 1]) != with_value.end();
    if (!value && words[i].starts_with('[') && words[i].ends_with(']')) words[i] += bracket_guard;
  }
}

// What stands behind -- is never a flag. CLI11 hands such words to the wrong command, so they are marked.
constexpr char operand_guard = '\x1e';

void guard_operands(std::vector<std::string>& words) {
  const auto mark = std::ranges::find(words, "--");
  if (mark == words.end()) return;
  for (auto word = mark + 1; word != words.end(); ++word) {
    if (word->starts_with('-')) word->insert(word->begin(), operand_guard);
  }
  words.erase(mark);
}

constexpr auto rule_flags =
    std::to_array<std::string_view>({"--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools"});

}  // namespace

CommandAt command_at(const std::vector<std::string>& words, const std::vector<std::string>& with_value) {
  CommandAt found;
  for (; found.at < words.size(); ++found.at) {
    const auto& word = words[found.at];
    if (word.starts_with('-')) {
      if (std::ranges::find(with_value, word) != with_value.end()) ++found.at;
    } else if (word == "mcp" && !found.in_mcp) {
      found.in_mcp = true;
    } else {
      break;
    }
  }
  found.at = std::min(found.at, words.size());
  return found;
}

std::vector<std::string> usual_words(std::vector<std::string> typed, const std::vector<std::string>& with_value) {
  const auto [at, mcp] = command_at(typed, with_value);
  if (at >= typed.size()) return typed;
  if (typed[at] == "help") {
    const auto known_commands = command_table();
    typed.erase(typed.begin() + static_cast<std::ptrdiff_t>(at));
    // Of a command nobody knows there is no help; that it is unknown is said instead.
    const auto asked = command_at(typed, with_value).at;
    const bool known =
        asked >= typed.size() || std::ranges::find(known_commands, typed[asked], [](const CommandEntry& entry) {
                                   return std::string_view(entry.name);
                                 }) != known_commands.end();
    if (known) typed.emplace_back("--help");
  } else if (typed[at] == "version" && !mcp) {
    typed[at] = "--version";
  }
  return typed;
}

bool is_rule_flag(const std::string& word) { return std::ranges::find(rule_flags, word) != rule_flags.end(); }

std::vector<std::string> repeat_rule_flags(const std::vector<std::string>& words,
                                           const std::vector<std::string>& flags_with_value) {
  std::vector<std::string> out;
  std::string repeated;  // the flag whose values are being read
  std::size_t i = 0;
  for (; i < words.size(); ++i) {
    const auto& word = words[i];
    const bool more = !repeated.empty() && word.starts_with("mcp__");
    if (more) {
      out.push_back(repeated);
      out.push_back(word);
      continue;
    }
    repeated.clear();
    if (!word.starts_with('-') && word != "mcp") break;
    out.push_back(word);
    if (std::ranges::find(flags_with_value, word) == flags_with_value.end() || i + 1 == words.size()) continue;
    out.push_back(words[++i]);
    if (is_rule_flag(word)) repeated = word;
  }
  out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return out;
}

AddWords untangle_add(std::vector<std::string> words, const std::vector<std::string>& flags_with_value) {
  const auto takes_value = [&](const std::string& word) {
    return std::ranges::find(flags_with_value, word) != flags_with_value.end();
  };
  auto at = command_at(words, flags_with_value).at;
  AddWords out;
  if (at >= words.size() || words[at] != "add") return {std::move(words), std::nullopt};
  out.words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::string greedy;  // the flag whose values are being read
  for (++at; at < words.size(); ++at) {
    const auto& word = words[at];
    if (word == "--") {
      out.command.emplace(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (word == "-e" || word == "--env" || word == "-H" || word == "--header") {
      out.words.push_back(word);
      greedy = word;
      if (at + 1 < words.size() && words[at + 1] != "--") out.words.push_back(words[++at]);
      continue;
    }
    const bool more =
        (greedy == "-e" || greedy == "--env") ? is_assignment(word) : !greedy.empty() && is_header_line(word);
    if (more) {
      out.words.push_back(greedy);
    } else {
      greedy.clear();
    }
    out.words.push_back(word);
    if (!more && takes_value(word) && at + 1 < words.size()) out.words.push_back(words[++at]);
  }
  return out;
}

void guard_words(std::vector<std::string>& words, const std::vector<std::string>& flags_with_value) {
  guard_operands(words);
  guard_brackets(words, flags_with_value);
}

void take_guards_off(std::string& word) {
  if (word.ends_with(bracket_guard)) word.pop_back();
  if (word.starts_with(operand_guard)) word.erase(0, 1);
}

}  // namespace patchbay::cli
