// A limit as people write it: "30 s", "1500 ms"; "64 MiB", "10 KiB", "12 bytes". Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace patchbay {

std::string limit_text(std::chrono::nanoseconds limit);
std::string limit_text(std::size_t bytes);

}  // namespace patchbay
