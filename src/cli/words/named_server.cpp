#include "cli/words/named_server.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/mention.h"
#include "catalog/naming.h"
#include "cli/texts/present.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr auto full_prefix = full_name_prefix;
constexpr std::string_view builtin_name = "patchbay";

bool is_full_name(std::string_view text) { return text.starts_with(full_prefix); }

// What is known of the names of servers.
struct Known {
  const std::vector<std::string>& servers;
  const std::vector<ServerElsewhere>& elsewhere;
};

std::optional<Error> unknown(const std::string& name, const Known& known, const std::string& hint = {}) {
  return no_such_server(name, known.servers, known.elsewhere, hint);
}

std::string builtin_text(bool is_used) {
  return is_used
             ? "the built-in server \"patchbay\" is part of this program: it has no entry and no log; to list its "
               "tools: patchbay tools"
             : "the built-in server \"patchbay\" is used only if no other server is declared; to use it in addition: "
               "patchbay --builtin";
}

// The first few, and how many more.
std::string names_text(const std::vector<std::string>& servers) {
  constexpr std::size_t most = 8;
  const std::vector<std::string> shown(servers.begin(),
                                       servers.begin() + static_cast<std::ptrdiff_t>(std::min(most, servers.size())));
  auto out = safe_line(join(shown, ", "), 400);
  return servers.size() > most ? fmt::format("{} and {} more", out, servers.size() - most) : out;
}

// SERVER/NAME or mcp__SERVER__NAME; a bare name may be any server's.
std::optional<Error> unknown_in_name(const std::string& text, const Known& known) {
  const auto& servers = known.servers;
  const auto typed = server_typed(text);
  // A name that was cut to fit may have lost the end of its server's.
  if (is_full_name(text) && text.size() == exposed_name_limit) return std::nullopt;
  const bool there = std::ranges::any_of(servers, [&](const auto& server) { return addresses_server(text, server); });
  return typed.empty() || there ? std::nullopt : unknown(typed, known);
}

}  // namespace

std::string server_typed(const std::string& text) {
  if (!is_full_name(text)) {
    const auto slash = text.find('/');
    return slash == std::string::npos ? std::string() : text.substr(0, slash);
  }
  // A server's own name may have "__" in it as well; which part is the server's nobody can tell then.
  const auto end = text.find(full_name_separator, full_prefix.size());
  return text.substr(full_prefix.size(), end == std::string::npos ? end : end - full_prefix.size());
}

Error no_such_server(const std::string& name, std::vector<std::string> servers,
                     const std::vector<ServerElsewhere>& elsewhere, const std::string& hint) {
  std::ranges::sort(servers);
  const auto twice = std::ranges::unique(servers);
  servers.erase(twice.begin(), twice.end());
  if (name == builtin_name) return Error(Errc::invalid_argument, builtin_text(servers.empty()));
  if (name.contains("://") || name == "http:" || name == "https:") {
    return Error(
        Errc::invalid_argument,
        "a URL is not the name of a server; to use it once: patchbay --mcp-server NAME=URL tools NAME; to keep "
        "it: patchbay add NAME URL");
  }
  if (auto text = elsewhere_text(name, elsewhere); !text.empty()) {
    return Error(Errc::invalid_argument, std::move(text));
  }
  auto text = fmt::format("there is no server called \"{}\"", safe_name(name, 80));
  if (servers.empty()) {
    text += "; no server is configured (to add one: patchbay add)";
    return Error(Errc::invalid_argument, continued(std::move(text), hint));
  }
  const auto meant = nearest(name, servers);
  text += meant.empty() ? fmt::format("; the servers are {}", names_text(servers))
                        : fmt::format("; did you mean \"{}\"?", safe_name(meant, 80));
  return Error(Errc::invalid_argument,
               continued(std::move(text), hint.empty() ? "to list all servers: patchbay list" : hint));
}

std::string elsewhere_text(const std::string& name, const std::vector<ServerElsewhere>& elsewhere) {
  const auto found = std::ranges::find(elsewhere, name, &ServerElsewhere::name);
  if (found == elsewhere.end()) return {};
  return fmt::format(
      "\"{}\" is declared for {} only: run the command there, or add it with --scope user to use it everywhere",
      safe_name(name, 80), safe_name(found->directory, 300));
}

