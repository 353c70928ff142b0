// One spelling for every way to write the host of a URL, so that rules, lists and checks compare the place that is
// reached and not a text. Pure; asked by URLs when they are read, by patterns of URLs, and by whoever must know
// whether a host is this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay {

// The host, with or without the brackets of an IPv6 address:
//  - an IPv4 address in any notation (127.1, 0x7f.0.0.1, 2130706433, 017700000001) as four decimal numbers;
//  - an IPv6 address in its short form without brackets, and one that holds an IPv4 address (::ffff:127.0.0.1) as that;
//  - a name in small letters, without a dot behind it, percent-encoding taken out.
//
// Nothing when different readers would take it differently, so that it cannot be judged: characters beyond ASCII (one
// reader maps them to others, the next one refuses), an IPv6 zone, numbers that are not an address, any other character
// that no host has. What comes out goes in unchanged.
std::optional<std::string> canonical_host(std::string_view host);

// 127.0.0.0/8, ::1, localhost and names below it, in any spelling. Not, when it cannot be judged.
bool is_loopback_host(std::string_view host);

}  // namespace patchbay
