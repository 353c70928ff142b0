#include "config/parse.h"

#include <algorithm>
#include <array>
#include <expected>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/places.h"
#include "json/kind_text.h"

namespace patchbay {
namespace {

constexpr std::string_view remedy = "fix the file and run the command again";

// Root, server map, entry, key, element: nothing deeper is ever pointed at.
constexpr std::size_t placed_depth = 4;

constexpr auto reserved_names = std::to_array<std::string_view>(
    {"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"});

struct TypeName {
  std::string_view spelling;
  ServerKind kind;
};
constexpr auto type_names = std::to_array<TypeName>({
    {"stdio", ServerKind::stdio},
    {"http", ServerKind::http},
    {"streamable-http", ServerKind::http},
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
    {"sdk", "it is for servers that a program registers in its own process"},
    {"sse-ide", "editors are found through their lock files, not through configuration"},
    {"ws-ide", "editors are found through their lock files, not through configuration"},
    {"claudeai-proxy", "connectors come from the connector directory after signing in"},
});

constexpr auto known_keys =
    std::to_array<std::string_view>({"type", "transport", "command", "args", "env", "cwd", "url", "headers", "timeout",
                                     "disabled", "enabledTools", "disabledTools"});

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

// Offset of the first byte that is not part of UTF-8.
std::size_t first_invalid(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    auto lead = static_cast<unsigned char>(text[at]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!valid_utf8(text.substr(at, length))) break;
    at += length;
  }
  return at;
}

// A name as it is shown: in quotes, so that an escape sequence inside stays visible.
std::string quoted(std::string_view text) { return to_text(Json(text)); }

// Collects what is wrong while one text is read.
class Report {
 public:
  Report(std::string_view text, const ConfigOrigin& origin, ParsedServers& out)
      : positions_(text), origin_(origin), out_(out) {}

  Position position(std::size_t offset) noexcept { return positions_.at(offset); }

  void error(std::size_t offset, std::string message, std::string_view server = {}) {
    add(offset, std::move(message), server, Severity::error);
  }
  void warning(std::size_t offset, std::string message, std::string_view server) {
    add(offset, std::move(message), server, Severity::warning);
  }

 private:
  void add(std::size_t offset, std::string message, std::string_view server, Severity severity) {
    auto [line, column] = positions_.at(offset);
    out_.problems.push_back({origin_.file, line, column, std::move(message), std::string(server), severity});
  }

  PositionCounter positions_;
  const ConfigOrigin& origin_;
  ParsedServers& out_;
};

// One entry while it is read. Problems are errors unless said otherwise, and an entry
// with an error is dropped; it is read to its end all the same, so that a person sees
// everything that is wrong with it at once.
class EntryReader {
 public:
  EntryReader(std::string_view name, const Json::Object& entry, const Place& place, const ConfigOrigin& origin,
              Report& report)
      : entry_(entry), place_(place), report_(report) {
    server_.name = name;
    server_.origin = origin;
    server_.origin.line = report.position(place.key).line;
  }

  std::optional<ServerConfig> read() {
    if (auto fault = server_name_fault(server_.name); !fault.empty()) error(place_.key, std::move(fault));
    if (padded(server_.name)) warn(place_.key, "the name begins or ends with a blank, which is part of it");
    if (auto kind = decide_kind()) {
      server_.kind = *kind;
      read_endpoint();
    }
    read_common();
    read_unknown();
    if (failed_) return std::nullopt;
    return std::move(server_);
  }

 private:
  struct Member {
    const Json* value = nullptr;
    const Place* place = nullptr;
    explicit operator bool() const noexcept { return value != nullptr; }
  };

  Member member(std::string_view key) const noexcept {
    std::size_t i = 0;
    for (const auto& [name, value] : entry_) {
      if (name == key) return {&value, &place_.children[i]};
      ++i;
    }
    return {};
  }

  void error(std::size_t offset, std::string message) {
    failed_ = true;
    report_.error(offset, fmt::format("MCP server {}: {}", quoted(server_.name), message), server_.name);
  }
  void warn(std::size_t offset, std::string message) {
    report_.warning(offset, fmt::format("MCP server {}: {}", quoted(server_.name), message), server_.name);
    server_.warnings.push_back(std::move(message));
  }
  void wrong_kind(const Member& at, std::string_view key, std::string_view expected) {
    error(at.place->value, fmt::format("\"{}\" must be {}, found {}", key, expected, kind_with_article(*at.value)));
  }

