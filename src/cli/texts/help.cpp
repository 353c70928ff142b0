#include "cli/texts/help.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

// Lines longer than this are hard to read, however wide the terminal is.
constexpr std::size_t widest = 100;
constexpr std::size_t narrowest = 40;
constexpr std::size_t names_column = 28;

// A name and what it means, in two columns; a long name has a line of its own.
std::string row(std::string_view name, std::string_view text, std::size_t columns) {
  const auto indent = std::min(names_column, columns / 2);
  auto out = "  " + std::string(name);
  out += out.size() + 2 > indent ? "\n" + std::string(indent, ' ') : std::string(indent - out.size(), ' ');
  return out + filled(text, columns, indent) + "\n";
}

std::string flag_row(const FlagEntry& flag, std::size_t columns) {
  auto name = fmt::format("{}", fmt::join(split(flag.names, ','), ", "));
  if (flag.takes_next_word()) {
    name += fmt::format(" {}", flag.value.name);
  } else if (flag.takes_value()) {
    name += fmt::format("[{}{}]", flag.more ? "" : "=", flag.value.name);
    if (flag.more) name.insert(name.rfind('['), " ");
  }
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

std::string program_page(std::size_t columns) {
  const auto& program = program_text();
  auto out = filled(program.about, columns, 0) + "\n\nUsage: patchbay [FLAGS] [COMMAND] [ARGUMENTS]\n";
  std::string_view title;
  const auto under = [&](std::string_view group) {
    if (group != std::exchange(title, group)) out += fmt::format("\n{}:\n", group);
  };
  for (const auto& command : command_table()) {
    under(group_title(command.group));
    out += row(command.name, command.summary, columns);
  }
  for (const auto& flag : flag_table()) {
    if (!flag.owner.every_command()) continue;
    under(group_title(flag.owner.group));
    out += flag_row(flag, columns);
  }
  out += "\n" + filled(program.servers, columns, 0) + "\n" + examples_text(program.examples, columns);
  out += "\n" + filled(fmt::format("Exit codes: {}", program.exit_codes), columns, 0) + "\n";
  out += "\n" + filled("`patchbay COMMAND --help` explains one command.", columns, 0) + "\n";
  return out;
}

std::string command_page(const CommandEntry& command, std::string_view before, std::size_t columns) {
  auto usage = fmt::format("Usage: patchbay {}{} [FLAGS]", before, command.name);
  if (command.words.most > 0) {
    usage +=
        command.words.least > 0 ? fmt::format(" {}", command.words.name) : fmt::format(" [{}]", command.words.name);
    if (command.words.most > 1) usage += "...";
  }
  auto out = filled(fmt::format("{}.", command.summary), columns, 0) + "\n\n" + filled(usage, columns, 2) + "\n";
  if (command.words.most > 0) out += "\n" + row(command.words.name, command.words.help, columns);
  if (command.command == Command::mcp) {
    out += "\nCommands:\n";
    for (const auto& one : command_table()) {
      if (one.in_mcp) out += row(one.name, one.summary, columns);
    }
  }
  out += "\nFlags:\n" + row("-h, --help", "Show this help", columns);
  for (const auto& flag : flag_table()) {
    if (flag.owner.is(command.command)) out += flag_row(flag, columns);
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

std::string flag_help(const FlagEntry& flag) {
  if (flag.value.choices.empty()) return std::string(flag.help);
  return fmt::format("{}: {}", flag.help, fmt::join(flag.value.choices, ", "));
}

std::string help_page(const HelpTopic& topic, std::size_t columns) {
  const auto room = std::clamp(columns, narrowest, widest);
  return topic.command ? command_page(*topic.command, topic.in_mcp ? "mcp " : "", room) : program_page(room);
}

}  // namespace patchbay::cli
