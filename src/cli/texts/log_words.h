// What an event of the log says to somebody who did not ask for a log: one sentence. Pure.
// Events that nobody at a terminal can do anything about stay in the log.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include <patchbay/log.h>

namespace patchbay::cli {

// Nothing when the event is for the log alone.
std::optional<std::string> log_words(const LogEvent& event);

// Which of these a person is told: none twice, and of one server not more than can be read, whatever it does. What is
// about no server is ours, or of the person's own hooks, and all of it is told.
class ToldLines {
 public:
  // The line, or that no more follow; nothing when it is not told.
  std::optional<std::string> next(const std::string& server, std::string line);

 private:
  std::map<std::string, std::set<std::string>> told_;
};

}  // namespace patchbay::cli
