// What a person can type in a conversation that is no message: /commands, !commands. One table for reading, help and
// completion. Pure; used by cli/chat.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/line_editor.h"

namespace patchbay::cli {

enum class Slash : std::uint8_t {
  call,
  compact,
  connect,
  context,
  cost,
  help,
  last,
  mcp,
  model,
  permissions,
  plan,
  quit,
  resume,
  tools,
};

struct SlashEntry {
  Slash command;
  std::string_view name;  // without the slash
  std::string_view words;
  std::string_view about;
  bool at_once;  // also while the model works
};
std::span<const SlashEntry> slash_commands();

struct Typed {
  enum class Kind : std::uint8_t {
    message,
    slash,
    prompt,   // /mcp__server__prompt …: `rest` is all of it
    shell,    // !…
    unknown,  // a slash and a word that is none of these: `rest` is the word
  };
  Kind kind = Kind::message;
  const SlashEntry* slash = nullptr;
  std::string rest = {};  // behind the command, without blanks at its ends; of a message all of it
  bool operator==(const Typed&) const = default;
};
Typed read_typed_line(std::string_view line);

// Words of the rest; quotes hold blanks.
std::vector<std::string> words_of(std::string_view rest);

// "There is no /mpc; did you mean /mcp?"
std::string unknown_slash_text(std::string_view word);
std::vector<std::string> slash_help();

// What may be completed at the end of a text of this beginning, and what is known of it here.
struct Completing {
  enum class What : std::uint8_t {
    nothing,
    command,          // `/co`: known here
    mention,          // `@…`: files, and resources of servers
    server_word,      // a word of /mcp: known here, and names of servers
    tool,             // a word of /call or /tools
    conversation,     // of /resume
    prompt_argument,  // behind /mcp__server__prompt
  };
  What what = What::nothing;
  std::size_t begin = 0;  // of the word
  std::string word = {};
};
Completing completing_at(std::string_view text, std::size_t cursor);
std::vector<terminal::Candidate> slash_candidates(std::string_view word);
std::vector<terminal::Candidate> mcp_candidates(std::string_view word);

}  // namespace patchbay::cli
