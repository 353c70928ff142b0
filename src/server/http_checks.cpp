#include "server/http_checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "http/server/tcp_listener.h"
#include "protocol/methods.h"
#include "protocol/mirrored_headers.h"

namespace patchbay {
namespace {

constexpr std::string_view version_header = "MCP-Protocol-Version";
// What pages send, and what they have to read of an answer.
constexpr std::string_view page_sends =
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id";
constexpr std::string_view page_reads = "MCP-Protocol-Version, Mcp-Session-Id, Retry-After, WWW-Authenticate";

// The name in "name:port" or "[::1]:port", lower case.
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? std::string() : to_lower_ascii(host.substr(0, end + 1));
  }
  return to_lower_ascii(host.substr(0, host.find(':')));
}

bool listed(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::any_of(list, [&](const auto& item) { return to_lower_ascii(item) == to_lower_ascii(text); });
}

bool is_header_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

Error mismatch(std::string message) { return Error::rpc(modern_code::header_mismatch, std::move(message)); }

// The one value of a header, without blanks around it; the error when it stands there twice.
Result<std::optional<std::string_view>> one_value(const HttpHeaders& headers, std::string_view name) {
  const auto values = headers.all(name);
  if (values.empty()) return std::nullopt;
  if (values.size() > 1) return std::unexpected(mismatch(fmt::format("the header {} occurs twice", name)));
  return trim(values.front());
}

// The header says, perhaps in its base64 form, what the body says.
std::optional<Error> check_header(const HttpHeaders& headers, std::string_view name, std::string_view body) {
  auto value = one_value(headers, name);
  if (!value) return std::move(value).error();
  if (!*value) return mismatch(fmt::format("the header {} is missing", name));
  auto decoded = from_header_value(**value);
  if (!decoded) return mismatch(fmt::format("the header {}: {}", name, decoded.error().message()));
  if (*decoded != body) return mismatch(fmt::format("the header {} differs from the value in the body", name));
  return std::nullopt;
}

