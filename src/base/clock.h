// Time and randomness as values handed in, so that tests decide both.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

namespace patchbay {

struct Clock {
  std::function<std::chrono::steady_clock::time_point()> now = [] { return std::chrono::steady_clock::now(); };
  std::function<std::chrono::system_clock::time_point()> wall = [] { return std::chrono::system_clock::now(); };
};

// Fills a span with random bytes; the default is the kernel's generator.
using Random = std::function<void(std::span<std::uint8_t>)>;
Random system_random();

}  // namespace patchbay
