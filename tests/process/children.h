// What the process tests look at from outside: descriptors, zombies, marked processes.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/command.h"
#include "support/places.h"

namespace patchbay::test {

inline std::string program(std::string_view name) { return test::built(name); }

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::set<pid_t> all_pids() {
  std::set<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == name.npos) pids.insert(std::atoi(name.c_str()));
  }
  return pids;
}

// Living processes whose environment contains `mark`.
inline std::vector<pid_t> marked(std::string_view mark) {
  std::vector<pid_t> found;
  for (pid_t pid : all_pids()) {
    if (slurp("/proc/" + std::to_string(pid) + "/environ").find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

// Processes that hold the lock on one of the files in `directory`.
inline std::vector<pid_t> lock_holders(const std::string& directory) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const int fd = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) found.push_back(lock.l_pid);
    ::close(fd);
  }
  return found;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Children of this process, zombies included.
inline std::vector<pid_t> own_children() {
  std::vector<pid_t> found;
  for (pid_t pid : all_pids()) {
    const auto stat = slurp("/proc/" + std::to_string(pid) + "/stat");
    const auto bracket = stat.rfind(')');
    if (bracket != stat.npos && std::atoi(stat.c_str() + bracket + 4) == ::getpid()) found.push_back(pid);
  }
  return found;
}

inline bool alive(pid_t pid) {
  const auto stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const auto bracket = stat.rfind(')');
  return bracket != stat.npos && stat[bracket + 2] != 'Z' && stat[bracket + 2] != 'X';
}

// Sets a variable of this process for as long as it lives.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before, had_ = true;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { had_ ? ::setenv(name_.c_str(), before_.c_str(), 1) : ::unsetenv(name_.c_str()); }

 private:
  std::string name_;
  std::string before_;
  bool had_ = false;
};

}  // namespace patchbay::test
