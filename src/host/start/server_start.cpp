#include "host/start/server_start.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/strings.h"
#include "host/config/connector_fetch.h"
#include "host/start/helper_command.h"
#include "host/start/helper_headers.h"
#include "host/start/sandbox_start.h"
#include "process/command_lookup.h"
#include "settings/files.h"
#include "settings/settings_layers.h"
#include "transport/http.h"
#include "transport/http_requester.h"
#include "transport/proxy.h"
#include "transport/stdio.h"
#include "transport/ws.h"

namespace patchbay {
namespace {

constexpr std::size_t secret_limit = 64u << 10;

StdioTarget stdio_options(const ServerConfig& config) {
  StdioTarget options;
  options.command = config.command;
  options.args = config.args;
  for (const auto& [key, value] : config.env) options.env[key] = value;
  options.cwd = config.cwd.value_or("");
  return options;
}

HttpTarget http_options(const ServerConfig& config) {
  HttpTarget options;
  options.url = config.url;
  options.headers = config.headers;
  options.ca_file = config.tls.ca;
  options.client_certificate = config.tls.cert;
  options.client_key = config.tls.key;
  options.client_key_password = config.tls.passphrase;
  return options;
}

// A path of the user: ~ is theirs, what is relative begins where we were started.
std::string path_of(const std::string& path, const StartContext& context) {
  if (path.starts_with("~/")) {
    auto home = context.variables("HOME");
    return home.value_or("") + path.substr(1);
  }
  return (std::filesystem::path(context.run.cwd) / path).lexically_normal().string();
}

Error secret_error(const ServerConfig& server, const SecretReference& reference, std::string_view why) {
  return Error(Errc::config,
               fmt::format("server \"{}\": ${{{}:{}}} in \"{}\" (from {}) is not available: {}", server.name,
                           to_string(reference.kind), reference.kind == SecretKind::command ? "…" : reference.argument,
                           reference.place, server.origin.file, why));
}

Task<std::string> value_of(const ServerConfig& server, const SecretReference& reference,
                           std::shared_ptr<const StartContext> context, Runtime runtime) {
  switch (reference.kind) {
    case SecretKind::environment: {
      auto value = context->variables(reference.argument);
      if (!value) {
        throw secret_error(
            server, reference,
            fmt::format("the variable is not set; set it, or write ${{{}:-DEFAULT}} to give it a default",
                        reference.argument));
      }
      co_return std::move(*value);
    }
    case SecretKind::file: {
      auto read = [path = path_of(reference.argument, *context)] { return read_config_text(path); };
      auto text = co_await offload(Pool::slow, std::move(read));
      if (!text) throw secret_error(server, reference, text.error());
      if (text->size() > secret_limit)
        throw secret_error(server, reference, "the file is larger than 64 KiB, the limit for a secret");
      while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
      co_return std::move(*text);
    }
    case SecretKind::stored: {
      if (!context->secrets) throw secret_error(server, reference, "no store for secrets is available");
      auto get = [lookup = context->secrets, name = reference.argument] { return lookup(name); };
      auto value = co_await offload(Pool::slow, std::move(get));
      // A store that cannot be reached is not a mistake of the entry: its error stays what it is.
      if (!value) {
        throw value.error().with_message(secret_error(server, reference, value.error().message()).message());
      }
      co_return std::move(*value);
    }
    case SecretKind::command: {
      HelperCommand command;
      command.line = reference.argument;
      command.cwd = context->run.config_dir;
      for (const auto& [name, value] : context->run.settings_env) command.environment.added.emplace(name, value);
      command.label = fmt::format("the command in \"{}\" of server \"{}\"", reference.place, server.name);
      command.output = secret_limit;
      co_return co_await run_helper(std::move(command), std::move(runtime));
    }
  }
  co_return std::string();
}

StartWatch watch_of(const ServerConfig& written, const StartContext& context, const SecretValues& secrets,
                    const NamedTexts& env_file = {}) {
  if (!context.watch) return {};
  TextSecrets hidden(context.environment);
  hidden.add_entry(written, context.variables, secrets);
  hidden.add_variables(env_file);
  return context.watch(written, std::move(hidden));
}

// Puts the sandbox that somebody asks for around a server that is about to be started.
Task<StdioTarget> confined(StdioTarget options, ServerConfig expanded, ServerConfig written,
                           std::shared_ptr<const StartContext> context) {
  auto levels = sandbox_levels(written, layers_of(context->settings));
  if (!wants_sandbox(levels)) co_return options;
  levels.command = expanded.command;
  const auto directory = (std::filesystem::path(context->run.cwd) / options.cwd).lexically_normal().string();
  const VariableLookup variables = [context, written](std::string_view name) {
    return variable_of(written, name, context->variables);
  };
  auto environment = options.env;
  environment.insert(options.context_env.begin(), options.context_env.end());
  auto plan = [=, command = options.command, config_dir = context->own_config_dir]() -> Result<SandboxStart> {
    const auto path = variable(overlay_environment(environ, environment), "PATH", default_path);
    const auto program = find_command(command, path, directory);
    return plan_sandbox(written.name, levels, sandbox_places(variables, directory, config_dir), variables,
                        program ? *program : std::string(),
                        context->sandbox_machine ? context->sandbox_machine() : SandboxMachine());
  };
  auto start = value_or_throw(co_await offload(Pool::slow, std::move(plan)));
  options.confinement = std::move(start.confinement);
  options.explain_refusal = std::move(start.explain);
  // An agent that signs for whoever asks is a key as well.
  for (const auto* name : {"SSH_AUTH_SOCK", "GPG_AGENT_INFO"}) {
    if (!options.env.contains(name)) options.unset_env.emplace_back(name);
  }
  co_return options;
}

Task<std::shared_ptr<Transport>> stdio_for(ServerConfig expanded, ServerConfig written, SecretValues secrets,
                                           std::shared_ptr<const StartContext> context) {
  auto options = stdio_options(expanded);
  options.shown = shown_target(written);
  NamedTexts env_file;
  if (expanded.env_file) {
    const auto path = path_of(*expanded.env_file, *context);
    auto read = [path] { return read_config_text(path); };
    auto text = co_await offload(Pool::slow, std::move(read));
    if (!text) {
      throw Error(
          Errc::config,
          fmt::format("server \"{}\": the \"envFile\" {} (from {}) cannot be read: {}; create it, or correct the path",
                      written.name, path, written.origin.file, text.error()));
    }
    // What the entry itself says overrides its file.
    env_file = value_or_throw(parse_env_file(*text, path));
    for (const auto& [name, value] : env_file) options.env.emplace(name, value);
  }
  auto environment = server_environment(context->environment, expanded, context->run);
  options.context_env = std::move(environment.added);
  options.unset_env = std::move(environment.removed);
  auto line = wrapped_command(expanded, context->environment);
  options.command = std::move(line.command);
  options.args = std::move(line.args);
  auto watch = watch_of(written, *context, secrets, env_file);
  options.on_stderr = std::move(watch.wrote);
  options.on_end = std::move(watch.ended);
  options = co_await confined(std::move(options), std::move(expanded), written, context);
  co_return stdio_transport_with(std::move(options), written.name);
}

std::shared_ptr<HelperHeaders> helper_for(const ServerConfig& written, const StartContext& context, Runtime& runtime) {
  if (!written.headers_helper) return nullptr;
  if (auto fault = helper_fault(written, context.run); !fault.empty()) {
    runtime.log(LogLevel::warning, "headers_helper", "text", fault);
    return nullptr;
  }
  HelperCommand command;
  command.line = *written.headers_helper;
  command.cwd = helper_directory(written, context.run);
  command.environment = helper_environment(context.environment, written, context.run);
  command.label = fmt::format("headersHelper of \"{}\"", written.name);
  return std::make_shared<HelperHeaders>(std::move(command), runtime);
}

Task<Secret> read_key_file(std::shared_ptr<const StartContext> context, std::string written) {
  auto path = path_of(written, *context);
  auto read = [path] { return read_config_text(path); };
  auto text = co_await offload(Pool::slow, std::move(read));
  if (!text) throw Error(Errc::config, fmt::format("{} cannot be read: {}", path, text.error()));
  if (text->size() > secret_limit) throw Error(Errc::config, fmt::format("{} is larger than 64 KiB", path));
  co_return Secret(std::string(trim(*text)));
}

Task<Secret> stored_secret_of(std::shared_ptr<const StartContext> context, std::string name) {
  if (!context->secrets) throw Error(Errc::config, "no store for secrets is available");
  auto get = [lookup = context->secrets, name] { return lookup(name); };
  auto value = co_await offload(Pool::slow, std::move(get));
  co_return Secret(value_or_throw(std::move(value)));
}

// A connector behind the proxy of its directory, which holds the sign-in at the far side. At the proxy itself the user
// signs in once for all of them, unless the settings say where a bearer is read.
Task<std::shared_ptr<Transport>> proxied(ServerConfig expanded, std::shared_ptr<const StartContext> context,
                                         HttpTarget options, Runtime runtime) {
  if (!context->connectors || !is_behind_proxy(*context->connectors, expanded)) co_return nullptr;
  ProxyOptions proxy;
  proxy.base = context->connectors->proxy;
  proxy.server_id = std::as_const(expanded.extra)["connectorId"].text().value_or("");
  if (signs_in_at_connectors(*context->connectors) && context->sign_ins) {
    const auto address = value_or_throw(parse_url(proxy_address(*context->connectors)));
    auto sign_in = context->sign_ins->for_address(co_await asio::this_coro::executor, address,
                                                  http_client_options(options, runtime), reading_for(context));
    context->sign_ins->use_for(expanded.name, sign_in);
    proxy.auth = std::move(sign_in);
    proxy.http = std::move(options);
    co_return proxy_transport(std::move(proxy));
  }
  proxy.auth = context->connector_auth->lock();
  if (!proxy.auth) {
    proxy.auth = proxy_auth(value_or_throw(proxy_url(proxy.base, proxy.server_id)),
                            connector_tokens(*context->connectors, context, std::move(runtime)),
                            "renew the token that \"connectors.bearer\" in config.json names");
    *context->connector_auth = proxy.auth;
  }
  proxy.http = std::move(options);
  co_return proxy_transport(std::move(proxy));
}

Task<std::shared_ptr<Transport>> remote_for(ServerConfig expanded, ServerConfig written,
                                            std::shared_ptr<const StartContext> context, Runtime runtime) {
  auto options = http_options(expanded);
  options.shown = shown_target(written);
  options.variables = context->variables;
  for (auto* file : {&options.ca_file, &options.client_certificate, &options.client_key}) {
    if (!file->empty()) *file = path_of(*file, *context);
  }
  if (auto transport = co_await proxied(expanded, context, options, runtime)) co_return transport;
  std::shared_ptr<HttpAuth> auth = helper_for(written, *context, runtime);
  if (!auth && context->sign_ins && may_sign_in(written)) {
    auth = context->sign_ins->for_entry(co_await asio::this_coro::executor, written, expanded,
                                        http_client_options(options, runtime), reading_for(context));
  }
  if (expanded.kind == ServerKind::sse) co_return sse_transport_with(std::move(options), auth);
  if (expanded.kind == ServerKind::websocket) co_return ws_transport_with(std::move(options), auth);
  co_return http_transport_with(std::move(options), auth);
}

}  // namespace

SignIns::Reading reading_for(const std::shared_ptr<const StartContext>& context) {
  // What is shared refers back to the servers, so it does not keep the context alive.
  std::weak_ptr<const StartContext> weak = context;
  const auto held = [weak] {
    auto now = weak.lock();
    if (!now) throw Error(Errc::closed, "the host was stopped");
    return now;
  };
  return {.read_file = [held](std::string path) { return read_key_file(held(), std::move(path)); },
          .secret = [held](std::string name) { return stored_secret_of(held(), std::move(name)); },
          .variables = context->variables};
}

Task<SecretValues> fetch_secrets(ServerConfig server, std::shared_ptr<const StartContext> context, Runtime runtime) {
  SecretValues values;
  const auto references = secret_references(server);
  for (const auto& reference : references) {
    if (auto fault = reference_fault(reference, server.origin); !fault.empty()) {
      throw Error(Errc::config, fmt::format("server \"{}\": {}", server.name, fault));
    }
  }
  for (const auto& reference : references) {
    auto value = co_await value_of(server, reference, context, runtime);
    if (value.find('\0') != std::string::npos)
      throw secret_error(server, reference, "the value contains a NUL character");
    values.emplace(std::pair(reference.kind, reference.argument), std::move(value));
  }
  co_return values;
}

std::string shown_target(const ServerConfig& written) {
  return written.kind == ServerKind::stdio ? stdio_transport(stdio_options(written))->describe()
                                           : http_transport(http_options(written))->describe();
}

std::optional<Error> unreachable(const ServerConfig& written) {
  if (written.kind != ServerKind::stdio && written.url.empty()) {
    // A program's own server stands in no file.
    return Error(Errc::config, fmt::format("server \"{}\" has an empty url; set it{}{}", written.name,
                                           written.origin.file.empty() ? "" : " in ", written.origin.file));
  }
  return std::nullopt;
}

Task<std::shared_ptr<Transport>> make_transport(ServerConfig written, std::shared_ptr<const StartContext> context,
                                                Runtime runtime) {
  auto secrets = co_await fetch_secrets(written, context, runtime);
  auto expanded = expand_server(written, context->variables, secrets);
  if (context->check) context->check(written, expanded);
  if (expanded.kind == ServerKind::stdio) {
    co_return co_await stdio_for(std::move(expanded), std::move(written), std::move(secrets), context);
  }
  if (const auto error = unreachable(expanded)) throw *error;
  (void)watch_of(written, *context, secrets);
  co_return co_await remote_for(std::move(expanded), std::move(written), context, std::move(runtime));
}

}  // namespace patchbay
