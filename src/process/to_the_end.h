// What is the same for every short program that is run for what it prints: its input, written while it is free to write
// first, to read some of it, or none; and its output up to its end. Loop thread only; the process outlives both.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <patchbay/task.h>

#include "process/process.h"

namespace patchbay {

// Writes as the pipe takes it, then closes it. Keep it as long as the program may read.
class Feeder : public std::enable_shared_from_this<Feeder> {
 public:
  Feeder(Process& process, std::shared_ptr<const std::string> text) : process_(process), text_(std::move(text)) {}
  void go_on();

 private:
  Process& process_;
  std::shared_ptr<const std::string> text_;
  std::size_t sent_ = 0;
};

// Until the program has ended and what it wrote is read, or `output` is larger than `most`.
Task<void> read_to_end(Process& process, std::string& output, std::size_t most);

// Process::shutdown, to its end whether or not somebody still waits.
Task<void> shut_down(Process& process, Patience patience);

}  // namespace patchbay
