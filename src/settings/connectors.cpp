#include "settings/connectors.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "http/url.h"
#include "json/kind_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_kept = std::chrono::hours(24 * 7);
constexpr std::size_t most_connectors = 1000;
constexpr std::int64_t least_timeout_ms = 100;
constexpr std::int64_t most_timeout_ms = 60'000;

// A token and what it opens must not go over a network unencrypted.
bool is_private(std::string_view text) {
  auto url = parse_url(text);
  return url && (url->scheme == "https" || (url->scheme == "http" && is_loopback_host(url->host)));
}

bool is_shown_name(std::string_view name) noexcept {
  return !trim(name).empty() && name.size() <= 200 &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

std::string text_of(const Json& value, std::string_view key) {
  const auto text = value[key].text();
  return std::string(text.value_or(""));
}

std::optional<Connector> connector_of(const Json& value) {
  Connector one{text_of(value, "id"), text_of(value, "display_name"), text_of(value, "url")};
  if (one.name.empty()) one.name = text_of(value, "name");
  if (!is_shown_name(one.name) || !is_private(one.url)) return std::nullopt;
  return one;
}

// Whom the cache belongs to, without the bearer in it: as written it may be the token itself.
std::string owner_of(const ConnectorDirectory& directory) {
  return sha256_hex(to_text(Json::array({directory.url, directory.bearer})));
}

}  // namespace

std::optional<ConnectorDirectory> read_connector_directory(const ConfigDocument::Member& at, ConfigReport& report) {
  auto wrong = [&](const ConfigDocument::Member& member, std::string message) -> std::optional<ConnectorDirectory> {
    report.error(member.place->value, fmt::format("{}; {}", message, fix_the_file));
    return std::nullopt;
  };
  if (!at.value->is_object()) {
    return wrong(at, fmt::format("\"connectors\" must be an object, found {}", kind_with_article(*at.value)));
  }
  ConnectorDirectory out;
  std::size_t i = 0;
  for (const auto& [key, value] : *at.value->if_object()) {
    ConfigDocument::Member member{&value, &at.place->children[i++]};
    if (key == "url" || key == "bearer" || key == "proxy") {
      const auto text = value.text();
      if (!text) {
        return wrong(member,
                     fmt::format("\"connectors.{}\" must be a string, found {}", key, kind_with_article(value)));
      }
      (key == "url" ? out.url : key == "bearer" ? out.bearer : out.proxy) = *text;
    } else if (key == "timeout") {
      auto ms = value.to_int();
      if (!ms || *ms < least_timeout_ms || *ms > most_timeout_ms) {
        return wrong(member, fmt::format("\"connectors.timeout\" must be from {} to {} milliseconds, found {}",
                                         least_timeout_ms, most_timeout_ms, to_text(value)));
      }
      out.timeout = std::chrono::milliseconds(*ms);
    } else if (key == "enabled") {
      if (!value.is_bool()) {
        return wrong(member,
                     fmt::format("\"connectors.enabled\" must be true or false, found {}", kind_with_article(value)));
      }
      out.enabled = *value.to_bool();
    } else {
      report.warning(member.place->key,
                     fmt::format("unknown key {} has no effect", to_text(Json(fmt::format("connectors.{}", key)))));
    }
  }
  if (!out.proxy.empty() && !is_private(out.proxy)) {
    return wrong(at, "\"connectors.proxy\" must be the URL of a proxy and begin with https://");
  }
  if (!is_private(out.url)) {
    return wrong(at, "\"connectors.url\" must be the URL of a connector directory and begin with https://");
  }
  return out;
}

std::expected<ConnectorPage, std::string> parse_connector_page(std::string_view text) {
  const auto value = parse_json_located(text);
  if (!value) return std::unexpected(fmt::format("the answer is not JSON: {}", value.error().reason));
  const auto* items = value->is_object() ? (*value)["data"].if_array() : nullptr;
  if (items == nullptr) return std::unexpected(std::string("the answer has no list \"data\""));
  ConnectorPage page;
  for (const auto& item : *items) {
    if (page.connectors.size() >= most_connectors) break;
    if (auto one = connector_of(item)) page.connectors.push_back(std::move(*one));
  }
  if (const auto next = (*value)["next_page"].text(); next && !next->empty()) page.next = *next;
  return page;
}

std::string connector_cache_text(const ConnectorDirectory& directory, const ConnectorCache& cache) {
  Json list = Json::array();
  for (const auto& one : cache.connectors) list.push_back({{"id", one.id}, {"name", one.name}, {"url", one.url}});
  return to_text(Json{{"version", 1},
                      {"directory", owner_of(directory)},
                      {"fetched", cache.fetched.time_since_epoch().count()},
                      {"connectors", std::move(list)}});
}

std::optional<ConnectorCache> read_connector_cache(std::string_view text, const ConnectorDirectory& directory,
                                                   std::chrono::sys_seconds now) {
  const auto value = parse_json_located(text);
  if (!value || !value->is_object() || (*value)["version"].to_int() != 1 ||
      text_of(*value, "directory") != owner_of(directory)) {
    return std::nullopt;
  }
  auto fetched = (*value)["fetched"].to_int();
  const auto* items = (*value)["connectors"].if_array();
  if (!fetched || *fetched < 0 || items == nullptr) return std::nullopt;
  ConnectorCache cache;
  cache.fetched = std::chrono::sys_seconds(std::chrono::seconds(*fetched));
  if (cache.fetched > now + 1min || now - cache.fetched > longest_kept) return std::nullopt;
  for (const auto& item : *items) {
    if (cache.connectors.size() >= most_connectors) break;
    if (auto one = connector_of(item)) cache.connectors.push_back(std::move(*one));
  }
  return cache;
}

bool signs_in_at_connectors(const ConnectorDirectory& directory) { return trim(directory.bearer).empty(); }

std::string proxy_address(const ConnectorDirectory& directory) {
  auto address = directory.proxy.substr(0, directory.proxy.find("{server_id}"));
  while (address.ends_with('/')) address.pop_back();
  return address;
}

bool is_behind_proxy(const ConnectorDirectory& directory, const ServerConfig& server) {
  return server.origin.scope == ConfigScope::connector && !directory.proxy.empty() &&
         server.extra["connectorId"].text().has_value();
}

ParsedServers connector_servers(const ConnectorDirectory& directory, const std::vector<Connector>& connectors) {
  ParsedServers out;
  std::set<std::string> names;
  for (const auto& one : connectors) {
    ServerConfig server;
    server.name = fmt::format("claude.ai {}", one.name);
    for (int count = 2; !names.insert(server.name).second; ++count) {
      server.name = fmt::format("claude.ai {} ({})", one.name, count);
    }
    server.kind = ServerKind::http;
    server.url = one.url;
    server.origin = {directory.url, 0, ConfigScope::connector, ConfigTrust::trusted, 0};
    if (!one.id.empty()) server.extra = Json{{"connectorId", one.id}};
    out.servers.push_back(std::move(server));
  }
  return out;
}

}  // namespace patchbay
