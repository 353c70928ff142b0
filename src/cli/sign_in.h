// How commands sign in at servers: what the settings say for all of them, and for `login` and `xaa login` how the user
// is shown a page or pastes an address. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <patchbay/config.h>
#include <patchbay/sign_in.h>

#include "cli/context.h"
#include "cli/io.h"
#include "cli/waiting.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// "xaaIdp" of the user's and the organisation's settings, with MCP_XAA_IDP_CLIENT_SECRET when that is set.
std::optional<IdentityProvider> identity_provider(const LoadedConfig& config);

// For every command that may start servers: nobody is shown a page.
SignInOptions sign_in_options(const LoadedConfig& config);
// For `login` and `xaa login`: with a browser, or with --no-browser by copying.
// `shown` becomes true when the user has been sent to a page.
void let_user_sign_in(SignInOptions& options, const LoadedConfig& config, const Settings& settings, Io& io,
                      Waiting& waiting, std::shared_ptr<bool> shown);

// Whether `login NAME` is about the directory of connectors and not about a server.
bool means_connectors(const LoadedConfig& config, const std::string& name);

// `login`, `logout` and `xaa login`; `auth` and the rest of `xaa` start nothing.
Task<int> login(Context& context);
Task<int> logout(Context& context);
Task<int> xaa_login(Context& context);
int auth(const Settings& settings, Io& io);
int xaa(const Settings& settings, Io& io);

// One line of the terminal, however long: a terminal that edits lines itself cuts them at 4,095 bytes.
Task<std::optional<std::string>> read_pasted_line();

}  // namespace patchbay::cli
