#include "config/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/merge.h"
#include "config/parse.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view project_file = ".mcp.json";
constexpr std::string_view inline_origin = "--mcp-config";

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// A reason, put behind "cannot be read: ".
using Read = std::expected<std::string, std::string>;

std::unexpected<std::string> unreadable(int error) {
  if (error == ENOENT) return std::unexpected(std::string("there is no such file"));
  if (error == ELOOP) return std::unexpected(std::string("its symbolic links go in a circle"));
  return std::unexpected(std::generic_category().message(error));
}

std::string_view what_is(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

std::unexpected<std::string> not_a_file(mode_t mode) {
  return std::unexpected(fmt::format("it is {}, not a file", what_is(mode)));
}

Read read_text(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    int error = errno;
    struct stat status{};
    // A socket cannot be opened at all; say what it is and not "No such device".
    if (error == ENXIO && ::stat(path.c_str(), &status) == 0) {
      return not_a_file(status.st_mode);
    }
    return unreadable(error);
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return unreadable(errno);
  if (!S_ISREG(status.st_mode)) {
    return not_a_file(status.st_mode);
  }
  std::string text;
  for (;;) {
    auto used = text.size();
    if (used > config_file_limit) {
      return std::unexpected(fmt::format("it is larger than {} MiB", config_file_limit >> 20));
    }
    auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    auto room = std::min(std::max<std::size_t>(expected + 1 > used ? expected + 1 - used : 0, 4096),
                         config_file_limit + 1 - used);
    text.resize(used + room);
    auto count = ::read(file.get(), text.data() + used, room);
    int error = errno;
    text.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && error != EINTR) return unreadable(error);
  }
}

bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// Paths below `cwd` are shown the way a person in it would type them.
std::string shown(const std::string& path, const std::string& cwd) {
  auto relative = fs::path(path).lexically_relative(cwd);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

ParsedServers read_source(const std::string& path, const LoadRequest& request, ConfigScope scope) {
  auto text = read_text(path);
  if (!text) {
    return {{}, {{shown(path, request.cwd), 0, 0, "cannot be read: " + text.error(), {}, Severity::error}}, {}};
  }
  auto parsed = parse_servers(*text, {path, 0, scope, trust_of(scope), 0});
  for (auto& problem : parsed.problems) problem.file = shown(path, request.cwd);
  return parsed;
}

ParsedServers read_argument(const std::string& argument, const LoadRequest& request) {
  if (is_inline_config(argument)) {
    auto scope = ConfigScope::dynamic;
    return parse_servers(argument, {std::string(inline_origin), 0, scope, trust_of(scope), 0});
  }
  auto path = (fs::path(request.cwd) / argument).lexically_normal().string();
  return read_source(path, request, ConfigScope::dynamic);
}

}  // namespace

VariableLookup process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = ::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::string> read_config_file(const std::string& path) {
  auto text = read_text(path);
  if (!text) return fail(Errc::config, fmt::format("{} cannot be read: {}", path, text.error()));
  return std::move(*text);
}

std::vector<std::string> project_config_files(const std::string& cwd) {
  auto start = fs::path(cwd).lexically_normal();
  if (!start.has_filename()) start = start.parent_path();  // a slash at the end
  std::vector<std::string> found;
  for (auto directory = start;; directory = directory.parent_path()) {
    if (auto file = directory / project_file; is_there(file)) found.push_back(file.string());
    if (is_there(directory / ".git")) return found;
    if (!directory.has_relative_path()) break;
  }
  auto here = (start / project_file).string();
  return is_there(here) ? std::vector{here} : std::vector<std::string>{};
}

bool is_inline_config(std::string_view argument) noexcept { return trim(argument).starts_with('{'); }

LoadedConfig load_servers(const LoadRequest& request) {
  std::vector<ParsedServers> sources;
  // A later --mcp-config overrides an earlier one, as a later flag does.
  for (auto it = request.mcp_configs.rbegin(); it != request.mcp_configs.rend(); ++it) {
    sources.push_back(read_argument(*it, request));
  }
  if (!request.strict) {
    for (const auto& file : project_config_files(request.cwd)) {
      sources.push_back(read_source(file, request, ConfigScope::project));
    }
  }
  return merge_sources(sources);
}

}  // namespace patchbay
