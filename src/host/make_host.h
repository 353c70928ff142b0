// A Host with everything the library can hand in; its own constructors are this without it. Called by the command
// line and tests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <patchbay/host.h>
#include <patchbay/transport.h>

#include "auth/store/secret_vault.h"
#include "base/runtime.h"

namespace patchbay {

// How a declared server is reached, instead of what its entry says. For tests that change entries.
using Reach = std::function<std::shared_ptr<Transport>(const ServerConfig& entry)>;

// `doing`: what the program is doing, in a word; kept with failures (HostOptions::failure_memory).
// `vault`: the store of secrets; null: with a state directory the one in there, and nobody is asked for a passphrase.
Host make_host(HostOptions options, const Runtime& runtime, std::string doing = {}, Reach reach = {},
               std::shared_ptr<SecretVault> vault = nullptr);

// This server is another Host's, which runs the hooks for what it is sent: they are not run here as well. Before the
// server is used.
void leave_hooks_to_server(Host& host, std::string server);

}  // namespace patchbay
