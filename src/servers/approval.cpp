#include "servers/approval.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/shell_word.h"

namespace patchbay {
namespace {

using State = ApprovalDecision::State;

ApprovalDecision by_setting(State state, std::string_view key, const SettingsLayer& layer, const SettingPlace& place) {
  ApprovalDecision out;
  out.state = state;
  out.file = layer.file;
  out.line = place.line;
  out.column = place.column;
  out.reason =
      fmt::format("{} by {} in {}:{}", state == State::approved ? "approved" : "rejected", key, layer.file, place.line);
  return out;
}

ApprovalDecision simply(State state, std::string reason, bool changed = false) {
  ApprovalDecision out;
  out.state = state;
  out.changed = changed;
  out.reason = std::move(reason);
  return out;
}

ApprovalDecision by_answer(State state, std::string reason) {
  auto out = simply(state, std::move(reason));
  out.by_answer = true;
  return out;
}

const TextSetting* named_in(const std::vector<TextSetting>& names, std::string_view name) {
  auto found = std::ranges::find(names, name, &TextSetting::value);
  return found == names.end() ? nullptr : &*found;
}

const std::string* remembered(const std::map<std::string, std::string, std::less<>>& answers, std::string_view name) {
  auto found = answers.find(name);
  return found == answers.end() ? nullptr : &found->second;
}

std::string approve_command(std::string_view name) { return "patchbay approve" + shell_operands({std::string(name)}); }

}  // namespace

ApprovalDecision decide_approval(std::string_view name, std::string_view entry_hash, const ApprovalMemory& memory,
                                 std::span<const SettingsLayer> layers, bool trust_project) {
  // A no first, whoever said it.
  for (const auto& layer : layers) {
    if (const auto* entry = named_in(layer.disabled_project_servers, name)) {
      return by_setting(State::rejected, "disabledMcpjsonServers", layer, entry->place);
    }
  }
  const auto* rejected = remembered(memory.rejected, name);
  if (rejected != nullptr && *rejected == entry_hash) {
    return by_answer(State::rejected, fmt::format("you rejected it; to change that, run `{}`", approve_command(name)));
  }

  const auto* approved = remembered(memory.approved, name);
  if (approved != nullptr && *approved == entry_hash) return by_answer(State::approved, "you approved it");
  if (trust_project) return simply(State::approved, "approved by --trust-project");
  for (const auto& layer : layers) {
    if (is_inside_repository(layer.source)) continue;
    if (const auto* entry = named_in(layer.enabled_project_servers, name)) {
      return by_setting(State::approved, "enabledMcpjsonServers", layer, entry->place);
    }
  }
  const SettingsLayer* all = nullptr;
  for (const auto& layer : layers) {
    if (is_inside_repository(layer.source) || !layer.enable_all_project_servers) continue;
    if (all == nullptr || settings_rank(layer.source) < settings_rank(all->source)) all = &layer;
  }
  if (all != nullptr && all->enable_all_project_servers->value) {
    return by_setting(State::approved, "enableAllProjectMcpServers", *all, all->enable_all_project_servers->place);
  }

  if (approved != nullptr || rejected != nullptr) {
    return simply(State::pending,
                  fmt::format("its entry changed after you {} it; look at it and run `{}`",
                              approved != nullptr ? "approved" : "rejected", approve_command(name)),
                  true);
  }
  return simply(State::pending, fmt::format("not approved yet; if you trust it, run `{}`", approve_command(name)));
}

std::vector<ConfigProblem> ignored_approvals(std::span<const SettingsLayer> layers) {
  std::vector<ConfigProblem> out;
  for (const auto& layer : layers) {
    if (!is_inside_repository(layer.source)) continue;
    auto note = [&](std::string_view key, const SettingPlace& place) {
      out.push_back({layer.file,
                     place.line,
                     place.column,
                     fmt::format("\"{}\" is ignored: a file inside the repository cannot approve servers", key),
                     {},
                     Severity::warning});
    };
    if (layer.enable_all_project_servers && layer.enable_all_project_servers->value) {
      note("enableAllProjectMcpServers", layer.enable_all_project_servers->place);
    }
    if (!layer.enabled_project_servers.empty()) {
      note("enabledMcpjsonServers", layer.enabled_project_servers.front().place);
    }
  }
  return out;
}

}  // namespace patchbay
