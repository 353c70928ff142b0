// The line that shows a person that something is going on: on a terminal only, on stderr,
// after a moment, gone when the work is done. Loop thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "cli/io.h"

namespace patchbay::cli {

class Waiting {
 public:
  explicit Waiting(Io& io) : io_(io) {}
  // Draws until cancelled; spawned once by the runner.
  Task<void> draw();

  void begin(std::string what);
  void progress(const Progress& progress);
  void status(const RemoteTask& task);
  void end();
  // Clears the line so that something else can be printed.
  void pause();
  // Draws nothing while a person is asked something.
  void suspend();
  void resume();

 private:
  void show();

  Io& io_;
  std::string what_;
  std::optional<Progress> progress_;
  std::string status_;
  std::chrono::steady_clock::time_point begun_;
  bool active_ = false;
  bool drawn_ = false;
  bool suspended_ = false;
  std::size_t frame_ = 0;
};

}  // namespace patchbay::cli
