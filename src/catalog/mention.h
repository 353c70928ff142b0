// Resources that a person mentions in a text as @server:uri, and prompts that are typed as /mcp__server__prompt with
// words behind them. Both are texts of a person; what they mean is decided here against what servers have, and nothing
// is fetched. Pure, linear and bounded; called by whoever makes a request to a model, and by the command line.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/types.h>

namespace patchbay {

inline constexpr std::size_t most_mentions = 64;      // of one text
inline constexpr std::size_t longest_mention = 4096;  // bytes of a URI
inline constexpr std::size_t longest_prompt_line = 256u << 10;

struct Mention {
  std::string server;
  std::string uri;
  std::size_t begin = 0;  // where it is in the text, the @ included
  std::size_t end = 0;
  bool operator==(const Mention&) const = default;
};

// @server:scheme:rest up to a blank, without the punctuation that ends a sentence; @"server:uri" where either has
// blanks. The server is one of `servers`, as declared or with "_" for what names of tools cannot have. Nothing within
// a word (a@b:c) or behind a backslash is a mention. In the order of the text, each as often as it is there.
std::vector<Mention> mentions_in(std::string_view text, std::span<const std::string> servers);
// The same of a text that is nothing else: server:uri, with or without the @.
std::optional<Mention> mention_of(std::string_view text, std::span<const std::string> servers);

// One word behind a prompt. What was quoted up to its first "=" is no name.
struct PromptWord {
  std::string text;
  std::optional<std::size_t> equals = {};  // where the value of name=value begins, less one
  bool operator==(const PromptWord&) const = default;
};
// As a shell has passed it.
PromptWord prompt_word(std::string text);

struct PromptLine {
  std::string name;  // without the slash
  std::vector<PromptWord> words;
  bool operator==(const PromptLine&) const = default;
};

// Words are separated by blanks; '…' and "…" hold one together, where \" and \\ stand for a quote and a backslash.
// Errc::invalid_argument where a quote is not closed or there is no name.
Result<PromptLine> parse_prompt_line(std::string_view text);

// name=value goes to the argument of that name, where there is one; other words to the arguments that are left, in
// their order. `shown` is how errors call the prompt. Errc::invalid_argument names what is missing or too much.
Result<std::map<std::string, std::string>> prompt_arguments(std::string_view shown, const Prompt& prompt,
                                                            std::span<const PromptWord> words);

}  // namespace patchbay
