#include "host/kept/recall.h"

#include <boost/asio/this_coro.hpp>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/timeout.h"
#include "host/kept/server_files.h"

namespace patchbay {
namespace {

// A disk that hangs holds nobody up for longer.
constexpr auto for_reading = std::chrono::seconds(2);

std::vector<RecalledTools> read(const std::string& directory, const KeyContext& context, const KeptPolicy& policy,
                                std::vector<ServerConfig> entries, std::chrono::sys_seconds now) {
  std::vector<RecalledTools> found;
  for (auto& entry : entries) {
    const auto key = server_key(entry, context);
    auto kept = load_kept_server(directory, key).server;
    if (!kept || !kept->tools || kept->tools->items.empty()) continue;
    if (judge_kept(*kept, kept->tools->time, stamp_of(key.files), now, policy) != KeptUse::usable) continue;
    found.push_back({std::move(entry), std::move(kept->tools->items)});
  }
  return found;
}

}  // namespace

Task<std::vector<RecalledTools>> recall_tools(std::string state_directory, KeyContext context,
                                              std::vector<ServerConfig> entries) {
  const auto policy = kept_policy(context.variables);
  if (!policy.on || entries.empty()) co_return std::vector<RecalledTools>();
  const auto now = std::chrono::floor<std::chrono::seconds>(loop_clock(co_await asio::this_coro::executor).wall());
  auto work = [directory = std::move(state_directory), context = std::move(context), policy,
               entries = std::move(entries),
               now]() mutable { return read(directory, context, policy, std::move(entries), now); };
  auto found = co_await as_result(
      with_timeout(offload(Pool::slow, std::move(work)), for_reading, "the state directory did not answer in time"));
  if (!found && found.error().code() == Errc::cancelled) throw std::move(found).error();
  co_return found ? std::move(*found) : std::vector<RecalledTools>();
}

}  // namespace patchbay
