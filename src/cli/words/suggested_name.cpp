#include "cli/words/suggested_name.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

constexpr std::string_view launchers[] = {"npx",    "npm",  "pnpm",   "yarn",    "bunx",  "bun",
                                          "uvx",    "uv",   "pipx",   "python3", "node",  "python",
                                          "docker", "deno", "podman", "java",    "dotnet"};
constexpr std::string_view launcher_words[] = {"run", "exec", "dlx", "x", "tool", "start"};

bool is_among(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// What a name may consist of; "NAME" when nothing is left.
std::string cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) out += c;
    if (!plain && !out.empty() && !out.ends_with('-')) out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() || out.size() > 40 ? "NAME" : out;
}

}  // namespace

bool is_launcher(std::string_view word) { return is_among(launchers, word); }

std::string name_for_command(std::span<const std::string> command) {
  std::string_view word;
  for (const auto& one : command) {
    if (one.empty() || one.starts_with('-') || is_launcher(one) || is_among(launcher_words, one)) continue;
    word = one;
    break;
  }
  // @scope/package@version, /path/to/server.py
  if (const auto version = word.rfind('@'); version != 0 && version != std::string_view::npos) {
    word = word.substr(0, version);
  }
  word = word.substr(word.rfind('/') == std::string_view::npos ? 0 : word.rfind('/') + 1);
  if (const auto dot = word.find('.'); dot != 0 && dot != std::string_view::npos) word = word.substr(0, dot);
  for (const std::string_view before : {"mcp-server-", "server-", "mcp-"}) {
    if (word.starts_with(before) && word.size() > before.size()) word.remove_prefix(before.size());
  }
  for (const std::string_view behind : {"-mcp-server", "-server", "-mcp"}) {
    if (word.ends_with(behind) && word.size() > behind.size()) word.remove_suffix(behind.size());
  }
  return cleaned(word);
}

std::string name_for_url(std::string_view url) {
  const auto scheme = url.find("://");
  auto host = url.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (const auto user = host.rfind('@'); user != std::string_view::npos) host = host.substr(user + 1);
  host = host.substr(0, host.find(':'));
  auto labels = split(host, '.');
  // What most hosts of servers begin with says nothing, and neither does the end.
  while (labels.size() > 2 && is_among(std::vector<std::string_view>{"mcp", "api", "www"}, labels.front())) {
    labels.erase(labels.begin());
  }
  const bool number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return number || labels.empty() ? "NAME" : cleaned(labels.front());
}

}  // namespace patchbay::cli
