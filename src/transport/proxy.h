// A server behind a vendor's proxy that holds the sign-in at the far side: Streamable HTTP to
// an address made of the proxy's and the server's id, with our own bearer token for the proxy.
// That token goes to the proxy's origin and nowhere else, never unencrypted over a network.
//
// A 401 is about the token that was sent (http/token_rule). Many at once cause one renewal;
// when that brings nothing, the store is read again, for another process may have renewed;
// when that brings nothing either, the call fails with Errc::unauthorized and what to do.
//
// Not to be had from a configuration file. Loop thread only.
#pragma once

#include <memory>
#include <string>

#include "base/timeout.h"
#include "http/auth.h"
#include "http/token_source.h"
#include "rpc/transport.h"
#include "transport/targets.h"

namespace patchbay {

struct ProxyOptions {
  std::string base;       // "https://proxy.example/v1/mcp", or with "{server_id}" somewhere in its path
  std::string server_id;  // becomes one segment of that path
  std::shared_ptr<TokenSource> tokens;
  std::string remedy;  // what to do about a sign-in that is over, as the end of its message
  HttpTarget http;     // everything but its url
  // What proxy_auth() made once for all servers behind one proxy: however many of them are refused
  // at the same time, there is one renewal. Unset: one of its own, of `tokens` and `remedy`.
  std::shared_ptr<HttpAuth> auth;
};

std::unique_ptr<Transport> proxy_transport(ProxyOptions options);

// Errc::config when the base cannot be a proxy's or the id not part of an address.
Result<std::string> proxy_url(std::string_view base, std::string_view server_id);

// The bearer of `tokens` for requests to the origin of `url`. `limit` is for one renewal.
std::shared_ptr<HttpAuth> proxy_auth(std::string_view url, std::shared_ptr<TokenSource> tokens, std::string remedy,
                                     Duration limit = std::chrono::seconds(30));

}  // namespace patchbay