  // Which transport, from "type", its alias "transport", and what else is there.
  std::optional<ServerKind> decide_kind() {
    auto type = read_type("type");
    auto transport = read_type("transport");
    if (!type || !transport) return std::nullopt;
    if (*type && *transport && **type != **transport) {
      error(member("transport").place->value,
            fmt::format("\"transport\" says {} and \"type\" says {}; they mean the same, keep one",
                        to_text(*member("transport").value), to_text(*member("type").value)));
      return std::nullopt;
    }
    if (*type) return **type;
    if (*transport) return **transport;
    if (member("command")) return ServerKind::stdio;
    if (auto url = member("url")) {
      failed_ = true;
      report_.error(url.place->key,
                    fmt::format("MCP server {} has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / "
                                "\"ws\") to this entry",
                                quoted(server_.name)),
                    server_.name);
      return std::nullopt;
    }
    error(place_.value, "expected a \"command\" to start, or a \"type\" and a \"url\" to connect to");
    return std::nullopt;
  }

  // The kind a key names, nothing when the key is absent; nullopt after an error.
  std::optional<std::optional<ServerKind>> read_type(std::string_view key) {
    auto at = member(key);
    if (!at) return std::optional<ServerKind>();
    const auto* text = at.value->if_string();
    if (text == nullptr) {
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
      read_cwd();
    } else {
      read_url();
      server_.headers = read_named_texts("headers");
    }
    for (std::string_view key : {"url", "headers"}) {
      if (auto at = member(key); local && at) not_used(at, key);
    }
    for (std::string_view key : {"command", "args", "env", "cwd"}) {
      if (auto at = member(key); !local && at) not_used(at, key);
    }
  }

  void not_used(const Member& at, std::string_view key) {
    warn(at.place->key, fmt::format("\"{}\" is not used by a server of type \"{}\"", key, to_string(server_.kind)));
  }

  void read_command() {
    auto at = member("command");
    if (!at) {
      error(place_.value, "a server of type \"stdio\" needs a \"command\"");
      return;
    }
    auto command = read_text("command");
    if (!command) return;
    if (trim(*command).empty()) {
      error(at.place->value, "\"command\" is empty");
      return;
    }
    server_.command = std::move(*command);
  }

  void read_cwd() {
    auto cwd = read_text("cwd");
    if (!cwd) return;
    if (cwd->empty()) {
      warn(member("cwd").place->value, "\"cwd\" is empty and ignored");
    } else {
      server_.cwd = std::move(*cwd);
    }
  }

  void read_url() {
    auto at = member("url");
    if (!at) {
      error(place_.value, fmt::format("a server of type \"{}\" needs a \"url\"", to_string(server_.kind)));
      return;
    }
    auto url = read_text("url");
    if (!url) return;
    if (url->empty()) warn(at.place->value, "\"url\" is empty, so there is nothing to connect to");
    server_.url = std::move(*url);
  }

  void read_common() {
    if (auto at = member("timeout")) read_timeout(at);
    if (auto at = member("disabled")) {
      if (const auto* value = at.value->if_bool()) {
        server_.disabled = *value;
      } else {
        wrong_kind(at, "disabled", "true or false");
      }
    }
    if (member("enabledTools")) server_.enabled_tools = read_texts("enabledTools");
    server_.disabled_tools = read_texts("disabledTools");
  }

  void read_timeout(const Member& at) {
    auto value = at.value->to_int();
    if (!value || *value < 0) {
      if (at.value->is_number()) {
        error(at.place->value,
              fmt::format("\"timeout\" must be a whole number of milliseconds, found {}", to_text(*at.value)));
      } else {
        wrong_kind(at, "timeout", "a number of milliseconds");
      }
    } else if (*value < least_timeout_ms) {
      warn(at.place->value,
           fmt::format("\"timeout\" is in milliseconds and {} is less than a second: it is ignored", *value));
    } else {
      server_.timeout = std::chrono::milliseconds(std::min(*value, most_timeout_ms));
    }
  }

  void read_unknown() {
    std::size_t i = 0;
    for (const auto& [key, value] : entry_) {
      const auto& place = place_.children[i++];
      if (std::ranges::find(known_keys, key) != known_keys.end()) continue;
      server_.extra[key] = value;
      std::vector<std::string> keys(known_keys.begin(), known_keys.end());
      auto meant = nearest(key, keys);
      warn(place.key, meant.empty()
                          ? fmt::format("unknown key {} is ignored", quoted(key))
                          : fmt::format("unknown key {} is ignored; did you mean \"{}\"?", quoted(key), meant));
    }
  }

  // A text that the system or the network must be able to carry.
  std::optional<std::string> checked(const Json& value, const Place& place, const std::string& key) {
    const auto* text = value.if_string();
    if (text == nullptr) {
      wrong_kind({&value, &place}, key, "a string");
      return std::nullopt;
    }
    if (has_nul(*text)) {
      error(place.value, fmt::format("\"{}\" contains a NUL character", key));
      return std::nullopt;
    }
    if (padded(*text)) {
      warn(place.value, fmt::format("\"{}\" begins or ends with a blank, which is passed on as it is", key));
    }
    return *text;
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
      if (auto fault = key == "env" ? variable_fault(name) : header_fault(name, value); !fault.empty()) {
        error(place.key, std::move(fault));
        continue;
      }
      if (padded(name)) {
        warn(place.key,
             fmt::format("the name {} in \"{}\" begins or ends with a blank, which is part of it", quoted(name), key));
      }
      auto text = checked(value, place, fmt::format("{}.{}", key, name));
      if (text) out.emplace_back(name, std::move(*text));
    }
    return out;
  }

