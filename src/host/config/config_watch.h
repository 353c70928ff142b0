// Notices that configuration files changed, were made or went away. It watches directories, because editors
// replace files: for a file that is not there yet the nearest directory above it that is. Owned by the Host;
// loop thread only. What the change means is found out by reading again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <patchbay/task.h>

namespace patchbay {

// Directory → the names in it that matter; an empty name means every one.
using WatchPlan = std::map<std::string, std::set<std::string>>;

// What to watch for these paths, given which paths are directories. Pure.
WatchPlan watch_plan(const std::set<std::string>& paths, const std::function<bool(const std::string&)>& is_directory);

class ConfigWatch {
 public:
  // Errc::limit when the system gives us no more watches.
  explicit ConfigWatch(asio::any_io_executor executor);
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;
  ~ConfigWatch();

  // From now on these paths, and what symbolic links among them lead to. True when that makes a difference: then
  // a change between reading the files and this call would have gone unnoticed.
  bool look_at(const std::set<std::string>& paths);

  // Returns when something changed and nothing has for 200 ms, or two seconds have passed with changes.
  Task<void> changed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace patchbay
