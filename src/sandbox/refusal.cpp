#include "sandbox/refusal.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_text = 64u << 10;
constexpr std::size_t most_path = 300;
constexpr std::size_t most_said = 600;

bool holds_any(std::string_view line, const auto& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != line.npos; });
}

// The absolute path that a line is about: the one in quotes, else the last one, because programs begin with their own
// name.
std::string path_in(std::string_view line) {
  std::string_view found;
  for (std::size_t at = line.find('/'); at != line.npos; at = line.find('/', at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool quoted = std::string_view("'\"`").find(before) != std::string_view::npos;
    if (!quoted && before != ' ' && before != '(') continue;
    const auto end = quoted ? line.find(before, at) : line.find_first_of(" :,;)", at);
    const auto path = line.substr(at, end == line.npos ? line.npos : end - at);
    if (path.size() > most_path) continue;
    found = path;
    if (quoted) break;
    at += path.size() - 1;
  }
  return clean_line(found);
}

}  // namespace

std::optional<SandboxRefusal> refusal_in(std::string_view text, std::string_view proxy_refused,
                                         const SandboxPolicy& policy, const SandboxState& state,
                                         const std::vector<std::string>& keys) {
  using Kind = SandboxRefusal::Kind;
  static constexpr auto refused = std::to_array<std::string_view>(
      {"EACCES", "EPERM", "Permission denied", "permission denied", "Operation not permitted", "PermissionError"});
  static constexpr auto about_network =
      std::to_array<std::string_view>({"socket", "connect ", "listen ", "ENOTFOUND", "EAI_AGAIN", "getaddrinfo",
                                       "ENETUNREACH", "Network is unreachable", "Temporary failure in name resolution",
                                       "Could not resolve", "fetch failed", "network"});
  static constexpr auto writes = std::to_array<std::string_view>(
      {"mkdir", "rmdir", "unlink", "rename", "write", "creat", "symlink", "touch", "chmod", "cannot remove"});
  if (text.size() > most_text) text.remove_prefix(text.size() - most_text);
  const bool closed = state.network != NetworkHold::open;
  std::optional<SandboxRefusal> proxied;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool denied = holds_any(line, refused);
    const auto path = path_in(line);
    if (denied && path.starts_with('/') && state.files != FilesHold::open) {
      const auto within = [&](const auto& root) { return is_within(path, root); };
      if (std::ranges::any_of(keys, within)) return SandboxRefusal{Kind::keys, path};
      const bool readable = std::ranges::any_of(policy.read, within) || std::ranges::any_of(policy.write, within);
      return SandboxRefusal{readable || holds_any(line, writes) ? Kind::write : Kind::read, path};
    }
    if (line.starts_with(sandbox_line)) {
      if (!proxy_refused.empty() && line.substr(sandbox_line.size()) == proxy_refused) break;
      continue;  // the server says it
    }
    if (state.network == NetworkHold::domains && holds_any(line, about_network)) {
      proxied = SandboxRefusal{Kind::proxy, {}};
      continue;  // what the proxy said is further down
    }
    if (closed && holds_any(line, about_network)) return SandboxRefusal{Kind::network, {}};
  }
  if (!proxy_refused.empty()) return SandboxRefusal{Kind::domain, clean_line(cut_utf8(proxy_refused, most_said))};
  return proxied;
}

std::string refusal_text(const std::optional<SandboxRefusal>& refusal) {
  if (!refusal) return "it ran in a sandbox: if it needs more than that allows, widen \"sandbox\" in its entry";
  switch (refusal->kind) {
    case SandboxRefusal::Kind::read:
      return fmt::format(
          "its sandbox keeps it from reading {0}; to allow it, add \"{0}\" to \"sandbox.read\" of its entry",
          refusal->path);
    case SandboxRefusal::Kind::write:
      return fmt::format(
          "its sandbox keeps it from writing {0}; to allow it, add \"{0}\" to \"sandbox.write\" of its entry",
          refusal->path);
    case SandboxRefusal::Kind::keys:
      return fmt::format("{} holds credentials, which no server in a sandbox can read", refusal->path);
    case SandboxRefusal::Kind::network:
      return "its sandbox keeps it from the network; to allow it, set \"sandbox.network\" of its entry to \"any\"";
    case SandboxRefusal::Kind::domain:
      return refusal->path;
    case SandboxRefusal::Kind::proxy:
      return "its sandbox leaves it only the domains of \"sandbox.network\", and these only through the proxy that "
             "HTTPS_PROXY names; a program that does not use one has no network";
  }
  return {};
}

}  // namespace patchbay
