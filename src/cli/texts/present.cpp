#include "cli/texts/present.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "host/server_error.h"
#include "protocol/codec.h"
#include "text/clean_text.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? encode(*value) : Json();
}

std::string paint(std::string_view text, std::string_view code, bool color) {
  return color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

Json detail_json(std::string_view detail) { return detail.empty() ? Json() : Json(std::string(detail)); }

Json status_json(const ServerStatus& status) {
  const bool connected = status.server.has_value();
  return {{"name", status.name},
          {"state", to_string(status.state)},
          {"reason", to_string(status.reason)},
          {"era", status.era ? Json(to_string(*status.era)) : Json()},
          {"protocolVersion", connected ? Json(status.server->protocol_version) : Json()},
          {"serverInfo", connected ? encode(status.server->info) : Json()},
          {"capabilities", connected ? encode(status.server->capabilities) : Json()},
          {"toolCount", status.tool_count},
          {"error", status.error ? Json(status.error->message()) : Json()},
          {"errorDetail", status.error ? detail_json(status.error->detail()) : Json()}};
}

Json tool_json(const CatalogEntry& entry) {
  const auto& tool = *entry.tool;
  return {{"name", entry.name},
          {"server", entry.server},
          {"tool", tool.name},
          {"description", tool.description ? Json(*tool.description) : Json()},
          {"inputSchema", tool.input_schema},
          {"annotations", or_null(tool.annotations)}};
}

Json tools_json(const std::vector<ServerStatus>& servers, const Catalog& catalog, const std::string& only_server) {
  Json server_list = Json::array();
  for (const auto& status : servers) {
    if (only_server.empty() || status.name == only_server) server_list.push_back(status_json(status));
  }
  Json tool_list = Json::array();
  for (const auto& entry : catalog.tools()) {
    if (!only_server.empty() && entry.server != only_server) continue;
    tool_list.push_back(tool_json(entry));
  }
  return {{"servers", std::move(server_list)}, {"tools", std::move(tool_list)}};
}

Json with_server(const std::string& server, const Json& item) {
  Json::Object out;
  out.append("server", server);
  for (const auto& [key, member] : item.as_object()) out.set(key, member);
  return out;
}

Json prompt_json(const std::string& server, const Prompt& prompt) {
  Json::Object out;
  out.append("name", normalised_full_name({server, prompt.name}));
  out.append("server", server);
  out.append("prompt", prompt.name);
  const auto item = encode(prompt);
  for (const auto& [key, value] : item.as_object()) {
    if (key != "name") out.set(key, value);
  }
  return out;
}

std::string prompt_line(const std::string& server, const Prompt& prompt, std::size_t room) {
  std::string arguments;
  for (const auto& argument : prompt.arguments) {
    const auto one = fmt::format("{}=...", safe_name(argument.name, 40));
    arguments += argument.required == true ? " " + one : fmt::format(" [{}]", one);
  }
  return fmt::format("{}{}  {}\n", normalised_full_name({server, prompt.name}), arguments,
                     safe_line(prompt.description.value_or(""), room));
}

std::string resource_line(const Resource& resource, std::size_t room) {
  return fmt::format("  {}  {}\n", safe_name(resource.uri, 2000),
                     safe_line(resource.title.value_or(resource.name), room));
}

std::string resource_line(const ResourceTemplate& pattern, std::size_t room) {
  return fmt::format("  {}  {} (template)\n", safe_name(pattern.uri_template, 2000), safe_name(pattern.name, room));
}

Json error_json(const Error& error) {
  Json body{{"code", to_string(error.code())}, {"message", error.message()}, {"detail", detail_json(error.detail())}};
  body["carried_out"] = error.carried_out() ? Json(to_string(*error.carried_out())) : Json();
  if (error.rpc_code()) body["rpcCode"] = *error.rpc_code();
  if (!error.rpc_data().empty()) {
    if (auto data = parse_json(error.rpc_data())) body["rpcData"] = std::move(*data);
  }
  return {{"error", std::move(body)}};
}

std::string safe_line(std::string_view text, std::size_t max_width) {
  auto line = clean_line(text);
  if (line.size() <= max_width) return line;
  return fmt::format("{}…", cut_utf8(line, max_width - 1));
}

std::string message_line(std::string_view message, std::size_t max_width) {
  std::string line;
  for (const auto one : split(message, '\n')) {
    if (const auto text = trim(one); !text.empty()) line += (line.empty() ? "" : " ") + visible_message(text);
  }
  return line.size() <= max_width ? line : fmt::format("{}…", cut_utf8(line, max_width - 1));
}

std::string safe_name(std::string_view name, std::size_t max_width) {
  const auto shown = visible_text(name);
  return shown.size() <= max_width ? shown : fmt::format("{}…", cut_utf8(shown, max_width - 1));
}

std::string problem_text(const ConfigProblem& problem) { return visible_message(problem.text()); }

std::string message_text(std::string_view message) {
  std::string out;
  for (const auto line : split(message, '\n')) {
    if (!out.empty()) out += line.starts_with("  ") ? "\n" : "\n  ";
    const auto text = std::min(line.find_first_not_of(' '), line.size());
    out += std::string(std::min<std::size_t>(text, 4), ' ') + visible_message(line.substr(text));
  }
  return out;
}

std::string continued(std::string message, std::string_view more) {
  if (more.empty()) return message;
  if (!message.ends_with('?') && !message.ends_with('.')) return fmt::format("{}; {}", message, more);
  const auto first = static_cast<char>(std::toupper(static_cast<unsigned char>(more.front())));
  return fmt::format("{} {}{}", message, first, more.substr(1));
}

std::string json_text(const Json& value, bool terminal) {
  return (terminal ? safe_json(to_pretty_text(value)) : to_text(value)) + "\n";
}

std::string safe_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  auto escape = [&out](unsigned unit) { out += fmt::format("\\u{:04x}", unit); };
  for (std::size_t i = 0; i < json.size();) {
    const auto lead = static_cast<unsigned char>(json[i]);
    if (lead < 0x80) {
      if (lead == 0x7F) {
        escape(lead);
      } else {
        out.push_back(json[i]);
      }
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const auto character = json.substr(i, length);
    i += character.size();
    if (clean_for_display(character) == character) {
      out += character;
      continue;
    }
    unsigned code = lead & (0xFFu >> (length + 1));
    for (char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
    if (code >= 0x10000) {
      escape(0xD800 + ((code - 0x10000) >> 10));
      escape(0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      escape(code);
    }
  }
  return out;
}

bool awaits_approval(const ServerStatus& status) {
  return status.state == ServerState::pending && status.reason == ServerReason::awaiting_approval;
}

std::string status_line(const ServerStatus& status, bool color, ToolCount tools) {
  std::string line = fmt::format("{}  ", safe_name(status.name, 60));
  const bool waits = awaits_approval(status);
  switch (status.state) {
    case ServerState::connected:
      line += paint("connected", "32", color);
      line += tools.denied > 0 ? fmt::format("  {} of {} ({} denied by rules)", tools.listed,
                                             plural(tools.listed + tools.denied, "tool"), tools.denied)
                               : fmt::format("  {}", plural(tools.listed, "tool"));
      if (status.server) {
        line += fmt::format("  ({}{}{}, revision {})", safe_name(status.server->info.name, 40),
                            status.server->info.version.empty() ? "" : " ", safe_name(status.server->info.version, 20),
                            safe_line(status.server->protocol_version, 20));
      }
      break;
    case ServerState::failed:
      line += paint("failed", "31", color);
      break;
    default:
      // What it waits for says more than that it waits.
      line += paint(waits ? to_string(status.reason) : to_string(status.state), "33", color);
  }
  const bool explained = status.error && status.state != ServerState::pending;
  const bool said = (explained && status.state == ServerState::failed) || status.reason == ServerReason::disabled;
  if (status.reason != ServerReason::none && !said && !waits) line += fmt::format("  {}", to_string(status.reason));
  if (explained) line += fmt::format("  {}", message_line(without_name(status.name, status.error->message()), 400));
  return line;
}

std::string no_servers_text(TypedWhere where) {
  return where == TypedWhere::chat
             ? "No server is configured. To use one in this conversation: /connect URL, or /connect COMMAND\n"
             : "No server is configured. Run `patchbay --help` to see how to add one.\n";
}

std::string approval_line(const std::vector<std::string>& servers) {
  return fmt::format("patchbay: this project declares {} your approval; if you trust {}: patchbay approve{}\n",
                     servers.size() == 1 ? fmt::format("the server \"{}\", which needs", safe_name(servers.front(), 80))
                                         : fmt::format("{} servers that need", servers.size()),
                     servers.size() == 1 ? "it" : "them", shell_operands(servers));
}

std::string indented(std::string_view text) {
  const auto cleaned = clean_for_display(text);
  std::string_view lines = cleaned;
  // Whole lines only: how far the first one is indented belongs to it.
  while (!lines.empty() && std::string_view(" \t\r\n").contains(lines.back())) lines.remove_suffix(1);
  const auto first = std::min(lines.find_first_not_of(" \t\r\n"), lines.size());
  if (const auto before = lines.substr(0, first).rfind('\n'); before != std::string_view::npos) {
    lines.remove_prefix(before + 1);
  }
  std::string out;
  for (auto line : split(lines, '\n')) out += fmt::format("  | {}\n", line);
  return out;
}

std::string error_text(const Error& error) {
  std::string text = fmt::format("patchbay: {}\n", message_text(error.message()));
  if (!error.detail().empty()) text += indented(error.detail());
  return text;
}

std::string cause_line(std::string_view detail) {
  // "ModuleNotFoundError: …", "Error [ERR_X]: …", "fatal: …": what a runtime prints at last, instead of code that was
  // quoted.
  auto names_it = [](std::string_view line) {
    const auto colon = line.find(':');
    if (colon == line.npos) return false;
    const auto before = line.substr(0, colon);
    const auto head = to_lower_ascii(before.substr(0, before.find(' ')));
    return head.ends_with("error") || head.ends_with("exception") || head == "fatal" || head == "panic";
  };
  auto speaks_of_it = [](std::string_view line) {
    const auto lower = to_lower_ascii(line);
    return lower.contains("error") || lower.contains("exception") || lower.contains("fatal") || lower.contains("panic");
  };
  std::string_view last, named, spoken;
  for (const auto one : split(detail, '\n')) {
    const auto line = trim(one);
    if (line.empty()) continue;
    last = line;
    if (named.empty() && names_it(line)) named = line;
    if (spoken.empty() && speaks_of_it(line)) spoken = line;
  }
  return std::string(!named.empty() ? named : !spoken.empty() ? spoken : last);
}

std::string log_words(const std::string& server, TypedWhere where) {
  return fmt::format("to see its log: {}patchbay logs{}", where == TypedWhere::chat ? "!" : "",
                     shell_operands({server}));
}

ShownFailure shown_failure(const std::string& server, ConfigScope scope, const Error& error, TypedWhere where) {
  constexpr std::size_t few_lines = 5;
  ShownFailure out{message_line(without_name(server, error.message()), 500), {}};
  const auto detail = clean_for_display(error.detail());
  if (trim(detail).empty()) return out;
  const auto lines = split(trim(detail), '\n').size();
  if (lines <= few_lines) {
    out.below = indented(detail);
  } else {
    out.cause += fmt::format(": {}", safe_line(cause_line(detail), 300));
  }
  const bool declared = scope != ConfigScope::dynamic && scope != ConfigScope::embedded;
  if (declared) {
    out.below += fmt::format("    {}\n", log_words(server, where));
  } else if (lines > few_lines) {
    out.below += indented(detail);
  }
  return out;
}

std::string wrapped_lines(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const auto indentation = std::min(line.find_first_not_of(' '), line.size());
    // What a server wrote keeps its bar.
    const bool barred = line.substr(indentation).starts_with("| ");
    const auto inner = barred ? line.substr(indentation + 2) : std::string_view();
    const auto deeper = std::min<std::size_t>(std::min(inner.find_first_not_of(' '), inner.size()), columns / 4);
    const auto before = std::string(indentation, ' ') + (barred ? "|   " + std::string(deeper, ' ') : "    ");
    for (const auto& one : wrapped(line, columns, before)) out += one + "\n";
    // The last line may have no end.
    if (end == text.size()) out.pop_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace patchbay::cli
