#include "http/client/proxy_choice.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

using Address = std::vector<unsigned char>;  // 4 or 16 bytes, empty when it is none

Address address_of(const std::string& text) {
  Address bytes(16);
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(4);
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

bool in_network(const Address& address, const Address& network, unsigned bits) {
  if (address.size() != network.size() || bits > address.size() * 8) return false;
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80u >> (i % 8);
    if ((address[i / 8] & mask) != (network[i / 8] & mask)) return false;
  }
  return true;
}

bool entry_covers(const Url& target, std::string entry) {
  if (entry == "*") return true;
  const auto address = address_of(target.host);
  if (const auto slash = entry.find('/'); slash != std::string::npos) {
    unsigned bits = 0;
    const char* end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data() + slash + 1, end, bits);
    return error == std::errc() && stop == end && !address.empty() &&
           in_network(address, address_of(entry.substr(0, slash)), bits);
  }
  if (entry.starts_with('[')) {
    const auto close = entry.find(']');
    if (close == std::string::npos) return false;
    const auto port = entry.substr(close + 1);
    if (!port.empty() && port != fmt::format(":{}", target.effective_port())) return false;
    entry = entry.substr(1, close - 1);
  } else if (const auto colon = entry.find(':'); colon != std::string::npos && entry.rfind(':') == colon) {
    if (entry.substr(colon + 1) != std::to_string(target.effective_port())) return false;
    entry.resize(colon);
  }
  if (!address.empty()) return canonical_host(entry) == canonical_host(target.host);
  if (entry.starts_with("*.")) entry.erase(0, 1);
  if (entry.starts_with('.')) entry.erase(0, 1);
  if (entry.ends_with('.')) entry.pop_back();
  std::string_view host = target.host;
  if (host.ends_with('.')) host.remove_suffix(1);
  if (entry.empty() || !host.ends_with(entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

Result<ProxyChoice> checked(std::string value, std::string source) {
  std::string url = value.find("://") == std::string::npos ? "http://" + value : value;
  const auto parsed = parse_url(url);
  if (!parsed) {
    return fail(Errc::config, fmt::format("the proxy {} from {} is not a URL; write it as http://host:port",
                                          redacted_url(value), source));
  }
  for (std::string_view known : {"http", "https", "socks4", "socks4a", "socks5", "socks5h"}) {
    if (parsed->scheme == known) return ProxyChoice{.url = std::move(url), .source = std::move(source)};
  }
  return fail(Errc::config, fmt::format("the proxy {} from {} has an unknown type; use http, https or socks5h",
                                        redacted_url(value), source));
}

}  // namespace

EnvironmentLookup environment_lookup() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

bool bypasses_proxy(const Url& target, std::string_view no_proxy) {
  std::string list(no_proxy);
  for (char& c : list) {
    if (c == ' ' || c == '\t') c = ',';
  }
  for (auto entry : split(list, ',')) {
    if (!entry.empty() && entry_covers(target, to_lower_ascii(entry))) return true;
  }
  return false;
}

Result<ProxyChoice> choose_proxy(const Url& target, const std::optional<std::string>& configured,
                                 const EnvironmentLookup& environment) {
  if (configured) {
    return configured->empty() ? ProxyChoice{} : checked(*configured, "the configuration");
  }
  // An empty variable says nothing.
  auto variable = [&](std::string_view name) {
    auto value = environment ? environment(name) : std::nullopt;
    return value && !value->empty() ? value : std::nullopt;
  };
  if (is_loopback_host(target.host)) return ProxyChoice{};
  const bool secure = target.scheme == "https" || target.scheme == "wss";
  const bool cgi = variable("REQUEST_METHOD").has_value();
  for (std::string_view name : secure ? std::array{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
                                      : std::array{"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    if (name == "HTTP_PROXY" && cgi) continue;
    auto value = variable(name);
    if (!value) continue;
    auto exceptions = variable("no_proxy");
    if (!exceptions) exceptions = variable("NO_PROXY");
    if (exceptions && bypasses_proxy(target, *exceptions)) return ProxyChoice{};
    return checked(std::move(*value), std::string(name));
  }
  return ProxyChoice{};
}

}  // namespace patchbay
