#include "http/address_kind.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "http/host_name.h"

namespace patchbay {
namespace {

using Bytes = std::span<const unsigned char>;

struct Network {
  std::array<unsigned char, 16> prefix;
  unsigned bits;
  AddressKind kind;
};

bool is_in(Bytes address, const Network& network) {
  const std::size_t whole = network.bits / 8;
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole), network.prefix.begin())) {
    return false;
  }
  const auto mask = static_cast<unsigned char>(0xFF00u >> network.bits % 8);
  return (mask & 0xFFu) == 0 || ((address[whole] ^ network.prefix[whole]) & mask) == 0;
}

template <std::size_t N>
const Network* network_of(Bytes address, const std::array<Network, N>& networks) {
  const auto found = std::ranges::find_if(networks, [&](const Network& network) { return is_in(address, network); });
  return found == networks.end() ? nullptr : &*found;
}

// The registry of special addresses (RFC 6890), the first that fits counts.
constexpr std::array ipv4_networks{
    // Connecting to it reaches this machine.
    Network{{0, 0, 0, 0}, 32, AddressKind::loopback},
    Network{{0}, 8, AddressKind::other_special},
    Network{{10}, 8, AddressKind::private_network},
    // Clouds that tell a machine about itself at an address that looks like others.
    Network{{100, 100, 100, 200}, 32, AddressKind::other_special},
    Network{{168, 63, 129, 16}, 32, AddressKind::other_special},
    Network{{100, 64}, 10, AddressKind::private_network},
    Network{{127}, 8, AddressKind::loopback},
    Network{{169, 254}, 16, AddressKind::link_local},
    Network{{172, 16}, 12, AddressKind::private_network},
    Network{{192, 0, 0}, 24, AddressKind::other_special},
    Network{{192, 0, 2}, 24, AddressKind::other_special},
    Network{{192, 88, 99}, 24, AddressKind::other_special},
    Network{{192, 168}, 16, AddressKind::private_network},
    // For test beds; tunnels that answer for every name use it as well.
    Network{{198, 18}, 15, AddressKind::private_network},
    Network{{198, 51, 100}, 24, AddressKind::other_special},
    Network{{203, 0, 113}, 24, AddressKind::other_special},
    Network{{224}, 3, AddressKind::other_special},
};
constexpr std::array ipv6_networks{
    Network{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 128, AddressKind::loopback},
    Network{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, AddressKind::loopback},
    // Two clouds, as above.
    Network{{0xFD, 0x00, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, AddressKind::other_special},
    Network{{0xFD, 0x20, 0x00, 0xCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, AddressKind::other_special},
    Network{{0xFC}, 7, AddressKind::private_network},
    Network{{0xFE, 0x80}, 10, AddressKind::link_local},
    Network{{0xFE, 0xC0}, 10, AddressKind::private_network},
    Network{{0x20, 0x01, 0x00}, 23, AddressKind::other_special},
    Network{{0x20, 0x01, 0x0D, 0xB8}, 32, AddressKind::other_special},
    Network{{0x3F, 0xFF, 0x00}, 20, AddressKind::other_special},
    // The only part that has been given out.
    Network{{0x20}, 3, AddressKind::common},
};

AddressKind ipv4_kind(Bytes address) {
  const auto* network = network_of(address, ipv4_networks);
  return network ? network->kind : AddressKind::common;
}

// Where an IPv6 address of these networks has one of IPv4 in it; the kind is not used.
struct Holding {
  Network network;
  std::size_t at;
};
constexpr std::array holdings{
    Holding{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96, {}}, 12},     // mapped
    Holding{{{0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0}, 96, {}}, 12},     // translated (RFC 2765)
    Holding{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 96, {}}, 12},           // compatible, long given up
    Holding{{{0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0}, 96, {}}, 12},  // NAT64
    Holding{{{0x20, 0x02}, 16, {}}, 2},                                    // 6to4
    Holding{{{0x20, 0x01, 0, 0}, 32, {}}, 4},                              // Teredo: its server
};

AddressKind ipv6_kind(Bytes address) {
  const auto* network = network_of(address, ipv6_networks);
  if (network && network->kind == AddressKind::loopback) return network->kind;
  for (const auto& [holder, at] : holdings) {
    if (!is_in(address, holder)) continue;
    const auto held = ipv4_kind(address.subspan(at, 4));
    if (held != AddressKind::common || at != 4) return held;
    // Of Teredo also its client, which has every bit turned.
    std::array<unsigned char, 4> client{};
    std::ranges::transform(address.subspan(12, 4), client.begin(),
                           [](unsigned char byte) { return static_cast<unsigned char>(~byte); });
    return ipv4_kind(client);
  }
  return network ? network->kind : AddressKind::other_special;
}

}  // namespace

std::optional<AddressKind> address_kind(std::string_view host) {
  const auto canonical = canonical_host(host);
  if (!canonical) return std::nullopt;
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET, canonical->c_str(), bytes.data()) == 1) return ipv4_kind(Bytes(bytes).first(4));
  if (::inet_pton(AF_INET6, canonical->c_str(), bytes.data()) == 1) return ipv6_kind(bytes);
  return std::nullopt;
}

AddressKind host_kind(std::string_view host) {
  if (const auto kind = address_kind(host)) return *kind;
  return is_loopback_host(host) ? AddressKind::loopback : AddressKind::common;
}

}  // namespace patchbay
