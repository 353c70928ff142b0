#include "cli/texts/usage_error.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/words/suggested_name.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

using Kind = UsageFault::Kind;

// "mcp add", as it was typed.
std::string command_words(const UsageFault& fault) {
  const std::string name(fault.command ? fault.command->name : std::string_view());
  if (!fault.in_mcp) return name;
  return name.empty() ? "mcp" : "mcp " + name;
}

// The beginning of a line to paste.
std::string line_begins(const UsageFault& fault) {
  const auto words = command_words(fault);
  return words.empty() ? "patchbay" : "patchbay " + words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const auto meant = nearest(word, names);
  return meant.empty() ? std::string() : "; did you mean \"" + meant + "\"?";
}

std::vector<std::string> as_strings(std::span<const std::string_view> words) { return {words.begin(), words.end()}; }

// "local, project or user"
std::string one_of(std::span<const std::string_view> choices) {
  if (choices.size() == 1) return std::string(choices.front());
  auto first = as_strings(choices.first(choices.size() - 1));
  return join(first, ", ") + " or " + std::string(choices.back());
}

// The names of the flags of all commands.
std::vector<std::string> all_flag_names() {
  std::vector<std::string> names;
  for (const auto& flag : flag_table()) {
    for (const auto name : split(flag.names, ',')) names.emplace_back(name);
  }
  return names;
}

// "-s (--scope)" for who typed -s.
std::string flag_title(const UsageFault& fault) {
  const auto longest = split(fault.flag->names, ',').back();
  return fault.word.starts_with("--") || longest == fault.word ? fault.word
                                                               : fmt::format("{} ({})", fault.word, longest);
}

// The flag with its value, as it was typed.
std::string flag_as_typed(const UsageFault& fault) {
  if (fault.joined) return shell_word(fault.word + (fault.word.starts_with("--") ? "=" : "") + fault.value);
  return fault.value.empty() ? fault.word : fault.word + " " + shell_word(fault.value);
}

std::string unknown_command(const UsageFault& fault) {
  std::vector<std::string> names;
  for (const auto& entry : command_table()) {
    if (!fault.in_mcp || entry.in_mcp) names.emplace_back(entry.name);
  }
  const auto meant = nearest(fault.word, names);
  // A rule begins with a capital, a command does not.
  const bool like_command = !meant.empty() && fault.word.front() >= 'a' && fault.word.front() <= 'z';
  if (fault.flag && !like_command) {
    return fmt::format("unknown command \"{}\"; write several rules as one word: {} {}", fault.word,
                       split(fault.flag->names, ',').front(), shell_word(fault.value + " " + fault.word));
  }
  const std::string before = fault.in_mcp ? "mcp " : "";
  auto message = fmt::format("unknown command \"{}{}\"", before, fault.word);
  if (fault.in_mcp && fault.word != "mcp" && find_command(fault.word)) {
    return message + "; write it without mcp: patchbay " + fault.word;
  }
  return meant.empty() ? message : fmt::format("{}; did you mean \"{}{}\"?", message, before, meant);
}

// "tools, prompts, resources"; a flag of many commands is not listed in full.
std::string owners_of(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& entry : command_table()) {
    // Several flags may have the name.
    const bool takes_it = std::ranges::any_of(
        flag_table(), [&](const FlagEntry& flag) { return flag.is_called(name) && flag.owner.is(entry.command); });
    if (takes_it) names.emplace_back(entry.name);
  }
  const bool many = names.size() > 3;
  if (many) names.resize(3);
  return join(names, ", ") + (many ? " and others" : "");
}

