// A server that is hard to get rid of, for the orphan test: orphan-server MODE DIRECTORY.
// It and each descendant hold a lock on a file of their own in DIRECTORY and stay for good;
// the end of stdin does not interest them. MODE is how the next generation is started and
// what every member does: "ignores" INT, TERM and HUP; "setsid" leaves the session;
// "double-fork" lets the parent in between end; "runaway" ignores signals like the first and
// has one more descendant that forks and ends without pause, a new pid each time. Writes "ready"
// when all of them are up.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace {

constexpr int generations = 3;  // below the server, two members each: 2 + 4 + 8

void join(std::string_view mode, const std::string& directory, int up) {
  if (mode == "ignores" || mode == "runaway") {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  }
  const auto file = directory + "/" + std::to_string(::getpid()) + ".lock";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fd < 0 || ::fcntl(fd, F_SETLK, &lock) != 0) std::_Exit(65);
  if (::write(up, "u", 1) != 1) std::_Exit(66);
}

void multiply(std::string_view mode, const std::string& directory, int up, int generation) {
  if (generation == 0) return;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    if (child < 0) std::_Exit(67);
    if (child > 0) {
      if (mode == "double-fork") ::waitpid(child, nullptr, 0);
      continue;
    }
    if (mode == "setsid" || mode == "double-fork") ::setsid();
    if (mode == "double-fork" && ::fork() != 0) std::_Exit(0);
    join(mode, directory, up);
    multiply(mode, directory, up, generation - 1);
    for (;;) ::pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  int up[2];
  if (::pipe(up) != 0) return 68;
  join(argv[1], argv[2], up[1]);
  multiply(argv[1], argv[2], up[1], generations);
  if (std::string_view(argv[1]) == "runaway" && ::fork() == 0) {
    // Not quite for ever, in case nobody catches it.
    const auto give_up = std::time(nullptr) + 20;
    while (::fork() == 0 && std::time(nullptr) < give_up) {
    }
    std::_Exit(0);
  }
  for (int count = 0; count < 1 + 2 + 4 + 8; ++count) {
    char byte;
    if (::read(up[0], &byte, 1) != 1) return 69;
  }
  if (::write(1, "ready\n", 6) != 6) return 70;
  for (;;) ::pause();
}
