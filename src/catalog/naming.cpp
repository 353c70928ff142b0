#include "catalog/naming.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr auto full_prefix = full_name_prefix;
constexpr auto separator = full_name_separator;

// What a shortened name keeps of a long server name, so that the tool's own name, which
// tells a model more, still has room.
constexpr std::size_t server_share = 24;

bool plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Bytes of the UTF-8 sequence at the start of `text`; 1 when it is not one.
std::size_t sequence_length(std::string_view text) noexcept {
  auto lead = static_cast<unsigned char>(text.front());
  std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return length <= text.size() && valid_utf8(text.substr(0, length)) ? length : 1;
}

// `attempt` is 0 but for the rare name whose hash is taken, see settle(). Later attempts
// also hash what tells apart ids that look the same when joined (a NUL inside a name).
std::string hash_of(const ToolId& id, unsigned attempt) {
  std::string original = id.server;
  original += '\0';
  original += id.tool;
  if (attempt == 0) return sha256_hex(original).substr(0, 8);
  original += '\0';
  original += fmt::format("{} {} {}", attempt, id.server.size(), id.prefix == NamePrefix::none ? "bare" : "prefixed");
  return sha256_hex(original).substr(0, 16);
}

std::string hashed_name(const ToolId& id, unsigned attempt) {
  auto suffix = "_" + hash_of(id, attempt);
  auto tool = normalise_name(id.tool);
  if (id.prefix == NamePrefix::none) {
    if (tool.empty()) tool = "tool";
    return tool.substr(0, exposed_name_limit - suffix.size()) + suffix;
  }
  auto server = normalise_name(id.server);
  auto room = exposed_name_limit - full_prefix.size() - separator.size() - suffix.size();
  if (server.size() + tool.size() > room) {
    auto for_server = std::max(room - std::min(room, tool.size()), server_share);
    server = server.substr(0, for_server);
    tool = tool.substr(0, room - server.size());
  }
  return fmt::format("{}{}{}{}{}", full_prefix, server, separator, tool, suffix);
}

bool in_normal_form(const ToolId& id, std::string_view full) { return original_full_name(id) == full; }

// Names for ids that need a hash, none of them in `taken`. A hash that is taken, or that
// two ids share, makes all those involved try their next one; everybody moves at once,
// so the outcome depends on the set alone. A peer can spoil only as many attempts as it
// declares tools.
std::map<ToolId, std::string> settle(const std::set<ToolId>& ids, const std::unordered_set<std::string>& taken) {
  struct Choice {
    unsigned attempt = 0;
    std::string name;
  };
  std::map<ToolId, Choice> choices;
  for (const auto& id : ids) choices[id] = {0, hashed_name(id, 0)};
  for (bool moved = true; moved;) {
    moved = false;
    std::unordered_map<std::string_view, std::size_t> uses;
    for (const auto& [id, choice] : choices) ++uses[choice.name];
    std::vector<std::map<ToolId, Choice>::iterator> unlucky;
    for (auto it = choices.begin(); it != choices.end(); ++it) {
      if (uses[it->second.name] > 1 || taken.contains(it->second.name)) unlucky.push_back(it);
    }
    for (auto it : unlucky) {
      ++it->second.attempt;
      it->second.name = hashed_name(it->first, it->second.attempt);
      moved = true;
    }
  }
  std::map<ToolId, std::string> names;
  for (auto& [id, choice] : choices) names.emplace(id, std::move(choice.name));
  return names;
}

}  // namespace

std::string normalise_name(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto length = sequence_length(text);
    out += length == 1 && plain(text.front()) ? text.front() : '_';
    text.remove_prefix(length);
  }
  return out;
}

std::string normalised_full_name(const ToolId& id) {
  if (id.prefix == NamePrefix::none) return normalise_name(id.tool);
  return fmt::format("{}{}{}{}", full_prefix, normalise_name(id.server), separator, normalise_name(id.tool));
}

