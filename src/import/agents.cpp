// Agents of the command line: Codex (TOML), Gemini CLI, opencode, goose (YAML).
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "import/entry.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

constexpr std::string_view started = "only a server with a URL uses it, and this server has a command";
constexpr std::string_view connected = "only a server with a command uses it, and this server has a URL";
// A header with more in it than this is nobody's.
constexpr std::size_t longest_header = 64u << 10;
constexpr std::string_view for_all =
    "the time to start is the same for all servers here; set it with the variable MCP_TIMEOUT";

// Members of an object, each with its place.
template <class Each>
void for_each_member(const Member& in, Each each) {
  const auto* members = in ? in.value->if_object() : nullptr;
  if (members == nullptr) return;
  std::size_t i = 0;
  for (const auto& [key, value] : *members) each(std::string(key), Member{&value, &child_of(*in.place, i++)});
}

void add_reference_header(EntryImport& entry, const Member& at, std::string_view field, std::string header,
                          std::string_view prefix, std::string_view variable) {
  if (!is_variable_name(variable)) {
    entry.left_out(at, field, fmt::format("{} is not a valid name of a variable", to_text(Json(variable))));
    return;
  }
  entry.set_header(std::move(header), fmt::format("{}${{{}}}", prefix, variable));
}

// ---- Codex ----

void carry_codex_local(EntryImport& entry) {
  entry.carry_text("command", "command");
  entry.carry_texts("args", "args");
  entry.carry_named_texts("env", "env");
  entry.carry_text("cwd", "cwd");
  if (auto at = entry.take("env_vars")) {
    entry.changed(at, "env_vars", "a server inherits all variables here, including these");
  }
  entry.leave_out({"url", "bearer_token_env_var", "http_headers", "env_http_headers", "http_headers_helper"}, started);
}

void carry_codex_remote(EntryImport& entry) {
  entry.carry_text("url", "url");
  entry.carry_named_texts("http_headers", "headers");
  const auto from_variables = entry.take("env_http_headers");
  for_each_member(from_variables, [&](const std::string& header, const Member& at) {
    const auto field = "env_http_headers." + header;
    if (auto variable = entry.plain_text(at, field)) add_reference_header(entry, at, field, header, "", *variable);
  });
  if (auto at = entry.take("bearer_token_env_var")) {
    if (auto variable = entry.plain_text(at, "bearer_token_env_var")) {
      add_reference_header(entry, at, "bearer_token_env_var", "Authorization", "Bearer ", *variable);
    }
  }
  if (auto at = entry.take("http_headers_helper")) {
    if (const auto command = at.value->text()) {
      entry.out()["headersHelper"] = *command;
      entry.changed(at, "http_headers_helper",
                    "is \"headersHelper\" here: a command that runs for every connection and prints a JSON object");
    } else {
      entry.left_out(at, "http_headers_helper", "expected a command as one string");
    }
  }
  entry.carry_oauth("oauth", {{"client_id", "clientId"}, {"callback_port", "callbackPort"}});
  if (auto scopes = entry.texts(entry.take("scopes"), "scopes"); scopes && !scopes->empty()) {
    entry.out()["oauth"]["scopes"] = join(*scopes, " ");
  }
  if (auto at = entry.take("auth"); at && *at.value != Json("oauth")) {
    entry.left_out(at, "auth", "signing in with the account of another program is not possible");
  }
  entry.leave_out({"command", "args", "env", "env_vars", "cwd"}, connected);
}

void import_codex(EntryImport& entry) {
  auto kind = entry.decide_kind({}, entry.peek("command"), entry.peek("url"));
  if (!kind) return;
  if (*kind == ServerKind::stdio) {
    carry_codex_local(entry);
  } else {
    carry_codex_remote(entry);
  }
  entry.carry_enabled("enabled");
  entry.carry_flag("required", "required");
  entry.carry_time("tool_timeout_sec", "timeout", 1000);
  entry.leave_out({"startup_timeout_sec", "startup_timeout_ms"}, for_all);
  entry.carry_texts("enabled_tools", "enabledTools");
  entry.carry_texts("disabled_tools", "disabledTools");
  entry.leave_out_approvals({"default_tools_approval_mode", "tools"});
}

void import_codex_file(ImportWork& work, const Member& top) {
  for (std::string_view key : {"mcp_oauth_callback_port", "mcp_oauth_callback_url", "mcp_oauth_credentials_store"}) {
    if (auto at = member_of(top, key)) {
      work.note(std::string(key), ImportFate::left_out, at.place->key,
                key == "mcp_oauth_callback_port" ? "set it for one server as \"oauth\": {\"callbackPort\": …}"
                                                 : "has no equivalent in Patchbay");
    }
  }
  if (auto servers = member_of(top, "mcp_servers")) for_each_entry(work, servers, import_codex);
}

// ---- Gemini CLI ----

bool holds(const Json& list, std::string_view name) {
  const auto* items = list.if_array();
  return items != nullptr && std::ranges::find(*items, Json(name)) != items->end();
}

