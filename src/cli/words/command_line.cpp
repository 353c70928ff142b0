#include "cli/words/command_line.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

// -5 and - are words.
bool looks_like_flag(std::string_view word) {
  if (!word.starts_with('-') || word.size() < 2) return false;
  if (word[1] == '-') return word.size() > 2 && !std::string_view("-! \n").contains(word[2]);
  return !std::string_view("! \n0123456789").contains(word[1]);
}

std::optional<bool> switch_value(std::string_view text) {
  for (const std::string_view on : {"true", "yes", "on", "1"}) {
    if (text == on) return true;
  }
  for (const std::string_view off : {"false", "no", "off", "0"}) {
    if (text == off) return false;
  }
  return std::nullopt;
}

bool is_among(const auto& range, const auto& value) { return std::ranges::find(range, value) != range.end(); }

// A flag as it was typed.
struct TypedFlag {
  std::string name;
  std::optional<std::string> value;
  bool joined = false;  // the value is in the same word
};

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) : words_(words) {}

  std::variant<Settings, HelpTopic, UsageFault> read() {
    for (; at_ < words_.size(); ++at_) {
      const auto& word = words_[at_];
      if (word == "--" && command_ && command_->takes_command) {
        auto behind = words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1;
        // add -- NAME COMMAND is add NAME -- COMMAND.
        if (settings_.words.empty() && behind != words_.end()) settings_.words.push_back(*behind++);
        settings_.command_words.emplace(behind, words_.end());
        break;
      }
      if (word == "--" && !only_words_) {
        only_words_ = true;
        listing_ = nullptr;
      } else if (!only_words_ && looks_like_flag(word)) {
        if (is_flag_of_the_server(word)) {
          settings_.command_without_dashes = true;
          settings_.command_words.emplace(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
          break;
        }
        read_flags(word);
      } else if (listing_ && listing_->more(word, may_be_tool())) {
        flag_at_ = at_;
        keep(*listing_, {listing_name_, word, false});
      } else {
        read_word(word);
        listing_ = nullptr;
      }
    }
    return result();
  }

 private:
  // Behind `chat` and -p there are words for the model, and no tools.
  bool may_be_tool() const { return command_ != nullptr && command_->command != Command::chat; }

  // The first fault is the one that is reported. Reading goes on: --help and --json may follow.
  UsageFault* found(UsageFault::Kind kind, std::string word) {
    if (fault_) return nullptr;
    fault_.emplace();
    fault_->kind = kind;
    fault_->word = std::move(word);
    fault_->at = at_;
    return &*fault_;
  }

  void found(UsageFault::Kind kind, const FlagEntry* flag, const TypedFlag& typed, std::string_view expected = {}) {
    if (auto* fault = found(kind, typed.name)) {
      fault->at = flag_at_;
      fault->flag = flag;
      fault->value = typed.value.value_or("");
      fault->joined = typed.joined;
      fault->expected = expected;
    }
  }

  // add NAME npx -y SERVER: behind the command of a server, a flag that `add` does not have is the server's, with
  // everything behind it. A slip of one of ours is not.
  [[nodiscard]] bool is_flag_of_the_server(const std::string& word) const {
    if (!command_ || !command_->takes_command || settings_.words.size() < 2 || settings_.words[1].contains("://")) {
      return false;
    }
    const bool is_long = word.starts_with("--");
    const auto name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    // Flags of every command may be the server's as well: -v of docker.
    const auto* ours = find_flag(name, command_->command);
    if (ours) return ours->owner.every_command();
    return !is_long || nearest(name, flag_names(command_->command)).empty();
  }

  [[nodiscard]] Command taken_by() const { return command_ ? command_->command : Command::overview; }

  // One flag, or several short ones in one word.
  void read_flags(const std::string& word) {
    listing_ = nullptr;
    flag_at_ = at_;
    if (word.starts_with("--")) {
      const auto sign = word.find('=');
      TypedFlag typed{word.substr(0, sign), {}, sign != std::string::npos};
      if (typed.joined) typed.value = word.substr(sign + 1);
      read_flag(std::move(typed));
      return;
    }
    for (std::size_t letter = 1; letter < word.size(); ++letter) {
      TypedFlag typed{{'-', word[letter]}, {}, false};
      const auto* flag = find_flag(typed.name, taken_by());
      if (!flag && !command_) flag = find_flag_anywhere(typed.name);
      if (!flag) {
        // -json is a slip of --json, and -q=1 is nothing.
        if (letter == 1) typed.name = word.substr(0, word.find('='));
        if (word[letter] == '=') typed.name = word;
        read_flag(std::move(typed));
        return;
      }
      if (flag->takes_value() && letter + 1 < word.size()) {
        typed.value = word.substr(letter + 1);
        typed.joined = true;
      }
      const bool last = flag->takes_value();
      read_flag(std::move(typed));
      if (last) return;
    }
  }

  void read_flag(TypedFlag typed) {
    const auto* flag = find_flag(typed.name, taken_by());
    const auto* other = flag ? flag : find_flag_anywhere(typed.name);
    if (!other) return found(UsageFault::Kind::unknown_flag, nullptr, typed);
    if (other->takes_next_word() && !typed.joined && at_ + 1 < words_.size() && words_[at_ + 1] != "--") {
      typed.value = words_[++at_];
    }
    if (!other->value.alone.empty() && !typed.joined) {
      const bool given = other->more && at_ + 1 < words_.size() && other->more(words_[at_ + 1], may_be_tool());
      typed.value = given ? words_[++at_] : std::string(other->value.alone);
    }
    if (!flag && !command_ && !settings_.as_mcp) {
      // A flag of `chat` can do without that word; behind -p is what is said.
      flag = find_flag(typed.name, Command::chat);
      if (flag && !of_chat_) of_chat_ = {flag_at_, flag, typed};
      if (flag && flag->is_called("--print")) take_command(*find_command("chat"));
    }
    if (!flag) {
      if (command_) return found(UsageFault::Kind::foreign_flag, other, typed);
      if (!early_) early_ = {flag_at_, other, std::move(typed)};
      return;
    }
    if (!flag->takes_value() || (typed.value && !(typed.joined && typed.value->empty()))) return keep(*flag, typed);
    found(UsageFault::Kind::missing_value, flag, typed);
  }

  void keep(const FlagEntry& flag, const TypedFlag& typed) {
    using Kind = UsageFault::Kind;
    if (const auto* member = std::get_if<bool Settings::*>(&flag.target)) {
      const auto on = typed.joined ? switch_value(*typed.value) : true;
      if (!on) return found(Kind::unwanted_value, &flag, typed);
      settings_.*(*member) = *on;
      return;
    }
    const auto& value = *typed.value;
    if (!flag.value.choices.empty() && !is_among(flag.value.choices, value)) {
      return found(Kind::wrong_value, &flag, typed);
    }
    if (const auto* text = std::get_if<std::string Settings::*>(&flag.target)) {
      settings_.*(*text) = value;
    } else if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&flag.target)) {
      (settings_.*(*list)).push_back(value);
    } else if (const auto expected = std::get<KeepValue>(flag.target)(settings_, value); !expected.empty()) {
      return found(Kind::wrong_value, &flag, typed, expected);
    }
    if (!flag.more || typed.joined || !flag.value.alone.empty()) return;
    listing_ = &flag;
    listing_name_ = typed.name;
  }

  void read_word(const std::string& word) {
    if (!command_) return read_command(word);
    if (settings_.words.empty()) first_word_at_ = at_;
    settings_.words.push_back(word);
    const auto& wanted = command_->words;
    if (settings_.words.size() > wanted.most) {
      found(UsageFault::Kind::extra_word, word);
    } else if (settings_.words.size() == 1 && !wanted.choices.empty() && !is_among(wanted.choices, word)) {
      found(UsageFault::Kind::wrong_word, word);
    }
  }

  // The first word that is neither a flag nor its value; behind `mcp` the next one.
  void read_command(const std::string& word) {
    // As other programs have them.
    if (word == "help") {
      settings_.help = true;
      return;
    }
    if (word == "version" && !settings_.as_mcp) {
      settings_.version = true;
      return;
    }
    const auto* entry = find_command(word == "rm" ? "remove" : word == "ls" ? "list" : word);
    if (!entry || (settings_.as_mcp && !entry->in_mcp)) {
      if (auto* fault = found(UsageFault::Kind::unknown_command, word); fault && listing_) {
        fault->flag = listing_;
        fault->value = words_[at_ - 1];
      }
      return;
    }
    if (entry->command == Command::mcp) {
      settings_.as_mcp = true;
      return;
    }
    take_command(*entry);
  }

  void take_command(const CommandEntry& entry) {
    command_ = &entry;
    settings_.command = entry.command;
  }

  std::variant<Settings, HelpTopic, UsageFault> result() {
    using Kind = UsageFault::Kind;
    const bool lost = fault_ && fault_->kind == Kind::unknown_command;
    if (settings_.help && !lost) {
      if (!command_ && settings_.as_mcp) return HelpTopic{find_command("mcp"), false};
      return HelpTopic{command_, settings_.as_mcp};
    }
    if (of_chat_ && !command_) take_command(*find_command("chat"));
    if (of_chat_ && !find_flag(of_chat_->typed.name, command_->command)) {
      flag_at_ = of_chat_->at;
      found(Kind::foreign_flag, of_chat_->flag, of_chat_->typed);
    }
    if (early_) {
      flag_at_ = early_->at;
      const bool own = command_ && find_flag(early_->typed.name, command_->command);
      found(own ? Kind::misplaced_flag : Kind::foreign_flag, early_->flag, early_->typed);
    }
    if (settings_.version && !fault_) {
      settings_.command = Command::version;
      return std::move(settings_);
    }
    at_ = words_.size();
    if (!command_ && settings_.as_mcp) found(Kind::missing_command, {});
    if (command_ && settings_.words.size() < command_->words.least) found(Kind::missing_word, {});
    if (fault_) {
      fault_->command = lost ? nullptr : command_;
      fault_->in_mcp = settings_.as_mcp;
      fault_->json = settings_.json;
      fault_->behind_name =
          command_ && command_->takes_command && fault_->at > first_word_at_ && !settings_.command_words;
      if (fault_->behind_name) {
        fault_->typed.assign(words_.begin() + static_cast<std::ptrdiff_t>(first_word_at_), words_.end());
      }
      return std::move(*fault_);
    }
    return std::move(settings_);
  }

  struct EarlyFlag {
    std::size_t at;
    const FlagEntry* flag;
    TypedFlag typed;
  };

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::size_t flag_at_ = 0;                    // the latest flag
  std::size_t first_word_at_ = words_.size();  // the first word behind the command
  const CommandEntry* command_ = nullptr;
  Settings settings_;
  bool only_words_ = false;             // -- was read
  const FlagEntry* listing_ = nullptr;  // the word before was a value of this flag, and more may follow
  std::string listing_name_;            // as it was typed
  std::optional<EarlyFlag> early_;      // the first flag before the command that not every command takes
  std::optional<EarlyFlag> of_chat_;    // the first one that only `chat` and commands like it take
  std::optional<UsageFault> fault_;
};

}  // namespace

std::variant<Settings, HelpTopic, UsageFault> read_command_line(const std::vector<std::string>& words) {
  return Reader(words).read();
}

}  // namespace patchbay::cli
