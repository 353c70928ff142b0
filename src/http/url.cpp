#include "http/url.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "secrets/names.h"

namespace patchbay {
namespace {

struct DefaultPort {
  std::string_view scheme;
  std::uint16_t port;
};
constexpr std::array<DefaultPort, 4> default_ports{{{"https", 443}, {"http", 80}, {"wss", 443}, {"ws", 80}}};

std::uint16_t default_port(std::string_view scheme) {
  for (const auto& known : default_ports) {
    if (known.scheme == scheme) return known.port;
  }
  return 0;
}

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(Errc::invalid_argument, fmt::format("{} is not a URL: {}", redacted_url(text), why));
}

// The scheme in front of a reference, empty when it has none.
std::string_view scheme_of(std::string_view text) {
  if (text.empty() || !is_alpha(text[0])) return {};
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == ':') return text.substr(0, i);
    if (!is_alpha(text[i]) && !is_digit(text[i]) && text[i] != '+' && text[i] != '-' && text[i] != '.') return {};
  }
  return {};
}

const char* forbidden_character(std::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == ' ') return "it contains a blank";
    if (byte < 0x20 || byte == 0x7F) return "it contains a control character";
    if (byte == '\\') return "it contains a backslash";
  }
  return nullptr;
}

// What may not stand in a request line is percent-encoded; what is encoded already stays.
std::string encoded(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || c == '"' || c == '<' || c == '>' || c == '`' || c == '{' || c == '}') {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string without_dot_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  const auto segments = split(path.substr(path.starts_with('/') ? 1 : 0), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    const auto lower = to_lower_ascii(segments[i]);
    const bool one = lower == "." || lower == "%2e";
    const bool two = lower == ".." || lower == "%2e%2e" || lower == ".%2e" || lower == "%2e.";
    if (two && !kept.empty()) kept.pop_back();
    if (!one && !two) {
      kept.push_back(segments[i]);
    } else if (last) {
      kept.emplace_back();
    }
  }
  std::string out;
  for (auto segment : kept) {
    out += '/';
    out += segment;
  }
  return out.empty() ? "/" : out;
}

bool valid_ipv6(std::string_view host) {
  if (host.empty() || host.find(':') == std::string_view::npos) return false;
  // Whether it is a well-formed address is found out by whoever connects to it.
  const auto zone = host.find('%');
  for (char c : host.substr(0, zone)) {
    if (!is_hex(c) && c != ':' && c != '.') return false;
  }
  return true;
}

// An address is written in one way, as browsers and curl do before they connect. A name stays what it is, with the dot
// behind it: that is another origin.
std::string with_plain_address(std::string_view host) {
  if (auto canonical = canonical_host(host); canonical && !host.ends_with('.') && !host.contains('%'))
    return *canonical;
  return to_lower_ascii(host);
}

// Splits "user@host:port" into `url`; nullptr when it is in order.
const char* read_authority(std::string_view authority, Url& url) {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    url.userinfo = authority.substr(0, at);
    if (url.userinfo.find('@') != std::string::npos) return "its user name contains '@'; write it as %40";
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return "its IPv6 address has no closing bracket";
    if (!valid_ipv6(authority.substr(1, close - 1))) return "the text in its brackets is not an IPv6 address";
    url.host = with_plain_address(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
    if (!port.empty() && !port.starts_with(':'))
      return "the closing bracket of its address must be followed by \":\" and a port, or by \"/\"";
    if (!port.empty()) port.remove_prefix(1);
  } else {
    const auto colon = authority.find(':');
    if (colon != std::string_view::npos) port = authority.substr(colon + 1);
    url.host = with_plain_address(authority.substr(0, colon));
    if (url.host.find_first_of("[]<>\"^`{|}%") != std::string::npos)
      return "its host name contains a character that is not allowed";
  }
  if (url.host.empty()) return "it has no host";
  if (!port.empty()) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535) {
      return "its port is not a number from 1 to 65535";
    }
    url.port = static_cast<std::uint16_t>(number);
    if (url.port == default_port(url.scheme)) url.port = 0;
  }
  return nullptr;
}

// Path, query and fragment of `rest`, as they are.
void read_rest(std::string_view rest, Url& url) {
  url.query.reset();
  url.fragment.reset();
  if (const auto hash = rest.find('#'); hash != std::string_view::npos) {
    url.fragment = encoded(rest.substr(hash + 1));
    rest = rest.substr(0, hash);
  }
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = encoded(rest.substr(mark + 1));
    rest = rest.substr(0, mark);
  }
  url.path = encoded(rest);
}

