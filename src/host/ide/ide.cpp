#include "host/ide/ide.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "base/runtime.h"
#include "base/timeout.h"
#include "rpc/channel.h"
#include "text/clean_text.h"
#include "transport/http.h"
#include "transport/ws.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t largest_lock = 64u << 10;
constexpr std::size_t most_locks = 256;
constexpr std::size_t most_reasons = 5;
constexpr auto port_wait = 1s;

// The path without links, as far as it exists; folders are compared by this.
std::string real_path(const std::string& path) {
  std::error_code error;
  auto real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

// An editor's file, or why it is none.
std::expected<IdeCandidate, std::string> read_lock(int folder, const std::string& name, uid_t owner) {
  Fd file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  if (!file) return std::unexpected(errno == ELOOP ? "it is a symbolic link" : std::generic_category().message(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return std::unexpected("it is not a file");
  if (status.st_uid != owner) return std::unexpected(fmt::format("it belongs to user {}, not to you", status.st_uid));
  if ((status.st_mode & S_IWOTH) != 0) return std::unexpected("everybody can write to it");
  if (status.st_size > static_cast<off_t>(largest_lock)) return std::unexpected("it is larger than 64 KiB");
  std::string text(largest_lock + 1, '\0');
  std::size_t used = 0;
  for (;;) {
    const auto count = ::read(file.get(), text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(std::generic_category().message(errno));
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > largest_lock) return std::unexpected("it is larger than 64 KiB");
  }
  text.resize(used);
  auto lock = read_ide_lock(name, text);
  if (!lock) return std::unexpected(lock.error().message());
  for (auto& open : lock->folders) open = real_path(open);
  lock->written = std::chrono::sys_seconds(std::chrono::seconds(status.st_mtim.tv_sec));
  IdeCandidate candidate;
  candidate.lock = std::move(*lock);
  // EPERM: it is there and somebody else's, as with an editor in a sandbox.
  candidate.process_gone = ::kill(static_cast<pid_t>(candidate.lock.pid), 0) != 0 && errno == ESRCH;
  return candidate;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Task<bool> listens(std::uint16_t port) {
  auto connect = [](std::uint16_t at) -> Task<void> {
    asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect({asio::ip::address_v4::loopback(), at}, asio::use_awaitable);
  };
  auto connected = co_await as_result(with_timeout(connect(port), port_wait, "it does not answer"));
  if (!connected && connected.error().code() == Errc::cancelled) throw std::move(connected).error();
  co_return connected.has_value();
}

Error none_found(const IdeSearch& search, const IdeWish& wish, const FoundLocks& found) {
  std::vector<std::string> reasons;
  for (const auto& candidate : found.candidates) {
    reasons.push_back(fmt::format("{}.lock: {}", candidate.lock.port, why_not(candidate, wish)));
  }
  reasons.insert(reasons.end(), found.ignored.begin(), found.ignored.end());
  if (reasons.size() > most_reasons) {
    const auto more = reasons.size() - most_reasons;
    reasons.resize(most_reasons);
    reasons.push_back(fmt::format("{} more", more));
  }
  const auto port = search.port.empty() ? std::string("CLAUDE_CODE_SSE_PORT is not set")
                                        : fmt::format("CLAUDE_CODE_SSE_PORT is {}", clean_line(search.port));
  return Error(Errc::connect,
               fmt::format("no editor was found for {}: {}, and {} ({}); open this folder in an editor that has the "
                           "Claude Code extension, or run this command in the terminal of the editor",
                           clean_line(search.cwd), port,
                           reasons.empty() ? fmt::format("there is no lock file in {}", clean_line(search.folder))
                                           : fmt::format("no lock file in {} matches", clean_line(search.folder)),
                           reasons.empty() ? std::string("<port>.lock") : fmt::format("{}", fmt::join(reasons, "; "))));
}

std::unique_ptr<Transport> transport_to(const IdeLock& lock, std::string& shown) {
  const bool websocket = lock.way == IdeLock::Way::websocket;
  HttpTarget options;
  options.url = fmt::format(fmt::runtime(websocket ? "ws://127.0.0.1:{}" : "http://127.0.0.1:{}/sse"), lock.port);
  if (!lock.token.empty()) {
    options.headers = {{"X-Claude-Code-Ide-Authorization", std::string(lock.token.reveal())}};
  }
  options.proxy = "";
  options.shown = shown = fmt::format("{} at {}", lock.editor, options.url);
  return websocket ? ws_transport_with(std::move(options), nullptr) : sse_transport_with(std::move(options), nullptr);
}

class IdeTransport final : public Transport {
 public:
  explicit IdeTransport(IdeSearch search) : search_(std::move(search)) {}

  Kind kind() const noexcept override { return Kind::sse; }
  std::string describe() const override {
    return shown_->empty() ? fmt::format("an editor with a lock file in {}", search_.folder) : *shown_;
  }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return find_and_open(search_, runtime, shown_);
  }

 private:
  static Task<std::unique_ptr<Channel>> find_and_open(IdeSearch search, Runtime runtime,
                                                      std::shared_ptr<std::string> shown) {
    auto found = find_ide_locks(search);
    for (const auto& reason : found.ignored) {
      runtime.log(LogLevel::info, "lock_file_ignored", "reason", reason);
    }
    const IdeWish wish{port_of(search.port), real_path(search.cwd)};
    while (const auto chosen = choose_ide(found.candidates, wish)) {
      auto& candidate = found.candidates[*chosen];
      if (!co_await listens(candidate.lock.port)) {
        candidate.port_closed = true;
        continue;
      }
      auto transport = transport_to(candidate.lock, *shown);
      co_return co_await transport->open(runtime);
    }
    throw none_found(search, wish, found);
  }

  IdeSearch search_;
  std::shared_ptr<std::string> shown_ = std::make_shared<std::string>();  // the editor it was opened to last
};

}  // namespace

IdeSearch ide_search(const VariableLookup& lookup, std::string cwd) {
  IdeSearch search;
  auto folder = lookup("CLAUDE_CONFIG_DIR").value_or("");
  if (folder.empty()) folder = lookup("HOME").value_or("") + "/.claude";
  search.folder = folder + "/ide";
  search.cwd = std::move(cwd);
  search.port = lookup("CLAUDE_CODE_SSE_PORT").value_or("");
  search.owner = ::geteuid();
  return search;
}

FoundLocks find_ide_locks(const IdeSearch& search) {
  FoundLocks found;
  Fd folder(::open(search.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return found;
  const int fd = folder.get();
  std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(folder.release()), &::closedir);
  if (!listing) {
    ::close(fd);
    return found;
  }
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(listing.get())) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(".lock")) continue;
    if (names.size() == most_locks) {
      found.ignored.push_back(fmt::format(
          "only {} lock files were read, and there are more; delete those of editors that no longer run", most_locks));
      break;
    }
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  for (const auto& name : names) {
    auto candidate = read_lock(fd, name, search.owner);
    if (candidate) {
      found.candidates.push_back(std::move(*candidate));
    } else {
      found.ignored.push_back(fmt::format("{}: {}", clean_line(name), candidate.error()));
    }
  }
  return found;
}

std::unique_ptr<Transport> ide_transport(IdeSearch search) { return std::make_unique<IdeTransport>(std::move(search)); }

ServerConfig ide_server(std::string source) {
  ServerConfig config;
  config.name = "ide";
  config.kind = ServerKind::sse;
  // The editor has more; they are for the program that shows things in it, not
  // for a model.
  config.enabled_tools = std::vector<std::string>{"executeCode", "getDiagnostics"};
  // Editors speak a revision of the session era, and nothing else.
  config.protocol = "legacy";
  config.origin = {.file = std::move(source), .scope = ConfigScope::dynamic};
  return config;
}

}  // namespace patchbay
