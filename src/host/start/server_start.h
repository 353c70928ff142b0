// From an entry as it was written to a transport that can be opened: secrets fetched, variables replaced,
// policy asked once more about what came of it, the child's environment put together. Happens when a server is
// started, and again at every new connection, so that nothing is read or run for a server nobody uses and a
// renewed secret is found. Called by Connection through a function of the Host; loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <patchbay/config.h>

#include "base/runtime.h"
#include "entries/child_env.h"
#include "entries/expand.h"
#include "entries/text_secrets.h"
#include "host/sign_in/sign_ins.h"
#include "http/auth.h"
#include "process/process.h"
#include "rpc/transport.h"
#include "sandbox/confinement.h"

namespace patchbay {

// Where ${secret:NAME} comes from. Blocking is fine: it is called on a helper thread. Errc::config when there is no
// such secret, and what to do about it.
using SecretLookup = std::function<Result<std::string>(const std::string& name)>;

// Who hears of a started command: what it writes to stderr, in pieces as they come, and how it ended. Must be quick.
struct StartWatch {
  std::function<void(std::string_view)> wrote;
  std::function<void(const ProcessEnd&)> ended;
};

// What the servers of one host share.
struct StartContext {
  RunContext run;
  VariableLookup variables;
  Environment environment;
  SecretLookup secrets;
  std::optional<ConnectorDirectory> connectors;
  // The sign-in at the proxy of the connectors, while one of them uses it: all of them share it, so that however many
  // are refused at the same time, the bearer is fetched again once. It refers back to this.
  std::shared_ptr<std::weak_ptr<HttpAuth>> connector_auth = std::make_shared<std::weak_ptr<HttpAuth>>();
  // Who signs in at servers without credentials; unset: nobody does.
  std::shared_ptr<SignIns> sign_ins;
  // Told of every start, with the secrets that the server gets. Unset: nobody is.
  std::function<StartWatch(const ServerConfig& written, TextSecrets secrets)> watch;
  // What settings say about sandboxes, and what this machine can do for one; blocking, through offload().
  SettingsLayers settings;
  std::string own_config_dir;
  std::function<SandboxMachine()> sandbox_machine;
  // Throws Errc::denied when an organisation keeps this server away.
  std::function<void(const ServerConfig& written, const ServerConfig& expanded)> check;
};

// How sign-ins read what an entry refers to. It does not keep the context alive.
SignIns::Reading reading_for(const std::shared_ptr<const StartContext>& context);

// What the secret references of an entry come to. Nothing is read or run when one of them is not allowed there.
Task<SecretValues> fetch_secrets(ServerConfig server, std::shared_ptr<const StartContext> context, Runtime runtime);

// For messages and lists: the command line or URL as written, so that no value of a variable appears in them.
std::string shown_target(const ServerConfig& written);

// What is wrong with an entry before anything is fetched for it.
std::optional<Error> unreachable(const ServerConfig& written);

// Throws Errc::config (a secret that is not there, a helper that fails, an envFile that cannot be read),
// Errc::denied and Errc::unsupported.
Task<std::shared_ptr<Transport>> make_transport(ServerConfig written, std::shared_ptr<const StartContext> context,
                                                Runtime runtime);

}  // namespace patchbay
