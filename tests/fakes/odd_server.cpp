// A child program that behaves in one chosen way, for the process and stdio tests.
//   echo                 writes back every line it reads; ends at the end of stdin
//   print TEXT [then]    writes TEXT (\n \r \t \\ \xNN are escapes); then: "wait" (default) for the end
//                        of stdin, "exit" at once
//   lines PREFIX N SUFFIX [then]   writes PREFIX, N times 'x', SUFFIX
//   exit CODE [LINE...]  writes the lines to stderr, ends with CODE
//   die SIGNAL           ends by a signal
//   deaf                 never reads stdin; says "ready" and waits for a signal
//   mute                 closes stdout, ends at the end of stdin
//   no-input             closes stdin, says {} and stays until a signal
//   stubborn             ignores the end of stdin, INT, HUP and TERM; says "ready"
//   until-int, until-term  ignores the end of stdin (and INT); ends with 0 at INT (TERM)
//   leave-behind         starts a descendant that keeps stdout and stays, says "ready", ends with 3
//   report NAME...       writes one line: cwd, argv[0], the signal mask, ignored signals, open descriptors
//                        above 2, then each variable; ends at the end of stdin
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

void put(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(1, text.data(), text.size());
    if (written <= 0) std::_Exit(141);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void wait_for_end_of_input() {
  char buffer[4096];
  while (::read(0, buffer, sizeof buffer) > 0) {
  }
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'x':
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default:
        out += text[i];
    }
  }
  return out;
}

void finish(const char* how) {
  if (how == nullptr || std::string_view(how) == "wait") wait_for_end_of_input();
}

[[noreturn]] void wait_for_signals() {
  for (;;) ::pause();
}

std::string report(int argc, char** argv) {
  char directory[4096];
  std::string line = ::getcwd(directory, sizeof directory) != nullptr ? directory : "?";
  line += '|';
  line += argv[0];
  line += "|blocked:";
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < 32; ++number) {
    if (::sigismember(&mask, number) == 1) line += std::to_string(number) + ",";
  }
  line += "|ignored:";
  for (int number = 1; number < 32; ++number) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) line += std::to_string(number) + ",";
  }
  line += "|open:";
  DIR* open = ::opendir("/proc/self/fd");
  while (auto* entry = ::readdir(open)) {
    const int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != ::dirfd(open)) line += std::to_string(fd) + ",";
  }
  ::closedir(open);
  for (int i = 2; i < argc; ++i) {
    const char* value = std::getenv(argv[i]);
    line += std::string("|") + argv[i] + "=" + (value != nullptr ? value : "(unset)");
  }
  return line + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "echo") {
    char buffer[65536];
    for (ssize_t length; (length = ::read(0, buffer, sizeof buffer)) > 0;) {
      put({buffer, static_cast<std::size_t>(length)});
    }
  } else if (mode == "print") {
    put(unescape(argv[2]));
    finish(argc > 3 ? argv[3] : nullptr);
  } else if (mode == "lines") {
    put(unescape(argv[2]) + std::string(std::stoul(argv[3]), 'x') + unescape(argv[4]));
    finish(argc > 5 ? argv[5] : nullptr);
  } else if (mode == "exit") {
    for (int i = 3; i < argc; ++i) std::fprintf(stderr, "%s\n", argv[i]);
    return std::atoi(argv[2]);
  } else if (mode == "die") {
    ::signal(std::atoi(argv[2]), SIG_DFL);
    ::raise(std::atoi(argv[2]));
  } else if (mode == "deaf") {
    put("ready\n");
    wait_for_signals();
  } else if (mode == "mute") {
    ::close(1);
    wait_for_end_of_input();
  } else if (mode == "no-input") {
    ::close(0);
    put("ready\n");
    wait_for_signals();
  } else if (mode == "stubborn") {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
    put("ready\n");
    wait_for_signals();
  } else if (mode == "until-int" || mode == "until-term") {
    ::signal(SIGINT, mode == "until-int" ? +[](int) { std::_Exit(0); } : SIG_IGN);
    ::signal(SIGTERM, [](int) { std::_Exit(0); });
    put("ready\n");
    wait_for_signals();
  } else if (mode == "leave-behind") {
    if (::fork() == 0) wait_for_signals();
    put("ready\n");
    return 3;
  } else if (mode == "report") {
    put(report(argc, argv));
    wait_for_end_of_input();
  } else {
    std::fprintf(stderr, "odd-server: unknown mode\n");
    return 64;
  }
  return 0;
}
