#include "cli/texts/kept_words.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "cli/texts/state_words.h"
#include "host/server_error.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

// "its cached list is too old", for one or for each of several.
std::string list_words(KeptUse use, std::string_view whose) {
  if (use == KeptUse::switched_off) return fmt::format("the cache {}", to_string(use));
  return fmt::format("{} {}", whose, to_string(use));
}

}  // namespace

std::string failure_words(std::string_view server, const KeptState& state, std::chrono::sys_seconds now) {
  const bool refused = state.state == ServerState::needs_auth;
  if (state.state != ServerState::failed && !refused) return {};
  const auto words = fmt::format("{} {}", refused ? "refused its credentials" : "failed", ago_text(now - state.time));
  if (state.error.empty()) return words;
  return fmt::format("{}: {}", words, message_line(without_name(server, state.error), 400));
}

std::string unlisted_words(const Unlisted& one, std::string_view command) {
  auto why = one.failure.empty() ? list_words(one.use, "its cached list") : "it " + one.failure;
  if (!one.failure.empty() && one.has_log) why = continued(std::move(why), log_words(one.server));
  return continued(std::move(why),
                   fmt::format("to ask the server: patchbay {}{}", command, shell_operands({one.server})));
}

std::string unlisted_lines(const std::vector<Unlisted>& all, std::string_view command) {
  std::string out;
  std::map<KeptUse, std::vector<const Unlisted*>> groups;
  for (const auto& one : all) {
    if (one.failure.empty()) groups[one.use].push_back(&one);
  }
  for (const auto& one : all) {
    const bool alone = !one.failure.empty() || groups[one.use].size() == 1;
    if (!alone) continue;
    out += fmt::format("patchbay: \"{}\" is not listed: {}\n", safe_name(one.server, 80), unlisted_words(one, command));
  }
  for (const auto& [use, group] : groups) {
    if (group.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto* one : group) names.push_back(fmt::format("\"{}\"", one->server));
    out += fmt::format("patchbay: {} are not listed: {}; to ask the servers: patchbay {}\n",
                       safe_line(join(names, ", "), 400), list_words(use, "the cached list of each"), command);
  }
  return out;
}

}  // namespace patchbay::cli
