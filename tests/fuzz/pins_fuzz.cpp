// Lock files and what is kept of tools: whatever they hold, they are read whole or not at all, and what is read is
// written as something that reads as the same. Two texts beside each other show no mark and nothing hidden of their
// own.
#include "fuzz/fuzz.h"
#include "pins/grade.h"
#include "pins/lock_file.h"
#include "pins/pinned_server.h"
#include "pins/word_diff.h"
#include "text/utf8.h"
#include "text/visible_text.h"

using namespace patchbay;
using fuzz::require;

namespace {

void require_visible(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    require(character.valid && shows_itself(character.value), "something that does not show itself");
    at += character.length;
  }
}

}  // namespace

FUZZ_TARGET(pins) {
  if (const auto lock = read_lock_file(input)) {
    const auto text = write_lock_file(*lock);
    const auto again = read_lock_file(text);
    require(again && *again == *lock, "a lock file changed on its way");
    require(write_lock_file(*again) == text, "a lock file in two spellings");
    for (const auto& [name, server] : lock->servers) {
      require(differences(name, server, server).empty(), "it differs from itself");
    }
  } else {
    require(lock.error().code() == Errc::config, "another error");
  }
  if (const auto kept = read_pinned_server(input); kept.server) {
    const auto again = read_pinned_server(write_pinned_server(*kept.server));
    require(again.server == kept.server, "pins changed on their way");
    SeenServer seen{.name = kept.server->name, .tools = {}, .instructions = {}, .package = {}};
    for (const auto& [name, tool] : kept.server->waiting) {
      if (tool.definition) seen.tools.push_back(tool.definition);
    }
    const auto now = std::chrono::sys_seconds(std::chrono::seconds(1));
    const auto judged = judge(kept.server, seen, nullptr, PinMode::ask, now);
    require(judge(judged.pins, seen, nullptr, PinMode::ask, now).pins == judged.pins, "two looks, two answers");
    for (const auto& tool : judged.offered) {
      const auto waits = judged.waiting.find(tool->name);
      require(waits == judged.waiting.end() || tool != waits->second.now, "a tool that waits is offered as it is");
    }
  }
  const auto half = input.size() / 2;
  const auto diff = word_diff(input.substr(0, half), input.substr(half));
  require_visible(diff.before);
  require_visible(diff.now);
}
