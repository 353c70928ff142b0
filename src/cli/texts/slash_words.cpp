#include "cli/texts/slash_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "entries/server_argument.h"

namespace patchbay::cli {
namespace {

constexpr auto commands = std::to_array<SlashEntry>({
    {Slash::call, "call", "TOOL [KEY=VALUE…]", "Call a tool yourself", true},
    {Slash::compact, "compact", "", "Shorten the conversation now", false},
    {Slash::connect, "connect", "URL|COMMAND", "Use another server in this conversation", true},
    {Slash::context, "context", "", "What fills the context of the model", true},
    {Slash::cost, "cost", "", "Tokens that were used, and how the cache did", true},
    {Slash::help, "help", "", "This list", true},
    {Slash::last, "last", "", "The whole of the last result that was shown in part", true},
    {Slash::mcp, "mcp", "[SERVER] | reconnect|enable|disable|approve|login SERVER",
     "How servers are, what they offer, what passed last", true},
    {Slash::model, "model", "[PROVIDER:NAME]", "Which model answers; another one", false},
    {Slash::permissions, "permissions", "[TOOL]", "What was allowed, and what rules say about a tool", true},
    {Slash::plan, "plan", "", "Plan mode on or off: only tools that only read", true},
    {Slash::quit, "quit", "", "Leave; the conversation is kept", true},
    {Slash::resume, "resume", "[ID]", "Go on with another conversation of this directory", false},
    {Slash::tools, "tools", "[WORD…]", "Tools, or one of them in full", true},
});

struct McpWord {
  std::string_view name;
  std::string_view about;
};
constexpr auto mcp_words = std::to_array<McpWord>({
    {"reconnect", "Make its connection again"},
    {"enable", "Use it in this project"},
    {"disable", "Do not use it in this project"},
    {"approve", "Let it start, though it was rejected before"},
    {"login", "Sign in at it"},
});

bool is_blank(char c) noexcept { return c == ' ' || c == '\n' || c == '\t'; }

}  // namespace

std::span<const SlashEntry> slash_commands() { return commands; }

Typed read_typed_line(std::string_view line) {
  using Kind = Typed::Kind;
  const auto text = trim(line);
  if (text.starts_with('!')) return {.kind = Kind::shell, .rest = std::string(trim(text.substr(1)))};
  if (!text.starts_with('/')) return {.rest = std::string(text)};
  const auto end = std::min(text.find_first_of(" \n\t"), text.size());
  const auto word = text.substr(1, end - 1);
  if (word.starts_with("mcp__")) return {.kind = Kind::prompt, .rest = std::string(text)};
  const auto found = std::ranges::find(commands, word, &SlashEntry::name);
  if (found != commands.end()) {
    return {.kind = Kind::slash, .slash = &*found, .rest = std::string(trim(text.substr(end)))};
  }
  if (word == "exit") return {.kind = Kind::slash, .slash = &*std::ranges::find(commands, "quit", &SlashEntry::name)};
  // A path is a message: /etc/hosts is no command.
  if (word.empty() || word.find('/') != std::string_view::npos) return {.rest = std::string(text)};
  return {.kind = Kind::unknown, .rest = std::string(word)};
}

std::vector<std::string> words_of(std::string_view rest) {
  auto words = split_command_line(rest);
  if (words) return std::move(*words);
  throw Error(Errc::invalid_argument, words.error());
}

std::string unknown_slash_text(std::string_view word) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.emplace_back(command.name);
  const auto meant = nearest(word, names);
  return fmt::format("There is no /{}; {}/help lists what there is.", safe_name(word, 60),
                     meant.empty() ? "" : fmt::format("did you mean /{}? ", meant));
}

std::vector<std::string> slash_help() {
  std::vector<std::string> out;
  for (const auto& command : commands) {
    const auto words = command.words.empty() ? std::string() : fmt::format(" {}", command.words);
    out.push_back(fmt::format("  {:<26}{}{}", fmt::format("/{}{}", command.name, words),
                              words.size() + command.name.size() > 24 ? "\n                            " : "",
                              command.about));
  }
  out.insert(out.end(), {
                            "  /mcp__SERVER__PROMPT …    A prompt of a server as your message",
                            "  @FILE  @SERVER:URI        A file or a resource with your message",
                            "  !COMMAND                  Run a command; its output goes with your message",
                            "Keys: Enter sends, Alt-Enter or \\ and Enter begins a line, Tab completes,",
                            "Up and Ctrl-R go back to what you said, Ctrl-C interrupts a call, twice the",
                            "turn; at an empty prompt, twice, it leaves. What you send while the model",
                            "works is said when it is done.",
                        });
  return out;
}

Completing completing_at(std::string_view text, std::size_t cursor) {
  using What = Completing::What;
  text = text.substr(0, std::min(cursor, text.size()));
  std::size_t begin = text.size();
  // @"a name with blanks" is one word.
  const auto quoted = text.rfind("@\"");
  const bool open = quoted != std::string_view::npos && text.find('"', quoted + 2) == std::string_view::npos;
  if (open) {
    begin = quoted;
  } else {
    while (begin > 0 && !is_blank(text[begin - 1])) --begin;
  }
  Completing out{.begin = begin, .word = std::string(text.substr(begin))};
  if (out.word.starts_with('@')) {
    out.what = What::mention;
    return out;
  }
  if (!text.starts_with('/')) return out;
  if (begin == 0) {
    out.what = out.word.find('/', 1) == std::string::npos ? What::command : What::nothing;
    return out;
  }
  const auto line = read_typed_line(text);
  if (line.kind == Typed::Kind::prompt) {
    out.what = What::prompt_argument;
  } else if (line.kind == Typed::Kind::slash) {
    switch (line.slash->command) {
      case Slash::mcp:
        out.what = What::server_word;
        break;
      case Slash::call:
      case Slash::tools:
      case Slash::permissions:
        out.what = What::tool;
        break;
      case Slash::resume:
        out.what = What::conversation;
        break;
      default:
        break;
    }
  }
  return out;
}

std::vector<terminal::Candidate> slash_candidates(std::string_view word) {
  std::vector<terminal::Candidate> out;
  for (const auto& command : commands) {
    const auto name = "/" + std::string(command.name);
    if (name.starts_with(word)) out.push_back({name + " ", std::string(command.about)});
  }
  return out;
}

std::vector<terminal::Candidate> mcp_candidates(std::string_view word) {
  std::vector<terminal::Candidate> out;
  for (const auto& [name, about] : mcp_words) {
    if (name.starts_with(word)) out.push_back({std::string(name) + " ", std::string(about)});
  }
  return out;
}

}  // namespace patchbay::cli
