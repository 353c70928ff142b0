// What a person allowed for the rest of a conversation, so that they are not asked again, and what they may be offered:
// only what is kept then. A grant answers the questions that rules leave open (PermissionOptions::ask); it is asked
// after the rules and changes none of them. Pure; one of them belongs to one conversation. Used by whoever asks: the
// terminal, an editor.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/host_types.h>

namespace patchbay {

enum class GrantScope : std::uint8_t {
  arguments,  // this tool with exactly these arguments
  tool,
  server,  // all of its tools but those that say they destroy something, and those that want the person each time
};

// Empty where a rule or the tool itself wants the question each time.
std::vector<GrantScope> possible_grants(const PermissionQuestion& question);

class Grants {
 public:
  // Does nothing for a scope that is not possible.
  void add(const PermissionQuestion& question, GrantScope scope);
  // The same call with other arguments, which the person wrote.
  void add(const PermissionQuestion& question, const Json& arguments);
  bool cover(const PermissionQuestion& question) const;

  // For showing: "server/tool".
  std::vector<std::string> tools() const;
  std::vector<std::string> servers() const;
  std::size_t calls() const noexcept { return calls_.size(); }
  void clear();

 private:
  using ToolName = std::pair<std::string, std::string>;  // server and tool
  static constexpr std::size_t most_calls = 1000;

  std::set<std::string> servers_;
  std::set<ToolName> tools_;
  std::set<std::pair<ToolName, std::string>> calls_;  // with the arguments as text, keys sorted
};

}  // namespace patchbay
