// The URLs Patchbay deals with: absolute, with a host, of any scheme but compared as http
// does. Parsing normalises (lower case of scheme and host, addresses in one notation, no default
// port, no dot segments) and rejects what different parsers read differently: blanks, control characters,
// backslashes, a user name with a slash. Pure; used by the HTTP client, the transports and
// sign-in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/host_name.h"

namespace patchbay {

struct Url {
  std::string scheme;      // "https"
  std::string userinfo;    // as written, without '@'
  std::string host;        // lower case; addresses as canonical_host writes them
  std::uint16_t port = 0;  // 0: the scheme's own
  std::string path = "/";
  std::optional<std::string> query;     // without '?'
  std::optional<std::string> fragment;  // without '#'

  // The port in use: 443 for https and wss, 80 for http and ws, 0 where it is not known.
  std::uint16_t effective_port() const noexcept;
  // "https://host:8443", what browsers call the origin.
  std::string origin() const;
  // Path and query, as in a request line.
  std::string target() const;
  // The whole URL, with fragment.
  std::string text() const;
  // As it may be shown: no user information, no fragment, values of secret query members hidden.
  std::string redacted() const;

  bool operator==(const Url&) const = default;
};

Result<Url> parse_url(std::string_view text);
// A Location, an endpoint or any other reference, seen from `base` (RFC 3986, section 5).
Result<Url> resolve_url(const Url& base, std::string_view reference);
bool same_origin(const Url& a, const Url& b) noexcept;
// What a message may show of any text that should have been a URL.
std::string redacted_url(std::string_view text);

}  // namespace patchbay
