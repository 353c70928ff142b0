#include "agent/connect_tool.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <patchbay/failure.h>
#include <patchbay/tools.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "entries/consent_text.h"
#include "entries/server_argument.h"
#include "permission/policy.h"
#include "settings/settings_layers.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 80;
constexpr std::size_t most_tools = 100;    // that are named
constexpr std::size_t most_servers = 100;  // that are named
constexpr std::size_t most_arguments = 100;
constexpr std::string_view origin_file = "connect_mcp";

std::string shown(const std::string& name) { return clean_excerpt(name, longest_name); }

std::string list_of(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    if (!out.empty()) out += ", ";
    out += shown(names[i]);
  }
  if (names.size() > most) out += fmt::format(", and {} more", names.size() - most);
  return out;
}

// What the model gave for a server that nobody declared; null: nothing.
Result<Json> entry_of(const Json& arguments) {
  const auto wrong = [](std::string why) { return fail(Errc::invalid_argument, std::move(why)); };
  const auto& url = arguments["url"];
  const auto& command = arguments["command"];
  const auto& args = arguments["args"];
  if (url.is_null() && command.is_null()) {
    if (!args.is_null()) return wrong("\"args\" belong to a \"command\"");
    return Json();
  }
  if (!url.is_null() && !command.is_null()) return wrong("give either \"url\" or \"command\"");
  Json entry = Json::object();
  if (!url.is_null()) {
    if (!url.is_string() || !args.is_null()) return wrong("\"url\" is one text, and has no \"args\"");
    const auto scheme = to_lower_ascii(url.text()->substr(0, url.text()->find(':')));
    const bool socket = scheme == "ws" || scheme == "wss";
    if (!socket && scheme != "http" && scheme != "https") {
      return wrong("\"url\" begins with https, http, wss or ws");
    }
    entry["type"] = socket ? "ws" : "http";
    entry["url"] = url;
    return entry;
  }
  if (!command.is_string()) return wrong("\"command\" is one text: the program alone");
  entry["command"] = command;
  if (args.is_null()) return entry;
  const auto is_text = [](const Json& item) { return item.is_string(); };
  if (!args.is_array() || args.size() > most_arguments || !std::ranges::all_of(args.items(), is_text)) {
    return wrong(fmt::format("\"args\" is a list of at most {} texts", most_arguments));
  }
  entry["args"] = args;
  return entry;
}

// It is shown as it is written, so it has to mean what is shown: no variables, which could carry secrets away.
Result<ServerConfig> server_of(const std::string& name, const Json& entry) {
  const auto text = to_text(entry);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.size() > longest_name || !std::ranges::all_of(name, plain)) {
    return fail(Errc::invalid_argument, "the name of a new server consists of letters, digits, _ and -");
  }
  if (text.contains("${")) return fail(Errc::invalid_argument, "a server given here may not name variables (${...})");
  auto parsed = parse_server_argument(fmt::format("{}={}", name, text), std::string(origin_file));
  for (const auto& problem : parsed.problems) {
    if (problem.severity == Severity::error) return fail(Errc::invalid_argument, problem.message);
  }
  if (parsed.servers.size() != 1) return fail(Errc::invalid_argument, "this is no server");
  auto server = std::move(parsed.servers.front());
  server.origin = {.file = std::string(origin_file), .scope = ConfigScope::dynamic};
  return server;
}

struct Connecting {
  Host& host;
  ConnectOptions options;
  // What the person said no to is not asked again in this conversation.
  std::set<std::string> refused;
};
using Shared = std::shared_ptr<Connecting>;

const ServerStatus* status_of(const std::vector<ServerStatus>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &ServerStatus::name);
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> available(const Connecting& self, const std::vector<ServerStatus>& all) {
  std::vector<std::string> names;
  for (const auto& status : all) {
    if (status.state == ServerState::disabled) continue;
    if (self.options.hidden && self.options.hidden(status.name)) continue;
    names.push_back(status.name);
  }
  return names;
}

Task<CallToolResult> connected(Shared self, std::string name, CallOptions call) {
  CallContext context;
  context.server = name;
  context.principal = call.principal;
  context.call_id = call.call_id;
  (void)co_await self->host.session(name, std::move(context));
  std::vector<std::string> tools;
  const auto catalog = self->host.catalog();
  for (const auto& entry : catalog->tools()) {
    if (entry.server == name) tools.push_back(entry.name);
  }
  co_return text(connected_text(name, tools));
}

