#include "support/running_program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>

#include <patchbay/json.h>

#include "support/planted.h"

extern char** environ;  // NOLINT

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;
constexpr std::size_t kept = 4u << 20;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::vector<std::string> overlaid(const std::map<std::string, std::string>& env) {
  std::vector<std::string> variables;
  for (char** each = environ; *each; ++each) {
    const std::string_view variable = *each;
    if (!env.contains(std::string(variable.substr(0, variable.find('='))))) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : env) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

RunningProgram::RunningProgram(std::vector<std::string> words, const Options& options) : name_(words.at(0)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  out_ = ends[0];
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  auto variables = overlaid(options.env);
  auto argv = pointers(words);
  auto envp = pointers(variables);
  // Nothing between fork and exec but what a signal handler may do.
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) != 0) ::_exit(127);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  if (pid_ < 0) throw std::runtime_error("fork failed");
  drainer_ = std::thread([this] { drain(); });
}

RunningProgram::~RunningProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    {
      std::unique_lock lock(mutex_);
      more_.wait_for(lock, 5s, [&] { return ended_; });
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::eventfd_write(stop_, 1);
  drainer_.join();
  keep_output({name_}, text_);
  ::close(out_);
  ::close(stop_);
}

void RunningProgram::drain() {
  char buffer[16384];
  for (;;) {
    // A child of the program may hold the other end for longer than the program lives.
    pollfd both[2] = {{.fd = out_, .events = POLLIN, .revents = 0}, {.fd = stop_, .events = POLLIN, .revents = 0}};
    ::poll(both, 2, -1);
    if (both[0].revents == 0) return;
    const auto count = ::read(out_, buffer, sizeof buffer);
    std::lock_guard lock(mutex_);
    if (count <= 0) {
      ended_ = true;
      more_.notify_all();
      return;
    }
    if (text_.size() < kept) text_.append(buffer, static_cast<std::size_t>(count));
    more_.notify_all();
  }
}

void RunningProgram::give_up(const std::string& why) const {
  throw std::runtime_error(name_ + " " + why + "; it printed:\n" + output());
}

std::string RunningProgram::wait_for(std::string_view text) {
  std::unique_lock lock(mutex_);
  std::size_t at = std::string::npos;
  std::size_t end = std::string::npos;
  const bool came = more_.wait_for(lock, patience, [&] {
    at = text_.find(text);
    if (at != std::string::npos) end = text_.find('\n', at);
    return end != std::string::npos || ended_;
  });
  if (end == std::string::npos) {
    lock.unlock();
    give_up(came ? "ended before it said " + std::string(text) : "did not say " + std::string(text));
  }
  const auto before = text_.rfind('\n', at);
  const auto begin = before == std::string::npos ? 0 : before + 1;
  return text_.substr(begin, end - begin);
}

void RunningProgram::wait_for_port(std::uint16_t port) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!listening_at(port)) {
    std::unique_lock lock(mutex_);
    more_.wait_for(lock, 10ms, [&] { return ended_; });
    const bool over = ended_ || std::chrono::steady_clock::now() > until;
    lock.unlock();
    if (over) give_up("does not listen at port " + std::to_string(port));
  }
}

std::string RunningProgram::output() const {
  std::lock_guard lock(mutex_);
  return text_;
}

int RunningProgram::end(int signal) {
  ::kill(pid_, signal);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t length = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no free port");
  }
  ::close(fd);
  return ntohs(address.sin_port);
}

bool listening_at(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port);
  const bool open = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return open;
}

std::string served_url(RunningProgram& program) {
  const auto said = parse_json(program.wait_for("\"url\""));
  if (!said || !(*said)["url"].is_string()) throw std::runtime_error("no url in " + program.output());
  return std::string((*said)["url"].as_text());
}

std::uint16_t port_of(std::string_view url) {
  const auto colon = url.rfind(':');
  return static_cast<std::uint16_t>(std::stoul(std::string(url.substr(colon + 1))));
}

}  // namespace patchbay::test
