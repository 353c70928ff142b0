#include "auth/endpoint_rule.h"

#include <fmt/format.h>

#include "http/host_name.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_url = 8192;

bool may_name(AddressKind target, const ServerNetwork& server) {
  switch (target) {
    case AddressKind::common:
      return true;
    case AddressKind::loopback:
    case AddressKind::link_local:
      return server.kind == target;
    case AddressKind::private_network:
      return server.kind == target || server.kind == AddressKind::loopback;
    case AddressKind::other_special:
      return false;
  }
  return false;
}

std::string_view where(AddressKind kind) {
  switch (kind) {
    case AddressKind::loopback:
      return "on this machine";
    case AddressKind::link_local:
      return "at a link-local address";
    case AddressKind::private_network:
      return "in a private network";
    default:
      return "at a reserved address";
  }
}

// What a URL may say of this machine and of networks near it, when a name is all that puts its server on this machine.
ServerNetwork as_written(const ServerNetwork& server) {
  return server.by_name && server.kind == AddressKind::loopback ? ServerNetwork{} : server;
}

// And what a name may come to.
bool may_come_to(AddressKind target, const ServerNetwork& server) {
  if (server.by_name && server.kind == AddressKind::loopback && target == AddressKind::private_network) return false;
  return may_name(target, server);
}

Result<void> judge(bool allowed, AddressKind kind, std::string_view shown, std::string_view what) {
  if (allowed) return {};
  return fail(Errc::denied,
              kind == AddressKind::other_special
                  ? fmt::format("{} is {} ({}), and no server may name one", what, where(kind), shown)
                  : fmt::format("{} is {} ({}), and the server that named it is not", what, where(kind), shown));
}

std::unexpected<Error> refused(std::string_view what, std::string_view url, std::string_view why) {
  return fail(Errc::denied, fmt::format("{} ({}) {}", what, redacted_url(url), why));
}

// What holds for every URL that somebody else wrote.
Result<Url> checked(std::string_view text, std::string_view what) {
  if (text.size() > longest_url) {
    return fail(Errc::protocol, fmt::format("{} is a URL of {} bytes; {} are allowed", what, text.size(), longest_url));
  }
  auto url = parse_url(text);
  if (!url) return fail(Errc::protocol, fmt::format("{}: {}", what, url.error().message()));
  if (url->scheme != "https" && url->scheme != "http") return refused(what, text, "does not begin with https://");
  if (!url->userinfo.empty()) return refused(what, text, "contains a user name or password");
  if (!canonical_host(url->host)) return refused(what, text, "has a host that different programs read differently");
  if (url->scheme == "http" && host_kind(url->host) != AddressKind::loopback) {
    return refused(what, text, "must begin with https://, because it is not on this machine");
  }
  return url;
}

}  // namespace

Result<Url> check_endpoint(std::string_view url, std::string_view what, const ServerNetwork& server) {
  auto parsed = checked(url, what);
  if (!parsed) return parsed;
  if (parsed->fragment) return refused(what, url, "contains a fragment (#)");
  const auto kind = host_kind(parsed->host);
  if (auto good = judge(may_name(kind, as_written(server)), kind, parsed->host, what); !good) {
    return std::unexpected(std::move(good).error());
  }
  return parsed;
}

Result<void> check_address(std::string_view address, std::string_view what, const ServerNetwork& server) {
  const auto kind = address_kind(address);
  if (!kind) return fail(Errc::denied, fmt::format("{} is at an address that cannot be judged", what));
  return judge(may_come_to(*kind, server), *kind, address, what);
}

Result<Url> check_browser_url(std::string_view url) { return checked(url, "the address for the browser"); }

}  // namespace patchbay