// A server that nobody declared.
Task<CallToolResult> add(Shared self, std::string name, Json entry, CallOptions call) {
  const auto& config = self->host.config();
  if (config.exclusive) throw Error(Errc::denied, std::string(enterprise_dynamic_refusal));
  auto server = value_or_throw(server_of(name, entry));
  const auto verdict = judge_entry(server, server, layers_of(config.settings), variables_of(config));
  if (!verdict.allowed()) {
    throw Error(Errc::denied, fmt::format("server \"{}\" is not used: {}", shown(name), verdict.reason));
  }
  const auto target = consent_target(server);
  if (!self->options.approve || self->refused.contains(target)) {
    throw Error(Errc::denied, self->options.approve
                                  ? "the person has said no to this server"
                                  : "there is nobody to ask whether this server may be used; only servers that are "
                                    "declared can be connected");
  }
  ApprovalQuestion question{.server = server, .context = {}};
  question.context.server = name;
  question.context.principal = call.principal;
  question.context.call_id = call.call_id;
  if (!co_await self->options.approve(std::move(question))) {
    self->refused.insert(target);
    throw Error(Errc::denied, "the person has said no to this server");
  }
  if (status_of(self->host.status(), name)) {  // meanwhile
    throw Error(Errc::invalid_argument, fmt::format("there is a server \"{}\" already", shown(name)));
  }
  self->host.add_server(std::move(server));
  auto made = co_await as_result(connected(self, name, std::move(call)));
  // Its name is free for another try; where somebody has to sign in first, this very one is tried again.
  if (!made && made.error().code() != Errc::unauthorized) (void)self->host.remove_server(name);
  co_return value_or_throw(std::move(made));
}

Task<CallToolResult> connect(Shared self, Json arguments, CallOptions call) {
  const auto given = arguments["name"].text();
  if (!given || given->empty()) throw Error(Errc::invalid_argument, "\"name\" is missing: the name of the server");
  const std::string name(*given);
  auto entry = value_or_throw(entry_of(arguments));
  co_await self->host.prepare();
  const auto all = self->host.status();
  const auto* status = status_of(all, name);
  if (status && self->options.hidden && self->options.hidden(name)) status = nullptr;
  if (status && !entry.is_null()) {
    throw Error(Errc::invalid_argument,
                fmt::format("there is a server \"{}\" already; connect it by its name alone, or choose another name",
                            shown(name)));
  }
  if (!entry.is_null()) co_return co_await add(self, name, std::move(entry), std::move(call));
  if (!status) co_return error_text(unknown_server_text(name, available(*self, all)));
  if (status->state == ServerState::connected) co_return text(already_connected_text(name));
  auto made = co_await as_result(connected(self, name, std::move(call)));
  if (made) co_return std::move(*made);
  if (made.error().code() == Errc::denied || made.error().code() == Errc::cancelled) throw std::move(made).error();
  co_return failure_result(made.error(), name);
}

Json described(std::string_view type, std::string_view description) {
  return Json{{"type", type}, {"description", description}};
}

}  // namespace

std::string connected_text(const std::string& server, const std::vector<std::string>& tools) {
  return fmt::format("Connected to '{}'. Discovered: {}", shown(server),
                     tools.empty() ? "no tools" : list_of(tools, most_tools));
}

std::string already_connected_text(const std::string& server) {
  return fmt::format("MCP server '{}' already connected", shown(server));
}

std::string unknown_server_text(const std::string& server, const std::vector<std::string>& available) {
  return fmt::format("Unknown server '{}'. Available: {}", shown(server),
                     available.empty() ? "none" : list_of(available, most_servers));
}

AgentTool connect_tool(Host& host, ConnectOptions options) {
  Tool tool{.name = "connect_mcp",
            .description =
                "Connects an MCP server, whose tools can be called from then on. Give the name of a server "
                "that is declared."};
  Json properties{{"name", described("string", "the name of the server")}};
  if (options.approve) {
    *tool.description +=
        " Or a server that is not: a new name, and its URL or the command that runs it. The person is "
        "asked before it is used.";
    properties["url"] = described("string", "where a server is that is not declared");
    properties["command"] = described("string", "the program of a server that is not declared, without arguments");
    properties["args"] = Json{{"type", "array"}, {"items", Json{{"type", "string"}}}};
  }
  tool.input_schema = Json{{"type", "object"},
                           {"properties", std::move(properties)},
                           {"required", Json::array({"name"})},
                           {"additionalProperties", false}};
  auto self = std::make_shared<Connecting>(Connecting{host, std::move(options), {}});
  auto call = [self](Json arguments, CallOptions calling) {
    return connect(self, std::move(arguments), std::move(calling));
  };
  return {.tool = std::move(tool), .only_reads = false, .call = std::move(call)};
}

}  // namespace patchbay
