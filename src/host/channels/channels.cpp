#include "host/channels/channels.h"

#include <algorithm>

#include "base/crypto.h"
#include "base/limit_text.h"
#include "settings/settings_layers.h"

namespace patchbay {
namespace {

// Of a notification, which is not looked into beyond it.
constexpr std::size_t largest_notification = 1u << 20;

}  // namespace

bool declares(const ServerDescription& server, std::string_view capability) {
  return server.capabilities.experimental.contains(std::string(capability));
}

Channels::Channels(ChannelOptions options, std::string state_directory, Random random, Log log)
    : options_(std::move(options)),
      state_directory_(std::move(state_directory)),
      log_(log),
      inbox_(std::make_shared<Inbox>(random, log)),
      board_(std::move(random)) {}

void Channels::use(const SettingsLayers& settings, const std::string& project) {
  settings_ = settings;
  project_ = project;
}

void Channels::begin(asio::any_io_executor executor) {
  executor_ = std::move(executor);
  begin_if_open();
}

// A host without channels reads and writes nothing for them.
void Channels::begin_if_open() {
  if (!executor_ || inbox_->begun()) return;
  const bool any = std::ranges::any_of(servers_, [](const auto& one) { return one.second.verdict.open(); });
  if (!any) return;
  inbox_->begin(*executor_,
                state_directory_.empty() ? std::string() : state_directory_ + "/channels/" + sha256_hex(project_));
}

ChannelVerdict Channels::judge(const ServerConfig& server) const {
  return judge_channel(server, layers_of(settings_), options_);
}

void Channels::know(const std::string& server, ChannelVerdict verdict) {
  auto& known = servers_[server];
  known.verdict = std::move(verdict);
  known.told = false;
  begin_if_open();
  // Some that an earlier run left may be for somebody now.
  if (known.verdict.open()) inbox_->arrived().notify_all();
}

bool Channels::is_open(const std::string& server) const {
  const auto known = servers_.find(server);
  return known != servers_.end() && known->second.verdict.open();
}

bool Channels::is_other(const ServerConfig& server) const {
  return servers_.contains(server.name) && judge(server).open() != is_open(server.name);
}

void Channels::refuse(Server& known, const std::string& server, LogLevel level, std::string_view event,
                      std::string_view reason) const {
  ++known.refused;
  // A flood is one line.
  const bool again = std::exchange(known.told, true);
  log_.for_server(server)(again ? LogLevel::debug : level, event, "reason", reason);
}

bool Channels::heard(const std::string& server, const ServerDescription& description, const std::string& method,
                     const Payload& params) {
  const bool message = method == channel_notification;
  if (!message && method != relay_verdict_notification) return false;
  const auto found = servers_.find(server);
  if (found == servers_.end()) return true;
  auto& known = found->second;
  const auto capability = message ? channel_capability : relay_capability;
  if (!known.verdict.open()) {
    const auto level = known.verdict.outcome == ChannelVerdict::Outcome::forbidden ? LogLevel::warning : LogLevel::info;
    refuse(known, server, level, "channel_not_open", known.verdict.reason);
  } else if (!declares(description, capability)) {
    refuse(known, server, LogLevel::warning, "channel_not_declared", capability);
  } else if (params.text().size() > largest_notification) {
    refuse(known, server, LogLevel::warning, "channel_message_refused",
           "it has more than " + limit_text(largest_notification));
  } else if (message) {
    take_in(known, server, params);
  } else {
    take_verdict(known, server, params);
  }
  return true;
}

void Channels::take_in(Server& known, const std::string& server, const Payload& params) {
  Result<ChannelText> text = fail(Errc::protocol, "it is no JSON");
  try {
    text = channel_text(server, params.value());
  } catch (const Error& error) {
    text = std::unexpected(error);
  }
  if (!text) return refuse(known, server, LogLevel::warning, "channel_message_refused", text.error().message());
  const auto dropped = text->dropped;
  switch (inbox_->add(server, std::move(*text))) {
    case Inbox::Added::taken:
      known.told = false;
      break;
    case Inbox::Added::known:
      log_.for_server(server)(LogLevel::debug, "channel_message_again");
      break;
    case Inbox::Added::full:
      return refuse(known, server, LogLevel::warning, "channel_full",
                    "messages that nobody has read fill the inbox of this server");
  }
  if (dropped > 0) log_.for_server(server)(LogLevel::info, "channel_meta_dropped", "members", dropped);
}

void Channels::take_verdict(const Server& known, const std::string& server, const Payload& params) {
  (void)known;
  Result<RelayVerdict> verdict = fail(Errc::protocol, "it is no JSON");
  try {
    verdict = read_relay_verdict(params.value());
  } catch (const Error& error) {
    verdict = std::unexpected(error);
  }
  const bool counts = verdict && board_.answer(*verdict, server);
  // One that comes too late is nothing to warn about.
  if (!counts) {
    log_.for_server(server)(LogLevel::info, "channel_answer_dropped", "reason",
                            verdict ? "no question with these letters is open" : verdict.error().message());
  }
}

std::vector<ChannelMessage> Channels::take() {
  return inbox_->take([this](const std::string& server) { return is_open(server); });
}

Channels::Relayed Channels::relay(std::set<std::string> servers, RelayBoard::Answered answered) {
  auto id = board_.add(std::move(servers), std::move(answered));
  return {shared_from_this(), std::move(id)};
}

std::optional<ChannelStatus> Channels::status(const std::string& server, const ServerDescription* description) const {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return std::nullopt;
  const auto& known = found->second;
  ChannelStatus status;
  status.server = server;
  status.open = known.verdict.open();
  status.reason = known.verdict.reason;
  status.declared = description != nullptr && declares(*description, channel_capability);
  status.relays = status.open && description != nullptr && declares(*description, relay_capability);
  status.waiting = inbox_->waiting(server);
  status.refused = known.refused;
  if (!status.open && !status.declared && known.verdict.outcome == ChannelVerdict::Outcome::closed) return std::nullopt;
  return status;
}

}  // namespace patchbay
