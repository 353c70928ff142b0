#include "http/url_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/host_name.h"
#include "text/wildcard.h"

namespace patchbay {
namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// RFC 3986, 2.3: these mean the same encoded and not.
bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

bool stays_plain(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7F && std::string_view("\"<>`{}").find(c) == std::string_view::npos;
}

// One spelling of a path: what needs no encoding has none, what does has upper case.
std::string canonical(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  auto encode = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && i + 2 < path.size() && hex_value(path[i + 1]) >= 0 && hex_value(path[i + 2]) >= 0) {
      const char c = static_cast<char>(hex_value(path[i + 1]) * 16 + hex_value(path[i + 2]));
      if (is_unreserved(c)) {
        out += c;
      } else {
        encode(c);
      }
      i += 2;
    } else if (stays_plain(path[i])) {
      out += path[i];
    } else {
      encode(path[i]);
    }
  }
  return out;
}

bool has_dot_segment(std::string_view path) {
  const auto end = path.find('?');
  return std::ranges::any_of(split(path.substr(0, end), '/'), [](auto part) { return part == "." || part == ".."; });
}

std::unexpected<Error> bad(std::string_view why) { return fail(Errc::invalid_argument, std::string(why)); }

}  // namespace

std::optional<std::string> UrlPattern::compared_host(std::string_view host) {
  if (!host.contains('*')) return canonical_host(host);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  auto lower = to_lower_ascii(bracketed ? host.substr(1, host.size() - 2) : host);
  if (lower.size() > 1 && lower.ends_with('.')) lower.pop_back();
  const bool comparable = std::ranges::all_of(lower, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || std::string_view("-_.:*").contains(c);
  });
  if (!comparable) return std::nullopt;
  return lower;
}

Result<UrlPattern> UrlPattern::parse(std::string_view pattern) {
  auto out = parse_shape(pattern);
  if (!out) return out;
  auto host = compared_host(out->host_);
  if (!host) {
    return bad(
        "the host in the pattern cannot be compared; write a name in ASCII (an international one as xn--...) or an "
        "address");
  }
  out->host_ = std::move(*host);
  return out;
}

Result<UrlPattern> UrlPattern::parse_shape(std::string_view pattern) {
  UrlPattern out;
  if (pattern.empty()) return bad("the pattern is empty");
  for (char c : pattern) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F) return bad("the pattern contains a blank or a control character");
    if (c == '\\') return bad("the pattern contains a backslash");
  }
  if (const auto end = pattern.find("://"); end != std::string_view::npos) {
    out.scheme_ = to_lower_ascii(pattern.substr(0, end));
    if (out.scheme_.empty() || !std::ranges::all_of(out.scheme_, [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == '*';
        })) {
      return bad("the text before \"://\" in the pattern is not a scheme such as https");
    }
    pattern.remove_prefix(end + 3);
  }
  pattern = pattern.substr(0, pattern.find('#'));
  const auto path = pattern.find_first_of("/?");
  auto authority = pattern.substr(0, path);
  if (path != std::string_view::npos) {
    auto text = canonical(pattern.substr(path));
    if (text.starts_with('?')) text.insert(0, 1, '/');
    if (has_dot_segment(text)) return bad("the path in the pattern contains \".\" or \"..\"; write it without them");
    out.path_ = std::move(text);
  }
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return bad("the IPv6 address in the pattern has no closing bracket");
    out.host_ = to_lower_ascii(authority.substr(0, close + 1));
    authority.remove_prefix(close + 1);
    if (!authority.empty() && !authority.starts_with(':'))
      return bad("the closing bracket in the pattern must be followed by \":\" and a port, or by \"/\"");
    if (authority.starts_with(':')) out.port_ = authority.substr(1);
  } else {
    const auto colon = authority.find(':');
    out.host_ = to_lower_ascii(authority.substr(0, colon));
    if (colon != std::string_view::npos) out.port_ = authority.substr(colon + 1);
  }
  if (out.host_.empty()) return bad("the pattern has no host");
  if (out.port_ && (out.port_->empty() ||
                    !std::ranges::all_of(*out.port_, [](char c) { return (c >= '0' && c <= '9') || c == '*'; }))) {
    return bad("the port in the pattern is neither a number nor \"*\"");
  }
  return out;
}

std::string UrlPattern::never() const {
  if (port_ && !port_->contains('*') &&
      (port_->starts_with('0') || port_->size() > 5 || (port_->size() == 5 && *port_ > "65535"))) {
    return "a port must be a number from 1 to 65535, without leading zeros";
  }
  if (!host_.contains('*')) return {};
  if (host_.contains(':')) {
    // IPv6 addresses are compared in their short form.
    if (host_.starts_with("::ffff:")) return "an IPv4 address written as IPv6 is compared as IPv4";
    for (const auto group : split(host_, ':')) {
      if (group.size() > 1 && group.starts_with('0') && !group.contains('.'))
        return "IPv6 addresses are compared without leading zeros";
    }
  } else if (host_.starts_with('.') || host_.contains("..")) {
    return "no host name begins with a dot or contains two dots in a row";
  }
  return {};
}

UrlPattern::Match UrlPattern::match(const Url& url) const {
  if (!matches_wildcard(scheme_, url.scheme)) return Match::no;
  const auto host = canonical_host(url.host);
  // Who reads the host differently may read a port or a path out of it.
  if (!host) return Match::unclear;
  if (!matches_wildcard(host_, *host)) {
    // No address at all, which systems take for this machine.
    return *host == "0.0.0.0" || *host == "[::]" || *host == "::" ? Match::unclear : Match::no;
  }
  if (port_) {
    const auto port = url.effective_port() == 0 ? url.port : url.effective_port();
    if (!matches_wildcard(*port_, fmt::to_string(port))) return Match::no;
  } else if (url.port != 0 && host_ != "*") {
    return Match::no;  // parsing takes the scheme's own port away
  }
  if (!path_) return Match::yes;
  auto path = canonical(url.path);
  if (path_->find('?') != std::string::npos && url.query) path += "?" + canonical(*url.query);
  return matches_wildcard(*path_, path) ? Match::yes : Match::no;
}

}  // namespace patchbay
