// Calls to tools that are not any more what somebody agreed to: whether somebody agrees now, and why not.
#include <boost/asio/this_coro.hpp>

#include "base/as_result.h"
#include "host/host_impl.h"

namespace patchbay {

Task<bool> Host::Impl::settle_change(Entry entry, CallContext context, std::shared_ptr<CallClock> time) {
  if (pins_->waiting(entry->server, entry->tool->name) == nullptr) co_return false;
  co_await agree_on(entry->server, entry->tool->name, entry->name, std::move(context), std::move(time));
  co_return true;
}

Task<bool> Host::Impl::settle_new(std::string text, CallContext context, std::shared_ptr<CallClock> time) {
  const auto fresh = pins_->find_new(text);
  if (!fresh) co_return false;
  co_await agree_on(fresh->first, fresh->second, text, std::move(context), std::move(time));
  co_return true;
}

// Returns when the tool does not wait any more.
Task<void> Host::Impl::agree_on(std::string server, std::string tool, std::string shown_name, CallContext context,
                                std::shared_ptr<CallClock> time) {
  const auto connection = require(server);
  // Somebody may have agreed since, in another process.
  co_await connection->pin_again();
  check_running();
  const auto* waits = pins_->waiting(server, tool);
  if (waits == nullptr) co_return;
  if (options_.approve_change && waits->change.grade < ChangeGrade::block) {
    context.server = server;
    context.tool = tool;
    ChangedToolQuestion question{server, waits->before, waits->now, waits->change.reasons, std::move(context)};
    const auto shown = waits->now;
    bool agreed = false;
    {
      const CallClock::Stop asking(time);
      auto turn = co_await asking_->queue().acquire();
      agreed = co_await questions_->run(ask(options_.approve_change, std::move(question)));
    }
    check_running();
    if (agreed) {
      co_await pins_->agree(connection->config(), shown);
      check_running();
      co_await connection->pin_again();
      check_running();
    }
    waits = pins_->waiting(server, tool);
    if (waits == nullptr) co_return;
  }
  auto refused = pins_->refusal(server, shown_name, *waits);
  runtime_.log.for_server(server)(LogLevel::info, "call_denied", "tool", shown_name, "reason", refused.message());
  throw refused;
}

}  // namespace patchbay
