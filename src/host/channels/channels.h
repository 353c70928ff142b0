// Channels: what a Host does with messages that servers push. Knows which servers may, takes what they say into the
// inbox and hands it to whoever waits, and puts questions of permission through servers that can carry them. Does not
// connect, and asks nobody by itself: the Host tells it what it heard, and sends what it is given. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/channels.h>
#include <patchbay/types.h>

#include "host/channels/channel_rule.h"
#include "host/channels/inbox.h"
#include "host/channels/relay.h"

namespace patchbay {

class Channels : public std::enable_shared_from_this<Channels> {
 public:
  // `state_directory`: empty, messages are kept in memory alone.
  Channels(ChannelOptions options, std::string state_directory, Random random, Log log);

  // What settings say, and where the inbox of the project is; again whenever that is another configuration.
  void use(const SettingsLayers& settings, const std::string& project);
  void begin(asio::any_io_executor executor);
  Task<void> finish() { co_await inbox_->finish(); }

  ChannelVerdict judge(const ServerConfig& server) const;
  // How a server is from now on; heard() and take() go by it.
  void know(const std::string& server, ChannelVerdict verdict);
  // Whether settings have changed their mind about it.
  bool is_other(const ServerConfig& server) const;
  bool is_open(const std::string& server) const;

  // A notification that the protocol does not know. False: it is not about channels.
  bool heard(const std::string& server, const ServerDescription& description, const std::string& method,
             const Payload& params);

  std::vector<ChannelMessage> take();
  Event& arrived() noexcept { return inbox_->arrived(); }
  Task<void> acknowledge(std::vector<std::string> ids) { co_await inbox_->acknowledge(std::move(ids)); }

  // A question that is open on servers for as long as this is there.
  class Relayed {
   public:
    Relayed() = default;
    Relayed(std::shared_ptr<Channels> channels, std::string id) : channels_(std::move(channels)), id_(std::move(id)) {}
    Relayed(Relayed&& other) noexcept = default;
    Relayed& operator=(Relayed&&) = delete;
    ~Relayed() {
      if (channels_) channels_->board_.remove(id_);
    }
    const std::string& id() const noexcept { return id_; }

   private:
    std::shared_ptr<Channels> channels_;
    std::string id_;
  };
  // Its id is empty when there are too many.
  Relayed relay(std::set<std::string> servers, RelayBoard::Answered answered);

  // Of servers that are open or say that they push messages; `description`: of one that is connected, else null.
  std::optional<ChannelStatus> status(const std::string& server, const ServerDescription* description) const;

 private:
  struct Server {
    ChannelVerdict verdict;
    std::uint64_t refused = 0;
    bool told = false;  // why the last message was refused; until one is taken
  };
  void take_in(Server& known, const std::string& server, const Payload& params);
  void take_verdict(const Server& known, const std::string& server, const Payload& params);
  void refuse(Server& known, const std::string& server, LogLevel level, std::string_view event,
              std::string_view reason) const;
  void begin_if_open();

  ChannelOptions options_;
  std::string state_directory_;
  std::string project_;
  Log log_;
  SettingsLayers settings_;
  std::map<std::string, Server, std::less<>> servers_;
  std::optional<asio::any_io_executor> executor_;
  std::shared_ptr<Inbox> inbox_;
  RelayBoard board_;
};

// Whether a server says so when it is connected.
bool declares(const ServerDescription& server, std::string_view capability);

}  // namespace patchbay
