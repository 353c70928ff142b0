// Where `patchbay serve --http` listens, from what was typed, and whether callers must show who they are. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <patchbay/error.h>

namespace patchbay::cli {

struct ServeAddress {
  std::string address;
  std::uint16_t port = 0;
  bool operator==(const ServeAddress&) const = default;
};

// "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080" or "8080"; without an address it is
// loopback.
inline Result<ServeAddress> parse_serve_address(std::string_view text) {
  auto wrong = [&] {
    return fail(Errc::invalid_argument,
                fmt::format("--http \"{}\" is not ADDRESS:PORT; write for example --http 127.0.0.1:8080", text));
  };
  const auto colon = text.rfind(':');
  std::string_view host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (host.starts_with('[') != host.ends_with(']')) return wrong();
  if (host.starts_with('[')) {
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return wrong();
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();  // an IPv6 address needs its brackets
  }
  ServeAddress place{.address = host.empty() ? "127.0.0.1" : std::string(host), .port = 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
  return place;
}

// Files can be written by whoever is let in, and with `allow_run` commands be run. Other machines
// are never let in unasked; other users of this one not where they could run something.
constexpr bool needs_token(bool loopback, bool allow_run) noexcept { return !loopback || allow_run; }

}  // namespace patchbay::cli
