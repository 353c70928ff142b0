// `patchbay logs SERVER [-n LINES] [-f]`: what a server wrote to stderr and what happened to it, from the log in the
// state directory (host/kept/server_log). Starts nothing. With -f it goes on until it is interrupted or its reader
// leaves.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/kept_file.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "cli/texts/time_words.h"
#include "host/kept/server_log.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t piece = 64u << 10;
constexpr std::size_t longest_line = 16u << 10;  // ours are shorter; another program may have written here

Json line_json(const ServerLogLine& line, std::string_view text) {
  return {{"time", std::string(text.substr(0, text.find(' ')))}, {"kind", to_string(line.kind)}, {"text", line.text}};
}

// Reads a log from wherever it stopped, through the change to a new file.
class LogReader {
 public:
  explicit LogReader(std::string path) : path_(std::move(path)) {}

  // Every whole line that is new.
  void read(const std::function<void(std::string_view)>& use) {
    if (!file_) reopen();
    while (file_) {
      drain(use);
      if (!is_replaced()) return;
      drain(use);  // what came between the two
      reopen();
    }
  }
  bool is_open() const noexcept { return static_cast<bool>(file_); }

 private:
  void reopen() {
    partial_.clear();
    file_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (file_ && (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))) file_.reset();
  }
  bool is_replaced() const {
    struct stat now{};
    struct stat mine{};
    return ::stat(path_.c_str(), &now) == 0 && ::fstat(file_.get(), &mine) == 0 &&
           (now.st_ino != mine.st_ino || now.st_dev != mine.st_dev);
  }
  void drain(const std::function<void(std::string_view)>& use) {
    std::array<char, piece> buffer;
    for (;;) {
      const auto count = ::read(file_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      partial_.append(buffer.data(), static_cast<std::size_t>(count));
      std::size_t from = 0;
      for (std::size_t at; (at = partial_.find('\n', from)) != partial_.npos; from = at + 1) {
        use(std::string_view(partial_).substr(from, at - from));
      }
      partial_.erase(0, from);
      if (partial_.size() > longest_line) partial_.clear();
    }
  }

  std::string path_;
  Fd file_;
  std::string partial_;
};

// Returns when something in the folder changed; false: nobody reads our output any more.
bool wait_for_change(int watch) {
  std::array<pollfd, 2> waits{pollfd{watch, POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0) {
    if (errno != EINTR) return false;
  }
  if ((waits[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return false;
  std::array<char, 4096> news;
  while (::read(watch, news.data(), news.size()) > 0) {
  }
  return true;
}

void follow(LogReader& reader, const std::string& path, const std::function<void(std::string_view)>& use) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  make_private_folders(folder);
  const Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  constexpr std::uint32_t changes = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE;
  if (!watch || ::inotify_add_watch(watch.get(), folder.c_str(), changes) < 0) {
    throw Error(Errc::internal, fmt::format("cannot watch {}: {}", folder, std::generic_category().message(errno)));
  }
  do {
    reader.read(use);
  } while (wait_for_change(watch.get()));
}

}  // namespace

int logs(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto& server = entry_named(declared, settings.words.front(), "");
  const auto directory = state_directory();
  if (directory.empty())
    throw Error(Errc::config, "there is no state directory: neither XDG_STATE_HOME nor HOME is set");
  const auto path = server_log_path(directory, server, declared.config.project_dir);
  Json lines = Json::array();
  bool any = false;
  const std::function<void(std::string_view)> show = [&](std::string_view text) {
    const auto line = read_log_line(text);
    if (!line) return;
    any = true;
    if (!settings.json) {
      const auto time = local_time(std::chrono::floor<std::chrono::seconds>(line->time));
      print_lines(io, fmt::format("{} {} {}\n", time, to_string(line->kind), safe_line(line->text, longest_line)));
    } else if (settings.follow) {
      io.out(to_text(line_json(*line, text)) + "\n");
    } else {
      lines.push_back(line_json(*line, text));
    }
  };
  // Both files are of limited size.
  std::deque<std::string> held;
  const std::function<void(std::string_view)> hold = [&](std::string_view text) {
    if (!read_log_line(text)) return;
    held.emplace_back(text);
    if (held.size() > *settings.last_lines) held.pop_front();
  };
  const auto& use = settings.last_lines ? hold : show;
  LogReader(older_server_log(path)).read(use);
  LogReader reader(path);
  reader.read(use);
  for (const auto& text : held) show(text);
  if (settings.follow) {
    follow(reader, path, show);
    return 0;
  }
  if (settings.json) {
    io.out(json_text({{"server", server.name}, {"file", path}, {"lines", std::move(lines)}}, io.out_is_terminal));
  } else if (!any && settings.last_lines != 0) {
    io.talk(fmt::format("There is no log of \"{}\" yet. It begins when the server is started: patchbay tools{}\n",
                        safe_name(server.name, 80), shell_operands({server.name})));
  }
  return 0;
}

}  // namespace patchbay::cli
