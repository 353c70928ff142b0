// Whether we may send a request, or the user's browser, to an address that a server named. Without it a server could
// have us ask machines that only we can reach (SSRF). One answer for every URL of sign-in. Pure; asked before a request
// with the URL, and by the HTTP client with each address that its name came to, before connecting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/address_kind.h"
#include "http/url.h"

namespace patchbay {

// Where the server itself is. What it names may be on the same kind of network, and nothing closer to us than it is: a
// server on this machine may also name a private network, one on a private network nothing on this machine. Nobody may
// name other_special.
struct ServerNetwork {
  AddressKind kind = AddressKind::common;
  // A name came to it. Whoever owns the name can have it come to another address at any time, so what it says about a
  // server on this machine is worth less: the server may be reached there, and by names alone.
  bool by_name = false;
  bool operator==(const ServerNetwork&) const = default;
};

// https, or http to loopback; no user information, no fragment; a host that can be judged. A literal address is judged
// at once, and "localhost" counts as loopback. `what` is named in the message ("the token endpoint"). Errc::protocol
// for what is not a URL, Errc::denied for one that the rule refuses.
Result<Url> check_endpoint(std::string_view url, std::string_view what, const ServerNetwork& server);
// The same for an address that a name came to.
Result<void> check_address(std::string_view address, std::string_view what, const ServerNetwork& server);
// For the browser: http only to loopback, https anywhere (the browser's own network rules hold there); nothing else,
// ever, and no user information, which makes one site look like another.
Result<Url> check_browser_url(std::string_view url);

}  // namespace patchbay
