// `patchbay completion`: the scripts, and the names that they ask for.
#include "cli/texts/completion.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/texts/command_table.h"
#include "cli/words/flag_table.h"

namespace patchbay::cli {
namespace {

// What follows a flag.
enum class ValueKind { none, choice, file, directory, free };

ValueKind kind_of(const FlagValue& value) {
  if (value.name.empty()) return ValueKind::none;
  if (!value.choices.empty()) return ValueKind::choice;
  if (value.name.starts_with("FILE")) return ValueKind::file;
  return value.name == "DIR" ? ValueKind::directory : ValueKind::free;
}

// The only words that a command takes.
std::vector<std::string_view> choices_of(const CommandEntry& command) {
  if (command.command == Command::mcp) return commands_in_mcp();
  return {command.words.choices.begin(), command.words.choices.end()};
}

// `read` takes the URI of a resource, which nothing here knows, and a server in front of it.
bool takes_server(const CommandEntry& command) {
  return command.words.name.starts_with("SERVER") || command.command == Command::read;
}

// SERVER/NAME may be written. No server is started here: tools are offered as far as an earlier run listed them.
bool takes_name_of_server(const CommandEntry& command) {
  return command.command == Command::call || command.command == Command::prompt;
}

std::string quoted(std::string_view text, std::string_view quote_inside) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote_inside;
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool takes_anything(const CommandEntry& command) {
  return command.words.most > 0 && !takes_server(command) && !takes_name_of_server(command) &&
         choices_of(command).empty();
}

bool any_command(const CommandEntry&) { return true; }
// `mcp` is not a command by itself: the word behind it is.
bool any_but_mcp(const CommandEntry& command) { return command.command != Command::mcp; }

std::string names_of(const auto& wanted, char between) {
  std::string out;
  for (const auto& command : command_table()) {
    if (!wanted(command)) continue;
    if (!out.empty()) out += between;
    out += command.name;
  }
  return out;
}

std::string flag_names(const auto& wanted) {
  std::string out;
  for (const auto& flag : flag_table()) {
    if (!wanted(flag)) continue;
    for (const auto name : split(flag.names, ',')) out += fmt::format("{}{}", out.empty() ? "" : " ", name);
  }
  return out;
}

// A flag of every command that this one has no use for.
bool is_left_out(const FlagEntry& flag, const CommandEntry& command) {
  return flag.owner.every_command() && !is_offered(flag, command.command);
}

std::string commands_without(const FlagEntry& flag) {
  return names_of([&](const CommandEntry& command) { return is_left_out(flag, command); }, ' ');
}

}  // namespace

bool is_plain_word(std::string_view name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.front() != '-' && name.find_first_not_of(plain) == std::string_view::npos;
}

std::string bash_completion() {
  const auto of_all = flag_names([](const FlagEntry& flag) { return flag.owner.every_command(); });
  std::string flags = "    local flags='" + of_all + "'\n    case $command in\n";
  for (const auto& command : command_table()) {
    const bool fewer = std::ranges::any_of(flag_table(), [&](const auto& flag) { return is_left_out(flag, command); });
    const auto own = flag_names([&](const FlagEntry& flag) {
      return is_offered(flag, command.command) && (fewer || !flag.owner.every_command());
    });
    if (!own.empty())
      flags += fmt::format("      {}) flags{}'{}{}' ;;\n", command.name, fewer ? "=" : "+=", fewer ? "" : " ", own);
  }
  flags += "    esac\n";
  std::vector<std::string_view> with_value;
  std::string values;
  for (const auto& flag : flag_table()) {
    const auto names = split(flag.names, ',');
    // Several commands have flags of the same name; they take the same values.
    if (!flag.takes_next_word() || std::ranges::find(with_value, names.front()) != with_value.end()) continue;
    with_value.insert(with_value.end(), names.begin(), names.end());
    std::string action;
    switch (kind_of(flag.value)) {
      case ValueKind::choice:
        action = fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"); ",
                             fmt::join(flag.value.choices, " "));
        break;
      case ValueKind::file:
        action = "compopt -o default; ";
        break;
      case ValueKind::directory:
        action = "compopt -o dirnames; ";
        break;
      default:
        break;
    }
    values += fmt::format("    {}) {}return ;;\n", fmt::join(names, "|"), action);
  }
  std::string words;
  for (const auto& command : command_table()) {
    const auto choices = choices_of(command);
    if (choices.empty()) continue;
    words += fmt::format("    {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\") ;;\n", command.name,
                         fmt::join(choices, " "));
  }
  return fmt::format(
      R"sh(# bash completion for patchbay; made by `patchbay completion bash`.
_patchbay() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' word i
  COMPREPLY=()
  # --flag=value arrives as three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    {}) i=$((i + 1)); [[ ${{COMP_WORDS[i]}} == = ]] && i=$((i + 1)) ;;
    mcp) command=mcp ;;
    {}) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case $previous in
{}  esac
  if [[ $current == -* ]]; then
{}    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
    return
  fi
  case $command in
    '') mapfile -t COMPREPLY < <(compgen -W '{}' -- "$current") ;;
    {})
      # No compgen -W here: it would expand what a file of a stranger says.
      while IFS= read -r word; do
        [[ $word == "$current"* ]] && COMPREPLY+=("$word")
      done < <("${{COMP_WORDS[0]}}" completion servers 2> /dev/null) ;;
    {})
      compopt -o default
      local known='' rest name
      if [[ $command == call ]]; then
        while IFS=$'\t' read -r word rest; do
          known+=" $word"
          if ((COMP_CWORD == i + 1)); then
            [[ $word == "$current"* ]] && COMPREPLY+=("$word")
          elif ((COMP_CWORD == i + 2)) && [[ $word == "${{COMP_WORDS[i + 1]}}/$current"* ]]; then
            COMPREPLY+=("${{word#"${{COMP_WORDS[i + 1]}}/"}}")
          elif [[ ($word == "${{COMP_WORDS[i + 1]}}" || $word == "${{COMP_WORDS[i + 1]}}/${{COMP_WORDS[i + 2]}}") && ${{COMP_WORDS[COMP_CWORD]}}${{COMP_WORDS[COMP_CWORD - 1]}} != *=* ]]; then
            for name in $rest; do
              [[ $name == "$current"* ]] && COMPREPLY+=("$name=") && compopt -o nospace
            done
          fi
        done < <("${{COMP_WORDS[0]}}" completion tools 2> /dev/null)
      fi
      if ((COMP_CWORD == i + 1)); then
        while IFS= read -r word; do
          [[ $word/ == "$current"* && $known != *" $word/"* ]] && COMPREPLY+=("$word/") && compopt -o nospace
        done < <("${{COMP_WORDS[0]}}" completion servers 2> /dev/null)
      fi ;;
    {}) compopt -o default ;;
{}  esac
}}
complete -F _patchbay patchbay
)sh",
      fmt::join(with_value, "|"), names_of(any_but_mcp, '|'), values, flags, names_of(any_command, ' '),
      names_of(takes_server, '|'), names_of(takes_name_of_server, '|'), names_of(takes_anything, '|'), words);
}