std::string unknown_flag(const UsageFault& fault) {
  // add npx -y SERVER: the name was forgotten.
  if (fault.behind_name && is_launcher(fault.typed.front())) {
    std::string line;
    for (const auto& word : fault.typed) line += " " + pasted_word(word);
    return fmt::format("\"{}\" is a command, and a name for the server is missing; write: {} {} --{}",
                       fault.typed.front(), line_begins(fault), name_for_command(fault.typed), line);
  }
  auto message = fmt::format("there is no flag \"{}\"", fault.word);
  const auto here = flag_names(fault.command ? fault.command->command : Command::overview);
  const bool takes_arguments =
      fault.command && (fault.command->command == Command::call || fault.command->command == Command::prompt);
  if (takes_arguments && fault.kind == Kind::foreign_flag) {
    return fmt::format("\"{}\" is a flag of {}, not of {}; an argument of that name is written {}={}", fault.word,
                       owners_of(fault.word), fault.command->name, fault.word.substr(fault.word.find_first_not_of('-')),
                       fault.joined ? fault.value : "VALUE");
  }
  if (takes_arguments) {
    message += fmt::format(" of {}; arguments are written key=value: {}={}", fault.command->name,
                           fault.word.substr(fault.word.find_first_not_of('-')), fault.joined ? fault.value : "VALUE");
    const auto meant = nearest(fault.word, here);
    const bool near = !meant.empty() && edit_distance(fault.word, meant, 2) <= 2;
    return near ? message + " (or did you mean " + meant + "?)" : message;
  }
  if (fault.kind == Kind::foreign_flag && fault.command) {
    message = fmt::format("\"{}\" takes no flag \"{}\"", fault.command->name, fault.word);
  } else if (fault.kind == Kind::foreign_flag) {
    const auto owner = std::ranges::find_if(
        command_table(), [&](const CommandEntry& entry) { return fault.flag->owner.is(entry.command); });
    return fmt::format("\"{0}\" is a flag of \"{1}\"; write the command first: patchbay {1} {2}", fault.word,
                       owner->name, flag_as_typed(fault));
  } else {
    auto meant = did_you_mean(fault.word, here);
    if (meant.empty() && !fault.command) meant = did_you_mean(fault.word, all_flag_names());
    message += meant;
  }
  if (!fault.behind_name) return message;
  message += message.ends_with('?') ? " If it is a flag of the server, write" : "; write";
  return message + " -- before the command of the server: " + line_begins(fault) + " NAME -- COMMAND ARGUMENTS";
}

std::string missing_value(const UsageFault& fault) {
  const auto& value = fault.flag->value;
  auto behind = value.behind_example;
  if (behind.empty() && fault.command) behind = fault.command->words.example;
  return fmt::format("{} needs {}: {} {} {}{}{}", flag_title(fault), value.needs, line_begins(fault), fault.word,
                     shell_word(value.example), behind.empty() ? "" : " ", behind);
}

std::string wrong_value(const UsageFault& fault) {
  const auto& choices = fault.flag->value.choices;
  if (choices.empty()) return fmt::format("{} takes {}, not \"{}\"", flag_title(fault), fault.expected, fault.value);
  // A mode of another client that does not exist here; whoever asks for it counts on nothing being changed.
  if (fault.flag->is_called("--permission-mode") && fault.value == "plan") {
    return fmt::format("patchbay has no mode plan; {} dontAsk refuses every call that no rule allows", fault.word);
  }
  auto message = fmt::format("{} takes {}, not \"{}\"", flag_title(fault), one_of(choices), fault.value);
  if (fault.flag->is_called("--transport") && fault.value == "ws") {
    return fmt::format(R"({}; to add a ws server: patchbay {}add-json NAME '{{"type":"ws","url":"wss://…"}}')", message,
                       fault.in_mcp ? "mcp " : "");
  }
  return message + did_you_mean(fault.value, as_strings(choices));
}

std::string extra_word(const UsageFault& fault) {
  const auto most = fault.command->words.most;
  const auto taken = most == 0 ? "no arguments" : most == 1 ? "one argument" : fmt::format("{} arguments", most);
  return fmt::format("\"{}\" takes {}{}; leave out \"{}\"", fault.command->name, most == 0 ? "" : "at most ", taken,
                     fault.word);
}

std::string message_of(const UsageFault& fault) {
  switch (fault.kind) {
    case Kind::unknown_command:
      return unknown_command(fault);
    case Kind::missing_command:
      return "\"mcp\" needs a command: patchbay mcp list";
    case Kind::unknown_flag:
    case Kind::foreign_flag:
      return unknown_flag(fault);
    case Kind::misplaced_flag:
      return fmt::format("\"{}\" is a flag of \"{}\"; write it after the command: {} {}", fault.word,
                         command_words(fault), line_begins(fault), flag_as_typed(fault));
    case Kind::missing_value:
      return missing_value(fault);
    case Kind::unwanted_value:
      return fmt::format("{0} takes no value; write only {0}", fault.word);
    case Kind::wrong_value:
      return wrong_value(fault);
    case Kind::missing_word:
      return fmt::format("\"{}\" needs {}: {} {}", fault.command->name, fault.command->words.needs, line_begins(fault),
                         fault.command->words.example);
    case Kind::extra_word:
      return extra_word(fault);
    case Kind::wrong_word:
      break;
  }
  const auto choices = fault.command->words.choices;
  return fmt::format("\"{}\" takes {}, not \"{}\"{}", fault.command->name, one_of(choices), fault.word,
                     did_you_mean(fault.word, as_strings(choices)));
}

}  // namespace

UsageError usage_error(const UsageFault& fault) { return {message_of(fault), line_begins(fault) + " --help"}; }

}  // namespace patchbay::cli
