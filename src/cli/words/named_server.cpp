#include "cli/words/named_server.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/naming.h"
#include "cli/texts/present.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr auto full_prefix = full_name_prefix;
constexpr std::string_view builtin_name = "patchbay";

bool is_full_name(std::string_view text) { return text.starts_with(full_prefix); }

std::optional<Error> unknown(const std::string& name, const std::vector<std::string>& servers, std::string hint = {}) {
  if (name == builtin_name) {
    return Error(Errc::invalid_argument,
                 "the built-in server \"patchbay\" is used only if no other server is declared; to use it in addition: "
                 "patchbay --builtin");
  }
  const auto meant = nearest(name, servers);
  auto advice = !meant.empty()    ? fmt::format("; did you mean \"{}\"?", safe_name(meant, 80))
                : servers.empty() ? std::string("; no server is configured (to add one: patchbay add)")
                                  : fmt::format("; the servers are {}", safe_line(join(servers, ", "), 400));
  return Error(Errc::invalid_argument,
               fmt::format("there is no server called \"{}\"{}{}", safe_name(name, 80), advice, std::move(hint)));
}

// SERVER/NAME or mcp__SERVER__NAME; a bare name may be any server's.
std::optional<Error> unknown_in_name(const std::string& text, const std::vector<std::string>& servers) {
  const auto typed = server_typed(text);
  // A name that was cut to fit may have lost the end of its server's.
  if (is_full_name(text) && text.size() == exposed_name_limit) return std::nullopt;
  const bool there = std::ranges::any_of(servers, [&](const auto& server) { return addresses_server(text, server); });
  return typed.empty() || there ? std::nullopt : unknown(typed, servers);
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

std::optional<Error> unknown_server(const Settings& settings, const std::vector<std::string>& servers) {
  const auto& words = settings.words;
  if (words.empty()) return std::nullopt;
  const auto& word = words.front();
  const bool there = std::ranges::find(servers, word) != servers.end();
  switch (settings.command) {
    case Command::resources:
    case Command::prompts:
    case Command::skills:
      return there ? std::nullopt : unknown(word, servers);
    case Command::read:
      return there || words.size() < 2 ? std::nullopt : unknown(word, servers);
    case Command::tools:
      if (there) return std::nullopt;
      // A bare name may be a tool's, unless it is all but the name of a server.
      if (server_typed(word).empty() && word != builtin_name) {
        if (nearest(word, servers).empty()) return std::nullopt;
        return unknown(word, servers, fmt::format(" If it is a tool: patchbay tools SERVER/{}", pasted_word(word)));
      }
      return server_typed(word).empty() ? unknown(word, servers) : unknown_in_name(word, servers);
    case Command::call:
      return there ? std::nullopt : unknown_in_name(word, servers);
    case Command::prompt:
      // Names of prompts have slashes of their own: only a slip is one for certain.
      return is_full_name(word) || !nearest(server_typed(word), servers).empty() ? unknown_in_name(word, servers)
                                                                                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace patchbay::cli
