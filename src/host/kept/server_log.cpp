#include "host/kept/server_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/kept_file.h"
#include "base/strings.h"
#include "host/kept/state_files.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_name = 40;
constexpr std::size_t longest_line = 4096;
constexpr std::size_t hash_digits = 16;
constexpr std::string_view time_form = "0000-00-00T00:00:00.000Z";

std::string time_text(std::chrono::sys_time<milliseconds> time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<std::chrono::sys_time<milliseconds>> read_time(std::string_view text) {
  if (text.size() != time_form.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (time_form[i] == '0' ? !digit : text[i] != time_form[i]) return std::nullopt;
  }
  auto number = [&](std::size_t from, std::size_t length) {
    int value = 0;
    std::from_chars(text.data() + from, text.data() + from + length, value);
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) + std::chrono::minutes(number(14, 2)) +
         std::chrono::seconds(number(17, 2)) + milliseconds(number(20, 3));
}

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error) {
  return fail(Errc::internal, fmt::format("{} {}: {}", what, path, std::generic_category().message(error)));
}

Fd open_log(const std::string& path) {
  return Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
}

bool is_log(std::string_view name) { return name.ends_with(".log") || name.ends_with(".log.1"); }

// Two that find the file full at the same time: one moves it, the other one sees another file under the name. Where
// there are no locks, both may move it: then some lines are lost.
void move_aside(const std::string& path, int file, const struct stat& status) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return;
  struct stat now{};
  if (::stat(path.c_str(), &now) == 0 && now.st_ino == status.st_ino && now.st_dev == status.st_dev) {
    (void)::rename(path.c_str(), older_server_log(path).c_str());
  }
}

}  // namespace

std::string_view to_string(ServerLogKind kind) noexcept { return kind == ServerLogKind::wrote ? "stderr" : "event"; }

std::string server_log_path(const std::string& state_directory, const ServerConfig& server, std::string_view project) {
  std::string name(cut_utf8(server.name, longest_name));
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  Json place = Json::array({server.name, server.origin.file});
  // One file has the local entries of all projects, and what flags declare is in none.
  const bool of_project = server.origin.scope == ConfigScope::local || server.origin.scope == ConfigScope::dynamic;
  if (of_project && !project.empty()) place.push_back(project);
  const auto hash = sha256_hex(to_text(place));
  return fmt::format("{}/logs/{}-{}.log", state_directory, name, hash.substr(0, hash_digits));
}

std::string older_server_log(const std::string& path) { return path + ".1"; }

std::string write_log_line(const ServerLogLine& line) {
  const auto text = indentation_of(line.text) + clean_line(line.text);
  return fmt::format("{} {} {}\n", time_text(line.time), to_string(line.kind), cut_utf8(text, longest_line));
}

std::optional<ServerLogLine> read_log_line(std::string_view text) {
  if (text.size() <= time_form.size()) return std::nullopt;
  const auto time = read_time(text.substr(0, time_form.size()));
  if (!time) return std::nullopt;
  text.remove_prefix(time_form.size());
  for (const auto kind : {ServerLogKind::wrote, ServerLogKind::event}) {
    const auto before = fmt::format(" {} ", to_string(kind));
    if (text.starts_with(before)) return ServerLogLine{*time, kind, std::string(text.substr(before.size()))};
  }
  return std::nullopt;
}

Result<void> append_server_log(const std::string& path, std::string_view lines) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  make_private_folders(folder);
  auto file = open_log(path);
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return failed("cannot write", path, errno);
  if (!S_ISREG(status.st_mode)) return fail(Errc::internal, fmt::format("{} is not a file", path));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > 0 && size + lines.size() > largest_server_log) {
    move_aside(path, file.get(), status);
    file = open_log(path);
    if (!file || ::fstat(file.get(), &status) != 0) return failed("cannot write", path, errno);
    // Whoever is moving it does that in a moment; who holds it locked for longer does not make it grow.
    if (static_cast<std::size_t>(status.st_size) + lines.size() > 2 * largest_server_log) {
      return fail(Errc::internal, fmt::format("{} is full, and another program holds it locked", path));
    }
  }
  if (size == 0) remove_oldest(folder, most_server_logs, is_log);
  while (!lines.empty()) {
    const auto count = ::write(file.get(), lines.data(), lines.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed("cannot write", path, errno);
    lines.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace patchbay