Settings with_named_tool(Settings settings, const std::vector<std::string>& servers) {
  auto& words = settings.words;
  if (settings.command == Command::read && !words.empty() && words.front().starts_with('@')) {
    // A template is no URI, but what it makes is.
    const auto mention = mention_of(words.front(), servers);
    if (!mention) return settings;
    words.front() = mention->uri;
    words.insert(words.begin(), mention->server);
    return settings;
  }
  const bool names_tools =
      settings.command == Command::tools || settings.command == Command::call || settings.command == Command::prompt;
  // `why` takes two words itself.
  if ((!names_tools && settings.command != Command::why) || words.empty()) return settings;
  auto is_server = [&](std::string_view word) { return std::ranges::find(servers, word) != servers.end(); };
  // An argument has a sign in it, or is an object.
  auto is_name = [](std::string_view word) {
    return !word.empty() && word != "-" && !word.contains('=') && !word.starts_with('{');
  };
  if (names_tools && words.size() > 1 && is_server(words[0]) && is_name(words[1])) {
    words[0] += "/" + words[1];
    words.erase(words.begin() + 1);
    return settings;
  }
  auto& word = words[0];
  if (is_server(word) || !server_typed(word).empty()) return settings;
  // A server may have dots in its own name: the longest one is meant.
  for (auto dot = word.rfind('.'); dot != std::string::npos && dot > 0; dot = word.rfind('.', dot - 1)) {
    if (!is_server(word.substr(0, dot))) continue;
    word[dot] = '/';
    break;
  }
  return settings;
}

std::optional<Error> unknown_server(const Settings& settings, const std::vector<std::string>& servers,
                                    const std::vector<ServerElsewhere>& elsewhere) {
  const Known known{servers, elsewhere};
  const auto& words = settings.words;
  if (words.empty()) return std::nullopt;
  const auto& word = words.front();
  const bool there = std::ranges::find(servers, word) != servers.end();
  switch (settings.command) {
    case Command::skills:
      if (!there && words.size() > 2 && (word == "approve" || word == "reject")) {
        const bool named = std::ranges::find(servers, words[1]) != servers.end();
        return named ? std::nullopt : unknown(words[1], known);
      }
      return there ? std::nullopt : unknown(word, known);
    case Command::resources:
    case Command::prompts:
    case Command::reconnect:
      return there ? std::nullopt : unknown(word, known);
    case Command::read:
      if (word.starts_with('@') && word.contains(':')) return unknown(word.substr(1, word.find(':') - 1), known);
      // Behind a template there are values.
      return there || words.size() < 2 || word.contains('{') ? std::nullopt : unknown(word, known);
    case Command::tools:
      if (there) return std::nullopt;
      if (!server_typed(word).empty()) return unknown_in_name(word, known);
      // Only the built-in server is asked for a bare name of a tool: it is there at once.
      if (word == builtin_name) return unknown(word, known);
      if (servers == std::vector{std::string(builtin_name)} && elsewhere_text(word, elsewhere).empty() &&
          !word.contains("://")) {
        return std::nullopt;
      }
      return unknown(word, known,
                     servers.size() == 1
                         ? fmt::format("if it is a tool: patchbay tools{}", shell_operands({servers.front(), word}))
                         : fmt::format("if it is a tool: patchbay tools SERVER {}", pasted_word(word)));
    case Command::call: {
      if (there) return std::nullopt;
      const auto first = word.substr(0, word.find('.'));
      const bool is_here = std::ranges::find(servers, first) != servers.end();
      if (!is_here && !elsewhere_text(first, elsewhere).empty()) return unknown(first, known);
      return unknown_in_name(word, known);
    }
    case Command::prompt:
      // `prompt SERVER NAME` and SERVER.NAME.
      for (const auto end : {word.size(), word.find('.'), word.find('/')}) {
        const auto first = word.substr(0, end);
        const bool is_here = std::ranges::find(servers, first) != servers.end();
        if (!is_here && !elsewhere_text(first, elsewhere).empty()) return unknown(first, known);
      }
      // Names of prompts have slashes of their own: only a slip is one for certain.
      return is_full_name(word) || !nearest(server_typed(word), servers).empty() ? unknown_in_name(word, known)
                                                                                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace patchbay::cli
