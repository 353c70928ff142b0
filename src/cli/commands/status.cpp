// `patchbay status`: how the servers of this directory are, with what they offer. Without --check nothing is started:
// what is declared, with the state that was last seen and how long ago, and what the servers listed then.
// `patchbay reconnect`: one attempt to connect, now.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "catalog/naming.h"
#include "cli/commands/list_warnings.h"
#include "cli/kept.h"
#include "cli/sandboxes.h"
#include "cli/session/control.h"
#include "cli/session/use.h"
#include "cli/texts/kept_words.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/texts/sandbox_words.h"
#include "cli/texts/state_words.h"
#include "cli/words/channel_flags.h"
#include "entries/consent_text.h"
#include "gateway/host_view.h"
#include "host/server_error.h"
#include "host/sign_in/sign_ins.h"
#include "protocol/codec.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

// Longer than a session waits for a server by default.
constexpr std::chrono::milliseconds session_connects{60'000};

// One server.
struct Client : StateWords {
  const ServerConfig* entry = nullptr;
  std::optional<KeptDescription> about;
  SandboxState sandbox;  // what would hold, or holds
  ChannelVerdict channel = {};
  bool has_log = false;
};

struct State {
  std::vector<Client> clients;
  Json tools = Json::array();
  Json resources = Json::array();
  Json templates = Json::array();
  Json prompts = Json::array();
  Json session;  // null: none runs
};

Json client_json(const Client& client) {
  const auto& server = *client.entry;
  const bool broken = server.standing == ServerStanding::broken;
  const auto* about = client.about ? &*client.about : nullptr;
  Json out{{"name", server.name},
           {"state", to_string(client.state)},
           {"reason", client.reason},
           {"age", client.age ? Json(client.age->count()) : Json()},
           {"scope", to_string(server.origin.scope)},
           {"source", source_json(server.origin)},
           {"transport", broken ? Json() : Json(to_string(server.kind))},
           {"config", broken ? Json() : shown_entry(server)},
           {"era", about && !about->era.empty() ? Json(about->era) : Json()},
           {"protocolVersion", about ? Json(about->server.protocol_version) : Json()},
           {"serverInfo", about ? encode(about->server.info) : Json()},
           {"capabilities", about ? encode(about->server.capabilities) : Json()},
           {"toolCount", client.tool_count},
           {"error", client.error.empty() ? Json() : Json(client.error)},
           {"attempt", client.attempts > 0 ? Json(client.attempt) : Json()},
           {"attempts", client.attempts > 0 ? Json(client.attempts) : Json()},
           {"lastFailure", client.last_failure
                               ? Json{{"error", client.last_failure->error}, {"age", client.last_failure->age.count()}}
                               : Json()}};
  if (client.sandbox.mode != SandboxMode::off) out["sandbox"] = sandbox_json(client.sandbox);
  if (auto channel = channel_json(client.channel); !channel.is_null()) out["channel"] = std::move(channel);
  return out;
}

Json state_json(const State& state) {
  Json clients = Json::array();
  Json names = Json::object();
  for (const auto& client : state.clients) {
    clients.push_back(client_json(client));
    names[normalise_name(client.entry->name)] = client.entry->name;
  }
  Json out{{"clients", std::move(clients)},        {"tools", state.tools},     {"resources", state.resources},
           {"resourceTemplates", state.templates}, {"prompts", state.prompts}, {"normalizedNames", std::move(names)}};
  if (!state.session.is_null()) out["session"] = state.session;
  return out;
}

std::vector<std::string> awaiting(const State& state) {
  std::vector<std::string> out;
  for (const auto& client : state.clients) {
    if (client.entry->standing == ServerStanding::awaiting_approval) out.push_back(client.entry->name);
  }
  return out;
}

std::string state_line(const Client& client, bool color) {
  StateWords words = client;
  words.by_entry = client.entry->standing != ServerStanding::active;
  // How to approve it is said once for all of them.
  if (client.entry->standing == ServerStanding::awaiting_approval) words.error.clear();
  return state_text(words, color);
}

int show(const State& state, const Settings& settings, Io& io, bool live) {
  if (settings.json) {
    io.out(json_text(state_json(state), io.out_is_terminal));
  } else {
    std::size_t width = 0;
    for (const auto& client : state.clients) width = std::max(width, safe_name(client.entry->name, 60).size());
    for (const auto& client : state.clients) {
      print_lines(io, fmt::format("{:<{}}  {:<10}  {}\n", safe_name(client.entry->name, 60), width,
                                  scope_word(client.entry->origin.scope), state_line(client, io.color)));
      if (client.sandbox.mode != SandboxMode::off) {
        print_lines(io, fmt::format("    sandbox: {}\n", sandbox_words(client.sandbox)));
      }
      if (const auto words = channel_words(client.channel); !words.empty()) {
        print_lines(io, fmt::format("    channel: {}\n", words));
      }
      const bool failed = client.state == ServerState::failed && client.entry->standing == ServerStanding::active;
      if (failed && client.has_log) print_lines(io, fmt::format("    {}\n", log_words(client.entry->name)));
    }
    const auto waiting = awaiting(state);
    if (!waiting.empty() && !settings.quiet) io.talk(approval_line(waiting));
    if (state.clients.empty()) {
      io.talk(settings.strict
                  ? no_servers_text()
                  : "No server is configured, so commands use the built-in server \"patchbay\": it needs no "
                    "start and has no state. To list its tools: patchbay tools\n");
    }
    if (!live && !state.clients.empty() && !settings.quiet && io.talk_is_terminal) {
      io.talk("As last seen; nothing was started. To connect now: patchbay status --check\n");
    }
  }
  return 0;
}

Client client_of(const KeptRow& row, std::chrono::sys_seconds now) {
  Client out;
  out.entry = row.server;
  out.server = row.server->name;
  out.state = row.state;
  out.reason = row.reason;
  out.error = row.usable ? std::string() : row.detail;
  // What is there and cannot be read is not the same as nothing.
  if (row.tools == KeptUse::newer || row.tools == KeptUse::unreadable) {
    out.error = fmt::format("its last state {}", to_string(row.tools));
  }
  if (!row.kept || !row.usable) return out;
  out.about = row.kept->description;
  if (row.kept->tools) out.tool_count = row.kept->tools->items.size();
  if (const auto& last = row.kept->state) {
    out.state = last->state;
    out.reason = last->reason;
    out.error = last->error;
    const bool signs_in = last->state == ServerState::needs_auth && may_sign_in(*row.server);
    if (signs_in && !out.error.empty()) {
      out.error = continued(std::move(out.error), remedy_words({Remedy::Kind::sign_in, row.server->name}));
    }
    out.age = now - last->time;
  }
  return out;
}

bool is_meant(const Settings& settings, const std::string& server) {
  return settings.words.empty() || std::ranges::find(settings.words, server) != settings.words.end();
}

// The session of this directory knows better than any file how its servers are.
void look(State& state, const SessionState& session) {
  for (auto& client : state.clients) {
    if (client.entry->standing != ServerStanding::active) continue;
    auto said = server_in(session, client.entry->name);
    if (!said) continue;
    client.state = said->state;
    client.reason = std::move(said->reason);
    client.error = std::move(said->error);
    client.tool_count = said->tool_count;
    client.attempt = said->attempt;
    client.attempts = said->attempts;
    client.last_failure = std::move(said->last_failure);
    client.age.reset();
  }
}

State kept_state(const Settings& settings, const KeptView& view) {
  State out;
  for (const auto& row : view.rows) {
    if (!is_meant(settings, row.server->name)) continue;
    out.clients.push_back(client_of(row, view.now));
    const auto& name = row.server->name;
    if (!row.kept) continue;
    if (row.prompts == KeptUse::usable && row.kept->prompts) {
      for (const auto& one : row.kept->prompts->items) out.prompts.push_back(prompt_json(name, one));
    }
    if (row.resources != KeptUse::usable) continue;
    if (row.kept->resources) {
      for (const auto& one : row.kept->resources->items) out.resources.push_back(with_server(name, encode(one)));
    }
    if (row.kept->templates) {
      for (const auto& one : row.kept->templates->items) out.templates.push_back(with_server(name, encode(one)));
    }
  }
  Sandboxes sandboxes(view.declared.config);
  const auto channels = channel_options(settings);
  for (auto& client : out.clients) {
    client.sandbox = sandboxes.of(*client.entry);
    client.channel = judge_channel(*client.entry, layers_of(view.declared.config.settings), channels);
    client.has_log = has_log(*client.entry, view.declared.config);
  }
  const auto catalog = view.catalog();
  for (const auto& entry : catalog->tools()) {
    if (is_meant(settings, entry.server)) out.tools.push_back(tool_json(entry));
  }
  return out;
}

void require_names(const LoadedConfig& config, const Settings& settings) {
  for (const auto& name : settings.words) (void)all_named(config, name);
}

// What a connected server offers beside tools.
Task<ListedNow> listed_by(Host& host, ServerCapabilities capabilities, std::string name) {
  ListedNow out{name};
  if (capabilities.prompts) {
    if (auto list = co_await as_result(host.prompts(name))) out.prompts = *list->items;
  }
  if (capabilities.resources) {
    if (auto list = co_await as_result(host.resources(name))) out.resources = *list->items;
    if (auto list = co_await as_result(host.resource_templates(name))) out.templates = *list->items;
  }
  co_return out;
}

// Connects to those that may be used, and returns why the others may not: they are not started.
Task<std::map<std::string, std::string>> connect_permitted(Host& host, std::vector<std::string> names) {
  std::map<std::string, std::string> denied;
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& name : names) {
    scope.spawn([](Host& h, std::string server, std::map<std::string, std::string>& refused) -> Task<void> {
      const auto session = co_await as_result(h.session(server));
      if (!session && session.error().code() == Errc::denied) refused.emplace(server, session.error().message());
    }(host, name, denied));
  }
  co_await scope.finish();
  co_return denied;
}

}  // namespace

