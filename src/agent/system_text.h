// The text that a conversation begins with: who the model is here, where and when, and which servers there are. Made
// once for a conversation, of the same values as its tools. Pure.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tool_offer.h"

namespace patchbay {

struct SystemFacts {
  std::string instructions = {};  // instead of the usual ones
  std::string more = {};          // behind them
  std::string directory = {};
  std::chrono::sys_seconds now = {};
  bool plan_mode = false;
};

std::string system_text(const SystemFacts& facts, const ToolsNow& now);

// What a model is told when the mode changes in the middle of a conversation.
std::string_view plan_mode_text(bool plan_mode) noexcept;
// What a conversation was told last; nothing where it was never told.
std::optional<bool> told_plan_mode(const std::vector<std::shared_ptr<const ModelMessage>>& messages);

}  // namespace patchbay
