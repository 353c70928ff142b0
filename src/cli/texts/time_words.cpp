#include "cli/texts/time_words.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace patchbay::cli {

std::string local_time(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S %z}", fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

std::string local_time(std::string_view utc) {
  const std::string text(utc);
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != 0) return text;
  return local_time(std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts))));
}

}  // namespace patchbay::cli
