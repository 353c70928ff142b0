#include "host/config/config_watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <patchbay/error.h>

#include "base/as_result.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto quiet = 200ms;
constexpr auto longest = 2s;
constexpr std::size_t most_directories = 512;
constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

void plan_one(WatchPlan& plan, const fs::path& path, const std::function<bool(const std::string&)>& is_directory) {
  if (is_directory(path.string())) plan[path.string()].insert("");
  auto name = path.filename();
  auto directory = path.parent_path();
  while (!is_directory(directory.string()) && directory.has_relative_path()) {
    name = directory.filename();
    directory = directory.parent_path();
  }
  plan[directory.string()].insert(name.string());
}

}  // namespace

WatchPlan watch_plan(const std::set<std::string>& paths, const std::function<bool(const std::string&)>& is_directory) {
  WatchPlan plan;
  for (const auto& path : paths) plan_one(plan, fs::path(path).lexically_normal(), is_directory);
  return plan;
}

struct ConfigWatch::State {
  explicit State(asio::any_io_executor executor) : descriptor(std::move(executor)) {}

  // Waits until an event matters.
  Task<void> relevant() {
    for (;;) {
      alignas(inotify_event) std::array<char, 16 << 10> buffer;
      const auto length = co_await descriptor.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      bool matters = false;
      for (std::size_t at = 0; at + sizeof(inotify_event) <= length;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        matters |= is_relevant(*event);
        at += sizeof(inotify_event) + event->len;
      }
      if (matters) co_return;
    }
  }

  bool is_relevant(const inotify_event& event) const {
    if ((event.mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) return true;
    auto directory = directories.find(event.wd);
    if (directory == directories.end()) return false;
    const auto names = plan.find(directory->second);
    if (names == plan.end()) return false;
    const std::string name = event.len > 0 ? event.name : "";
    return names->second.contains("") || names->second.contains(name);
  }

  asio::posix::stream_descriptor descriptor;
  WatchPlan plan;
  std::map<int, std::string> directories;
};

ConfigWatch::ConfigWatch(asio::any_io_executor executor) : state_(std::make_unique<State>(std::move(executor))) {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) {
    throw Error(Errc::limit,
                fmt::format("configuration files cannot be watched for changes: {}; restart the program after a change",
                            std::generic_category().message(errno)));
  }
  state_->descriptor.assign(fd);
}

ConfigWatch::~ConfigWatch() = default;

bool ConfigWatch::look_at(const std::set<std::string>& paths) {
  auto is_directory = [](const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
  };
  auto all = paths;
  for (const auto& path : paths) {
    std::error_code error;
    if (fs::is_symlink(path, error)) {
      if (auto target = fs::weakly_canonical(path, error); !error) all.insert(target.string());
    }
  }
  auto plan = watch_plan(all, is_directory);
  while (plan.size() > most_directories) plan.erase(std::prev(plan.end()));
  // A directory that was replaced by another of the same name has to be watched anew, so all are asked for again;
  // the system knows those it watches already.
  std::map<int, std::string> directories;
  const int fd = state_->descriptor.native_handle();
  for (const auto& [directory, names] : plan) {
    const int watch = ::inotify_add_watch(fd, directory.c_str(), events);
    if (watch >= 0) directories.emplace(watch, directory);
  }
  for (const auto& [watch, directory] : state_->directories) {
    if (!directories.contains(watch)) ::inotify_rm_watch(fd, watch);
  }
  const bool different = plan != state_->plan || directories != state_->directories;
  state_->plan = std::move(plan);
  state_->directories = std::move(directories);
  return different;
}

Task<void> ConfigWatch::changed() {
  co_await state_->relevant();
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  const auto latest = clock.now() + longest;
  while (clock.now() < latest) {
    auto more = co_await as_result(with_timeout(state_->relevant(), quiet, "quiet"));
    if (more) continue;
    if (more.error().code() == Errc::timeout) co_return;
    throw std::move(more).error();
  }
}

}  // namespace patchbay
