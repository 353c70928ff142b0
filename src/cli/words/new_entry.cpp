#include "cli/words/new_entry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/words/flag_table.h"
#include "cli/words/suggested_name.h"
#include "entries/parse.h"
#include "text/jsonc.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

std::unexpected<Error> wrong(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

// "https" of https://host/mcp; empty for what is not a URL.
std::string scheme_of(std::string_view word) {
  const auto end = word.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const auto scheme = to_lower_ascii(word.substr(0, end));
  return scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos ? scheme : "";
}

bool is_url(std::string_view word) {
  const auto scheme = scheme_of(word);
  return scheme == "http" || scheme == "https";
}
bool is_websocket_url(std::string_view word) {
  const auto scheme = scheme_of(word);
  return scheme == "ws" || scheme == "wss";
}

// mcp.sentry.dev/mcp, localhost:3000: a host, and more than a command would have. A path begins with . or /, a
// folder has no dot and no port, and server.py may well be a command.
bool is_address_without_scheme(std::string_view word) {
  const auto host = word.substr(0, word.find('/'));
  if (host.empty() || host.front() == '.' || word.contains("://")) return false;
  const auto colon = host.rfind(':');
  const auto port = colon == std::string_view::npos ? std::string_view() : host.substr(colon + 1);
  const bool has_port = !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  const auto name = has_port ? host.substr(0, colon) : host;
  const auto dot = name.rfind('.');
  const auto ending = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  const bool has_domain = ending.size() >= 2 && std::ranges::all_of(ending, [](char c) {
                            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                          });
  return (has_port && !name.empty()) || (has_domain && host.size() < word.size());
}

// `http:/host` and `https:host`: with the slashes that are missing. Empty for everything else.
std::string with_slashes(std::string_view word) {
  const auto lower = to_lower_ascii(word.substr(0, 6));
  const std::string_view scheme = lower.starts_with("https:") ? "https:" : lower.starts_with("http:") ? "http:" : "";
  if (scheme.empty() || is_url(word)) return {};
  const auto host = word.find_first_not_of('/', scheme.size());
  return host == std::string_view::npos ? std::string() : fmt::format("{}//{}", scheme, word.substr(host));
}

// The flags that were typed, for a line that says it all again.
std::string scope_again(const Settings& settings) {
  return settings.scope.empty() ? std::string() : " --scope " + shell_word(settings.scope);
}

Result<Json> env_of(const std::vector<std::string>& pairs) {
  Json::Object env;
  for (const auto& pair : pairs) {
    const auto sign = pair.find('=');
    if (sign == std::string::npos || sign == 0) {
      return wrong(
          fmt::format("Invalid environment variable format: {}, environment variables should be added as: -e "
                      "KEY1=value1 -e KEY2=value2",
                      pair));
    }
    env.set(pair.substr(0, sign), pair.substr(sign + 1));
  }
  return Json(std::move(env));
}

Result<Json> headers_of(const std::vector<std::string>& lines) {
  Json::Object headers;
  for (const auto& line : lines) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon == 0) {
      return wrong(fmt::format("Invalid header format: \"{}\". Expected format: \"Header-Name: value\"", line));
    }
    headers.set(trim(std::string_view(line).substr(0, colon)),
                std::string(trim(std::string_view(line).substr(colon + 1))));
  }
  return Json(std::move(headers));
}

// `add x "npx -y server"`: a whole command line where a command is expected. A path may have blanks of its own.
bool is_command_line(std::string_view word) {
  const auto first = word.substr(0, word.find_first_of(" \t"));
  return first.size() < word.size() && !first.empty() && !first.contains('/') && !first.contains("${");
}

// What people copy with the name around it: {"name":{…}} and {"mcpServers":{"name":{…}}}.
Json unwrapped(Json entry, const std::string& name, std::vector<std::string>& notes) {
  for (const auto* wrapper : {"mcpServers", name.c_str()}) {
    const auto* inner = entry.size() == 1 ? entry.find(wrapper) : nullptr;
    if (inner == nullptr || !inner->is_object()) continue;
    if (wrapper != name && inner->find(name) == nullptr) continue;
    Json copy = *inner;
    entry = std::move(copy);
    if (wrapper == name) notes.push_back(fmt::format("the object inside {{\"{}\": …}} is the entry", name));
  }
  return entry;
}

// Returns the URL without blanks around it, and says so.
std::string trimmed_url(const std::string& url, std::vector<std::string>& notes) {
  auto plain = std::string(trim(url));
  if (plain.size() != url.size()) notes.emplace_back("blanks around the URL were left out");
  return plain;
}

