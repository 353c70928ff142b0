// What kind of network an address belongs to: a place that anybody may name, or one that only this machine and what is
// near it can reach. Pure; asked by the rules of sign-in and by those of sandboxes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace patchbay {

enum class AddressKind : std::uint8_t {
  common,
  loopback,         // this machine, also by 0.0.0.0
  link_local,       // where clouds tell a machine its secrets
  private_network,  // also those of carriers and of test beds
  other_special,    // many receivers, reserved, documentation: nothing of a server's is there
};
// Of an IPv4 or IPv6 address in any notation; IPv4 inside IPv6 counts as that (mapped, 6to4, NAT64, Teredo are judged
// by what they hold). Nothing: it is a name.
std::optional<AddressKind> address_kind(std::string_view host);
// The same with "localhost" and names below it as loopback. Other names are common until they are resolved.
AddressKind host_kind(std::string_view host);

}  // namespace patchbay