std::optional<Error> check_params(const HttpHeaders& headers, const Json& params, const Json& schema) {
  const auto annotated = mirrored_arguments(schema);
  if (!annotated) return std::nullopt;  // no client can obey an annotation that is wrong
  for (const auto& argument : *annotated) {
    auto value = one_value(headers, argument.header);
    if (!value) return std::move(value).error();
    auto checked = check_mirrored(argument, params["arguments"], *value);
    // An argument of the wrong type is the tool's to refuse, in words for the model.
    if (!checked && checked.error().code() != Errc::invalid_argument) return mismatch(checked.error().message());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuse_by_name(const HttpGate& gate, const HttpHeaders& headers) {
  const auto hosts = headers.all("host");
  if (hosts.size() > 1) return "the request has two Host headers";
  const auto host = hosts.empty() ? std::string_view() : hosts.front();
  const auto name = host_name(host);
  if (!gate.hosts.empty()) {
    if (!listed(gate.hosts, host) && !listed(gate.hosts, name))
      return "the name in the header Host is not one that this server accepts";
  } else if (gate.loopback && !is_loopback_name(name)) {
    return "the name in the header Host is not one that this server accepts";
  }
  if (headers.all("origin").size() > 1) return "the request has two Origin headers";
  if (const auto* origin = headers.find("origin")) {
    if (!gate.origins.empty()) {
      if (!listed(gate.origins, *origin)) return "the web page in the header Origin may not use this server";
    } else {
      const auto start = origin->find("://");
      if (start == std::string::npos || !is_loopback_name(host_name(std::string_view(*origin).substr(start + 3)))) {
        return "the web page in the header Origin may not use this server";
      }
    }
  }
  return std::nullopt;
}

bool asks_first(std::string_view method, const HttpHeaders& headers) {
  return method == "OPTIONS" && headers.contains("origin") && headers.contains("access-control-request-method");
}

HttpHeaders page_headers(const HttpGate& gate, std::string_view method, const HttpHeaders& headers) {
  const auto* origin = headers.find("origin");
  if (!origin || !listed(gate.origins, *origin)) return {};
  HttpHeaders out{{"Access-Control-Allow-Origin", *origin}, {"Vary", "Origin"}};
  if (!asks_first(method, headers)) {
    out.add("Access-Control-Expose-Headers", std::string(page_reads));
    return out;
  }
  // Arguments of tools may be repeated in headers of any name, so those it asks for are added.
  std::string names(page_sends);
  for (auto name : split(headers.get("access-control-request-headers"), ',')) {
    name = trim(name);
    if (is_header_name(name)) names.append(", ").append(name);
  }
  out.add("Access-Control-Allow-Methods", "GET, POST, DELETE");
  out.add("Access-Control-Allow-Headers", std::move(names));
  out.add("Access-Control-Max-Age", "600");
  // A page of the internet that calls this machine: the browser wants to hear that it may.
  if (headers.get("access-control-request-private-network") == "true") {
    out.add("Access-Control-Allow-Private-Network", "true");
  }
  return out;
}

AcceptedTypes accepted_types(const HttpHeaders& headers) {
  // What nearly every client sends.
  if (headers.get("accept") == "application/json, text/event-stream") return {true, true};
  const auto values = headers.all("accept");
  if (values.empty()) return {true, true};
  AcceptedTypes accepted;
  for (auto value : values) {
    for (auto item : split(value, ',')) {
      const auto type = media_type(item);
      // "q=0" means: anything but this.
      bool refused = false;
      auto parts = split(item, ';');
      for (std::size_t i = 1; i < parts.size(); ++i) {
        auto part = to_lower_ascii(trim(parts[i]));
        refused |= part == "q=0" || part == "q=0.0" || part == "q=0.00" || part == "q=0.000";
      }
      if (refused) continue;
      accepted.json |= type == "application/json" || type == "application/*" || type == "*/*";
      accepted.events |= type == "text/event-stream" || type == "text/*" || type == "*/*";
    }
  }
  return accepted;
}

Era era_of(const HttpHeaders& headers, const Json* params) {
  if (params && is_modern_request(*params)) return Era::modern;
  const auto* version = headers.find(version_header);
  if (!version) return Era::legacy;
  const Wire* wire = find_wire(trim(*version));
  return wire ? wire->era() : Era::modern;
}

std::optional<Error> check_modern_request(const HttpHeaders& headers, std::string_view method, const Json& params,
                                          const std::function<const Json*(std::string_view tool)>& schema_of) {
  const auto* said = headers.find(version_header);
  if (!said) return mismatch(fmt::format("the header {} is missing", version_header));
  auto meta = read_meta(params);
  if (!meta) return Error::rpc(-32602, meta.error().message());
  if (!meta->protocol_version) return Error::rpc(-32602, "_meta has no io.modelcontextprotocol/protocolVersion");
  if (!meta->client_capabilities) return Error::rpc(-32602, "_meta has no io.modelcontextprotocol/clientCapabilities");
  if (trim(*said) != *meta->protocol_version) {
    return mismatch(fmt::format("the header {} differs from the protocol version in _meta", version_header));
  }
  const Wire* wire = find_wire(*meta->protocol_version);
  if (!wire || wire->era() != Era::modern) return unsupported_version_error(*meta->protocol_version, modern_versions());

  if (auto wrong = check_header(headers, "Mcp-Method", method)) return wrong;
  const auto member = routed_parameter(method);
  const auto name = member.empty() ? std::nullopt : params[member].text();
  if (name) {
    if (auto wrong = check_header(headers, "Mcp-Name", *name)) return wrong;
  } else if (!member.empty() && headers.contains("Mcp-Name")) {
    return mismatch(
        "the request has the header Mcp-Name, but its params do not have the name that this header repeats");
  }
  if (method == method::call_tool && name) {
    if (const Json* schema = schema_of(*name)) return check_params(headers, params, *schema);
  }
  return std::nullopt;
}

Result<void> check_size(const Message& message, std::size_t limit) {
  const auto size = size_of(message);
  if (size <= limit) return {};
  return fail(Errc::limit, fmt::format("the message has {} bytes; the limit is {}", size, limit));
}

int http_status_of(std::int64_t rpc_code) noexcept {
  switch (rpc_code) {
    case -32601:
      return 404;
    case -32700:
    case -32600:
    case modern_code::header_mismatch:
    case modern_code::missing_client_capability:
    case modern_code::unsupported_version:
      return 400;
    default:
      return 200;
  }
}

std::string new_session_id(const Random& random) {
  std::array<std::uint8_t, 24> bytes;
  random(bytes);
  return base64url_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string to_text(const EventId& id) { return fmt::format("{}-{}", id.stream, id.event); }

std::optional<EventId> parse_event_id(std::string_view text) {
  EventId id;
  const auto* end = text.data() + text.size();
  auto [dash, bad_stream] = std::from_chars(text.data(), end, id.stream);
  if (bad_stream != std::errc() || dash == end || *dash != '-') return std::nullopt;
  auto [rest, bad_event] = std::from_chars(dash + 1, end, id.event);
  if (bad_event != std::errc() || rest != end) return std::nullopt;
  return id;
}

}  // namespace patchbay
