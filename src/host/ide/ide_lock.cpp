#include "host/ide/ide_lock.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::string_view suffix = ".lock";
constexpr std::size_t longest_token = 1024;
constexpr std::size_t most_folders = 256;

// Without slashes at its end.
std::string_view plain_folder(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return folder;
}

bool contains(std::string_view folder, std::string_view path) {
  if (!folder.starts_with('/')) return false;
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// The length of the longest folder that contains the working directory; 0: none
// does.
std::size_t nearness(const IdeLock& lock, const IdeWish& wish) {
  std::size_t best = 0;
  for (std::string_view folder : lock.folders) {
    folder = plain_folder(folder);
    if (contains(folder, plain_folder(wish.cwd))) best = std::max(best, folder.size());
  }
  return best;
}

}  // namespace

std::optional<std::uint16_t> ide_lock_port(std::string_view file_name) {
  if (!file_name.ends_with(suffix)) return std::nullopt;
  file_name.remove_suffix(suffix.size());
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), port);
  if (error != std::errc() || end != file_name.data() + file_name.size() || port == 0) return std::nullopt;
  // "080" would be a second name for the same port.
  if (file_name.starts_with('0')) return std::nullopt;
  return port;
}

Result<IdeLock> read_ide_lock(std::string_view file_name, std::string_view text) {
  IdeLock lock;
  const auto port = ide_lock_port(file_name);
  if (!port) return fail(Errc::config, "its name is not a port number");
  lock.port = *port;
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return fail(Errc::config, "it is not a JSON object");
  const auto pid = (*value)["pid"].to_int();
  // What kill() takes for more than one process is none.
  if (!pid || *pid <= 0 || *pid > INT32_MAX) return fail(Errc::config, "\"pid\" is not a process number");
  lock.pid = *pid;
  if (const auto* way = value->find("transport")) {
    if (*way == Json("ws")) {
      lock.way = IdeLock::Way::websocket;
    } else if (*way != Json("sse")) {
      return fail(Errc::config, "\"transport\" is neither \"ws\" nor \"sse\"");
    }
  }
  if (const auto* token = value->find("authToken")) {
    const auto given = token->text();
    const bool fits = given && given->size() <= longest_token &&
                      std::ranges::all_of(*given, [](char c) { return c > 0x20 && c < 0x7f; });
    if (!fits) return fail(Errc::config, "\"authToken\" cannot be sent in a header");
    lock.token = Secret(std::string(*given));
  }
  if (const auto* folders = value->find("workspaceFolders")) {
    const auto* list = folders->if_array();
    if (!list) return fail(Errc::config, "\"workspaceFolders\" is not an array");
    for (const auto& folder : *list) {
      if (lock.folders.size() == most_folders) break;
      if (const auto path = folder.text(); path && !path->empty()) lock.folders.emplace_back(*path);
    }
  }
  const auto editor = (*value)["ideName"].text();
  lock.editor = editor ? clean_line(cut_utf8(*editor, 80)) : std::string();
  if (lock.editor.empty()) lock.editor = "an editor";
  return lock;
}

std::optional<std::size_t> choose_ide(std::span<const IdeCandidate> candidates, const IdeWish& wish) {
  std::optional<std::size_t> best;
  auto rank = [&](const IdeLock& lock) {
    const bool asked_for = wish.port && lock.port == *wish.port;
    return std::tuple(asked_for, nearness(lock, wish), lock.written, -static_cast<int>(lock.port));
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [lock, process_gone, port_closed] = candidates[i];
    if (process_gone || port_closed) continue;
    if (const auto [asked_for, near, written, port] = rank(lock); !asked_for && near == 0) continue;
    if (!best || rank(lock) > rank(candidates[*best].lock)) best = i;
  }
  return best;
}

std::string why_not(const IdeCandidate& candidate, const IdeWish& wish) {
  const auto& lock = candidate.lock;
  if (candidate.process_gone)
    return fmt::format("the lock file of {} is out of date, because process {} no longer runs", lock.editor, lock.pid);
  if (candidate.port_closed)
    return fmt::format("the lock file of {} is out of date, because nothing listens on port {}", lock.editor,
                       lock.port);
  if (nearness(lock, wish) > 0 || (wish.port && lock.port == *wish.port)) return fmt::format("{} matches", lock.editor);
  if (lock.folders.empty()) return fmt::format("{} has no folder open", lock.editor);
  return fmt::format("{} has {} open{}", lock.editor, clean_line(lock.folders.front()),
                     lock.folders.size() > 1 ? fmt::format(" and {} more", lock.folders.size() - 1) : "");
}

}  // namespace patchbay
