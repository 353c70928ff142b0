// Which servers may push messages: none, unless this run or the user's settings name it. An organisation can switch
// channels off (channelsEnabled) and say which plugins may have them (allowedChannelPlugins); no file inside the
// repository opens one, neither by naming a server nor by declaring one under a name that the user's settings have.
// Pure; used by host/channels/channels and by whoever explains a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/channels.h>
#include <patchbay/config.h>

#include "settings/settings_file.h"

namespace patchbay {

// What one word names: a server, or those of a plugin.
struct ChannelName {
  enum class Kind : std::uint8_t { server, plugin };
  Kind kind = Kind::server;
  std::string name;  // of the server, or "NAME@MARKETPLACE"
  bool operator==(const ChannelName&) const = default;
};
// Errc::invalid_argument: it is neither.
Result<ChannelName> channel_name(std::string_view word);

struct ChannelVerdict {
  enum class Outcome : std::uint8_t {
    open,
    closed,     // nobody names it
    forbidden,  // somebody does, and the organisation does not let it
  };
  Outcome outcome = Outcome::closed;
  // What decided: the name of the list that names it, or the setting that forbids it, and where that is written.
  std::string by;
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  std::string reason;  // for people, with the place

  bool open() const noexcept { return outcome == Outcome::open; }
  bool operator==(const ChannelVerdict&) const = default;
};

ChannelVerdict judge_channel(const ServerConfig& server, std::span<const SettingsLayer> layers,
                             const ChannelOptions& options);

// Words that are no names of channels, and names that no server has.
std::vector<ConfigProblem> channel_problems(std::span<const ServerConfig> servers,
                                            std::span<const SettingsLayer> layers, const ChannelOptions& options);

}  // namespace patchbay
