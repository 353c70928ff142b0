// What goes to stdout in pieces while other work goes on: a reader that is slow loses nothing and holds nothing up.
// The writing waits on a helper thread. Loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include <patchbay/task.h>

#include "base/waiting.h"
#include "cli/io.h"

namespace patchbay::cli {

class OutputLines {
 public:
  explicit OutputLines(Io& io) : io_(io) {}
  OutputLines(const OutputLines&) = delete;
  OutputLines& operator=(const OutputLines&) = delete;

  void put(std::string text);
  // Returns when what nobody has taken yet is not too much: for those who can wait before they make more. Whoever
  // writes has to be there, or to cancel those who wait when it ends.
  Task<void> room();
  // Nothing more will come.
  void end();
  // Writes until the end, in order. Throws what Io::out throws, for a reader that has left, say. Spawned once; whoever
  // cancels it leaves what the reader has not taken.
  Task<void> write();

 private:
  Io& io_;
  std::deque<std::string> waiting_;
  std::size_t bytes_ = 0;  // of those, and of what is being written
  bool ended_ = false;
  Event changed_;
  Event written_;
};

}  // namespace patchbay::cli
