#include "sandbox/proxy_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/url.h"

namespace patchbay {
namespace {

constexpr std::size_t most_headers = 128;
constexpr std::size_t longest_chunk_line = 1024;  // also all trailers together
constexpr std::size_t most_chunk_digits = 12;
constexpr std::uint64_t most_body = std::uint64_t{1} << 50;

using Fault = std::unexpected<ProxyFault>;

Fault bad(std::string_view why) {
  return Fault(ProxyFault{400, fmt::format("this proxy cannot read the request: {}", why)});
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").contains(c);
  });
}

bool is_printable(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](unsigned char c) { return (c >= 0x20 && c != 0x7F) || c == '\t'; });
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "host:port" of CONNECT, both written out.
std::optional<DomainTarget> target_of_tunnel(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  const auto host = text.substr(0, colon);
  const bool bracketed = host.front() == '[' && host.back() == ']';
  // "::1:80" is an address for some and a host with its port for others.
  if (host.contains(':') && !bracketed) return std::nullopt;
  const auto port = number_in(text.substr(colon + 1));
  if (!port || *port > 65535) return std::nullopt;
  return domain_target(host, static_cast<std::uint16_t>(*port));
}

struct Header {
  std::string_view name;
  std::string_view value;
  std::string lower;  // the name
};

bool is_named(const Header& header, std::string_view name) { return header.lower == name; }

// About the connection between the client and us, and not about the request (RFC 9110, section 7.6.1). A header called
// "close" would be that by the "Connection: close" that we send.
bool is_about_hop(const Header& header, const std::vector<std::string>& listed) {
  static constexpr auto always =
      std::to_array<std::string_view>({"host", "connection", "proxy-connection", "proxy-authorization", "keep-alive",
                                       "te", "upgrade", "http2-settings", "close"});
  const auto same = [&](std::string_view name) { return is_named(header, name); };
  return std::ranges::any_of(always, same) || std::ranges::any_of(listed, same);
}

std::expected<std::vector<Header>, ProxyFault> headers_in(std::string_view text) {
  std::vector<Header> out;
  while (text != "\r\n") {
    const auto end = text.find("\r\n");
    if (end == text.npos || end == 0) return bad("a header is not in order");
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 2);
    const auto colon = line.find(':');
    // A blank before the colon, or a line that goes on the one before, is read in two ways.
    if (colon == line.npos || !is_token(line.substr(0, colon)) || !is_printable(line))
      return bad("a header is not in order");
    if (out.size() == most_headers) return Fault(ProxyFault{431, "this proxy takes at most 128 headers"});
    const auto name = line.substr(0, colon);
    out.push_back({name, trim(line.substr(colon + 1)), to_lower_ascii(name)});
  }
  return out;
}

// Where the body ends, or why nobody can tell.
std::optional<ProxyFault> read_body(ProxyRequest& out, const std::vector<Header>& headers, std::string_view version) {
  bool counted = false;
  for (const auto& header : headers) {
    if (is_named(header, "transfer-encoding")) {
      if (out.body == ProxyRequest::Body::chunked || version != "HTTP/1.1" ||
          to_lower_ascii(header.value) != "chunked") {
        return bad("its transfer encoding is not \"chunked\" alone").error();
      }
      out.body = ProxyRequest::Body::chunked;
    } else if (is_named(header, "content-length")) {
      const auto length = number_in(header.value);
      if (counted || !length || *length > most_body) return bad("its length is not one number").error();
      counted = true;
      out.length = *length;
    }
  }
  if (counted && out.body == ProxyRequest::Body::chunked)
    return bad("it has both a length and a transfer encoding").error();
  if (counted && out.length > 0) out.body = ProxyRequest::Body::counted;
  return std::nullopt;
}

// The path and query of a whole URL, as they were written.
std::string path_of(std::string_view url) {
  const auto authority = url.find("://") + 3;
  const auto end = url.find_first_of("/?", authority);
  if (end == url.npos) return "/";
  return (url[end] == '?' ? "/" : "") + std::string(url.substr(end));
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view reason_of(int status) noexcept {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 431:
      return "Request Header Fields Too Large";
    case 504:
      return "Gateway Timeout";
    default:
      return "Bad Gateway";
  }
}

}  // namespace

