// Connectors: servers that a directory behind a URL lists for whoever is signed in there. Their entries have the
// lowest precedence. What the directory said last is kept on disk, so that reading the configuration never waits for
// the network; host/config/connector_fetch asks it again in the background. Pure: texts in, values out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "text/document.h"
#include "text/report.h"

namespace patchbay {

// "connectors" in our own file; nothing after a problem was reported.
std::optional<ConnectorDirectory> read_connector_directory(const ConfigDocument::Member& at, ConfigReport& report);

struct Connector {
  std::string id;
  std::string name;  // as shown
  std::string url;
  bool operator==(const Connector&) const = default;
};

// One page of the directory's answer: {"data": [{"id", "display_name", "url"}], "next_page": "..."}. What is no
// connector is left out. The error says why it is not an answer at all.
struct ConnectorPage {
  std::vector<Connector> connectors;
  std::optional<std::string> next;
  bool operator==(const ConnectorPage&) const = default;
};
std::expected<ConnectorPage, std::string> parse_connector_page(std::string_view text);

// What is kept on disk. It belongs to one directory and one bearer as written: for others it is of no use.
struct ConnectorCache {
  std::vector<Connector> connectors;
  std::chrono::sys_seconds fetched{};
  bool operator==(const ConnectorCache&) const = default;
};
std::string connector_cache_text(const ConnectorDirectory& directory, const ConnectorCache& cache);
// Nothing when it is for another directory, broken, from the future or older than a week.
std::optional<ConnectorCache> read_connector_cache(std::string_view text, const ConnectorDirectory& directory,
                                                   std::chrono::sys_seconds now);
// Older than this, the directory is asked again.
inline constexpr std::chrono::minutes connector_freshness{15};

// How a sign-in at the directory or its proxy is called, which is no server.
inline constexpr std::string_view connectors_name = "connectors";

// Whether the user signs in there, and at the proxy, as at any server: no bearer is written down.
bool signs_in_at_connectors(const ConnectorDirectory& directory);
// The proxy without the place of a server in its address: what all servers behind it sign in at. Empty: none.
std::string proxy_address(const ConnectorDirectory& directory);
// Whether a server of the directory is reached through its proxy.
bool is_behind_proxy(const ConnectorDirectory& directory, const ServerConfig& server);

// "claude.ai <name>", each once.
ParsedServers connector_servers(const ConnectorDirectory& directory, const std::vector<Connector>& connectors);

}  // namespace patchbay
