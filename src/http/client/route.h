// The way to a URL: which proxy, whose certificates are trusted, which certificate is ours. One
// answer for HTTP and WebSocket, out of the settings of a server and the usual variables:
//
//   SSL_CERT_FILE, SSL_CERT_DIR   replace the system's CAs, as they do for OpenSSL
//   NODE_EXTRA_CA_CERTS           more of them
//   CLAUDE_CODE_CLIENT_CERT, CLAUDE_CODE_CLIENT_KEY, CLAUDE_CODE_CLIENT_KEY_PASSPHRASE
//                                 a client certificate for servers whose entry has none
//
// A server's own CA file is all that is trusted for it. The environment is handed in; files are looked at, and
// Errc::config says so where one is a pipe, a device or too large.
#pragma once

#include "http/client/curl_transfer.h"
#include "http/client/http_client.h"

namespace patchbay {

struct Route {
  TransferOptions transfer;    // for http and https, also when the URL is ws or wss
  HttpFailureContext context;  // without method and limit
};

Result<Route> route_to(const Url& url, const HttpClientOptions& settings);

// A file in NODE_EXTRA_CA_CERTS that cannot be read is passed over, as node does; this logs it.
void warn_of_unread_trust(const HttpClientOptions& settings);

}  // namespace patchbay