void import_gemini(EntryImport& entry) {
  const auto http = entry.peek("httpUrl");
  const auto url = entry.peek("url");
  auto kind = entry.decide_kind({"type"}, entry.peek("command"), http ? http : url);
  if (!kind) return;
  if (*kind == ServerKind::stdio) {
    entry.carry_text("command", "command");
    entry.carry_texts("args", "args");
    entry.carry_named_texts("env", "env");
    entry.carry_text("cwd", "cwd");
    entry.leave_out({"url", "httpUrl", "headers"}, started);
  } else {
    // "url" alone is the older transport, unless a type says otherwise.
    if (!http && !entry.peek("type")) entry.out()["type"] = "sse";
    entry.carry_text(http ? "httpUrl" : "url", "url");
    if (http) entry.leave_out({"url"}, "\"httpUrl\" is used instead");
    entry.carry_named_texts("headers", "headers");
    entry.leave_out({"command", "args", "env", "cwd"}, connected);
  }
  entry.carry_time("timeout", "timeout", 1);
  entry.carry_texts("includeTools", "enabledTools");
  entry.carry_texts("excludeTools", "disabledTools");
  if (auto at = entry.take("trust"); at && *at.value != Json(false)) {
    entry.left_out(at, "trust", "rules decide here which tools run without a question");
  }
  entry.carry_oauth("oauth", {{"clientId", "clientId"}, {"scopes", "scopes"}});
  entry.leave_out({"description"}, "only describes the server");
}

void import_gemini_file(ImportWork& work, const Member& top) {
  const auto rules = member_of(top, "mcp");
  if (auto at = member_of(rules, "serverCommand")) {
    work.note("mcp.serverCommand", ImportFate::left_out, at.place->key,
              "is a command without a server name; add it with a name of your choice");
  }
  const auto allowed = member_of(rules, "allowed");
  const auto excluded = member_of(rules, "excluded");
  auto servers = member_of(top, "mcpServers");
  if (!servers) return;
  for_each_entry(work, servers, [&](EntryImport& entry) {
    import_gemini(entry);
    if (excluded && holds(*excluded.value, entry.name())) {
      entry.out()["disabled"] = true;
      entry.changed(excluded, "mcp.excluded", "lists this server; it is imported as disabled");
    } else if (allowed && allowed.value->is_array() && !holds(*allowed.value, entry.name())) {
      entry.out()["disabled"] = true;
      entry.changed(allowed, "mcp.allowed", "does not list this server; it is imported as disabled");
    }
  });
}

// ---- opencode ----

void carry_opencode_command(EntryImport& entry) {
  auto at = entry.take("command");
  if (at.value->is_string()) {
    if (auto text = entry.text(at, "command")) entry.out()["command"] = std::move(*text);
    entry.carry_texts("args", "args");
    return;
  }
  auto words = entry.texts(at, "command");
  if (!words) return;
  if (words->empty()) {
    entry.fail(at.place->value, "\"command\" is empty; write the program to start");
    return;
  }
  entry.out()["command"] = words->front();
  if (words->size() == 1) return;
  auto args = Json::array();
  for (std::size_t i = 1; i < words->size(); ++i) args.push_back((*words)[i]);
  entry.out()["args"] = std::move(args);
}

void import_opencode(EntryImport& entry) {
  if (!entry.peek("command") && !entry.peek("url") && entry.peek("enabled")) {
    entry.fail(entry.whole().place->key, "only enables or disables a server that is declared elsewhere");
    return;
  }
  auto kind = entry.decide_kind({"type"}, entry.peek("command"), entry.peek("url"));
  if (!kind) return;
  if (*kind == ServerKind::stdio) {
    carry_opencode_command(entry);
    entry.carry_named_texts("environment", "env");
    entry.carry_named_texts("env", "env");
    entry.carry_text("cwd", "cwd");
    entry.leave_out({"url", "headers", "oauth"}, started);
  } else {
    entry.carry_text("url", "url");
    entry.carry_named_texts("headers", "headers");
    entry.carry_oauth("oauth", {{"clientId", "clientId"},
                                {"client_id", "clientId"},
                                {"scope", "scopes"},
                                {"callbackPort", "callbackPort"},
                                {"callback_port", "callbackPort"}});
    entry.leave_out({"command", "environment", "env", "cwd"}, connected);
  }
  entry.carry_enabled("enabled");
  if (auto disabled = entry.flag(entry.take("disabled"), "disabled"); disabled && *disabled) {
    entry.out()["disabled"] = true;
  }
  auto timeout = entry.take("timeout");
  if (timeout && timeout.value->is_object()) {
    for_each_member(timeout, [&](const std::string& key, const Member& at) {
      if (key == "request") {
        entry.carry_time(at, "timeout.request", "timeout", 1);
      } else {
        entry.left_out(at, "timeout." + key, std::string(key == "startup" ? for_all : "has no equivalent in Patchbay"));
      }
    });
  } else if (timeout) {
    // The older form limits how long listing the tools may take, not a call.
    entry.carry_time(timeout, "timeout", "request_timeout_ms", 1);
  }
}

