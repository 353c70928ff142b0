// The flag about channels as what the host takes, and what is said about a server as a channel. Pure.
#pragma once

#include <string>

#include <patchbay/channels.h>
#include <patchbay/json.h>

#include "cli/words/settings.h"
#include "host/channels/channel_rule.h"

namespace patchbay::cli {

// Errc::invalid_argument when a word is no name of a channel.
ChannelOptions channel_options(const Settings& settings);

// Of a server that somebody names as a channel: "open: --channels names server:chat", "not open: ..."; empty for
// others.
std::string channel_words(const ChannelVerdict& verdict);
// Null for others.
Json channel_json(const ChannelVerdict& verdict);

}  // namespace patchbay::cli
