#include "ws/handshake.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// Section 1.3: what makes the digest one of this protocol.
constexpr std::string_view protocol_guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

// Headers that no configuration decides.
constexpr auto reserved_headers = std::to_array<std::string_view>(
    {"Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "TE", "Expect", "Keep-Alive", "Proxy-Connection"});

bool is_reserved(std::string_view name) {
  if (to_lower_ascii(name).starts_with("sec-websocket-")) return true;
  return std::ranges::any_of(reserved_headers, [&](auto known) { return HttpHeaders::same_name(known, name); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string basic_authorization(std::string_view userinfo) {
  const auto colon = userinfo.find(':');
  const auto user = percent_decoded(userinfo.substr(0, colon));
  const auto password = colon == std::string_view::npos ? std::string() : percent_decoded(userinfo.substr(colon + 1));
  return "Basic " + base64_encode(user + ":" + password);
}

// Whether one of the fields of that name lists the word.
bool lists(const HttpHeaders& headers, std::string_view name, std::string_view word) {
  for (auto value : headers.all(name)) {
    for (auto item : split(value, ',')) {
      if (HttpHeaders::same_name(trim(item), word)) return true;
    }
  }
  return false;
}

// A stranger's words, fit for a message.
std::string shown_words(std::string_view text) { return clean_excerpt(text, 100); }

bool is_chunked(const HttpHead& head) { return lists(head.headers, "Transfer-Encoding", "chunked"); }

std::optional<std::size_t> announced_length(const HttpHead& head) {
  const auto text = trim(head.headers.get("Content-Length"));
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

// Takes chunks off `raw` as far as they are there; true at the last one.
bool take_chunks(std::string_view raw, std::string& out) {
  for (;;) {
    const auto line_end = raw.find("\r\n");
    if (line_end == std::string_view::npos) return false;
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + line_end, size, 16);
    if (error != std::errc()) return true;
    raw.remove_prefix(line_end + 2);
    if (size == 0) return true;
    out += raw.substr(0, size);
    if (size > raw.size() || raw.size() - size < 2) return false;
    raw.remove_prefix(size + 2);
  }
}

}  // namespace

std::string handshake_accept(std::string_view key) {
  return base64_encode(sha1(std::string(key) + std::string(protocol_guid)));
}

Result<std::string> handshake_request(const Url& url, const HttpHeaders& headers, std::string_view key) {
  HttpHeaders fields;
  fields.add("Host", url.origin().substr(url.scheme.size() + 3));
  fields.add("User-Agent", "patchbay/" PATCHBAY_VERSION);
  for (const auto& field : headers) {
    if (!is_token(field.name)) {
      return fail(Errc::invalid_argument,
                  fmt::format("\"{}\" is not a valid name of a header", shown_words(field.name)));
    }
    if (has_control(field.value)) {
      return fail(Errc::invalid_argument,
                  fmt::format("the value of the header {} contains a control character", field.name));
    }
    if (is_reserved(field.name)) continue;
    // Once each: these two have a value of ours that a configured one replaces.
    if (HttpHeaders::same_name(field.name, "Host") || HttpHeaders::same_name(field.name, "User-Agent")) {
      fields.set(field.name, field.value);
    } else {
      fields.add(field.name, field.value);
    }
  }
  if (!url.userinfo.empty() && !fields.contains("Authorization")) {
    fields.add("Authorization", basic_authorization(url.userinfo));
  }
  fields.add("Upgrade", "websocket");
  fields.add("Connection", "Upgrade");
  fields.add("Sec-WebSocket-Key", std::string(key));
  fields.add("Sec-WebSocket-Version", "13");
  fields.add("Sec-WebSocket-Protocol", std::string(mcp_subprotocol));
  std::string text = fmt::format("GET {} HTTP/1.1\r\n", url.target());
  for (const auto& field : fields) text += fmt::format("{}: {}\r\n", field.name, field.value);
  text += "\r\n";
  return text;
}

Result<void> check_upgrade(const HttpHead& head, std::string_view key) {
  auto bad = [](std::string why) { return fail(Errc::protocol, std::move(why)); };
  if (head.status != 101) return bad(fmt::format("the answer is {} instead of 101", head.status));
  if (!lists(head.headers, "Upgrade", "websocket")) return bad("the answer does not upgrade to a WebSocket");
  if (!lists(head.headers, "Connection", "upgrade")) return bad("the answer has no \"Connection: Upgrade\"");
  const auto accepts = head.headers.all("Sec-WebSocket-Accept");
  if (accepts.size() != 1 || trim(accepts.front()) != handshake_accept(key)) {
    return bad("Sec-WebSocket-Accept does not match our key; a program in between answered instead of the server");
  }
  if (const auto extensions = trim(head.headers.get("Sec-WebSocket-Extensions")); !extensions.empty()) {
    return bad(fmt::format("the answer uses the extension \"{}\", which was not requested", shown_words(extensions)));
  }
  const auto protocols = head.headers.all("Sec-WebSocket-Protocol");
  if (protocols.size() > 1 || (protocols.size() == 1 && trim(protocols.front()) != mcp_subprotocol)) {
    return bad(fmt::format("the answer uses the subprotocol \"{}\", not \"{}\"", shown_words(protocols.front()),
                           mcp_subprotocol));
  }
  return {};
}

std::expected<bool, HttpFault> HttpHeadReader::feed(std::string_view bytes) {
  bytes_ += bytes;
  for (;;) {
    static constexpr std::string_view opening = "HTTP/1.";
    const auto known = std::min(opening.size(), bytes_.size());
    if (std::string_view(bytes_).substr(0, known) != opening.substr(0, known)) {
      return std::unexpected(HttpFault::not_http);
    }
    const auto end = bytes_.find("\r\n\r\n");
    if (end == std::string::npos ? bytes_.size() > limit_ : end > limit_) {
      return std::unexpected(HttpFault::headers_too_large);
    }
    if (end == std::string::npos) return false;
    if (!read_head(std::string_view(bytes_).substr(0, end))) return std::unexpected(HttpFault::not_http);
    bytes_.erase(0, end + 4);
    // 101 is the answer; the others below 200 only announce it. They count against the limit,
    // or a server could send them forever.
    if (head_.status >= 200 || head_.status == 101) return true;
    limit_ -= std::min(limit_, end + 4);
  }
}

bool HttpHeadReader::read_head(std::string_view text) {
  head_ = {};
  auto next_line = [&] {
    const auto end = text.find("\r\n");
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    return line;
  };
  const auto status_line = next_line();
  const auto blank = status_line.find(' ');
  if (blank == std::string_view::npos || status_line.size() < blank + 4) return false;
  const auto digits = status_line.substr(blank + 1, 3);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), head_.status);
  if (error != std::errc() || end != digits.data() + digits.size() || head_.status < 100) return false;
  while (!text.empty()) {
    const auto line = next_line();
    if (line.starts_with(' ') || line.starts_with('\t')) continue;  // a folded line: long forbidden
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    head_.headers.add(std::string(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1))));
  }
  return true;
}

bool is_whole_body(const HttpHead& head, std::string_view raw) {
  std::string ignored;
  if (is_chunked(head)) return take_chunks(raw, ignored);
  const auto length = announced_length(head);
  return length && raw.size() >= *length;
}

std::string plain_body(const HttpHead& head, std::string_view raw) {
  std::string body;
  if (is_chunked(head)) {
    take_chunks(raw, body);
  } else {
    body = raw.substr(0, announced_length(head).value_or(raw.size()));
  }
  return body;
}

}  // namespace patchbay
