// A message that a server pushed, as a model gets it: <channel source="SERVER" key="value">content</channel>.
// Everything in it is the server's word: it is cleaned like all that a model sees, bounded, and escaped, so that
// nothing in it can end the element, begin another one or say that it comes from elsewhere. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

// The capability of servers that push messages, and of those through which questions can be answered; how a message
// comes in.
inline constexpr std::string_view channel_capability = "claude/channel";
inline constexpr std::string_view relay_capability = "claude/channel/permission";
inline constexpr std::string_view channel_notification = "notifications/claude/channel";

struct ChannelTextLimits {
  std::size_t content = 64u << 10;  // bytes, before escaping; the rest is left out, and a note says so
  std::size_t members = 32;         // of meta
  std::size_t key = 64;
  std::size_t value = 1024;  // bytes, before escaping; the rest is left out
};

struct ChannelText {
  std::string text;
  // Of a message that says which one it is ("message_id" or "id" in its meta): a digest of all of it, so that one that
  // is sent again is known. Empty for others.
  std::string digest;
  std::size_t dropped = 0;  // members of meta that have no place in it
};

// Errc::protocol: what the notification holds is no message.
Result<ChannelText> channel_text(std::string_view server, const Json& params, const ChannelTextLimits& limits = {});

}  // namespace patchbay