  static std::string variable_fault(const std::string& name) {
    if (name.empty()) return "a variable in \"env\" has an empty name";
    if (has_nul(name) || name.find('=') != std::string::npos) {
      return fmt::format("{} in \"env\" cannot be the name of a variable", quoted(name));
    }
    return {};
  }

  static std::string header_fault(const std::string& name, const Json& value) {
    if (!is_header_name(trim(name))) {
      return fmt::format("{} in \"headers\" cannot be the name of a header", quoted(name));
    }
    const auto* text = value.if_string();
    if (text != nullptr && text->find_first_of("\r\n") != std::string::npos) {
      return fmt::format("the header \"{}\" contains a line break", name);
    }
    return {};
  }

  const Json::Object& entry_;
  const Place& place_;
  Report& report_;
  ServerConfig server_;
  bool failed_ = false;
};

struct Servers {
  const Json::Object* map = nullptr;
  const Place* place = nullptr;
  bool bare = false;
};

// Which object of the file holds the servers; nothing after a problem was reported.
std::optional<Servers> find_servers(const Json& root, const Place& place, ServerMap map, Report& report) {
  const auto* top = root.if_object();
  if (top == nullptr) {
    report.error(place.value,
                 fmt::format("expected an object with \"mcpServers\", found {}; {}", kind_with_article(root), remedy));
    return std::nullopt;
  }
  std::size_t i = 0;
  for (const auto& [key, value] : *top) {
    const auto& member = place.children[i++];
    if (key != "mcpServers") continue;
    if (const auto* servers = value.if_object()) return Servers{servers, &member, false};
    report.error(member.value,
                 fmt::format("\"mcpServers\" must be an object, found {}; {}", kind_with_article(value), remedy));
    return std::nullopt;
  }
  i = 0;
  for (const auto& [key, value] : *top) {
    const auto& member = place.children[i++];
    // A server may be called "servers"; a map of servers has no command of its own.
    bool entry = value.find("command") != nullptr || value.find("type") != nullptr || value.find("url") != nullptr;
    if (key == "servers" && !entry) {
      report.error(member.key, "\"servers\" is not read here; rename it to \"mcpServers\"");
      return std::nullopt;
    }
    if (!entry && edit_distance(to_lower_ascii(key), "mcpservers", 2) <= 2) {
      report.error(member.key, fmt::format("{} is not read; did you mean \"mcpServers\"?", quoted(key)));
      return std::nullopt;
    }
  }
  if (map == ServerMap::wrapped_or_bare) return Servers{top, &place, true};
  return std::nullopt;
}

}  // namespace

std::string server_name_fault(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (std::ranges::find(reserved_names, name) != reserved_names.end()) {
    return "the name is reserved; give the server another one";
  }
  if (has_control(name)) return "the name contains a control character";
  return {};
}

ParsedServers parse_servers(std::string_view text, const ConfigOrigin& origin, ServerMap map) {
  ParsedServers out;
  Report report(text, origin, out);
  if (text.starts_with("\xEF\xBB\xBF")) {
    report.error(0, "the file begins with a byte order mark; save it as UTF-8 without one");
    return out;
  }
  if (!valid_utf8(text)) {
    report.error(first_invalid(text), fmt::format("the file is not UTF-8; save it as UTF-8 and run the command again"));
    return out;
  }
  if (trim(text).empty()) {
    report.error(0, fmt::format("the file is empty, expected an object with \"mcpServers\"; {}", remedy));
    return out;
  }
  auto root = parse_json_located(text);
  if (!root) {
    report.error(root.error().offset, fmt::format("{}; {}", root.error().reason, remedy));
    return out;
  }
  auto place = places_in(text, placed_depth);
  auto servers = find_servers(*root, place, map, report);
  if (!servers) return out;
  std::size_t i = 0;
  for (const auto& [name, value] : *servers->map) {
    const auto& at = servers->place->children[i++];
    if (servers->bare && name.starts_with('$')) continue;  // "$schema"
    const auto* entry = value.if_object();
    if (entry == nullptr) {
      out.broken.push_back(name);
      report.error(at.value,
                   fmt::format("MCP server {}: expected an object with a \"command\" or a \"url\", found {}",
                               quoted(name), kind_with_article(value)),
                   name);
      continue;
    }
    if (auto server = EntryReader(name, *entry, at, origin, report).read()) {
      out.servers.push_back(std::move(*server));
    } else {
      out.broken.push_back(name);
    }
  }
  return out;
}

}  // namespace patchbay
