// Messages that servers push, and questions whether a tool may be called, which a person may answer through such a
// server.
#include "base/as_result.h"
#include "client/session_owner.h"
#include "host/host_impl.h"
#include "permission/decide.h"
#include "settings/settings_layers.h"

namespace patchbay {

void Host::Impl::open_channel(Connection::Parts& parts, ClientOptions& client) {
  auto verdict = channels_->judge(parts.config);
  // Servers that push messages speak the older revisions; one of them is asked for unless somebody chose another.
  if (verdict.open() && client.protocol == "auto") client.protocol = "legacy";
  channels_->know(parts.config.name, std::move(verdict));
  parts.on_other = [channels = channels_, name = parts.config.name](const ServerDescription& server,
                                                                    const std::string& method, const Payload& params) {
    channels->heard(name, server, method, params);
  };
}

Channels::Relayed Host::Impl::relay(const PermissionQuestion& question,
                                    std::shared_ptr<Completion<Result<bool>>> answer) {
  // Such a tool must have the person who is here.
  if (requires_question(*question.tool.tool)) return {};
  std::vector<Session> through;
  std::set<std::string> servers;
  for (const auto& [name, connection] : connections_) {
    const auto* session = connection->session();
    if (session == nullptr || !channels_->is_open(name)) continue;
    const auto server = session->server();
    if (!declares(server, channel_capability) || !declares(server, relay_capability)) continue;
    servers.insert(name);
    through.push_back(*session);
  }
  if (servers.empty()) return {};
  auto relayed = channels_->relay(std::move(servers), [log = runtime_.log, answer, tool = question.tool.name](
                                                          bool allow, const std::string& server) {
    // The person may have been faster.
    if (!answer->set(allow)) return;
    log.for_server(server)(LogLevel::info, "channel_answer", "tool", tool, "answer", allow ? "allow" : "deny");
  });
  if (relayed.id().empty()) return relayed;
  const TextSecrets secrets(context_->environment);
  const Payload params = relay_question(relayed.id(), question, secrets);
  for (const auto& session : through) {
    if (auto sent = SessionAccess::notify(session, relay_question_notification, params); !sent) {
      runtime_.log(LogLevel::warning, "channel_question_not_sent", "reason", sent.error().message());
    }
  }
  return relayed;
}

std::vector<ChannelStatus> Host::Impl::channel_statuses() const {
  std::vector<ChannelStatus> out;
  for (const auto& [name, connection] : connections_) {
    const auto* session = connection->session();
    const auto server = session != nullptr ? std::optional(session->server()) : std::nullopt;
    if (auto status = channels_->status(name, server ? &*server : nullptr)) out.push_back(std::move(*status));
  }
  return out;
}

std::vector<ConfigProblem> Host::Impl::channel_problems() const {
  std::vector<ServerConfig> servers = options_.config->servers;
  for (const auto& [name, connection] : connections_) servers.push_back(connection->config());
  return patchbay::channel_problems(servers, layers_of(options_.config->settings), options_.channels);
}

Task<std::vector<ChannelMessage>> Host::Impl::next_channel_messages(std::shared_ptr<Impl> impl) {
  co_await impl->prepare();
  for (;;) {
    impl->check_running();
    auto messages = impl->channels_->take();
    if (!messages.empty()) co_return messages;
    co_await impl->channels_->arrived().wait();
  }
}

Task<std::vector<ChannelMessage>> Host::next_channel_messages() { return Impl::next_channel_messages(impl_); }

Task<void> Host::acknowledge_channel_messages(std::vector<std::string> ids) {
  auto impl = impl_;
  co_await impl->channels_->acknowledge(std::move(ids));
}

std::vector<ChannelStatus> Host::channels() const { return impl_->channel_statuses(); }

}  // namespace patchbay