void import_opencode_file(ImportWork& work, const Member& top) {
  auto mcp = member_of(top, "mcp");
  if (!mcp) return;
  auto newer = member_of(mcp, "servers");
  // In the older form a server may be called "servers": it then has a type.
  const bool wrapped = newer && newer.value->is_object() && !(*newer.value)["type"].is_string();
  if (!wrapped) return for_each_entry(work, mcp, import_opencode);
  for_each_entry(work, newer, import_opencode);
  for_each_member(mcp, [&](const std::string& key, const Member& at) {
    if (key != "servers") work.note("mcp." + key, ImportFate::left_out, at.place->key, "has no equivalent in Patchbay");
  });
}

// ---- goose ----

// $NAME and ${NAME} in a header stand for what "envs" says, as far as it says something.
std::string filled_in(std::string text, const Member& envs) {
  for_each_member(envs, [&](const std::string& name, const Member& at) {
    const auto value = at.value->text();
    if (!value) return;
    const auto reference = fmt::format("${{{}}}", name);
    for (auto found = text.find(reference); found != std::string::npos;
         found = text.find(reference, found + value->size())) {
      text.replace(found, reference.size(), *value);
      if (text.size() > longest_header) return;
    }
  });
  return text;
}

void carry_goose_remote(EntryImport& entry) {
  if (auto url = entry.text(entry.take_first({"uri", "url"}), "uri")) entry.out()["url"] = std::move(*url);
  const auto envs = entry.take("envs");
  entry.use_style(VariableStyle::shell);
  auto headers = entry.named_texts(entry.take("headers"), "headers");
  entry.use_style(VariableStyle::none);
  if (headers) {
    for (const auto& [name, value] : headers->as_object()) {
      entry.set_header(std::string(name), filled_in(std::string(value.as_text()), envs));
    }
  }
  if (auto names = entry.texts(entry.take("env_keys"), "env_keys"); names && !names->empty()) {
    entry.changed(entry.peek("env_keys"), "env_keys",
                  fmt::format("the values are in goose's own store; set {} in the environment", join(*names, ", ")));
  }
}

void carry_goose_local(EntryImport& entry) {
  entry.carry_text("cmd", "command");
  entry.carry_texts("args", "args");
  entry.carry_named_texts("envs", "env");
  const auto keys = entry.take("env_keys");
  auto names = entry.texts(keys, "env_keys");
  if (!names) return;
  for (const auto& name : *names) {
    if (!is_variable_name(name)) {
      entry.left_out(keys, "env_keys", fmt::format("{} is not a valid name of a variable", to_text(Json(name))));
      continue;
    }
    entry.set_env(name, fmt::format("${{{}}}", name));
    entry.changed(keys, "env_keys",
                  fmt::format("the value of {0} is in goose's own store; set {0} in the environment", name));
  }
}

void import_goose(EntryImport& entry) {
  const auto type = entry.peek("type");
  const auto text = type ? type.value->text() : std::nullopt;
  if (text && *text != "stdio" && *text != "streamable_http") {
    entry.fail(type.place->value,
               *text == "sse" ? std::string("goose no longer connects to servers of type \"sse\", so it is not "
                                            "copied; if it still works, add it yourself as a server of type \"sse\"")
                              : fmt::format("its type is {}, which is a part of goose and not an MCP server",
                                            to_text(*type.value)));
    return;
  }
  auto kind = entry.decide_kind({"type"}, entry.peek("cmd"), entry.peek("uri") ? entry.peek("uri") : entry.peek("url"));
  if (!kind) return;
  if (*kind == ServerKind::stdio) {
    carry_goose_local(entry);
    entry.leave_out({"uri", "headers"}, started);
  } else {
    carry_goose_remote(entry);
    entry.leave_out({"cmd", "args"}, connected);
  }
  entry.carry_time("timeout", "timeout", 1000);
  entry.carry_enabled("enabled");
  // An empty list means all of them.
  if (auto tools = entry.peek("available_tools")) {
    if (tools.value->is_null() || (tools.value->is_array() && tools.value->size() == 0)) {
      entry.take("available_tools");
    } else {
      entry.carry_texts("available_tools", "enabledTools");
    }
  }
  entry.leave_out({"name", "display_name", "description", "bundled"}, "only describes the server");
}

}  // namespace

void import_agent(ImportWork& work, const ConfigDocument& document) {
  const auto top = document.top();
  if (!document.root.is_object()) {
    work.problem({}, document.place.value, "expected an object of settings");
    return;
  }
  switch (work.out().client) {
    case ImportClient::codex:
      return import_codex_file(work, top);
    case ImportClient::gemini:
      return import_gemini_file(work, top);
    case ImportClient::opencode:
      return import_opencode_file(work, top);
    default:
      if (auto extensions = member_of(top, "extensions")) for_each_entry(work, extensions, import_goose);
  }
}

}  // namespace patchbay
