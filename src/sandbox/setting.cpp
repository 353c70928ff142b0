#include "sandbox/setting.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "json/kind_text.h"
#include "sandbox/domain_rule.h"

namespace patchbay {
namespace {

using Fault = std::unexpected<std::string>;

constexpr std::size_t most_domain_text = 300;
constexpr std::array<std::string_view, 3> modes{"off", "auto", "required"};
constexpr std::array<std::string_view, 4> networks{"none", "loopback", "domains", "any"};
constexpr std::array<std::string_view, 3> presets{"files", "network", "package-runner"};

template <class Word>
std::optional<Word> word_of(const Json& value, const auto& words) {
  const auto text = value.text();
  if (!text) return std::nullopt;
  const auto found = std::ranges::find(words, *text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Word>(found - words.begin());
}

Fault wrong(std::string_view key, std::string_view expected, const Json& value) {
  // What somebody wrote is shown only where it is a short word.
  const auto text = value.text();
  return Fault(fmt::format("\"sandbox{}{}\" must be {}, found {}", key.empty() ? "" : ".", key, expected,
                           text && text->size() <= 40 ? to_text(value) : kind_with_article(value)));
}

std::expected<std::vector<std::string>, std::string> paths_of(std::string_view key, const Json& value) {
  const auto* items = value.if_array();
  if (items == nullptr) return wrong(key, "an array of paths", value);
  if (items->size() > most_sandbox_paths) {
    return Fault(fmt::format("\"sandbox.{}\" has {} paths; {} are the most", key, items->size(), most_sandbox_paths));
  }
  std::vector<std::string> out;
  for (const auto& item : *items) {
    const auto text = item.text();
    if (!text || text->empty()) return wrong(key, "an array of paths", item);
    if (text->find('\0') != text->npos || text->size() > 4000) {
      return Fault(fmt::format("a path in \"sandbox.{}\" is too long or contains a NUL character", key));
    }
    out.emplace_back(*text);
  }
  return out;
}

// Nothing when it was read.
std::optional<std::string> read_network(SandboxSetting& out, const Json& value) {
  constexpr std::string_view expected = "\"none\", \"loopback\", \"any\" or an array of domains";
  if (const auto* items = value.if_array()) {
    if (items->size() > most_sandbox_domains) {
      return fmt::format("\"sandbox.network\" has {} domains; {} are the most", items->size(), most_sandbox_domains);
    }
    for (const auto& item : *items) {
      const auto text = item.text();
      if (!text || text->size() > most_domain_text) return wrong("network", expected, item).error();
      const auto rule = read_domain_rule(*text);
      if (!rule) return fmt::format("{} in \"sandbox.network\" {}", to_text(item), rule.error());
      out.domains.push_back(to_text(*rule));
    }
    out.network = out.domains.empty() ? SandboxNetwork::none : SandboxNetwork::domains;
    return std::nullopt;
  }
  out.network = word_of<SandboxNetwork>(value, networks);
  if (!out.network || out.network == SandboxNetwork::domains) return wrong("network", expected, value).error();
  return std::nullopt;
}

std::optional<std::string> read_limits(SandboxLimits& out, const Json& value) {
  const auto* members = value.if_object();
  if (members == nullptr) return wrong("limits", "an object", value).error();
  for (const auto& [key, number] : *members) {
    auto* field = key == "processes" ? &out.processes
                  : key == "files"   ? &out.files
                  : key == "memory"  ? &out.memory
                                     : nullptr;
    if (field == nullptr) {
      return fmt::format("unknown key {} in \"sandbox.limits\"; the keys are \"processes\", \"files\" and \"memory\"",
                         to_text(Json(key)));
    }
    const auto count = number.to_int();
    // Fewer files than these, and no program can be loaded.
    const std::int64_t least = key == "files" ? 16 : 1;
    if (!count || *count < least) {
      return wrong(fmt::format("limits.{}", key), fmt::format("a whole number from {}", least), number).error();
    }
    *field = static_cast<std::uint64_t>(*count);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(SandboxMode mode) noexcept { return modes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(SandboxNetwork network) noexcept { return networks[static_cast<std::size_t>(network)]; }
std::string_view to_string(SandboxPreset preset) noexcept { return presets[static_cast<std::size_t>(preset)]; }

std::expected<SandboxSetting, std::string> read_sandbox(const Json& value) {
  SandboxSetting out;
  if (!value.is_object()) {
    const auto mode = word_of<SandboxMode>(value, modes);
    if (!mode) return wrong("", "\"off\", \"auto\", \"required\" or an object", value);
    out.mode = *mode;
    return out;
  }
  out.mode = SandboxMode::automatic;
  for (const auto& [key, member] : *value.if_object()) {
    if (key == "mode") {
      const auto mode = word_of<SandboxMode>(member, modes);
      if (!mode) return wrong(key, "\"off\", \"auto\" or \"required\"", member);
      out.mode = *mode;
    } else if (key == "read" || key == "write") {
      auto paths = paths_of(key, member);
      if (!paths) return Fault(std::move(paths).error());
      (key == "read" ? out.read : out.write) = std::move(*paths);
    } else if (key == "network") {
      if (auto fault = read_network(out, member)) return Fault(std::move(*fault));
    } else if (key == "preset") {
      out.preset = word_of<SandboxPreset>(member, presets);
      if (!out.preset) return wrong(key, "\"files\", \"network\" or \"package-runner\"", member);
    } else if (key == "limits") {
      if (auto fault = read_limits(out.limits, member)) return Fault(std::move(*fault));
    } else {
      // It decides what a server may do, so what was meant is not guessed.
      return Fault(
          fmt::format("unknown key {} in \"sandbox\"; the keys are \"mode\", \"read\", \"write\", \"network\", "
                      "\"preset\" and \"limits\"",
                      to_text(Json(key))));
    }
  }
  return out;
}

}  // namespace patchbay
