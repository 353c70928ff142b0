#include "cli/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "entries/server_argument.h"
#include "process/command_lookup.h"

namespace patchbay::cli {
namespace {

// A program that fails does so soon; one that is still there by then shows the page.
constexpr std::chrono::milliseconds first_moment{2000};
constexpr std::size_t most_commands = 16;

bool is_set(const VariableLookup& variables, std::string_view name) {
  const auto value = variables(name);
  return value && !value->empty();
}

std::string with_url(std::string_view word, const std::string& url, bool& used) {
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    if (word.substr(at, 2) == "%s") {
      out += url;
      used = true;
      at += 2;
    } else {
      out += word[at++];
    }
  }
  return out;
}

// Empty: it runs, with this id.
std::string start_apart(const std::vector<std::string>& words, pid_t& pid) {
  const char* path = ::getenv("PATH");
  const auto program = find_command(words.front(), path ? std::string_view(path) : default_path, ".");
  if (!program) return program.error().message();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int standard : {0, 1, 2}) {
    ::posix_spawn_file_actions_addopen(&files, standard, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // Ctrl-C here is not meant for the browser.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (auto& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&pid, program->c_str(), &files, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? std::string() : fmt::format("{}: {}", words.front(), std::strerror(failed));
}

Task<void> until_ended(asio::posix::stream_descriptor& process) {
  co_await process.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
}

// Empty: it runs, or has ended well.
Task<std::string> fault_of(std::string name, pid_t pid) {
  asio::posix::stream_descriptor process(co_await asio::this_coro::executor);
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) co_return std::string();
  process.assign(fd);
  auto ended = co_await as_result(with_timeout(until_ended(process), as_duration(first_moment), "it runs"));
  if (!ended && ended.error().code() != Errc::timeout) throw std::move(ended).error();
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) co_return std::string();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) co_return std::string();
  co_return WIFEXITED(status) ? fmt::format("{} exited with status {}", name, WEXITSTATUS(status))
                              : fmt::format("{} was ended by signal {}", name, WTERMSIG(status));
}

}  // namespace

std::vector<std::vector<std::string>> browser_commands(std::string_view browser, const std::string& url) {
  std::vector<std::vector<std::string>> out;
  for (const auto one : split(browser, ':')) {
    auto words = split_command_line(one);
    if (!words || words->empty() || words->front().empty() || out.size() == most_commands) continue;
    bool used = false;
    // The program itself is never made of the address.
    for (std::size_t i = 1; i < words->size(); ++i) (*words)[i] = with_url((*words)[i], url, used);
    if (!used) words->push_back(url);
    out.push_back(std::move(*words));
  }
  return out;
}

BrowserPlan browser_plan(const VariableLookup& variables, const std::string& url) {
  BrowserPlan plan;
  if (is_set(variables, "BROWSER")) {
    plan.commands = browser_commands(*variables("BROWSER"), url);
    if (plan.commands.empty()) plan.why_not = "BROWSER does not name a program";
    return plan;
  }
  if (is_set(variables, "SSH_CONNECTION")) {
    plan.why_not = "this terminal is used over SSH";
  } else if (!is_set(variables, "DISPLAY") && !is_set(variables, "WAYLAND_DISPLAY")) {
    plan.why_not = "there is no display, and BROWSER is not set";
  } else {
    plan.commands.push_back({"xdg-open", url});
  }
  return plan;
}

Task<std::string> open_browser(BrowserPlan plan) {
  if (plan.commands.empty()) co_return plan.why_not;
  std::string fault;
  for (const auto& words : plan.commands) {
    pid_t pid = 0;
    auto wrong = start_apart(words, pid);
    if (wrong.empty()) wrong = co_await fault_of(words.front(), pid);
    if (wrong.empty()) co_return std::string();
    if (fault.empty()) fault = std::move(wrong);
  }
  co_return fault;
}

}  // namespace patchbay::cli
