// Messages that servers push: whatever they hold, what a model gets is one element that ends where it should, and what
// is kept of them is read as it was written.
//
// Input: the params of a notification, else its content. The same bytes are read as a file of messages.
#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "fuzz/fuzz.h"
#include "host/channels/channel_message.h"
#include "host/channels/inbox_file.h"
#include "host/channels/relay.h"

using namespace patchbay;
using fuzz::require;

namespace {

// The attributes of the opening tag, read as strictly as XML wants; the offset behind it, or npos.
std::size_t opening(std::string_view text, std::vector<std::string>& names) {
  constexpr std::string_view begin = "<channel";
  if (!text.starts_with(begin)) return std::string_view::npos;
  std::size_t at = begin.size();
  while (at < text.size() && text[at] == ' ') {
    const auto sign = text.find("=\"", at);
    const auto end = sign == std::string_view::npos ? sign : text.find('"', sign + 2);
    if (end == std::string_view::npos) return end;
    names.emplace_back(text.substr(at + 1, sign - at - 1));
    const auto value = text.substr(sign + 2, end - sign - 2);
    if (value.find_first_of("<>\n") != std::string_view::npos) return std::string_view::npos;
    at = end + 1;
  }
  return at < text.size() && text[at] == '>' ? at + 1 : std::string_view::npos;
}

}  // namespace

FUZZ_TARGET(channel_message) {
  auto params = parse_json(input);
  if (!params || !params->is_object()) params = Json{{"content", std::string(input)}};
  const auto made = channel_text("server\"<&\n", *params);
  if (made) {
    const std::string_view text = made->text;
    require(valid_utf8(text), "not UTF-8");
    std::vector<std::string> names;
    const auto content = opening(text, names);
    require(content != std::string_view::npos, "the element does not begin as it should");
    require(names.front() == "source" && std::ranges::count(names, "source") == 1, "it may come from elsewhere");
    for (auto& name : names) {
      require(!name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }),
              "a name that is none");
    }
    std::ranges::sort(names);
    require(std::ranges::adjacent_find(names) == names.end(), "an attribute twice");
    require(text.ends_with("</channel>"), "the element does not end as it should");
    const auto inner = text.substr(content, text.size() - content - std::string_view("</channel>").size());
    require(inner.find_first_of("<>") == std::string_view::npos, "something in it is an element");
    require(text.size() <= 6 * (64u * 1024 + 32 * 1100) + 1000, "larger than it may be");
  }
  if (const auto verdict = read_relay_verdict(*params)) require(is_relay_id(verdict->id), "an id that is none");
  InboxContents contents;
  read_inbox(input, contents);
  InboxContents again;
  read_inbox(write_inbox(contents), again);
  require(again.messages == contents.messages, "messages are lost when they are written again");
}