std::string_view authority_end(std::string_view text) { return text.substr(0, text.find_first_of("/?#")); }

// What stands in front of the authority: "https://", with however many slashes, or "//".
std::size_t lead_length(std::string_view text) {
  const auto scheme = scheme_of(text);
  const auto slashes = scheme.empty() ? 0 : scheme.size() + 1;
  if (scheme.empty() ? !text.starts_with("//") : text.substr(slashes).find_first_of("/\\") != 0) return 0;
  return std::min(text.find_first_not_of("/\\", slashes), text.size());
}

std::string bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

std::string authority_of(const Url& url) {
  return url.port == 0 ? bracketed(url.host) : fmt::format("{}:{}", bracketed(url.host), url.port);
}

std::string redacted_query(std::string_view query) {
  std::vector<std::string> members;
  for (auto member : split(query, '&')) {
    const auto equals = member.find('=');
    const bool secret = equals != std::string_view::npos && is_secret_parameter(member.substr(0, equals));
    members.push_back(secret ? std::string(member.substr(0, equals + 1)) + "***" : std::string(member));
  }
  return join(members, "&");
}

}  // namespace

std::uint16_t Url::effective_port() const noexcept { return port != 0 ? port : default_port(scheme); }
std::string Url::origin() const { return scheme + "://" + authority_of(*this); }
std::string Url::target() const { return query ? path + "?" + *query : path; }

std::string Url::text() const {
  std::string out = scheme + "://";
  if (!userinfo.empty()) out += userinfo + "@";
  out += authority_of(*this) + target();
  if (fragment) out += "#" + *fragment;
  return out;
}

std::string Url::redacted() const {
  std::string out = origin() + path;
  if (query) out += "?" + redacted_query(*query);
  return out;
}

Result<Url> parse_url(std::string_view text) {
  if (const char* why = forbidden_character(text)) return bad(text, why);
  Url url;
  const auto scheme = scheme_of(text);
  if (scheme.empty()) return bad(text, "it does not begin with a scheme such as https://");
  url.scheme = to_lower_ascii(scheme);
  text.remove_prefix(scheme.size() + 1);
  const auto whole = text;
  if (!text.starts_with("//")) return bad(whole, "\"//\" is missing after its scheme");
  text.remove_prefix(2);
  const auto authority = authority_end(text);
  if (const char* why = read_authority(authority, url)) return bad(fmt::format("{}:{}", url.scheme, whole), why);
  read_rest(text.substr(authority.size()), url);
  url.path = without_dot_segments(url.path);
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (const char* why = forbidden_character(reference)) return bad(reference, why);
  if (!scheme_of(reference).empty()) return parse_url(reference);
  if (reference.starts_with("//")) return parse_url(base.scheme + ":" + std::string(reference));
  Url url = base;
  read_rest(reference, url);
  if (url.path.empty()) {
    url.path = base.path;
    if (!url.query) url.query = base.query;
  } else {
    if (!url.path.starts_with('/')) url.path = base.path.substr(0, base.path.rfind('/') + 1) + url.path;
    url.path = without_dot_segments(url.path);
  }
  return url;
}

bool same_origin(const Url& a, const Url& b) noexcept {
  return a.scheme == b.scheme && a.host == b.host && a.effective_port() == b.effective_port();
}

std::string redacted_url(std::string_view text) {
  // By hand: this is for texts that may not parse.
  std::string plain(text.substr(0, text.find('#')));
  // Wherever a browser or curl might see the end of the user name, it is hidden; an '@' in the path ends none. What is
  // left may begin in another way ("http:/a@/b@c" becomes "http://b@c"), so it is looked at again.
  constexpr int most_looks = 16;
  for (int look = 0;; ++look) {
    const auto lead = lead_length(plain);
    const auto at = authority_end(std::string_view(plain).substr(lead)).rfind('@');
    if (at == std::string_view::npos) break;
    plain.erase(lead, look < most_looks ? at + 1 : std::string::npos);
  }
  std::string out(plain.substr(0, lead_length(plain)));
  const auto rest = std::string_view(plain).substr(out.size());
  const auto question = rest.find('?');
  out += rest.substr(0, question);
  if (question != std::string_view::npos) out += "?" + redacted_query(rest.substr(question + 1));
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  if (out.size() > 300) out = std::string(cut_utf8(out, 300)) + "...";
  return out;
}

}  // namespace patchbay
