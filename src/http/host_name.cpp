#include "http/host_name.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f'); }

int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// In small letters and without percent-encoding; nothing when that is not in order.
std::optional<std::string> decoded(std::string_view host) {
  const auto lower = to_lower_ascii(host);
  std::string out;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (lower[i] != '%') {
      out += lower[i];
      continue;
    }
    if (i + 2 >= lower.size() || hex_value(lower[i + 1]) < 0 || hex_value(lower[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(hex_value(lower[i + 1]) * 16 + hex_value(lower[i + 2]));
    i += 2;
  }
  return to_lower_ascii(out);
}

// Whether browsers take a host that ends in this label for an address (URL standard, "ends in a number").
bool is_number(std::string_view label) noexcept {
  if (label.starts_with("0x")) return std::ranges::all_of(label.substr(2), is_hex);
  return !label.empty() && std::ranges::all_of(label, is_digit);
}

// Decimal, octal with a 0 in front, or hexadecimal with 0x; nothing when it is none, or beyond 32 bits.
std::optional<std::uint32_t> number_in(std::string_view text) noexcept {
  unsigned base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  // A bare "0x" is a zero for some and a name for others.
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
    value = value * base + static_cast<unsigned>(digit);
    if (value > 0xFFFFFFFFu) return std::nullopt;
  }
  return static_cast<std::uint32_t>(value);
}

// One to four numbers; the last one fills the bytes that are left.
std::optional<std::string> ipv4(const std::vector<std::string_view>& parts) {
  if (parts.size() > 4) return std::nullopt;
  std::uint32_t address = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = number_in(parts[i]);
    if (!number) return std::nullopt;
    if (i + 1 < parts.size()) {
      if (*number > 0xFF) return std::nullopt;
      address |= *number << (24 - 8 * i);
    } else {
      if (i > 0 && *number >> (32 - 8 * i) != 0) return std::nullopt;
      address |= *number;
    }
  }
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 0xFF, address >> 8 & 0xFF, address & 0xFF);
}

std::optional<std::string> ipv6(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  if (text.size() >= INET6_ADDRSTRLEN || ::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(mapped.begin(), mapped.end(), bytes.begin())) {
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (::inet_ntop(AF_INET6, bytes.data(), out.data(), out.size()) == nullptr) return std::nullopt;
  return std::string(out.data());
}

bool is_label(std::string_view label) noexcept {
  return !label.empty() && label.size() <= longest_label && std::ranges::all_of(label, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  });
}

}  // namespace

std::optional<std::string> canonical_host(std::string_view host) {
  // Longer than any host with every character encoded; nothing else below has a bound of its own.
  if (host.size() > 3 * (longest_name + 1)) return std::nullopt;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  auto text = decoded(host);
  if (!text || text->contains('\0')) return std::nullopt;
  if (bracketed || text->contains(':')) return ipv6(*text);
  const bool absolute = text->ends_with('.');
  if (absolute) text->pop_back();
  if (text->size() > longest_name) return std::nullopt;
  const auto labels = split(*text, '.');
  // With a dot behind it, a number is an address for browsers and a name for resolvers.
  if (is_number(labels.back())) return absolute ? std::nullopt : ipv4(labels);
  if (!std::ranges::all_of(labels, is_label)) return std::nullopt;
  return text;
}

bool is_loopback_host(std::string_view host) {
  const auto canonical = canonical_host(host);
  if (!canonical) return false;
  if (*canonical == "localhost" || canonical->ends_with(".localhost") || *canonical == "::1") return true;
  // "127.0.0.1.example.com" is a name like any other.
  return canonical->starts_with("127.") && canonical->find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace patchbay
