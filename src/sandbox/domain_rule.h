// Which hosts a server may reach whose sandbox lists domains: what an entry of the list means, what two lists have in
// common, and whether a name, and then an address that it came to, is allowed. Pure; process/domain_proxy.h asks before
// it connects anything.
//
// A name is judged twice: as it is written, and by each address it comes to. An address of this machine or of a network
// near it is allowed only where the list names it, because whoever owns a listed name can have it come to any address.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/address_kind.h"

namespace patchbay {

// One entry of the list.
struct DomainRule {
  enum class Ports : std::uint8_t {
    web,  // 80 and 443, where no port is written
    one,
    all,  // ":*"
  };
  std::string host;    // a name or an address as canonical_host() writes it
  bool below = false;  // "*.": names below it, at any depth, and not itself
  Ports ports = Ports::web;
  std::uint16_t port = 0;  // for Ports::one
  bool operator==(const DomainRule&) const = default;
};

// "api.example.com", "*.example.com", "example.com:8443", "localhost:*", "[::1]:80". The error says what is wrong with
// it, and what to write: "has characters beyond ASCII; write the name as xn--…".
std::expected<DomainRule, std::string> read_domain_rule(std::string_view written);
// As it is written, and as it is read again.
std::string to_text(const DomainRule& rule);
// What both allow; nothing when that is nothing.
std::optional<DomainRule> common(const DomainRule& one, const DomainRule& other);

// What somebody wants to connect to.
struct DomainTarget {
  std::string host;  // as canonical_host() writes it
  std::uint16_t port = 0;
  bool operator==(const DomainTarget&) const = default;
};
// Nothing where different programs would read the host differently.
std::optional<DomainTarget> domain_target(std::string_view host, std::uint16_t port);
// "api.example.com:443", "[::1]:80".
std::string to_text(const DomainTarget& target);

// What the proxy of one server is told. `setting`: where a domain would have to be added, in words that quote the keys.
struct DomainAccess {
  std::string server;
  std::vector<DomainRule> rules;
  std::string setting;
  bool operator==(const DomainAccess&) const = default;
};

// Whether the list names the target, before anything is asked about it.
bool is_listed(const DomainAccess& access, const DomainTarget& target);
// Whether a connection may be made to this address, which the listed target came to.
bool may_connect(const DomainAccess& access, const DomainTarget& target, std::string_view address);

// One line that says what was refused, and what would allow it.
std::string not_listed_text(const DomainAccess& access, const DomainTarget& target);
std::string near_address_text(const DomainAccess& access, const DomainTarget& target, std::string_view address);

// How each line begins that the sandbox writes among what a server writes to stderr.
inline constexpr std::string_view sandbox_line = "patchbay sandbox: ";

}  // namespace patchbay
