// Channels: servers that push messages into a conversation without being called, such as a chat or a build that failed
// (docs/channels.md). Values only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <patchbay/compiler.h>

namespace patchbay {

// Which servers may push messages, beside those that the user's settings name.
struct ChannelOptions {
  std::vector<std::string> open = {};  // "server:NAME", or "plugin:NAME@MARKETPLACE" for the servers of a plugin
  std::string name = "channels";       // what this list is called in messages
};

// A message that a server pushed.
struct ChannelMessage {
  std::string id;  // stays the same when it is delivered once more, as after a crash
  std::string server;
  std::string text;                 // for a model: <channel source="…">…</channel>, cleaned and escaped
  std::chrono::sys_seconds time{};  // when it came in
  bool operator==(const ChannelMessage&) const = default;
};

// How a server is as a channel.
struct ChannelStatus {
  std::string server;
  bool open = false;
  std::string reason;         // what opens it, or why it is not open, for people
  bool declared = false;      // while it is connected: it says that it pushes messages
  bool relays = false;        // and that questions whether a tool may be called can be answered through it
  std::size_t waiting = 0;    // messages that nobody has acknowledged
  std::uint64_t refused = 0;  // in this run: those for which there was no room, and what was no message
  bool operator==(const ChannelStatus&) const = default;
};

}  // namespace patchbay
