#include "cli/changed_tool.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/strings.h"
#include "cli/approval.h"
#include "cli/texts/present.h"
#include "pins/definition.h"
#include "pins/word_diff.h"
#include "text/shell_word.h"
#include "text/utf8.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int most_questions = 10;
// Of one part; what is longer cannot be read in a terminal.
constexpr std::size_t longest_part = 32u << 10;

std::string_view cut(std::string_view text) { return text.substr(0, longest_part); }

std::string line(std::string_view label, const std::string& shown, std::size_t whole, std::size_t columns) {
  auto text = fmt::format("    {}: {}", label, shown);
  if (whole > longest_part) {
    text += fmt::format(" ({} more bytes are not shown; --json of `patchbay pins show` has all)", whole - longest_part);
  }
  return join(wrapped(text, columns, "    | "), "\n") + "\n";
}

std::string explanation(const std::string& server) {
  return fmt::format(
      "  y      call it, now and later, as long as it does not change again\n"
      "  Enter  do not call it; the question comes again next time\n"
      "What it does now may be something else than what it did. To look at all changes: patchbay pins show{}\n",
      shell_operands({server}));
}

}  // namespace

std::string change_text(const Tool* before, const Tool& now, std::size_t columns) {
  const auto old_parts = before != nullptr ? parts_of(*before) : ToolParts();
  const auto new_parts = parts_of(now);
  std::string out;
  for (const auto part : tool_parts) {
    const auto& was = old_parts.of(part);
    const auto& is = new_parts.of(part);
    if (was == is) continue;
    out += fmt::format("  {}\n", to_string(part));
    if (before == nullptr) {
      out += line("now", visible_text(cut(is)), is.size(), columns);
      continue;
    }
    const auto diff = word_diff(cut(was), cut(is));
    out += was.empty() ? std::string("    was: nothing\n") : line("was", diff.before, was.size(), columns);
    out += is.empty() ? std::string("    now: nothing\n") : line("now", diff.now, is.size(), columns);
  }
  return out;
}

Task<bool> ask_about_change(Io& io, Waiting& waiting, ChangedToolQuestion question) {
  TypedLines terminal(co_await asio::this_coro::executor);
  if (!terminal) co_return false;
  waiting.suspend();
  struct Resume {
    Waiting& line;
    ~Resume() { line.resume(); }
  } resume{waiting};
  HeldTalk held(io);
  const auto columns = talk_columns(io);
  const auto title =
      fmt::format("The tool \"{}\" of \"{}\" has changed since you used it: {}", visible_text(question.now->name),
                  visible_text(question.server), fmt::join(question.changes, "; "));
  held.say(join(wrapped(title, columns, "    | "), "\n") + "\n" +
           change_text(question.before.get(), *question.now, columns));
  for (int asked = 0; asked < most_questions; ++asked) {
    held.say("Call it as it is now? [y/n/?] (Enter: no) ");
    const auto typed = co_await terminal.next();
    const auto word = typed ? std::optional(to_lower_ascii(*typed)) : std::nullopt;
    if (!word) {
      held.say("\n");
      break;
    }
    if (*word == "y" || *word == "yes") co_return true;
    if (*word == "n" || *word == "no" || word->empty()) break;
    held.say(explanation(question.server));
  }
  co_return false;
}

}  // namespace patchbay::cli