std::string zsh_completion() {
  constexpr std::string_view quote_inside = "'\\''";
  // Inside [...] and in a name:summary pair these end the text.
  auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::string commands;
  for (const auto& command : command_table()) {
    commands +=
        fmt::format("    {}\n", quoted(fmt::format("{}:{}", command.name, escaped(command.summary)), quote_inside));
  }
  std::string flags;
  for (const auto& flag : flag_table()) {
    std::string action;
    switch (kind_of(flag.value)) {
      case ValueKind::none:
        break;
      case ValueKind::choice:
        action = fmt::format(":{}:({})", escaped(flag.value.name), fmt::join(flag.value.choices, " "));
        break;
      case ValueKind::file:
        action = fmt::format(":{}:_files", escaped(flag.value.name));
        break;
      case ValueKind::directory:
        action = fmt::format(":{}:_files -/", escaped(flag.value.name));
        break;
      case ValueKind::free:
        action = fmt::format(":{}: ", escaped(flag.value.name));
        break;
    }
    const auto names = split(flag.names, ',');
    for (const auto name : names) {
      const auto before = flag.repeatable() ? std::string("*") : fmt::format("({})", fmt::join(names, " "));
      const bool joined = flag.takes_value() && name.starts_with("--");
      const bool alone = !flag.value.alone.empty();
      const auto spec = quoted(fmt::format("{}{}{}[{}]{}{}", before, name,
                                           !joined ? ""
                                           : alone ? "=-"
                                                   : "=",
                                           escaped(flag.help), alone ? ":" : "", action),
                               quote_inside);
      if (flag.owner.every_command()) {
        std::string unless;
        for (const auto& command : command_table()) {
          if (is_left_out(flag, command)) unless += fmt::format("(( $words[(I){}] )) || ", command.name);
        }
        flags += fmt::format("  {}specs+=({})\n", unless, spec);
      }
      for (const auto& command : command_table()) {
        if (!flag.owner.is(command.command)) continue;
        flags += fmt::format("  (( $words[(I){}] )) && specs+=({})\n", command.name, spec);
      }
    }
  }
  std::string words;
  for (const auto& command : command_table()) {
    const auto choices = choices_of(command);
    if (choices.empty()) continue;
    words += fmt::format("        {}) compadd -- {} ;;\n", command.name, fmt::join(choices, " "));
  }
  return fmt::format(
      R"sh(#compdef patchbay
# zsh completion for patchbay; made by `patchbay completion zsh`.
_patchbay() {{
  local curcontext=$curcontext state program=$words[1]
  local -a line names
  local -a commands=(
{}  )
  local -a specs
{}  _arguments -C $specs '1: :->command' '*: :->word'
  case $state in
    command) _describe command commands ;;
    word)
      local command=$line[1]
      if [[ $command == mcp ]]; then
        local -a typed=(${{words[2,CURRENT-1]:#-*}})
        command=${{typed[2]:-mcp}}
      fi
      case $command in
        {})
          names=(${{(f)"$($program completion servers 2> /dev/null)"}})
          compadd -a names ;;
        {})
          local -a typed=(${{words[2,CURRENT-1]:#-*}}) known
          [[ $command == call ]] && known=(${{(f)"$($program completion tools 2> /dev/null)"}})
          if (( $#typed > 1 )); then
            local found=${{(M)known:#${{typed[2]}}$'\t'*}}
            names=(${{=found#*$'\t'}})
            compadd -q -S = -a names
          else
            names=(${{known%%$'\t'*}})
            compadd -a names
            names=(${{(f)"$($program completion servers 2> /dev/null)"}})
            compadd -q -S / -a names
          fi
          _files ;;
        {}) _files ;;
{}
      esac ;;
  esac
}}
if [[ $funcstack[1] == _patchbay ]]; then
  _patchbay "$@"
else
  compdef _patchbay patchbay
fi
)sh",
      commands, flags, names_of(takes_server, '|'), names_of(takes_name_of_server, '|'), names_of(takes_anything, '|'),
      words);
}

std::string fish_completion() {
  constexpr std::string_view quote_inside = "\\'";
  std::string out =
      "# fish completion for patchbay; made by `patchbay completion fish`.\n"
      "complete -c patchbay -f\n";
  for (const auto& command : command_table()) {
    out += fmt::format("complete -c patchbay -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       quoted(command.summary, quote_inside));
  }
  for (const auto& flag : flag_table()) {
    out += "complete -c patchbay";
    if (!flag.owner.every_command()) {
      const auto takes_it = [&](const CommandEntry& command) { return flag.owner.is(command.command); };
      out += fmt::format(" -n '__fish_seen_subcommand_from {}'", names_of(takes_it, ' '));
    } else if (const auto without = commands_without(flag); !without.empty()) {
      out += fmt::format(" -n 'not __fish_seen_subcommand_from {}'", without);
    }
    for (const auto name : split(flag.names, ',')) {
      out += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
    }
    switch (kind_of(flag.value)) {
      case ValueKind::none:
        break;
      case ValueKind::choice:
        out += fmt::format(" {}-a '{}'", flag.takes_next_word() ? "-x " : "", fmt::join(flag.value.choices, " "));
        break;
      case ValueKind::file:
        out += " -r -F";
        break;
      case ValueKind::directory:
        out += " -x -a '(__fish_complete_directories)'";
        break;
      case ValueKind::free:
        out += " -x";
        break;
    }
    out += fmt::format(" -d {}\n", quoted(flag.help, quote_inside));
  }
  out += fmt::format(
      "complete -c patchbay -n '__fish_seen_subcommand_from {}' -a '(patchbay completion servers 2>/dev/null)'\n",
      names_of(takes_server, ' '));
  out += fmt::format(
      "complete -c patchbay -n '__fish_seen_subcommand_from {}' -F -a '(patchbay completion servers 2>/dev/null | "
      "string "
      "replace -r \"\\$\" /)'\n",
      names_of(takes_name_of_server, ' '));
  out +=
      "function __patchbay_tools\n"
      "  patchbay completion tools 2>/dev/null | string replace -r '\\t.*' ''\n"
      "end\n"
      "function __patchbay_arguments\n"
      "  set -l typed (commandline -opc)\n"
      "  for line in (patchbay completion tools 2>/dev/null)\n"
      "    set -l parts (string split \\t -- $line)\n"
      "    contains -- $parts[1] $typed; and string replace -r '$' = -- (string split -n ' ' -- $parts[2])\n"
      "  end\n"
      "end\n"
      "complete -c patchbay -n '__fish_seen_subcommand_from call' -a '(__patchbay_tools) (__patchbay_arguments)'\n";
  out += fmt::format("complete -c patchbay -n '__fish_seen_subcommand_from {}' -F\n", names_of(takes_anything, ' '));
  for (const auto& command : command_table()) {
    const auto choices = choices_of(command);
    if (choices.empty()) continue;
    const auto names = fmt::format("{}", fmt::join(choices, " "));
    const bool once = !any_but_mcp(command);
    out += fmt::format("complete -c patchbay -n '__fish_seen_subcommand_from {}{}{}' -a '{}'\n", command.name,
                       once ? "; and not __fish_seen_subcommand_from " : "", once ? names : "", names);
  }
  return out;
}

int completion(const Settings& settings, Io& io) {
  const auto& what = settings.words.at(0);
  if (what == "servers") {
    const auto config = load_servers(load_request(settings));
    for (const auto& server : config.servers) {
      if (is_plain_word(server.name)) io.out(server.name + "\n");
    }
    if (settings.builtin || (config.servers.empty() && !settings.strict)) io.out("patchbay\n");
    return 0;
  }
  if (what == "tools") {
    io.out(kept_tool_words(settings));
    return 0;
  }
  io.out(what == "bash" ? bash_completion() : what == "zsh" ? zsh_completion() : fish_completion());
  return 0;
}

}  // namespace patchbay::cli
