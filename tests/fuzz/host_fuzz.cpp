// Hosts: the canonical form is a host that has no other, made of plain characters, and an address is the very one that
// the C library connects to.
//
// Input: a host.
#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <memory>

#include <netdb.h>

#include "fuzz/fuzz.h"
#include "http/host_name.h"
#include "http/url_pattern.h"

using namespace patchbay;
using fuzz::require;

namespace {

// The address that getaddrinfo takes the text for, without asking anybody; empty when it is none. IPv6 addresses that
// hold one of IPv4 are that.
std::string numeric_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (found->ai_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text.data(), text.size());
    return text.data();
  }
  const auto& address = reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    ::inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

FUZZ_TARGET(host) {
  const auto canonical = canonical_host(input);
  const std::string text(input);
  const auto address = text.contains('\0') || text.contains('%') ? std::string() : numeric_address(text);
  // Numbers with more zeros in front than any host is long are left to nobody.
  if (!address.empty() && text.size() <= 253)
    require(canonical == address, "another address than the one that is connected to: " + address);
  if (!canonical) return;
  require(!canonical->empty() && canonical->size() <= 253, "no host is that long");
  for (char c : *canonical) {
    require((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::string_view("-_.:").contains(c),
            "a character that no host has");
  }
  require(canonical_host(*canonical) == canonical, "the canonical form has another");
  require(canonical_host("[" + *canonical + "]").has_value() == canonical->contains(':'), "brackets are for IPv6");
  if (!canonical->contains(':')) {
    // What is not an address for the resolver is a name, and must not end like one.
    const auto again = numeric_address(*canonical);
    require(again.empty() || again == *canonical, "an address in two notations");
  }
  // A pattern and a URL of the same host meet, whatever notation either has.
  const auto shown = canonical->contains(':') ? "[" + *canonical + "]" : *canonical;
  const auto pattern = UrlPattern::parse("http://" + shown + "/");
  const auto url = parse_url("http://" + shown + "/");
  require(pattern && url && pattern->match(*url) == UrlPattern::Match::yes, "a host does not meet itself");
  if (const auto written = parse_url("http://" + text + "/"); written && canonical_host(written->host) == canonical) {
    require(pattern->match(*written) == UrlPattern::Match::yes, "a host in another notation is another");
  }
  (void)is_loopback_host(input);
}
