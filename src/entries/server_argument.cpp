#include "entries/server_argument.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

ParsedServers problem_of(const std::string& source, std::string message) {
  ParsedServers out;
  out.problems.push_back({source, 0, 0, std::move(message), {}, Severity::error});
  return out;
}

bool starts_with_scheme(std::string_view text, std::initializer_list<std::string_view> schemes) {
  for (auto scheme : schemes) {
    if (to_lower_ascii(text.substr(0, scheme.size())) == scheme) return true;
  }
  return false;
}

// The entry as it would stand in a file.
std::expected<Json, std::string> entry_of(std::string_view value) {
  if (starts_with_scheme(value, {"http://", "https://"})) return Json{{"type", "http"}, {"url", value}};
  if (starts_with_scheme(value, {"ws://", "wss://"})) return Json{{"type", "ws"}, {"url", value}};
  auto words = split_command_line(value);
  if (!words) return std::unexpected(std::move(words).error());
  if (words->empty()) return std::unexpected(std::string("there is nothing after the \"=\""));
  Json entry{{"command", words->front()}};
  if (words->size() > 1) {
    entry["args"] = Json::array();
    for (std::size_t i = 1; i < words->size(); ++i) entry["args"].push_back((*words)[i]);
  }
  return entry;
}

}  // namespace

std::expected<std::vector<std::string>, std::string> split_command_line(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == '\\') {
      if (++i == text.size()) return std::unexpected(std::string("the command ends with a backslash"));
      word += text[i];
    } else if (c == '\'') {
      auto end = text.find('\'', i + 1);
      if (end == std::string_view::npos) return std::unexpected(std::string("the quote ' is not closed"));
      word += text.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        // As in a shell: elsewhere a backslash inside double quotes stands for itself.
        if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
        word += text[i];
      }
      if (i == text.size()) return std::unexpected(std::string("the quote \" is not closed"));
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

ParsedServers parse_server_argument(std::string_view argument, const std::string& source) {
  const ConfigOrigin origin{source, 0, ConfigScope::dynamic, ConfigTrust::trusted, 0};
  auto problem = [&](std::string message) { return problem_of(source, std::move(message)); };
  constexpr std::string_view forms = "write NAME=URL, NAME='{\"command\": …}' or NAME='command arguments'";
  const auto equals = argument.find('=');
  if (equals == std::string_view::npos)
    return problem(fmt::format("{} has no \"=\"; {}", quoted_name(argument), forms));
  const auto name = argument.substr(0, equals);
  const auto value = trim(argument.substr(equals + 1));
  if (!valid_utf8(argument)) return problem("the argument is not valid UTF-8");
  if (value.starts_with('{')) {
    // Read in place, so that a problem has its position in what was typed.
    auto document = read_document(value, origin.file, "an entry");
    if (!document) {
      ParsedServers out;
      auto fault = std::move(document).error();
      fault.message = fmt::format("MCP server {}: {}", quoted_name(name), fault.message);
      fault.server = name;
      out.problems.push_back(std::move(fault));
      return out;
    }
    Json map{{std::string(name), document->root}};
    Place place{0, 0, value.size(), {document->place}};
    return parse_server_map(value, {&map, &place}, origin);
  }
  auto entry = entry_of(value);
  if (!entry) return problem(fmt::format("MCP server {}: {}; {}", quoted_name(name), entry.error(), forms));
  auto text = to_text(Json{{"mcpServers", Json{{std::string(name), *entry}}}});
  auto parsed = parse_servers(text, origin, ServerMap::required);
  // Positions in a text nobody wrote help nobody.
  for (auto& server : parsed.servers) server.origin.line = server.origin.column = 0;
  for (auto& one : parsed.problems) one.line = one.column = 0;
  for (auto& broken : parsed.broken) broken.origin.line = broken.origin.column = 0;
  for (auto& use : parsed.uses) use.line = use.column = 0;
  return parsed;
}

}  // namespace patchbay