// Reads the entry as a file would be read, so that nothing is written that would not be understood.
Result<NewEntry> checked(std::string name, Json entry, std::vector<std::string> notes) {
  if (auto fault = new_name_fault(name); !fault.empty()) return wrong(std::move(fault));
  const auto text = to_text(Json{{"mcpServers", {{name, entry}}}});
  auto parsed = parse_servers(text, ConfigOrigin{.file = name, .scope = ConfigScope::local});
  std::string errors;
  for (const auto& problem : parsed.problems) {
    if (problem.severity == Severity::error) {
      errors += (errors.empty() ? "" : "; ") + problem.message;
    } else {
      notes.push_back(problem.message);
    }
  }
  if (!errors.empty() || parsed.servers.size() != 1) {
    // A key without effect is often the reason why another is missing.
    for (const auto& note : notes) errors += "; " + note;
    return wrong(fmt::format("Invalid configuration: {}", errors));
  }
  return NewEntry{std::move(name), std::move(entry), std::move(parsed.servers.front()), std::move(notes)};
}

}  // namespace

std::string new_name_fault(std::string_view name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (auto fault = server_name_fault(name); !fault.empty()) {
    return fmt::format("Cannot add MCP server \"{}\": {}", name, fault);
  }
  if (name.find_first_not_of(allowed) == std::string_view::npos) return {};
  return fmt::format("Invalid name {}. Names can only contain letters, numbers, hyphens, and underscores.", name);
}

Result<NewEntry> entry_from_words(const Settings& settings) {
  std::vector<std::string> target(settings.words.begin() + 1, settings.words.end());
  const bool plain = !settings.command_words;
  if (settings.command_words) {
    target.insert(target.end(), settings.command_words->begin(), settings.command_words->end());
  }
  for (const std::vector<std::string>* list : std::initializer_list<const std::vector<std::string>*>{
           &settings.words, &target, &settings.env, &settings.headers}) {
    for (const auto& word : *list) {
      if (!valid_utf8(word))
        return wrong("an argument is not valid UTF-8, so it cannot be written to a configuration file");
    }
  }
  const auto& name = settings.words.front();
  if (target.empty() && is_url(trim(name))) {
    const auto url = std::string(trim(name));
    return wrong(fmt::format("a name for the server is missing; write: patchbay add --transport {}{}{}",
                             settings.transport.empty() ? "http" : settings.transport, scope_again(settings),
                             shell_operands({name_for_url(url), url})));
  }
  if (target.empty() && is_launcher(name)) {
    return wrong(
        fmt::format("\"{0}\" is a command, and a name for the server is missing; write: patchbay add{1} NAME -- "
                    "{0} ARGUMENTS",
                    name, scope_again(settings)));
  }
  if (auto fault = new_name_fault(name); !fault.empty()) return wrong(std::move(fault));
  if (target.empty()) {
    return wrong(
        fmt::format("the URL or the command of \"{0}\" is missing; write: patchbay add --transport http{1} {0} "
                    "https://host/mcp, or: patchbay add{1} {0} -- COMMAND ARGUMENTS",
                    name, scope_again(settings)));
  }
  std::vector<std::string> notes;
  auto transport = settings.transport;
  if (transport == "streamable-http") transport = "http";
  const bool remote = transport == "http" || transport == "sse";
  if (target.size() == 1 && (remote || (plain && is_url(trim(target.front()))))) {
    target.front() = trimmed_url(target.front(), notes);
  }
  if (transport.empty() && plain && target.size() == 1) {
    if (is_url(target.front())) {
      transport = "http";
      notes.push_back(
          "--transport was not given, so this URL is used with http; for a server that has only the older SSE "
          "transport add --transport sse");
    } else if (is_websocket_url(target.front())) {
      Json entry{{"type", "ws"}, {"url", target.front()}};
      auto headers = headers_of(settings.headers);
      if (!headers) return std::unexpected(std::move(headers).error());
      if (headers->size() > 0) entry["headers"] = std::move(*headers);
      return wrong(fmt::format("`add` cannot add a WebSocket server; use add-json: patchbay add-json{}{}",
                               scope_again(settings), shell_operands({name, to_text(entry)})));
    } else if (const auto scheme = scheme_of(target.front()); !scheme.empty()) {
      return wrong(fmt::format("there are no servers at {}:// URLs; write https://, http://, wss:// or ws://", scheme));
    } else if (const auto url = with_slashes(target.front()); !url.empty()) {
      return wrong(fmt::format("\"{}\" is not a URL; write {}", target.front(), url));
    } else if (is_address_without_scheme(target.front())) {
      std::string line = "patchbay add" + scope_again(settings);
      for (const auto& pair : settings.env) line += " --env " + shell_word(pair);
      return wrong(
          fmt::format("\"{0}\" looks like a URL; write https://{0} (or http://). If it is a command: {1} {2} "
                      "-- {3}",
                      target.front(), line, shell_word(name), shell_word(target.front())));
    }
  }
  if (transport.empty()) transport = "stdio";

  auto env = env_of(settings.env);
  if (!env) return std::unexpected(std::move(env).error());
  auto headers = headers_of(settings.headers);
  if (!headers) return std::unexpected(std::move(headers).error());

  Json entry = Json::object();
  if (transport == "stdio") {
    if (is_url(target.front())) {
      notes.push_back(fmt::format("\"{}\" looks like a URL but is used as a command, because {}", target.front(),
                                  settings.transport.empty() ? "more words follow it" : "of --transport stdio"));
    }
    if (target.size() == 1 && is_command_line(target.front())) {
      return wrong(fmt::format("\"{}\" is a whole command line in one word; write: patchbay add{} {} -- {}",
                               target.front(), scope_again(settings), shell_word(name), target.front()));
    }
    for (const auto& word : settings.command_without_dashes ? *settings.command_words : std::vector<std::string>()) {
      const auto* ours = find_flag(word.substr(0, word.find('=')), Command::add);
      if (ours == nullptr) continue;
      notes.push_back(
          fmt::format("\"{}\" belongs to the command of the server, because it is behind a flag of the "
                      "server; if it is meant for patchbay, remove the entry and write it before the name",
                      word));
    }
    entry["type"] = "stdio";
    entry["command"] = target.front();
    Json args = Json::array();
    for (std::size_t i = 1; i < target.size(); ++i) args.push_back(target[i]);
    entry["args"] = std::move(args);
    if (env->size() > 0) entry["env"] = std::move(*env);
    if (headers->size() > 0) notes.emplace_back("--header applies only to URLs and was left out");
    if (!settings.client_id.empty() || settings.callback_port || settings.xaa) {
      notes.emplace_back("--client-id, --callback-port and --xaa apply only to URLs and were left out");
    }
    return checked(name, std::move(entry), std::move(notes));
  }
  if (target.size() > 1) {
    return wrong(fmt::format(
        "a server of type {} needs only a URL, but \"{}\" follows it; to add a command, leave --transport out",
        transport, target[1]));
  }
  // What a variable holds is not known yet.
  if (!is_url(target.front()) && !target.front().starts_with("${")) {
    const auto& word = target.front();
    if (const auto scheme = scheme_of(word); !scheme.empty()) {
      return wrong(
          fmt::format("a server of type {} is at an https:// or http:// URL, not at {}://", transport, scheme));
    }
    return wrong(fmt::format("\"{}\" is not a URL, and a server of type {} needs one: {}", word, transport,
                             is_address_without_scheme(word) ? fmt::format("write https://{} (or http://)", word)
                                                             : std::string("https://host/mcp")));
  }
  entry["type"] = transport;
  entry["url"] = target.front();
  if (headers->size() > 0) entry["headers"] = std::move(*headers);
  Json oauth = Json::object();
  if (!settings.client_id.empty()) oauth["clientId"] = settings.client_id;
  if (settings.callback_port) oauth["callbackPort"] = *settings.callback_port;
  if (settings.xaa) oauth["xaa"] = true;
  if (oauth.size() > 0) entry["oauth"] = std::move(oauth);
  if (env->size() > 0) notes.emplace_back("--env applies only to commands and was left out");
  return checked(name, std::move(entry), std::move(notes));
}

