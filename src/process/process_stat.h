// What the system says of a process by its number (proc(5), "stat"). The number may be another process's by now: it is
// for whoever knows that it is not, or asks twice. Used by process.cpp and process_pin.cpp. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace patchbay {

struct ProcessStat {
  char state = '?';
  pid_t session = 0;
  unsigned long flags = 0;  // of the kernel
  bool ended() const noexcept { return state == 'Z' || state == 'X'; }
  bool exiting() const noexcept { return (flags & 0x4) != 0; }  // PF_EXITING
  bool operator==(const ProcessStat&) const = default;
};

// The text of such a file; a program may have any name, also one with blanks, brackets and line ends. Pure.
std::optional<ProcessStat> read_process_stat(std::string_view text);

// Nothing when there is no such process, or nobody may know.
std::optional<ProcessStat> process_stat(pid_t pid);

}  // namespace patchbay
