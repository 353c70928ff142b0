#include "sandbox/domain_rule.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "http/host_name.h"

namespace patchbay {
namespace {

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

using Fault = std::unexpected<std::string>;

bool is_address(std::string_view canonical) { return address_kind(canonical).has_value(); }

std::string host_text(std::string_view host) {
  return host.contains(':') ? fmt::format("[{}]", host) : std::string(host);
}

std::optional<std::uint16_t> port_in(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_below(std::string_view host, std::string_view parent) noexcept {
  return host.size() > parent.size() + 1 && host.ends_with(parent) && host[host.size() - parent.size() - 1] == '.';
}

bool has_port(const DomainRule& rule, std::uint16_t port) noexcept {
  switch (rule.ports) {
    case DomainRule::Ports::web:
      return port == http_port || port == https_port;
    case DomainRule::Ports::one:
      return port == rule.port;
    case DomainRule::Ports::all:
      return true;
  }
  return false;
}

bool names(const DomainRule& rule, std::string_view host, std::uint16_t port) {
  const bool same = rule.below ? !is_address(host) && is_below(host, rule.host) : host == rule.host;
  return same && has_port(rule, port);
}

bool names_any(const std::vector<DomainRule>& rules, std::string_view host, std::uint16_t port) {
  return std::ranges::any_of(rules, [&](const DomainRule& rule) { return names(rule, host, port); });
}

// The shortest entry that would allow it.
std::string rule_for(std::string_view host, std::uint16_t port) {
  DomainRule rule{.host = std::string(host), .ports = DomainRule::Ports::one, .port = port};
  if (port == http_port || port == https_port) rule.ports = DomainRule::Ports::web;
  return to_text(rule);
}

std::string_view where(AddressKind kind) noexcept {
  switch (kind) {
    case AddressKind::loopback:
      return "which is this machine";
    case AddressKind::link_local:
      return "a link-local address";
    case AddressKind::private_network:
      return "in a private network";
    case AddressKind::other_special:
      return "a reserved address";
    case AddressKind::common:
      return "an address of this machine";  // elsewhere it would be allowed
  }
  return "which cannot be judged";
}

}  // namespace

std::expected<DomainRule, std::string> read_domain_rule(std::string_view written) {
  DomainRule out;
  auto host = written;
  if (std::ranges::any_of(written, [](unsigned char c) { return c >= 0x80; })) {
    return Fault("has characters beyond ASCII; write an international name as xn--…");
  }
  if (written.contains('/') || written.contains('@')) {
    return Fault("is not a domain; write the name alone, as in \"api.example.com\"");
  }
  // "::1" is an address, and only in brackets has it a port.
  const auto colon = host.rfind(':');
  const bool ported =
      colon != host.npos && (host.front() == '[' ? colon > 0 && host[colon - 1] == ']' : host.find(':') == colon);
  if (ported) {
    const auto port = host.substr(colon + 1);
    if (port == "*") {
      out.ports = DomainRule::Ports::all;
    } else if (const auto number = port_in(port)) {
      out.ports = DomainRule::Ports::one;
      out.port = *number;
    } else {
      return Fault("has a port that is neither a number from 1 to 65535 nor *");
    }
    host = host.substr(0, colon);
  }
  out.below = host.starts_with("*.");
  if (out.below) host.remove_prefix(2);
  // An encoded name is the same name, and nobody means it.
  const auto canonical = host.contains('%') ? std::nullopt : canonical_host(host);
  if (!canonical) {
    return Fault("is not a domain; write \"api.example.com\", \"*.example.com\" for what is below it, or an address");
  }
  if (out.below && is_address(*canonical)) return Fault("has * in an address; write each address in full");
  out.host = *canonical;
  return out;
}

std::string to_text(const DomainRule& rule) {
  auto out = (rule.below ? "*." : "") + host_text(rule.host);
  if (rule.ports == DomainRule::Ports::one) out += fmt::format(":{}", rule.port);
  if (rule.ports == DomainRule::Ports::all) out += ":*";
  return out;
}

std::optional<DomainRule> common(const DomainRule& one, const DomainRule& other) {
  using Ports = DomainRule::Ports;
  DomainRule out;
  const auto within = [](const DomainRule& inner, const DomainRule& outer) {
    if (inner.host == outer.host && inner.below == outer.below) return true;
    return outer.below && !is_address(inner.host) && is_below(inner.host, outer.host);
  };
  if (within(one, other)) {
    out = one;
  } else if (within(other, one)) {
    out = other;
  } else {
    return std::nullopt;
  }
  const auto& narrow = one.ports == Ports::all || (one.ports == Ports::web && other.ports == Ports::one) ? other : one;
  const auto& wide = &narrow == &one ? other : one;
  if (narrow.ports == Ports::one && !has_port(wide, narrow.port)) return std::nullopt;
  out.ports = narrow.ports;
  out.port = narrow.port;
  return out;
}

std::optional<DomainTarget> domain_target(std::string_view host, std::uint16_t port) {
  auto canonical = canonical_host(host);
  if (!canonical || port == 0) return std::nullopt;
  return DomainTarget{std::move(*canonical), port};
}

std::string to_text(const DomainTarget& target) { return fmt::format("{}:{}", host_text(target.host), target.port); }

bool is_listed(const DomainAccess& access, const DomainTarget& target) {
  return names_any(access.rules, target.host, target.port);
}

bool may_connect(const DomainAccess& access, const DomainTarget& target, std::string_view address) {
  const auto canonical = canonical_host(address);
  const auto kind = canonical ? address_kind(*canonical) : std::nullopt;
  if (!kind || !is_listed(access, target)) return false;
  if (*kind == AddressKind::common || names_any(access.rules, *canonical, target.port)) return true;
  // Who lists "localhost" means this machine.
  return *kind == AddressKind::loopback && is_loopback_host(target.host) && !is_address(target.host);
}

std::string not_listed_text(const DomainAccess& access, const DomainTarget& target) {
  return fmt::format("the sandbox of \"{}\" does not allow {}; to allow it, add \"{}\" to {}", access.server,
                     to_text(target), rule_for(target.host, target.port), access.setting);
}

std::string near_address_text(const DomainAccess& access, const DomainTarget& target, std::string_view address) {
  const auto canonical = canonical_host(address).value_or("?");
  const auto kind = address_kind(canonical);
  return fmt::format("the sandbox of \"{}\" does not allow {}, because it is at {}, {}; to allow it, add \"{}\" to {}",
                     access.server, to_text(target), canonical, kind ? where(*kind) : "which cannot be judged",
                     rule_for(canonical, target.port), access.setting);
}

}  // namespace patchbay