Result<NewEntry> entry_from_json(const std::string& name, std::string_view json) {
  if (!valid_utf8(json)) return wrong("the JSON is not valid UTF-8");
  auto plain = without_comments(json);
  if (!plain) return wrong(fmt::format("Invalid JSON: {}", plain.error().reason));
  auto entry = parse_json_located(*plain);
  if (!entry) {
    const auto place = position_of(json, entry.error().offset);
    return wrong(fmt::format("Invalid JSON at line {}, column {}: {}", place.line, place.column, entry.error().reason));
  }
  if (!entry->is_object()) return wrong("Invalid configuration: expected the JSON object of one server");
  std::vector<std::string> notes;
  *entry = unwrapped(std::move(*entry), name, notes);
  if (entry->find("mcpServers") != nullptr) {
    return wrong(
        fmt::format("Invalid configuration: write only the object of the server, without \"mcpServers\": patchbay "
                    "add-json {} '{{\"command\":…}}'",
                    name));
  }
  if (auto* written = entry->find("url"); written != nullptr && written->is_string()) {
    *written = trimmed_url(std::string(written->as_text()), notes);
  }
  if (auto* oauth = entry->find("oauth"); oauth != nullptr && oauth->find("clientSecret") != nullptr) {
    oauth->erase("clientSecret");
    if (oauth->size() == 0) entry->erase("oauth");
    notes.emplace_back(
        "\"oauth.clientSecret\" was not written: the file must not contain secrets; repeat the command with "
        "--client-secret to have it asked for and kept apart");
  }
  auto read = checked(name, std::move(*entry), std::move(notes));
  if (!read || read->server.kind == ServerKind::stdio) return read;
  const auto& url = read->server.url;
  // An empty one is reported by every listing, as for files.
  if (url.empty() || url.contains("://") || url.contains("${")) return read;
  return wrong(fmt::format("Invalid configuration: \"url\" must begin with https:// or another scheme: {}",
                           is_address_without_scheme(url) ? "https://" + url : "https://host/mcp"));
}

}  // namespace patchbay::cli
