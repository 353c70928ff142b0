#include "simulation/legal_states.h"

#include <algorithm>
#include <vector>

namespace patchbay::test {
// The table of docs/host.md by reasons; each reason belongs to one state. What happens without being reported
// (connecting) may be missing between two reports.
namespace {

using R = ServerReason;

struct Row {
  ServerReason reason;
  ServerState state;
  std::vector<ServerReason> next;
};

const std::vector<Row>& table() {
  // Where any attempt to connect may lead.
  static const auto tried = [](std::vector<ServerReason> more) {
    more.insert(more.end(), {R::connecting, R::none, R::tools_fetch_failed, R::changed_tools, R::connect_failed,
                             R::wants_credentials, R::closed});
    return more;
  };
  static const std::vector<Row> rows{
      {R::not_started, ServerState::pending, tried({})},
      {R::connecting, ServerState::pending, tried({})},
      {R::none, ServerState::connected, tried({R::reconnecting, R::connection_lost, R::keeps_ending})},
      {R::tools_fetch_failed, ServerState::connected, tried({R::reconnecting, R::connection_lost, R::keeps_ending})},
      {R::changed_tools, ServerState::connected, tried({R::reconnecting, R::connection_lost, R::keeps_ending})},
      {R::reconnecting, ServerState::pending, tried({R::reconnecting, R::gave_up})},
      {R::connection_lost, ServerState::failed, tried({})},
      {R::gave_up, ServerState::failed, tried({})},
      {R::keeps_ending, ServerState::failed, tried({})},
      {R::connect_failed, ServerState::failed, tried({})},
      {R::wants_credentials, ServerState::needs_auth, tried({R::reconnecting, R::connection_lost, R::keeps_ending})},
      {R::closed, ServerState::pending, {}},
      {R::disabled, ServerState::disabled, {}},
  };
  return rows;
}

}  // namespace

bool is_legal_state(ServerState state, ServerReason reason) noexcept {
  const auto row = std::ranges::find(table(), reason, &Row::reason);
  return row != table().end() && row->state == state;
}

bool may_follow(ServerReason before, ServerReason now) noexcept {
  if (before == now) return true;
  const auto row = std::ranges::find(table(), before, &Row::reason);
  return row != table().end() && std::ranges::find(row->next, now) != row->next.end();
}

}  // namespace patchbay::test
