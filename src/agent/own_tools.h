// The tools that every agent has by itself: reading on in a large result, and waiting. Used by Agent; loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <patchbay/agent.h>

namespace patchbay {

inline constexpr std::chrono::seconds longest_sleep{3600};

// "result_read".
AgentTool result_read_tool(Host& host);

// "sleep". `wait` returns after that time, true when it was woken earlier.
AgentTool sleep_tool(std::function<Task<bool>(std::chrono::milliseconds)> wait);

}  // namespace patchbay
