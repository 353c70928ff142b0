// Editors and everything else whose servers are a map of objects in a JSON file, most of them called
// "mcpServers": Claude Desktop, Cursor, VS Code, Windsurf, Zed, Cline, mcporter, .mcp.json itself.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "import/entry.h"

namespace patchbay {
namespace {

using Member = ConfigDocument::Member;

// A map of servers at the top of a file, with nothing around it.
bool is_bare_map(const Json& root) {
  const auto* members = root.if_object();
  if (members == nullptr || members->empty()) return false;
  return std::ranges::all_of(*members, [](const auto& member) {
    static constexpr std::string_view keys[] = {"command", "url", "serverUrl", "baseUrl", "httpUrl", "type"};
    return member.value.is_object() &&
           std::ranges::any_of(keys, [&](std::string_view key) { return member.value.find(key) != nullptr; });
  });
}

// The member at a path of keys, each step an object.
Member at_path(const Member& top, const std::vector<std::string_view>& path) {
  Member at = top;
  for (auto key : path) at = member_of(at, key);
  return at;
}

void carry_command(EntryImport& entry) {
  entry.carry_text("command", "command");
  entry.carry_texts("args", "args");
  entry.carry_named_texts("env", "env");
  entry.carry_text("envFile", "envFile");
  entry.carry_text("cwd", "cwd");
}

void carry_url(EntryImport& entry, const Member& url, std::string_view field) {
  if (auto text = entry.text(url, field)) entry.out()["url"] = std::move(*text);
  entry.carry_named_texts("headers", "headers");
}

// Fields of the one kind in an entry of the other.
void leave_out_unused(EntryImport& entry, ServerKind kind) {
  if (kind == ServerKind::stdio) {
    entry.leave_out({"url", "headers"}, "only a server with a URL uses it, and this server has a command");
  } else {
    entry.leave_out({"command", "args", "env", "envFile", "cwd"},
                    "only a server with a command uses it, and this server has a URL");
  }
}

// What all of them have in common. Nothing after a failure.
std::optional<ServerKind> carry_endpoint(EntryImport& entry, std::initializer_list<std::string_view> type_keys,
                                         std::initializer_list<std::string_view> url_keys) {
  Member url;
  std::string_view field;
  for (auto key : url_keys) {
    if (!url && (url = entry.peek(key))) field = key;
  }
  auto kind = entry.decide_kind(type_keys, entry.peek("command"), url);
  if (!kind) return std::nullopt;
  if (*kind == ServerKind::stdio) {
    carry_command(entry);
    for (auto key : url_keys) {
      if (key != "url") entry.leave_out({key}, "only a server with a URL uses it, and this server has a command");
    }
  } else {
    entry.take_first(url_keys);
    carry_url(entry, url, field);
  }
  leave_out_unused(entry, *kind);
  return kind;
}

void import_claude_desktop(EntryImport& entry) {
  if (!carry_endpoint(entry, {"type"}, {"url"})) return;
  entry.carry_flag("disabled", "disabled");
}

void import_cursor(EntryImport& entry) {
  if (!carry_endpoint(entry, {"type"}, {"url"})) return;
  entry.carry_flag("disabled", "disabled");
  entry.carry_oauth("auth", {{"CLIENT_ID", "clientId"}, {"scopes", "scopes"}});
}

void import_vscode(EntryImport& entry) {
  if (auto url = entry.peek("url")) {
    const auto text = url.value->text();
    if (text && (text->starts_with("unix:") || text->starts_with("pipe:"))) {
      entry.fail(url.place->value, fmt::format("its URL is a {}, which is not supported here",
                                               text->starts_with("unix:") ? "Unix socket" : "named pipe"));
      return;
    }
  }
  if (!carry_endpoint(entry, {"type"}, {"url"})) return;
  entry.carry_flag("disabled", "disabled");
  entry.carry_oauth("oauth", {{"clientId", "clientId"}});
  entry.leave_out({"dev"}, "only an editor watches and debugs servers");
  entry.leave_out({"sandboxEnabled", "sandbox"}, "servers do not run in a sandbox here");
  // GitHub Copilot: ["*"] are all tools.
  if (auto at = entry.peek("tools")) {
    const auto* tools = at.value->if_array();
    const bool all = tools != nullptr && std::ranges::find(*tools, Json("*")) != tools->end();
    if (all) {
      entry.take("tools");
    } else {
      entry.carry_texts("tools", "enabledTools");
    }
  }
}

void import_windsurf(EntryImport& entry) {
  if (!carry_endpoint(entry, {"type"}, {"serverUrl", "url"})) return;
  entry.carry_flag("disabled", "disabled");
  entry.carry_texts("disabledTools", "disabledTools");
  entry.leave_out_approvals({"alwaysAllow"});
}

void import_zed(EntryImport& entry) {
  if (auto source = entry.take("source")) {
    auto text = entry.plain_text(source, "source");
    if (!text) return;
    if (*text != "custom") {
      entry.fail(source.place->value, "it belongs to an extension of the editor, and only the extension can start it");
      return;
    }
  }
  auto command = entry.peek("command");
  const bool older = command && command.value->is_object();
  if (!command && !entry.peek("url") && entry.peek("settings")) {
    entry.fail(entry.peek("settings").place->key,
               "it belongs to an extension of the editor, and only the extension can start it");
    return;
  }
  if (older) {
    entry.take("command");
    auto path = member_of(command, "path");
    if (!path) {
      entry.fail(command.place->value, "\"command\" has no \"path\"");
      return;
    }
    entry.out()["type"] = "stdio";
    if (auto text = entry.text(path, "command.path")) entry.out()["command"] = std::move(*text);
    if (auto args = entry.texts(member_of(command, "args"), "command.args")) {
      auto items = Json::array();
      for (auto& arg : *args) items.push_back(std::move(arg));
      entry.out()["args"] = std::move(items);
    }
    if (auto env = entry.named_texts(member_of(command, "env"), "command.env"); env && env->size() > 0) {
      entry.out()["env"] = std::move(*env);
    }
    std::size_t i = 0;
    for (const auto& [key, value] : *command.value->if_object()) {
      const Member at{&value, &child_of(*command.place, i++)};
      if (key != "path" && key != "args" && key != "env")
        entry.left_out(at, fmt::format("command.{}", key), "has no equivalent in Patchbay");
    }
    leave_out_unused(entry, ServerKind::stdio);
  } else if (!carry_endpoint(entry, {}, {"url"})) {
    return;
  }
  entry.carry_enabled("enabled");
}

void import_cline(EntryImport& entry) {
  if (!carry_endpoint(entry, {"type", "transportType"}, {"url"})) return;
  entry.carry_flag("disabled", "disabled");
  entry.carry_time("timeout", "timeout", 1000);
  entry.carry_texts("disabledTools", "disabledTools");
  entry.leave_out_approvals({"autoApprove", "alwaysAllow"});
}

// A command line as a person types it; quotes keep blanks together.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (char c : line) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word.push_back(c);
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word.push_back(c);
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

// The command of mcporter is a name, a whole line, or a list.
void carry_mcporter_command(EntryImport& entry) {
  auto at = entry.take("command");
  std::vector<std::string> words;
  if (at.value->is_array()) {
    auto items = entry.texts(at, "command");
    if (!items) return;
    words = std::move(*items);
  } else {
    auto text = entry.text(at, "command");
    if (!text) return;
    words = entry.peek("args") ? std::vector{*text} : words_of(*text);
    if (words.size() > 1) entry.changed(at, "command", "is split into a command and its arguments");
  }
  if (words.empty() || words.front().empty()) {
    entry.fail(at.place->value, "\"command\" is empty; write the program to start");
    return;
  }
  auto args = Json::array();
  for (std::size_t i = 1; i < words.size(); ++i) args.push_back(words[i]);
  if (auto more = entry.texts(entry.take("args"), "args")) {
    for (auto& arg : *more) args.push_back(std::move(arg));
  }
  entry.out()["command"] = words.front();
  if (args.size() > 0) entry.out()["args"] = std::move(args);
  entry.carry_named_texts("env", "env");
  entry.carry_text("cwd", "cwd");
}

void carry_mcporter_token(EntryImport& entry) {
  for (std::string_view key : {"bearerTokenEnv", "bearer_token_env"}) {
    auto at = entry.take(key);
    auto name = entry.plain_text(at, key);
    if (!name) continue;
    if (is_variable_name(*name)) {
      entry.set_header("Authorization", fmt::format("Bearer ${{{}}}", *name));
    } else {
      entry.left_out(at, key, fmt::format("{} is not a valid name of a variable", quoted_name(*name)));
    }
  }
  for (std::string_view key : {"bearerToken", "bearer_token"}) {
    if (auto token = entry.text(entry.take(key), key)) entry.set_header("Authorization", "Bearer " + *token);
  }
}

void import_mcporter(EntryImport& entry) {
  constexpr auto url_keys =
      std::to_array<std::string_view>({"baseUrl", "base_url", "url", "serverUrl", "server_url", "httpUrl"});
  Member url;
  std::string_view field;
  for (auto key : url_keys) {
    if (!url && (url = entry.peek(key))) field = key;
  }
  auto kind = entry.decide_kind({"type", "transport", "transportType"}, entry.peek("command"), url);
  if (!kind) return;
  if (*kind == ServerKind::stdio) {
    carry_mcporter_command(entry);
  } else {
    entry.take_first({"baseUrl", "base_url", "url", "serverUrl", "server_url", "httpUrl"});
    carry_url(entry, url, field);
    carry_mcporter_token(entry);
  }
  entry.leave_out({"lifecycle"}, "the command that uses a server decides how long it runs");
  if (auto at = entry.take("protocolVersion")) {
    const auto revision = at.value->text();
    if (revision && is_revision_date(*revision)) {
      entry.out()["protocol"] = *revision;
    } else {
      entry.left_out(at, "protocolVersion", "is not the date of a revision of the protocol");
    }
  }
  entry.leave_out({"auth"}, "Patchbay cannot sign in to servers yet; write a token as a header");
  leave_out_unused(entry, *kind);
}

// Entries in our own spelling: what our reader knows is copied as it is.
void import_ours(EntryImport& entry) {
  const auto url = entry.peek("url");
  if (!entry.decide_kind({"type", "transport"}, entry.peek("command"), url)) return;
  if (url && !entry.peek("type") && !entry.peek("transport") && !entry.peek("command")) {
    entry.changed(url, "type", "was missing; \"http\" is written, which tries the older transport as well");
  }
  for (std::string_view key :
       {"command", "args", "env", "envFile", "cwd", "url", "headers", "headersHelper", "tls", "timeout",
        "request_timeout_ms", "disabled", "required", "alwaysLoad", "protocol", "enabledTools", "disabledTools"}) {
    if (auto at = entry.take(key)) entry.out()[key] = *at.value;
  }
  if (auto at = entry.peek("headersHelper")) {
    entry.changed(at, "headersHelper", "is a command that runs for every connection to the server");
  }
  entry.carry_oauth("oauth", {{"clientId", "clientId"},
                              {"callbackPort", "callbackPort"},
                              {"scopes", "scopes"},
                              {"authServerMetadataUrl", "authServerMetadataUrl"},
                              {"xaa", "xaa"}});
}

// The texts of "inputs", so that a person recognises what they are asked for.
void read_inputs(ImportWork& work, const Member& inputs) {
  const auto* items = inputs ? inputs.value->if_array() : nullptr;
  if (items == nullptr) return;
  for (const auto& item : *items) {
    const auto id = item["id"].text();
    if (!id) continue;
    const auto description = item["description"].text();
    work.input_texts.emplace_back(*id, !description ? std::string() : *description);
  }
}

Member vscode_servers(const Member& top) {
  const std::vector<std::vector<std::string_view>> paths{
      {"servers"}, {"mcpServers"}, {"mcp", "servers"}, {"customizations", "vscode", "mcp", "servers"}};
  for (const auto& path : paths) {
    if (auto at = at_path(top, path)) return at;
  }
  return {};
}

void import_vscode_file(ImportWork& work, const Member& top) {
  read_inputs(work, member_of(top, "inputs"));
  read_inputs(work, at_path(top, {"mcp", "inputs"}));
  if (auto at = member_of(top, "sandbox")) {
    work.note("sandbox", ImportFate::left_out, at.place->key, "servers do not run in a sandbox here");
  }
}

void report_mcporter_imports(ImportWork& work, const Member& top) {
  auto at = member_of(top, "imports");
  if (!at) return;
  const auto* names = at.value->if_array();
  std::string list;
  for (const auto& name : names == nullptr ? Json::Array{} : *names) {
    if (const auto text = name.text()) list += fmt::format("{}{}", list.empty() ? "" : ", ", *text);
  }
  if (names != nullptr && names->empty()) return;
  work.note("imports", ImportFate::left_out, at.place->key,
            fmt::format("servers of other programs ({}) are not copied; import them by the name of the program", list));
}

using ImportOne = void (*)(EntryImport&);

ImportOne importer_of(ImportClient client) {
  switch (client) {
    case ImportClient::claude_desktop:
      return import_claude_desktop;
    case ImportClient::cursor:
      return import_cursor;
    case ImportClient::vscode:
      return import_vscode;
    case ImportClient::windsurf:
      return import_windsurf;
    case ImportClient::zed:
      return import_zed;
    case ImportClient::cline:
      return import_cline;
    case ImportClient::mcporter:
      return import_mcporter;
    default:
      return import_ours;
  }
}

}  // namespace

void import_editor(ImportWork& work, const ConfigDocument& document) {
  const auto client = work.out().client;
  const auto top = document.top();
  Member servers;
  if (client == ImportClient::vscode) {
    import_vscode_file(work, top);
    servers = vscode_servers(top);
    // What `code --add-mcp` takes: one server with its name inside.
    const auto name = document.root["name"].text();
    if (!servers && name && (document.root.find("command") || document.root.find("url"))) {
      EntryImport entry(work, std::string(*name), top);
      entry.take("name");
      import_vscode(entry);
      entry.finish();
      return;
    }
  } else if (client == ImportClient::zed) {
    servers = member_of(top, "context_servers");
  } else {
    servers = member_of(top, "mcpServers");
  }
  if (client == ImportClient::mcporter) report_mcporter_imports(work, top);
  if (!servers && client != ImportClient::zed && is_bare_map(document.root)) servers = top;
  if (servers) return for_each_entry(work, servers, importer_of(client));
  // Files that are about other things as well need not have any.
  const bool only_servers = client != ImportClient::claude_desktop && client != ImportClient::zed;
  if (!document.root.is_object() || (only_servers && document.root.size() > 0)) {
    work.problem({}, document.place.value,
                 fmt::format("the file contains no servers; expected an object with \"{}\"",
                             client == ImportClient::vscode ? "servers"
                             : client == ImportClient::zed  ? "context_servers"
                                                            : "mcpServers"));
  }
}

}  // namespace patchbay