std::string original_full_name(const ToolId& id) {
  if (id.prefix == NamePrefix::none) return id.tool;
  return fmt::format("{}{}{}{}", full_prefix, id.server, separator, id.tool);
}

std::optional<std::string_view> behind_server(std::string_view text, std::string_view spelling) noexcept {
  const bool full = text.starts_with(full_prefix) && text.substr(full_prefix.size()).starts_with(spelling) &&
                    text.substr(full_prefix.size() + spelling.size()).starts_with(separator);
  if (full) return text.substr(full_prefix.size() + spelling.size() + separator.size());
  if (!text.starts_with(spelling) || !text.substr(spelling.size()).starts_with('/')) return std::nullopt;
  return text.substr(spelling.size() + 1);
}

std::vector<std::string_view> addressed_parts(std::string_view text, std::string_view server) {
  std::vector<std::string_view> out;
  if (const auto rest = behind_server(text, server)) out.push_back(*rest);
  if (!text.starts_with(full_prefix)) return out;
  const auto plain = behind_server(text, normalise_name(server));
  if (plain && (out.empty() || out.front() != *plain)) out.push_back(*plain);
  return out;
}

bool addresses_server(std::string_view text, std::string_view server) { return !addressed_parts(text, server).empty(); }

std::vector<std::string> expose_names(std::span<const ToolId> ids) {
  std::map<std::string, std::set<ToolId>> wanted;
  std::set<ToolId> need_hash;
  for (const auto& id : ids) {
    auto full = normalised_full_name(id);
    if (full.empty() || full.size() > exposed_name_limit) {
      need_hash.insert(id);
    } else {
      wanted[std::move(full)].insert(id);
    }
  }

  std::map<ToolId, std::string> names;
  std::unordered_set<std::string> taken;
  for (const auto& [full, claimants] : wanted) {
    const ToolId* keeper = nullptr;
    if (claimants.size() == 1) {
      keeper = &*claimants.begin();
    } else {
      auto normal = [&](const ToolId& id) { return in_normal_form(id, full); };
      if (std::ranges::count_if(claimants, normal) == 1) keeper = &*std::ranges::find_if(claimants, normal);
    }
    for (const auto& id : claimants) {
      if (&id == keeper) {
        names.emplace(id, full);
        taken.insert(full);
      } else {
        need_hash.insert(id);
      }
    }
  }
  names.merge(settle(need_hash, taken));

  std::vector<std::string> out;
  out.reserve(ids.size());
  for (const auto& id : ids) out.push_back(names.at(id));
  return out;
}

std::optional<Spelling> spelling_of(std::string_view text, const ToolId& id, std::string_view exposed) {
  if (text == exposed) return Spelling::exposed;
  // Compared in place: a server or tool may itself contain '/' or "__", so the text is
  // never split.
  auto joined = [&](std::string_view before, std::string_view between) {
    return text.size() == before.size() + id.server.size() + between.size() + id.tool.size() &&
           text.starts_with(before) && text.ends_with(id.tool) && text.substr(before.size()).starts_with(id.server) &&
           text.substr(before.size() + id.server.size()).starts_with(between);
  };
  if (joined("", "/")) return Spelling::path;
  if (joined(full_prefix, separator)) return Spelling::original;
  if (text == normalised_full_name(id)) return Spelling::normalised;
  if (text == id.tool) return Spelling::bare;
  return std::nullopt;
}

std::vector<std::size_t> find_named(std::string_view text, std::span<const ToolId> ids,
                                    std::span<const std::string> exposed) {
  std::vector<std::size_t> found;
  std::optional<Spelling> best;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto spelling = spelling_of(text, ids[i], exposed[i]);
    if (!spelling || (best && *spelling > *best)) continue;
    if (!best || *spelling < *best) found.clear();
    best = spelling;
    found.push_back(i);
  }
  return found;
}

}  // namespace patchbay