std::expected<ProxyRequest, ProxyFault> read_proxy_request(std::string_view head) {
  const auto end = head.find("\r\n");
  if (end == head.npos || !head.ends_with("\r\n\r\n")) return bad("its lines are not in order");
  const auto words = split(head.substr(0, end), ' ');
  if (words.size() != 3 || !is_token(words[0]) || (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    return bad("its first line is not one of HTTP/1");
  }
  const auto method = words[0];
  const auto written = words[1];
  if (std::ranges::any_of(written, [](unsigned char c) { return c <= 0x20 || c >= 0x7F; })) {
    return bad("its URL has characters that no URL has");
  }
  auto headers = headers_in(head.substr(end + 2));
  if (!headers) return Fault(std::move(headers).error());
  ProxyRequest out;
  if (method == "CONNECT") {
    auto target = target_of_tunnel(written);
    if (!target) return bad("CONNECT needs a host and a port, as in \"api.example.com:443\"");
    // What such a body would be is not defined.
    const auto framed = [](const Header& one) {
      return is_named(one, "transfer-encoding") || (is_named(one, "content-length") && one.value != "0");
    };
    if (std::ranges::any_of(*headers, framed)) return bad("CONNECT has no body");
    out.tunnel = true;
    out.target = std::move(*target);
    return out;
  }
  if (written.starts_with('/') || written == "*") return bad("this is a proxy, which needs a whole URL");
  const auto url = parse_url(written);
  if (!url || url->scheme != "http" || !url->userinfo.empty() || written.contains('@') || written.contains('#')) {
    return bad("only http:// URLs without a user name are read; use CONNECT for everything else");
  }
  auto target = domain_target(url->host, url->effective_port());
  if (!target) return bad("its host cannot be judged");
  out.target = std::move(*target);
  if (auto fault = read_body(out, *headers, words[2])) return Fault(std::move(*fault));
  std::vector<std::string> listed;
  for (const auto& header : *headers) {
    if (!is_named(header, "connection")) continue;
    for (const auto name : split(header.value, ',')) listed.push_back(to_lower_ascii(trim(name)));
  }
  for (const auto& name : listed) {
    if (name == "content-length" || name == "transfer-encoding") return bad("it hides where its body ends");
  }
  auto host = to_text(out.target);
  if (out.target.port == 80) host.resize(host.rfind(':'));
  out.head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, path_of(written), host);
  for (const auto& header : *headers) {
    if (!is_about_hop(header, listed)) out.head += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  out.head += "Connection: close\r\n\r\n";
  return out;
}

std::string proxy_answer(int status, std::string_view line) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: "
      "close\r\n\r\n{}\n",
      status, reason_of(status), line.size() + 1, line);
}

std::optional<std::size_t> ChunkedBody::take(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::over) {
    if (state_ == State::data) {
      const auto now = std::min<std::uint64_t>(left_, bytes.size() - at);
      at += now;
      left_ -= now;
      if (left_ == 0) state_ = State::data_end;
      continue;
    }
    const char c = bytes[at++];
    if (state_ != State::data_end && state_ != State::data_end_lf && ++line_ > longest_chunk_line) return std::nullopt;
    switch (state_) {
      case State::size:
        if (const int digit = hex_digit(c); digit >= 0) {
          if (++digits_ > most_chunk_digits) return std::nullopt;
          left_ = left_ * 16 + static_cast<unsigned>(digit);
          break;
        }
        if (digits_ == 0) return std::nullopt;
        if (c == ';') {
          state_ = State::extension;
        } else if (c == '\r') {
          state_ = State::size_end;
        } else {
          return std::nullopt;
        }
        break;
      case State::extension:
        if (c == '\r') {
          state_ = State::size_end;
        } else if (!is_printable({&c, 1})) {
          return std::nullopt;
        }
        break;
      case State::size_end:
        if (c != '\n') return std::nullopt;
        state_ = left_ == 0 ? State::trailer : State::data;
        line_ = digits_ = 0;
        break;
      case State::data_end:
        if (c != '\r') return std::nullopt;
        state_ = State::data_end_lf;
        break;
      case State::data_end_lf:
        if (c != '\n') return std::nullopt;
        state_ = State::size;
        break;
      case State::trailer:
        if (c == '\r') {
          state_ = State::trailer_lf;
        } else if (!is_printable({&c, 1})) {
          return std::nullopt;
        } else {
          empty_line_ = false;
        }
        break;
      case State::trailer_lf:
        if (c != '\n') return std::nullopt;
        state_ = empty_line_ ? State::over : State::trailer;
        empty_line_ = true;
        break;
      case State::data:
      case State::over:
        break;
    }
  }
  return at;
}

}  // namespace patchbay
