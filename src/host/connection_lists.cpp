// The lists of a connection: fetched when it is made, followed, and fetched again when the server says that they
// changed.
#include <utility>

#include "base/as_result.h"
#include "base/timeout.h"
#include "catalog/tool_filter.h"
#include "host/connection.h"
#include "host/server_error.h"

namespace patchbay {
namespace {

// A burst of change notices leads to one refresh.
constexpr auto refresh_delay = std::chrono::milliseconds(200);
// A server that says at every listing that its list changed is asked less and less often.
constexpr auto longest_refresh_delay = std::chrono::seconds(30);
constexpr auto first_retry_pause = std::chrono::milliseconds(100);

}  // namespace

Task<Connection::Tools> Connection::fetch_tools(Session session) {
  Tools tools;
  if (!session.server().capabilities.tools) co_return tools;
  auto pause = std::chrono::duration_cast<Duration>(first_retry_pause);
  for (std::size_t tried = 1;; ++tried) {
    auto listing = co_await as_result(session.list_tools());
    if (listing) {
      for (auto& tool : listing->items) {
        if (lets_through(parts_.config, tool.name)) tools.push_back(std::make_shared<const Tool>(std::move(tool)));
      }
      for (const auto& problem : listing->problems) {
        runtime_.log(LogLevel::warning, "tool_left_out", "path", problem.path, "reason", problem.reason);
      }
      co_return tools;
    }
    if (tried >= runtime_.limits.list_tries || session.closed()) throw std::move(listing).error();
    co_await sleep_for(pause);
    pause *= 2;
  }
}

// Returns when the server has said yes or no. One that says neither is not waited for: if it agrees after all, the
// tools are listed once more.
Task<void> Connection::begin_following(Session session) {
  const auto& capabilities = session.server().capabilities;
  SubscriptionFilter filter;
  filter.tools_list_changed = capabilities.tools && capabilities.tools->list_changed;
  filter.prompts_list_changed = capabilities.prompts && capabilities.prompts->list_changed;
  filter.resources_list_changed = capabilities.resources && capabilities.resources->list_changed;
  if (!filter.tools_list_changed && !filter.prompts_list_changed && !filter.resources_list_changed) co_return;
  auto answered = std::make_shared<Completion<bool>>();
  scope_.spawn(follow(session, filter, answered));
  if (!filter.tools_list_changed) co_return;
  (void)co_await as_result(
      with_timeout(answered->wait(), as_duration(runtime_.limits.silent_probe), "no answer about the subscription"));
}

Task<void> Connection::follow(Session session, SubscriptionFilter filter, std::shared_ptr<Completion<bool>> answered) {
  const auto opened = opened_;
  const bool tools = filter.tools_list_changed;
  auto watch = co_await as_result(session.watch(std::move(filter)));
  if (!watch) {
    runtime_.log(LogLevel::info, "not_following", "reason", watch.error().message());
  } else if (tools) {
    on_tools_changed(opened);
  }
  answered->set(watch.has_value());
}

void Connection::on_tools_changed(std::uint64_t opened) {
  if (opened != opened_ || !parts_.follow_changes || closing_) return;
  tools_changed_ = true;
  refresh_soon();
}

void Connection::refresh_soon() {
  // While it connects the list is still to come.
  if (refreshing_ || !open()) return;
  refreshing_ = true;
  scope_.spawn(refresh());
}

// One at a time: of two lists that are on their way at once, the older might arrive last.
Task<void> Connection::refresh() {
  auto pause = std::chrono::duration_cast<Duration>(refresh_delay);
  while (tools_changed_ && open()) {
    co_await sleep_for(pause);
    if (!open()) break;
    pause = std::min<Duration>(pause * 2, longest_refresh_delay);
    tools_changed_ = false;
    const auto opened = opened_;
    auto listed = co_await as_result(fetch_tools(*session_));
    ++listings_;
    listed_.notify_all();
    if (opened != opened_ || !open()) continue;  // another session has another list
    if (listed) {
      tools_ = std::move(*listed);
      if (state_.reason == ServerReason::tools_fetch_failed) {
        apply(connection_event::Listed{});
      } else if (parts_.on_change) {
        parts_.on_change(*this);
      }
    } else {
      // The old list is kept.
      call_ended(opened, listed.error());
      runtime_.log(LogLevel::warning, "tools_not_refreshed", "reason", listed.error().message());
    }
  }
  refreshing_ = false;
  listed_.notify_all();
}

Task<void> Connection::list_again() {
  if (!open() || state_.reason != ServerReason::tools_fetch_failed) co_return;
  tools_changed_ = true;
  refresh_soon();
  const auto before = listings_;
  while (refreshing_ && listings_ == before && !closing_) co_await listed_.wait();
  if (open() && state_.reason == ServerReason::tools_fetch_failed && state_.error) {
    throw error_of_server(name(), *state_.error);
  }
}

}  // namespace patchbay
