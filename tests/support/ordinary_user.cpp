#include "support/ordinary_user.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include <grp.h>

namespace patchbay::test {
namespace {

constexpr unsigned nobody = 65534;

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// Ends the process: nothing of the parent's must be destroyed twice.
[[noreturn]] void work_as_nobody(int out, const std::function<std::string()>& work) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(2);
  try {
    ::_exit(write_all(out, work()) ? 0 : 3);
  } catch (...) {
    ::_exit(4);
  }
}

}  // namespace

std::string as_ordinary_user(const std::string& directory, const std::function<std::string()>& work) {
  if (::getuid() != 0) return work();
  struct stat status{};
  int ends[2];
  if (::stat(directory.c_str(), &status) != 0 || ::chmod(directory.c_str(), status.st_mode | 0055) != 0 ||
      ::pipe(ends) != 0) {
    throw std::runtime_error("cannot prepare a child for an ordinary user");
  }
  const auto child = ::fork();
  if (child == 0) work_as_nobody(ends[1], work);
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int outcome = 0;
  if (child < 0 || ::waitpid(child, &outcome, 0) != child || outcome != 0) {
    throw std::runtime_error("the child of an ordinary user failed");
  }
  return said;
}

}  // namespace patchbay::test
