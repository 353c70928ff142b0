// Which proxy leads to a URL: what was configured, or what the usual variables say. Used by
// the HTTP client and the WebSocket client. Pure: the environment is handed in.
//
// https: https_proxy, HTTPS_PROXY; http: http_proxy, HTTP_PROXY (the latter not in a CGI
// program, where a request could set it); then all_proxy, ALL_PROXY. no_proxy and NO_PROXY
// hold names, addresses and networks that are reached directly, or "*". Our own machine is
// never reached through a proxy of the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/url.h"

namespace patchbay {

// Looks a variable up.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;
EnvironmentLookup environment_lookup();

struct ProxyChoice {
  std::string url;     // with scheme; empty: none
  std::string source;  // the variable, or "the configuration"
  bool operator==(const ProxyChoice&) const = default;
};

Result<ProxyChoice> choose_proxy(const Url& target, const std::optional<std::string>& configured,
                                 const EnvironmentLookup& environment);
// Whether a NO_PROXY text covers this URL.
bool bypasses_proxy(const Url& target, std::string_view no_proxy);

}  // namespace patchbay
