#include "cli/texts/help.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/command_table.h"

namespace patchbay::cli {
namespace {

// Lines longer than this are hard to read, however wide the terminal is.
constexpr std::size_t widest = 100;
constexpr std::size_t narrowest = 40;
constexpr std::size_t names_column = 28;

// A name and what it means, in two columns; a long name has a line of its own.
std::string row(const std::string& name, std::string_view text, std::size_t columns) {
  const auto indent = std::min(names_column, columns / 2);
  auto out = "  " + name;
  out += out.size() + 2 > indent ? "\n" + std::string(indent, ' ') : std::string(indent - out.size(), ' ');
  return out + filled(text, columns, indent) + "\n";
}

std::string flag_row(const FlagText& flag, std::size_t columns) {
  auto name = join(flag.names, ", ");
  if (!flag.value.empty()) name += " " + flag.value;
  return row(name, flag_help(flag), columns);
}

// Examples begin with blanks and stay as they are; the lines between them are prose.
std::string examples_text(std::string_view examples, std::size_t columns) {
  std::string out = "\nExamples:\n";
  for (const auto line : split(examples, '\n')) {
    out += line.starts_with(' ') ? std::string(line) : filled(line, columns, 0);
    out += "\n";
  }
  return out;
}

std::string program_page(const CommandLineText& line, std::size_t columns) {
  auto out = filled(line.summary, columns, 0) + "\n\nUsage: patchbay [FLAGS] [COMMAND] [ARGUMENTS]\n";
  for (const auto& group : command_groups()) {
    out += fmt::format("\n{}:\n", group.title);
    for (const auto name : group.names) {
      const auto command = std::ranges::find(line.commands, name, &CommandText::name);
      if (command != line.commands.end()) out += row(command->name, command->summary, columns);
    }
  }
  std::string group;
  for (const auto& flag : line.flags) {
    if (!flag.command.empty()) continue;
    if (flag.group != group) out += fmt::format("\n{}:\n", flag.group);
    group = flag.group;
    out += flag_row(flag, columns);
  }
  out += "\n" + filled(line.servers, columns, 0) + "\n" + examples_text(line.examples, columns);
  out += "\n" + filled("Exit codes: " + line.exit_codes, columns, 0) + "\n";
  out += "\n" + filled("`patchbay COMMAND --help` explains one command.", columns, 0) + "\n";
  return out;
}

std::string command_page(const CommandLineText& line, const CommandText& command, std::string_view before,
                         std::size_t columns) {
  auto usage = fmt::format("Usage: patchbay {}{} [FLAGS]", before, command.name);
  if (!command.words.empty()) {
    usage += command.words_required ? " " + command.words : " [" + command.words + "]";
    if (command.words_many) usage += "...";
  }
  auto out = filled(command.summary + ".", columns, 0) + "\n\n" + filled(usage, columns, 2) + "\n";
  if (!command.words.empty()) out += "\n" + row(command.words, command.words_help, columns);
  if (command.name == "mcp") {
    out += "\nCommands:\n";
    for (const auto& one : line.commands) {
      if (one.in_mcp) out += row(one.name, one.summary, columns);
    }
  }
  out += "\nFlags:\n" + row("-h, --help", "Show this help", columns);
  for (const auto& flag : line.flags) {
    if (flag.command == command.name) out += flag_row(flag, columns);
  }
  out += examples_text(command.examples, columns);
  return out + "\n" +
         filled("Flags that every command takes, for example --json and --timeout: patchbay --help", columns, 0) + "\n";
}

}  // namespace

std::string filled(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = indent;
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    // What is not ASCII is counted by its bytes: a line may be shorter than it could be, never longer.
    if (!out.empty() && used + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

std::string flag_help(const FlagText& flag) {
  return flag.choices.empty() ? flag.help : flag.help + ": " + join(flag.choices, ", ");
}

std::string help_page(const CommandLineText& line, const HelpTopic& topic, std::size_t columns) {
  const auto room = std::clamp(columns, narrowest, widest);
  const auto command = std::ranges::find(line.commands, topic.command, &CommandText::name);
  if (command == line.commands.end()) return program_page(line, room);
  return command_page(line, *command, topic.in_mcp ? "mcp " : "", room);
}

}  // namespace patchbay::cli
