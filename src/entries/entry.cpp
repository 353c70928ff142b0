#include "entries/entry.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/expand.h"
#include "entries/tool_permissions.h"
#include "http/url.h"
#include "json/kind_text.h"
#include "protocol/wire.h"
#include "sandbox/setting.h"
#include "text/clean_text.h"
#include "text/ignorable.h"

namespace patchbay {
namespace {

constexpr auto reserved_names = std::to_array<std::string_view>(
    {"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"});

constexpr auto type_names = std::to_array<std::pair<std::string_view, ServerKind>>({
    {"stdio", ServerKind::stdio},
    {"http", ServerKind::http},
    {"streamable-http", ServerKind::http},
    {"streamableHttp", ServerKind::http},
    {"sse", ServerKind::sse},
    {"ws", ServerKind::websocket},
});

// Types that exist, but never come from a file: a repository must not be able to reach
// for an editor's or a vendor's token.
struct InternalType {
  std::string_view spelling;
  std::string_view reason;
};
constexpr auto internal_types = std::to_array<InternalType>({
    {"sdk", "it is only for servers that a program registers in its own process"},
    {"sse-ide", "editors are found by their lock files, not in configuration files"},
    {"ws-ide", "editors are found by their lock files, not in configuration files"},
    {"claudeai-proxy", "connectors come from the connector directory after sign-in"},
});

constexpr auto known_keys = std::to_array<std::string_view>(
    {"type",     "transport", "command",       "args",       "env",          "envFile",       "cwd",
     "url",      "headers",   "headersHelper", "oauth",      "tls",          "timeout",       "request_timeout_ms",
     "disabled", "required",  "protocol",      "alwaysLoad", "enabledTools", "disabledTools", "sandbox"});
// Of other programs, kept and not remarked on; the last two become permission rules (permission/entry_rules.h).
constexpr auto foreign_keys = std::to_array<std::string_view>(
    {"bareElicitationCapability", "displayName", "discoveryCache", "tools", "toolPermissions"});
constexpr auto oauth_keys = std::to_array<std::string_view>(
    {"oauth.clientId", "oauth.callbackPort", "oauth.callbackHost", "oauth.scopes", "oauth.authServerMetadataUrl",
     "oauth.xaa", "oauth.resource", "oauth.issuer", "oauth.grant", "oauth.privateKeyFile", "oauth.privateKeyAlgorithm",
     "oauth.tokenFile", "oauth.dpop"});
// Of one kind of server and without meaning for the other.
constexpr auto local_keys = std::to_array<std::string_view>({"command", "args", "env", "envFile", "cwd"});
constexpr auto remote_keys = std::to_array<std::string_view>({"url", "headers", "headersHelper", "oauth", "tls"});

// Texts in which ${VARIABLE} is replaced; a helper's shell does that itself.
constexpr auto expanded_keys =
    std::to_array<std::string_view>({"command", "args", "env", "envFile", "cwd", "url", "headers", "tls"});
// `key` may go on behind the name: "args[1]", "env.TOKEN".
bool is_expanded(std::string_view key) noexcept {
  return std::ranges::find(expanded_keys, key.substr(0, key.find_first_of(".["))) != expanded_keys.end();
}

// Shorter limits are ignored: they are seconds mistaken for milliseconds.
constexpr std::int64_t least_timeout_ms = 1000;
// Some thirty years, so that adding it to a clock cannot overflow.
constexpr std::int64_t most_timeout_ms = 1'000'000'000'000;

bool padded(std::string_view text) noexcept { return trim(text).size() != text.size(); }
bool has_nul(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }
bool has_control(std::string_view text) noexcept {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// RFC 9110, 5.6.2.
bool is_header_name(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

class EntryReader {
 public:
  EntryReader(std::string_view name, const ConfigDocument::Member& entry, const ConfigOrigin& origin,
              ConfigReport& report, std::vector<VariableUse>& uses)
      : whole_(entry), entry_(*entry.value->if_object()), place_(*entry.place), report_(report), uses_(uses) {
    server_.name = name;
    server_.origin = origin;
    auto [line, column] = report.position(place_.key);
    server_.origin.line = line;
    server_.origin.column = column;
  }

  std::expected<ServerConfig, std::string> read() {
    if (auto fault = server_name_fault(server_.name); !fault.empty()) error(place_.key, std::move(fault));
    if (padded(server_.name))
      warn(place_.key, "the name begins or ends with a blank, and the blank is part of the name");
    if (auto kind = decide_kind()) {
      server_.kind = *kind;
      read_endpoint();
    }
    read_common();
    read_unknown();
    if (failed_) return std::unexpected(std::move(first_error_));
    return std::move(server_);
  }

 private:
  using Member = ConfigDocument::Member;

  Member member(std::string_view key) const noexcept { return member_of(whole_, key); }

  void error(std::size_t offset, std::string message) {
    report_.error(offset, fmt::format("MCP server {}: {}", quoted_name(server_.name), message), server_.name);
    fail(std::move(message));
  }
  void fail(std::string message) {
    if (!failed_) first_error_ = std::move(message);
    failed_ = true;
  }
  void warn(std::size_t offset, std::string message) {
    report_.warning(offset, fmt::format("MCP server {}: {}", quoted_name(server_.name), message), server_.name);
    server_.warnings.push_back(std::move(message));
  }
  void wrong_kind(const Member& at, std::string_view key, std::string_view expected) {
    error(at.place->value, fmt::format("\"{}\" must be {}, found {}", key, expected, kind_with_article(*at.value)));
  }

  // A key that was misspelt is often why another is missing. The error names it, so no warning does.
  std::string misspelt_key(const std::vector<std::string>& wanted) {
    for (const auto& [key, value] : entry_) {
      if (std::ranges::find(known_keys, key) != known_keys.end()) continue;
      if (const auto meant = nearest(key, wanted); !meant.empty()) {
        named_by_error_ = key;
        return fmt::format("; did you mean \"{}\" where it says {}?", meant, quoted_name(key));
      }
    }
    return {};
  }

  // Which transport, from "type", its alias "transport", and what else is there.
  std::optional<ServerKind> decide_kind() {
    auto type = read_type("type");
    auto transport = read_type("transport");
    if (!type || !transport) return std::nullopt;
    if (*type && *transport && **type != **transport) {
      error(member("transport").place->value,
            fmt::format("\"transport\" is {} and \"type\" is {}; they mean the same, so keep only one",
                        to_text(*member("transport").value), to_text(*member("type").value)));
      return std::nullopt;
    }
    if (*type) return **type;
    if (*transport) return **transport;
    if (member("command")) return ServerKind::stdio;
    if (auto url = member("url")) {
      constexpr std::string_view what =
          "has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to this entry";
      // Word for word what people know, without a colon behind the name.
      report_.error(url.place->key, fmt::format("MCP server {} {}", quoted_name(server_.name), what), server_.name);
      fail(std::string(what));
      return std::nullopt;
    }
    error(place_.value, "expected a \"command\" to start, or a \"type\" and a \"url\" to connect to" +
                            misspelt_key({"command", "url"}));
    return std::nullopt;
  }

  // The kind a key names, nothing when the key is absent; nullopt after an error.
  std::optional<std::optional<ServerKind>> read_type(std::string_view key) {
    auto at = member(key);
    if (!at) return std::optional<ServerKind>();
    const auto text = at.value->text();
    if (!text) {
      wrong_kind(at, key, "a string");
      return std::nullopt;
    }
    for (const auto& [spelling, kind] : type_names) {
      if (*text == spelling) return std::optional(kind);
    }
    for (const auto& [spelling, reason] : internal_types) {
      if (*text == spelling) {
        error(at.place->value, fmt::format("type \"{}\" cannot be used in a file: {}", spelling, reason));
        return std::nullopt;
      }
    }
    error(at.place->value,
          fmt::format("unknown type {}; use \"stdio\", \"http\", \"sse\" or \"ws\"", to_text(*at.value)));
    return std::nullopt;
  }

  void read_endpoint() {
    bool local = server_.kind == ServerKind::stdio;
    if (local) {
      read_command();
      server_.args = read_texts("args");
      server_.env = read_named_texts("env");
      server_.env_file = read_path("envFile");
      server_.cwd = read_path("cwd");
    } else {
      read_url();
      server_.headers = read_named_texts("headers");
      read_headers_helper();
      read_oauth();
      read_tls();
    }
    for (std::string_view key : remote_keys) {
      if (auto at = member(key); local && at) not_used(at, key);
    }
    for (std::string_view key : local_keys) {
      if (auto at = member(key); !local && at) not_used(at, key);
    }
  }

  void not_used(const Member& at, std::string_view key) {
    warn(at.place->key, fmt::format("\"{}\" is not used by a server of type \"{}\"", key, to_string(server_.kind)));
  }

  void read_command() {
    auto at = member("command");
    if (!at) {
      error(place_.value, "a server of type \"stdio\" needs a \"command\"" + misspelt_key({"command"}));
      return;
    }
    auto command = read_text("command");
    if (!command) return;
    if (trim(*command).empty()) {
      error(at.place->value, "\"command\" is empty; write the program to start");
      return;
    }
    server_.command = std::move(*command);
  }

  std::optional<std::string> read_path(std::string_view key) {
    auto path = read_text(key);
    if (path && path->empty()) {
      warn(member(key).place->value, fmt::format("\"{}\" is empty and ignored", key));
      return std::nullopt;
    }
    return path;
  }

  void read_url() {
    auto at = member("url");
    if (!at) {
      error(place_.value,
            fmt::format("a server of type \"{}\" needs a \"url\"{}", to_string(server_.kind), misspelt_key({"url"})));
      return;
    }
    auto url = read_text("url");
    if (!url) return;
    if (url->empty()) warn(at.place->value, "\"url\" is empty, so there is no server to connect to");
    // What variables will make of it is seen when the server is connected to.
    if (auto fault = url->empty() || url->contains("${") ? std::string() : url_fault(*url); !fault.empty()) {
      warn(at.place->value, fmt::format("\"url\" {}", fault));
    }
    server_.url = std::move(*url);
  }

  std::string url_fault(std::string_view text) const {
    const bool socket = server_.kind == ServerKind::websocket;
    auto url = parse_url(trim(text));
    if (!url || (url->scheme != (socket ? "ws" : "http") && url->scheme != (socket ? "wss" : "https"))) {
      return fmt::format("is not the address of a server of type \"{}\"; it must begin with {}",
                         to_string(server_.kind), socket ? "wss:// or ws://" : "https:// or http://");
    }
    return {};
  }

  void read_headers_helper() {
    auto helper = read_text("headersHelper");
    if (!helper) return;
    if (trim(*helper).empty()) {
      warn(member("headersHelper").place->value, "\"headersHelper\" is empty and ignored");
    } else {
      server_.headers_helper = std::move(*helper);
    }
  }

  void read_oauth() {
    auto at = member("oauth");
    if (!at) return;
    const auto* members = at.value->if_object();
    if (members == nullptr) {
      wrong_kind(at, "oauth", "an object");
      return;
    }
    OAuthConfig oauth;
    std::size_t i = 0;
    for (const auto& [key, value] : *members) read_oauth_key(oauth, key, {&value, &at.place->children[i++]});
    server_.oauth = std::move(oauth);
  }

  void read_oauth_key(OAuthConfig& oauth, std::string_view key, const Member& at) {
    const auto shown = fmt::format("oauth.{}", key);
    if (key == "clientId") {
      oauth.client_id = checked(*at.value, *at.place, shown);
    } else if (key == "scopes") {
      if (at.value->is_array()) {
        error(at.place->value, "\"oauth.scopes\" must be one string with blanks between the scopes, found an array");
      } else {
        oauth.scopes = checked(*at.value, *at.place, shown);
      }
    } else if (key == "authServerMetadataUrl") {
      oauth.auth_server_metadata_url = checked(*at.value, *at.place, shown);
      const auto& url = oauth.auth_server_metadata_url;
      if (url && !to_lower_ascii(*url).starts_with("https://") && !url->starts_with("${")) {
        error(at.place->value, "\"oauth.authServerMetadataUrl\" must begin with https://");
      }
    } else if (key == "callbackPort") {
      auto port = at.value->to_int();
      if (!port || *port < 1 || *port > 65535) {
        error(at.place->value,
              fmt::format("\"oauth.callbackPort\" must be a port from 1 to 65535, found {}", to_text(*at.value)));
      } else {
        oauth.callback_port = static_cast<std::uint16_t>(*port);
      }
    } else if (key == "xaa") {
      oauth.xaa = read_bool(at, shown);
    } else if (key == "dpop") {
      oauth.dpop = read_bool(at, shown);
    } else if (key == "callbackHost") {
      oauth.callback_host = checked(*at.value, *at.place, shown);
      const auto& host = oauth.callback_host;
      if (host && *host != "localhost" && *host != "127.0.0.1") {
        error(at.place->value, "\"oauth.callbackHost\" must be \"localhost\" or \"127.0.0.1\"");
      }
    } else if (key == "grant") {
      oauth.grant = checked(*at.value, *at.place, shown);
      const auto& grant = oauth.grant;
      if (grant && *grant != "authorization_code" && *grant != "client_credentials" && *grant != "workload_identity") {
        error(at.place->value,
              "\"oauth.grant\" must be \"authorization_code\", \"client_credentials\" or \"workload_identity\"");
      }
    } else if (key == "resource") {
      oauth.resource = checked(*at.value, *at.place, shown);
    } else if (key == "issuer") {
      oauth.issuer = checked(*at.value, *at.place, shown);
    } else if (key == "privateKeyFile") {
      oauth.private_key_file = checked(*at.value, *at.place, shown);
    } else if (key == "privateKeyAlgorithm") {
      oauth.private_key_algorithm = checked(*at.value, *at.place, shown);
    } else if (key == "tokenFile") {
      oauth.token_file = checked(*at.value, *at.place, shown);
    } else {
      oauth.extra[key] = *at.value;
      warn(
          at.place->key,
          key == "clientSecret"
              ? "\"oauth.clientSecret\" is ignored: this file must not contain secrets; give it when you add the server"
              : unknown_key(shown, shown, oauth_keys));
    }
  }

  void read_tls() {
    auto at = member("tls");
    if (!at) return;
    const auto* members = at.value->if_object();
    if (members == nullptr) {
      wrong_kind(at, "tls", "an object of file names");
      return;
    }
    std::size_t i = 0;
    for (const auto& [name, value] : *members) {
      const auto& place = at.place->children[i++];
      auto* field = name == "ca"           ? &server_.tls.ca
                    : name == "cert"       ? &server_.tls.cert
                    : name == "key"        ? &server_.tls.key
                    : name == "passphrase" ? &server_.tls.passphrase
                                           : nullptr;
      // What was meant decides whom we trust, so it is not guessed.
      if (field == nullptr) {
        error(place.key,
              fmt::format("unknown key {} in \"tls\"; the keys are \"ca\", \"cert\", \"key\" and \"passphrase\"",
                          quoted_name(name)));
      } else if (auto text = checked(value, place, fmt::format("tls.{}", name))) {
        *field = std::move(*text);
      }
    }
    if (server_.tls.cert.empty() && !server_.tls.key.empty()) {
      error(at.place->value, "\"tls\" has a \"key\" without a \"cert\"; add the file of the certificate");
    }
  }

  void read_common() {
    server_.timeout = read_milliseconds("timeout");
    server_.request_timeout = read_milliseconds("request_timeout_ms");
    if (auto at = member("disabled")) server_.disabled = read_bool(at, "disabled");
    if (auto at = member("required")) server_.required = read_bool(at, "required");
    if (auto at = member("alwaysLoad")) server_.always_load = read_bool(at, "alwaysLoad");
    if (member("enabledTools")) server_.enabled_tools = read_texts("enabledTools");
    server_.disabled_tools = read_texts("disabledTools");
    read_protocol();
  }

  bool read_bool(const Member& at, std::string_view key) {
    if (const auto value = at.value->to_bool()) return *value;
    wrong_kind(at, key, "true or false");
    return false;
  }

  void read_protocol() {
    auto at = member("protocol");
    if (!at) return;
    const auto text = at.value->text();
    std::vector<std::string> known(modern_versions().begin(), modern_versions().end());
    known.insert(known.end(), legacy_versions().begin(), legacy_versions().end());
    if (!text) {
      wrong_kind(at, "protocol", "a string");
    } else if (*text == "legacy" || is_revision_date(*text)) {
      server_.protocol = *text;
      if (*text != "legacy" && std::ranges::find(known, *text) == known.end()) {
        warn(at.place->value,
             fmt::format("the revision {} is not known, so connecting will fail; known revisions are {}", *text,
                         join(known, ", ")));
      }
    } else if (*text != "auto") {
      error(at.place->value, fmt::format("unknown protocol {}; use \"auto\", \"legacy\" or one of the revisions {}",
                                         to_text(*at.value), join(known, ", ")));
    }
  }

  std::optional<std::chrono::milliseconds> read_milliseconds(std::string_view key) {
    auto at = member(key);
    if (!at) return std::nullopt;
    auto value = at.value->to_int();
    if (!value || *value < 0) {
      if (at.value->is_number()) {
        error(at.place->value,
              fmt::format("\"{}\" must be a whole number of milliseconds, found {}", key, to_text(*at.value)));
      } else {
        wrong_kind(at, key, "a number of milliseconds");
      }
      return std::nullopt;
    }
    if (*value < least_timeout_ms) {
      warn(at.place->value,
           fmt::format("\"{}\" is in milliseconds, and {} is less than a second; it is ignored", key, *value));
      return std::nullopt;
    }
    return std::chrono::milliseconds(std::min(*value, most_timeout_ms));
  }

  void read_unknown() {
    std::size_t i = 0;
    for (const auto& [key, value] : entry_) {
      const auto& place = place_.children[i++];
      if (key == "sandbox") read_sandbox_key({&value, &place});
      if (std::ranges::find(known_keys, key) != known_keys.end()) continue;
      server_.extra[key] = value;
      if (key == named_by_error_) continue;
      const bool rules = key == "tools" || key == "toolPermissions";
      const bool ours = !rules || server_.kind == ServerKind::http || server_.kind == ServerKind::sse;
      if (!ours || std::ranges::find(foreign_keys, key) == foreign_keys.end()) {
        warn(place.key, unknown_key(key, key, known_keys));
      } else if (rules) {
        for (auto& fault : tool_permission_faults(key, {&value, &place})) {
          fault.is_error ? error(fault.offset, std::move(fault.message)) : warn(fault.offset, std::move(fault.message));
        }
      }
    }
  }

  // It stays in `extra` as written, and is part of what somebody agrees to.
  void read_sandbox_key(const Member& at) {
    server_.extra["sandbox"] = *at.value;
    if (server_.kind != ServerKind::stdio) return not_used(at, "sandbox");
    if (auto setting = read_sandbox(*at.value); !setting) error(at.place->value, std::move(setting).error());
  }

  static std::string unknown_key(std::string_view key, std::string_view shown,
                                 std::span<const std::string_view> known) {
    const std::vector<std::string> names(known.begin(), known.end());
    const auto meant = nearest(key, names);
    return meant.empty() ? fmt::format("unknown key {} has no effect", quoted_name(shown))
                         : fmt::format("unknown key {} has no effect; did you mean \"{}\"?", quoted_name(shown), meant);
  }

  // A text that the system or the network must be able to carry.
  std::optional<std::string> checked(const Json& value, const Place& place, const std::string& key) {
    const auto text = value.text();
    if (!text) {
      wrong_kind({&value, &place}, key, "a string");
      return std::nullopt;
    }
    if (has_nul(*text)) {
      error(place.value, fmt::format("\"{}\" contains a NUL character", key));
      return std::nullopt;
    }
    if (padded(*text)) {
      warn(place.value, fmt::format("\"{}\" begins or ends with a blank, and the blank is {}", key,
                                    key == "url" ? "left out when connecting" : "kept"));
    }
    if (is_expanded(key)) {
      for (const auto& reference : secret_references(*text, key)) {
        if (auto fault = reference_fault(reference, server_.origin); !fault.empty())
          warn(place.value, std::move(fault));
        if (reference.kind != SecretKind::environment) continue;
        auto [line, column] = report_.position(place.value);
        uses_.push_back({server_.name, server_.origin, reference.argument, key, line, column, true});
      }
      if (has_open_reference(*text)) {
        warn(place.value,
             fmt::format("\"{}\" has a \"${{\" without a closing \"}}\"; the text is used unchanged", key));
      }
      for (auto& variable : variables_in(*text)) {
        auto [line, column] = report_.position(place.value);
        uses_.push_back({server_.name, server_.origin, std::move(variable), key, line, column});
      }
    }
    return std::string(*text);
  }

  std::optional<std::string> read_text(std::string_view key) {
    auto at = member(key);
    return at ? checked(*at.value, *at.place, std::string(key)) : std::nullopt;
  }

  std::vector<std::string> read_texts(std::string_view key) {
    std::vector<std::string> out;
    auto at = member(key);
    if (!at) return out;
    const auto* items = at.value->if_array();
    if (items == nullptr) {
      wrong_kind(at, key, "an array of strings");
      return out;
    }
    for (std::size_t i = 0; i < items->size(); ++i) {
      auto text = checked((*items)[i], at.place->children[i], fmt::format("{}[{}]", key, i));
      if (text) out.push_back(std::move(*text));
    }
    return out;
  }

  NamedTexts read_named_texts(std::string_view key) {
    NamedTexts out;
    auto at = member(key);
    if (!at) return out;
    const auto* members = at.value->if_object();
    if (members == nullptr) {
      wrong_kind(at, key, "an object of strings");
      return out;
    }
    std::size_t i = 0;
    for (const auto& [name, value] : *members) {
      const auto& place = at.place->children[i++];
      const auto content = value.text();
      if (auto fault = key == "env" ? variable_fault(name) : header_fault(name, content.value_or("")); !fault.empty()) {
        error(place.key, std::move(fault));
        continue;
      }
      if (padded(name)) {
        warn(place.key,
             fmt::format("the name {} in \"{}\" begins or ends with a blank, and the blank is part of the name",
                         quoted_name(name), key));
      }
      auto text = checked(value, place, fmt::format("{}.{}", key, name));
      if (text) out.emplace_back(name, std::move(*text));
    }
    return out;
  }

  static std::string variable_fault(std::string_view name) {
    if (name.empty()) return "a variable in \"env\" has an empty name";
    if (has_nul(name) || name.find('=') != std::string::npos) {
      return fmt::format("{} in \"env\" is not a valid name of a variable: it contains \"=\" or NUL",
                         quoted_name(name));
    }
    return {};
  }

  Member whole_;
  const Json::Object& entry_;
  const Place& place_;
  ConfigReport& report_;
  std::vector<VariableUse>& uses_;
  ServerConfig server_;
  bool failed_ = false;
  std::string first_error_;
  std::string named_by_error_;  // a key that no warning needs to name
};

}  // namespace

std::string quoted_name(std::string_view text) { return with_ignorable_escaped(to_text(Json(text))); }

bool is_revision_date(std::string_view text) noexcept {
  constexpr std::string_view shape = "0000-00-00";
  return std::ranges::equal(text, shape,
                            [](char c, char like) { return like == '-' ? c == '-' : c >= '0' && c <= '9'; });
}

std::string header_fault(std::string_view name, std::string_view value) {
  if (!is_header_name(trim(name))) {
    return fmt::format("{} in \"headers\" is not a valid name of a header; use letters, digits and \"-\"",
                       quoted_name(name));
  }
  if (value.find_first_of("\r\n") != std::string_view::npos) {
    return fmt::format("the value of the header \"{}\" contains a line break", name);
  }
  return {};
}

std::string server_name_fault(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (std::ranges::find(reserved_names, name) != reserved_names.end()) {
    return "the name is reserved; choose another name";
  }
  if (has_control(name)) return "the name contains a control character";
  if (!valid_utf8(name)) return "the name is not valid UTF-8";
  // What a terminal does not show would make two names look alike.
  if (holds_ignorable(name) || clean_for_display(name) != name) {
    return "the name contains an invisible character, or one that changes the direction of the text";
  }
  return {};
}

std::expected<ServerConfig, std::string> read_entry(std::string_view name, const ConfigDocument::Member& entry,
                                                    const ConfigOrigin& origin, ConfigReport& report,
                                                    std::vector<VariableUse>& uses) {
  if (entry.value->is_object()) return EntryReader(name, entry, origin, report, uses).read();
  auto fault =
      fmt::format("expected an object with a \"command\" or a \"url\", found {}", kind_with_article(*entry.value));
  report.error(entry.place->value, fmt::format("MCP server {}: {}", quoted_name(name), fault), name);
  return std::unexpected(std::move(fault));
}

}  // namespace patchbay
