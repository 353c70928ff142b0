// What several providers spell or read in the same way: arguments of calls, ids, names and images. A provider includes
// it; nothing here knows one. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/model.h>

#include "agent/models/provider.h"

namespace patchbay {

// ---- of a request ---------------------------------------------------------------------------------------------------

// "data:image/png;base64,…"
std::string data_url(const ModelImage& image);
// What a model is told in place of an image that it cannot look at.
std::string instead_of(const ModelImage& image);
// The texts, with an empty line between them.
std::string joined_texts(const std::vector<std::string>& texts);
// What a provider that refuses other names takes: letters, digits, _ and -, at most so many. The name of a tool in the
// pool stays as it is; a name that a model made up must not spoil every request that comes.
std::string plain_name(std::string_view name, std::size_t most);
// Likewise of an id, but one that cannot stay as it is never becomes another's.
std::string plain_id(std::string_view id, std::size_t most);
// The same id while it is short enough, else one that stands for it: the same for call and outcome. Another provider
// may have given it.
std::string short_id(std::string_view id, std::size_t most);
// The deferred tools that the conversation has come upon, each once, in the order in which it did: found by a search or
// announced. A list that has them at its end only ever grows there.
std::vector<const ModelTool*> named_tools(const ModelRequest& request);
// The arguments of a call as text. Those that could not be read go back as an empty object: servers read them again.
std::string arguments_text(const ModelToolUse& use);

// ---- of an answer ---------------------------------------------------------------------------------------------------

// Calls, or other items, of one answer; one with more is nonsense.
inline constexpr std::size_t most_answer_items = 1'000;
ProviderFailure too_many_items();
// So much of a name is read; a longer one is none that we gave.
inline constexpr std::size_t longest_tool_name = 256;
// The stream ended before the answer did.
ProviderFailure cut_off();
// A piece that is not JSON: something between the server and us has damaged it.
ProviderFailure damaged(const Error& error);

// What a message has between its first two quotes of one kind ("Invalid value: 'this'."): so an API names a word of its
// own. Empty where there is none.
std::string_view first_quoted(std::string_view message) noexcept;

// Takes arguments as the model wrote them: `input`, or `broken` where that is no object. No text at all is an object
// without members.
void read_arguments(ModelToolUse& use, std::string_view arguments);

// Whether a text has a call in it as models write it there; a server whose parser is on takes it out.
bool holds_raw_call(std::string_view text);
// Whether all of it is a call of one of the tools, in that way or as an object.
bool is_raw_call(std::string_view text, const ToolPool& tools);

// Notices where a JSON object that arrives in pieces ends.
class ObjectEnd {
 public:
  void feed(std::string_view piece) noexcept;
  bool reached() const noexcept { return reached_; }

 private:
  std::uint32_t depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  bool reached_ = false;
};

// Ids for the calls of one answer: as the provider gave them, and made up where it gave none, one that is no id any
// more (longest_call_id) or one that the conversation has already. The same conversation and answer give the same ids.
inline constexpr std::size_t longest_call_id = 256;
class CallIds {
 public:
  explicit CallIds(const ModelRequest& request);
  std::string take(std::string_view given);

 private:
  std::set<std::string, std::less<>> taken_;
  std::size_t next_ = 1;
};

}  // namespace patchbay
