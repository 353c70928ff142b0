#include "catalog/naming.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

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

// Names for ids that need a hash, none of them in `taken`, which is sorted. A hash that is taken, or that two ids
// share, makes all those involved try their next one; everybody moves at once, so the outcome depends on the set alone.
// A peer can spoil only as many attempts as it declares tools.
std::vector<std::string> settle(const std::vector<const ToolId*>& ids, const std::vector<std::string_view>& taken) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const auto* id : ids) names.push_back(hashed_name(*id, 0));
  std::vector<unsigned> attempts(ids.size());
  for (;;) {
    std::unordered_map<std::string_view, std::size_t> uses;
    for (const auto& name : names) ++uses[name];
    std::vector<std::size_t> unlucky;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (uses[names[i]] > 1 || std::ranges::binary_search(taken, std::string_view(names[i]))) unlucky.push_back(i);
    }
    if (unlucky.empty()) return names;
    for (auto i : unlucky) names[i] = hashed_name(*ids[i], ++attempts[i]);
  }
}

// What begins like the text is compared first: a name is made only where it may be the one.
bool is_normalised_full_name(std::string_view text, const ToolName& id) {
  if (id.prefix == NamePrefix::none) return text == normalise_name(id.tool);
  if (!text.starts_with(full_prefix)) return false;
  auto full = std::string(full_prefix);
  append_normalised(full, id.server);
  full += separator;
  if (!text.starts_with(full)) return false;
  append_normalised(full, id.tool);
  return text == full;
}

}  // namespace

void append_normalised(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, plain);
    out.append(text.begin(), end);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    if (text.empty()) return;
    out += '_';
    text.remove_prefix(sequence_length(text));
  }
}

std::string normalise_name(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_normalised(out, text);
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
  struct Wish {
    std::size_t at;  // in `ids`, the first of equal ones
    std::string full;
  };
  std::vector<std::size_t> order(ids.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
    const auto which = ids[left] <=> ids[right];
    return which != 0 ? which < 0 : left < right;
  });
  std::vector<std::size_t> first_equal(ids.size());
  std::vector<Wish> wishes;
  std::vector<std::size_t> need_hash;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool again = i > 0 && ids[order[i - 1]] == ids[order[i]];
    first_equal[order[i]] = again ? first_equal[order[i - 1]] : order[i];
    if (again) continue;
    auto full = normalised_full_name(ids[order[i]]);
    if (full.empty() || full.size() > exposed_name_limit) {
      need_hash.push_back(order[i]);
    } else {
      wishes.push_back({order[i], std::move(full)});
    }
  }
  std::ranges::sort(wishes, {}, &Wish::full);

  std::vector<std::string> names(ids.size());
  std::vector<std::string_view> taken;
  for (auto from = wishes.begin(); from != wishes.end();) {
    const auto to = std::find_if(from, wishes.end(), [&](const Wish& wish) { return wish.full != from->full; });
    const auto normal = [&](const Wish& wish) { return in_normal_form(ids[wish.at], wish.full); };
    auto keeper = from;
    if (to - from > 1) keeper = std::count_if(from, to, normal) == 1 ? std::find_if(from, to, normal) : to;
    for (auto wish = from; wish != to; ++wish) {
      if (wish == keeper) {
        taken.push_back(wish->full);
        names[wish->at] = wish->full;
      } else {
        need_hash.push_back(wish->at);
      }
    }
    from = to;
  }

  std::vector<const ToolId*> unnamed;
  for (auto at : need_hash) unnamed.push_back(&ids[at]);
  auto hashed = settle(unnamed, taken);
  for (std::size_t i = 0; i < need_hash.size(); ++i) names[need_hash[i]] = std::move(hashed[i]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (first_equal[i] != i) names[i] = names[first_equal[i]];
  }
  return names;
}

std::optional<Spelling> spelling_of(std::string_view text, const ToolName& id, std::string_view exposed) {
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
  if (is_normalised_full_name(text, id)) return Spelling::normalised;
  if (text == id.tool) return Spelling::bare;
  return std::nullopt;
}

}  // namespace patchbay