int status(const Settings& settings, Io& io) {
  const auto session = flags_against_session(settings).empty() ? session_seen() : std::nullopt;
  const auto view = kept_view(settings);
  require_names(view.declared.config, settings);
  auto state = kept_state(settings, view);
  if (session) {
    look(state, *session);
    state.session = session_json(*session);
  }
  const int code = show(state, settings, io, session.has_value());
  if (session && !settings.json) print_lines(io, "\n" + session_line(*session));
  return code;
}

Task<int> status_checked(Context& context) {
  const auto& settings = context.settings;
  const auto& config = context.host.config();
  require_names(config, settings);
  State state;
  std::vector<std::string> startable;
  for (const auto& server : config.servers) {
    if (server.standing == ServerStanding::active && is_meant(settings, server.name)) startable.push_back(server.name);
  }
  context.waiting.begin(fmt::format("checking {}", plural(startable.size(), "server")));
  const auto denied = co_await connect_permitted(context.host, std::move(startable));
  std::vector<ListedNow> lists;
  for (const auto& status : context.statuses()) {
    if (status.state != ServerState::connected) continue;
    const auto session = co_await as_result(session_to_list(context, status.name, ""));
    if (session && *session) {
      lists.push_back(co_await listed_by(context.host, (*session)->server().capabilities, status.name));
    }
  }
  context.waiting.end();
  const auto statuses = context.statuses();
  bool failed = false;
  Sandboxes sandboxes(config);
  for (const auto& server : config.servers) {
    if (!is_meant(settings, server.name)) continue;
    const auto status = std::ranges::find(statuses, server.name, &ServerStatus::name);
    if (status == statuses.end()) continue;
    Client client;
    client.entry = &server;
    client.server = server.name;
    client.sandbox = sandboxes.of(server);
    client.has_log = has_log(server, config);
    client.channel = judge_channel(server, layers_of(config.settings), channel_options(settings));
    client.state = status->state;
    client.reason = to_string(status->reason);
    client.error = status->error           ? status->error->message()
                   : server.reason.empty() ? std::string()
                                           : reason_words(server);
    if (const auto refused = denied.find(server.name); refused != denied.end()) client.error = refused->second;
    if (status->server)
      client.about = KeptDescription{*status->server, status->era ? std::string(to_string(*status->era)) : ""};
    client.tool_count = status->tool_count;
    client.attempt = status->attempt;
    client.attempts = status->attempts;
    failed |= status->state == ServerState::failed || status->state == ServerState::needs_auth;
    state.clients.push_back(std::move(client));
  }
  const auto catalog = context.host.catalog();
  for (const auto& entry : catalog->tools()) {
    if (is_meant(settings, entry.server)) state.tools.push_back(tool_json(entry));
  }
  for (const auto& list : lists) {
    for (const auto& one : list.prompts.value_or(std::vector<Prompt>())) {
      state.prompts.push_back(prompt_json(list.server, one));
    }
    for (const auto& one : list.resources.value_or(std::vector<Resource>())) {
      state.resources.push_back(with_server(list.server, encode(one)));
    }
    for (const auto& one : list.templates.value_or(std::vector<ResourceTemplate>())) {
      state.templates.push_back(with_server(list.server, encode(one)));
    }
  }
  co_await keep_lists(context, std::move(lists));
  (void)show(state, settings, context.io, true);
  if (failed) co_return 3;
  // As for other commands: what awaits approval or is switched off is a matter of configuration.
  auto is = [&](ServerState what) {
    return std::ranges::any_of(state.clients, [&](const Client& one) { return one.state == what; });
  };
  if (!settings.words.empty()) co_return is(ServerState::pending) || is(ServerState::disabled) ? 2 : 0;
  co_return !awaiting(state).empty() && !is(ServerState::connected) ? 2 : 0;
}

Task<int> reconnect(Context& context) {
  const auto name = context.settings.words.front();
  context.waiting.begin(fmt::format("connecting to {}", name));
  if (context.session) {
    const auto limit = context.settings.timeout_seconds ? timeout_of(context.settings) : session_connects;
    const Json params{{"server", name}};
    auto made = co_await as_result(
        answer_of_session(context.session->place, std::string(session_method::reconnect), params, limit));
    if (!made) throw error_of_server(name, made.error());
  }
  (void)co_await start_servers(context, name);
  const auto statuses = context.statuses();
  const auto status = std::ranges::find(statuses, name, &ServerStatus::name);
  if (context.settings.json) {
    context.print_json(status_json(*status));
  } else if (status->state == ServerState::connected) {
    print_lines(context.io, status_line(*status, context.io.color, {status->tool_count, 0}) + "\n");
  }
  co_return listing_exit_code(context, name);
}

}  // namespace patchbay::cli
