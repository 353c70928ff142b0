// Asks the connector directory which servers there are, within its own time limit, and keeps the answer on disk for
// the next reading of the configuration. Run by the Host in the background; loop thread only. Whatever goes wrong is
// an Error of this alone: the servers of other sources never notice.
#pragma once

#include <patchbay/config.h>
#include <patchbay/task.h>

#include "host/start/server_start.h"
#include "http/token_source.h"
#include "settings/connectors.h"

namespace patchbay {

// Whoever signs in at the directory, where no bearer is written down; null where one is.
std::shared_ptr<ServerSignIn> directory_sign_in(const ConnectorDirectory& directory,
                                                const std::shared_ptr<const StartContext>& context,
                                                const Runtime& runtime, asio::any_io_executor executor);

// With Error::sign_in where the user has to sign in first. Throws Errc::unauthorized, Errc::http, Errc::timeout and
// whatever else a request can end in; nothing is kept then.
Task<void> fetch_connectors(ConnectorDirectory directory, std::shared_ptr<const StartContext> context, Runtime runtime);

// The bearer for the proxy its servers are reached through, where the settings name one: fetched when first needed, and
// again when it was refused. Renewing is up to whoever writes what "bearer" refers to; without one the user signs in
// (auth/engine/sign_in), and that renews.
std::shared_ptr<TokenSource> connector_tokens(ConnectorDirectory directory, std::shared_ptr<const StartContext> context,
                                              Runtime runtime);

// Whether what is kept is new enough not to ask.
bool connectors_are_fresh(const ConnectorDirectory& directory, const Clock& clock);

}  // namespace patchbay
