#include "cli/texts/usage_error.h"

#include <algorithm>

#include "base/strings.h"
#include "cli/texts/command_table.h"
#include "cli/words/typed_words.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const auto meant = nearest(word, names);
  return meant.empty() ? std::string() : "; did you mean '" + meant + "'?";
}

// A flag nobody knows, and what was meant; empty when all are known.
std::string flag_error(const std::vector<std::string>& typed, const std::string& command, const KnownFlags& known,
                       const std::vector<std::string>& with_value) {
  const auto behind = std::ranges::find(typed, "--");
  for (auto word = typed.begin(); word != behind; ++word) {
    if (!word->starts_with('-') || *word == "-") continue;
    const auto name = word->substr(0, word->find('='));
    if (std::ranges::find(known.here, name) != known.here.end()) {
      if (name == *word && std::ranges::find(with_value, name) != with_value.end() && word + 1 != behind) ++word;
      continue;
    }
    if (!name.starts_with("--")) {
      // -eA=1 and -qv are several in one.
      if (std::ranges::find(known.here, name.substr(0, 2)) != known.here.end()) continue;
    }
    std::string message = "there is no flag '" + name + "'";
    if (command == "call" || command == "prompt") {
      const auto plain = name.substr(name.find_first_not_of('-'));
      message += " of " + command + "; arguments are written key=value: " + plain + "=" +
                 (word->size() > name.size() ? word->substr(name.size() + 1) : "VALUE");
      if (const auto meant = nearest(name, known.here); !meant.empty() && edit_distance(name, meant, 2) <= 2) {
        message += " (or did you mean " + meant + "?)";
      }
      return message;
    }
    if (std::ranges::find(known.anywhere, name) != known.anywhere.end()) {
      return "'" + command + "' takes no flag '" + name + "'";
    }
    auto meant = did_you_mean(name, known.here);
    if (meant.empty() && command.empty()) meant = did_you_mean(name, known.anywhere);
    return message + meant;
  }
  return {};
}

// A flag of the command that stands before it, where only those of all commands may; empty when there is none.
std::string misplaced_flag(const std::vector<std::string>& typed, std::size_t at, const std::string& command,
                           const FlagLookup& known_flags, const std::vector<std::string>& with_value) {
  const auto everywhere = known_flags({}).here;
  const auto own = known_flags(typed[at]).here;
  for (std::size_t i = 0; i < at; ++i) {
    if (!typed[i].starts_with('-')) continue;
    const auto name = typed[i].substr(0, typed[i].find('='));
    const bool has_value = name == typed[i] && std::ranges::find(with_value, name) != with_value.end() && i + 1 < at;
    if (std::ranges::find(everywhere, name) == everywhere.end() && std::ranges::find(own, name) != own.end()) {
      return "'" + name + "' is a flag of '" + command + "'; write it after the command: patchbay " + command + " " +
             shell_word(typed[i]) + (has_value ? " " + shell_word(typed[i + 1]) : "");
    }
    if (has_value) ++i;
  }
  return {};
}

// Whether a flag nobody knows stands before the name of a new server: it is none of the server's command.
bool own_slip(const std::vector<std::string>& typed, std::size_t at, const KnownFlags& known,
              const std::vector<std::string>& with_value) {
  for (std::size_t i = at + 1; i < typed.size() && typed[i].starts_with('-') && typed[i] != "--"; ++i) {
    const auto name = typed[i].substr(0, typed[i].find('='));
    if (name.starts_with("--") && std::ranges::find(known.here, name) == known.here.end()) return true;
    if (name == typed[i] && std::ranges::find(with_value, name) != with_value.end()) ++i;
  }
  return false;
}

// One of several words was wanted: "--scope: projct not in {local,project,user}".
std::string choice_error(const std::string& message) {
  const auto in = message.find(" not in {");
  const auto colon = message.find(": ");
  if (in == std::string::npos || colon == std::string::npos || colon > in) return message;
  const auto begin = in + 9;
  const auto typed = message.substr(colon + 2, in - colon - 2);
  // A mode of another client that is no mode here; whoever asks for it counts on nothing being changed.
  if (message.starts_with("--permission-mode") && typed == "plan") {
    return message.substr(0, in) + " does not exist here; dontAsk refuses every call that no rule allows";
  }
  std::vector<std::string> choices;
  for (const auto one : split(std::string_view(message).substr(begin, message.find('}', begin) - begin), ',')) {
    choices.emplace_back(one);
  }
  return message + did_you_mean(typed, choices);
}

}  // namespace

UsageError usage_error(const std::string& message, const std::vector<std::string>& typed, const FlagLookup& known_flags,
                       const std::vector<std::string>& with_value) {
  const auto [at, mcp] = command_at(typed, with_value);
  const std::string before = mcp ? "mcp " : "";
  const auto name = at < typed.size() ? typed[at] : std::string();
  std::vector<std::string> names;
  for (const auto& entry : command_table()) {
    if (!mcp || entry.in_mcp) names.emplace_back(entry.name);
  }
  if (!mcp) names.emplace_back("mcp");
  const bool known_command = std::ranges::find(names, name) != names.end();
  const bool flags_only = name.empty();
  UsageError error{choice_error(message),
                   known_command ? "patchbay " + before + name + " --help" : "patchbay " + before + "--help"};
  if (auto flag = flag_error(typed, known_command ? name : std::string(), known_flags(name), with_value);
      !flag.empty() && (known_command || flags_only)) {
    error.message = flag;
    // What stands behind the name of a new server may well be flags of its command.
    if (name != "add" || own_slip(typed, at, known_flags(name), with_value)) return error;
  } else if (known_command) {
    auto misplaced = misplaced_flag(typed, at, before + name, known_flags, with_value);
    if (!misplaced.empty()) {
      error.message = std::move(misplaced);
      return error;
    }
  }
  if (!known_command && !flags_only) {
    // What a misspelt flag left standing is no command.
    const std::vector<std::string> before_it(typed.begin(), typed.begin() + static_cast<std::ptrdiff_t>(at));
    error.message = flag_error(before_it, {}, known_flags({}), with_value);
    if (!error.message.empty()) return error;
    // Rules begin with a capital, or with mcp__, which were taken for rules already.
    const bool like_command = name.front() >= 'a' && name.front() <= 'z' && !nearest(name, names).empty();
    if (at >= 2 && is_rule_flag(typed[at - 2]) && !like_command) {
      error.message = "unknown command '" + name + "'; write several rules as one word: " + typed[at - 2] + " " +
                      shell_word(typed[at - 1] + " " + name);
      return error;
    }
    error.message = "unknown command '" + before + name + "'";
    if (name == "login" || name == "logout" || name == "auth") {
      error.message +=
          "; signing in is not possible yet. Give a token in a header instead: patchbay add -t http NAME URL -H "
          "'Authorization: Bearer ${TOKEN}'";
    } else {
      const auto meant = nearest(name, names);
      if (!meant.empty()) error.message += "; did you mean '" + before + meant + "'?";
    }
    return error;
  }
  if (name != "add") return error;
  if (message.starts_with("--transport: ws")) {
    error.message =
        message + "; to add a ws server: patchbay " + before + R"(add-json NAME '{"type":"ws","url":"wss://…"}')";
  } else if (message.find("not expected") != std::string::npos && std::ranges::find(typed, "--") == typed.end()) {
    error.message += error.message.ends_with('?') ? " If it is a flag of the server, write" : "; write";
    error.message += " -- before the command of the server: patchbay " + before + "add NAME -- COMMAND ARGUMENTS";
  }
  return error;
}

}  // namespace patchbay::cli
