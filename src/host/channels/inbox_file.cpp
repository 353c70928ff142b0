#include "host/channels/inbox_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "base/file_lock.h"
#include "base/kept_file.h"
#include "base/whole_file.h"

namespace patchbay {
namespace {

constexpr int most_processes = 16;               // with channels in one project at a time
constexpr std::size_t largest_file = 64u << 20;  // far more than the bounds of all servers of a project come to

std::unexpected<Error> failed(std::string_view what, const std::string& path) {
  return fail(Errc::internal, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

Fd open_lock(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
}

Json line_of(const KeptMessage& message) {
  Json line{{"id", message.id},
            {"server", message.server},
            {"time", static_cast<std::int64_t>(message.time.time_since_epoch().count())},
            {"text", message.text}};
  if (!message.digest.empty()) line["digest"] = message.digest;
  return line;
}

std::string text_member(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return std::string(text.value_or(""));
}

void read_line(const Json& line, InboxContents& contents, std::set<std::string>& gone, std::set<std::string>& known) {
  if (line.find("gone") != nullptr) {
    for (const auto& id : line["gone"].items()) {
      if (const auto text = id.text()) gone.emplace(*text);
    }
    return;
  }
  if (line.find("seen") != nullptr) {
    for (const auto& [server, digests] : line["seen"].members()) {
      for (const auto& digest : digests.items()) {
        if (const auto text = digest.text()) add_digest(contents.seen, std::string(server), std::string(*text));
      }
    }
    return;
  }
  KeptMessage message{.id = text_member(line, "id"),
                      .server = text_member(line, "server"),
                      .time = std::chrono::sys_seconds(std::chrono::seconds(line["time"].to_int().value_or(0))),
                      .text = text_member(line, "text"),
                      .digest = text_member(line, "digest")};
  if (message.id.empty() || message.server.empty() || message.text.empty()) return;
  if (!known.insert(message.id).second) return;
  if (!message.digest.empty()) add_digest(contents.seen, message.server, message.digest);
  contents.messages.push_back(std::move(message));
}

// Those of the same second stay in their order.
void sort_by_time(std::vector<KeptMessage>& messages) {
  std::multimap<std::chrono::sys_seconds, KeptMessage> sorted;
  for (auto& message : messages) {
    const auto time = message.time;
    sorted.emplace(time, std::move(message));
  }
  messages.clear();
  for (auto& [time, message] : sorted) messages.push_back(std::move(message));
}

}  // namespace

bool add_digest(SeenDigests& seen, const std::string& server, const std::string& digest) {
  auto& digests = seen[server];
  if (std::ranges::find(digests, digest) != digests.end()) return false;
  digests.push_back(digest);
  if (digests.size() > most_seen_digests) digests.pop_front();
  return true;
}

std::string write_message(const KeptMessage& message) { return to_text(line_of(message)) + "\n"; }

std::string write_gone(std::span<const std::string> ids) {
  Json list = Json::array();
  for (const auto& id : ids) list.push_back(id);
  return to_text(Json{{"gone", std::move(list)}}) + "\n";
}

std::string write_inbox(const InboxContents& contents) {
  std::string out;
  Json seen = Json::object();
  for (const auto& [server, digests] : contents.seen) {
    Json list = Json::array();
    for (const auto& digest : digests) list.push_back(digest);
    if (!digests.empty()) seen[server] = std::move(list);
  }
  if (seen.members().begin() != seen.members().end()) out += to_text(Json{{"seen", std::move(seen)}}) + "\n";
  for (const auto& message : contents.messages) out += write_message(message);
  return out;
}

void read_inbox(std::string_view text, InboxContents& contents) {
  std::set<std::string> gone;
  std::set<std::string> known;
  for (const auto& message : contents.messages) known.insert(message.id);
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) break;  // whoever wrote it was killed
    const auto line = parse_json(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (line && line->is_object()) read_line(*line, contents, gone, known);
  }
  std::erase_if(contents.messages, [&](const KeptMessage& message) { return gone.contains(message.id); });
}

Result<InboxFile> InboxFile::open(std::string folder) {
  make_private_folders(folder);
  std::optional<InboxFile> ours;
  // Of processes that have ended; their locks are held until what they left is ours.
  std::vector<std::pair<std::string, Fd>> left;
  for (int n = 1; n <= most_processes; ++n) {
    const auto lock_path = fmt::format("{}/{}.lock", folder, n);
    const auto path = fmt::format("{}/{}.jsonl", folder, n);
    if (ours && ::access(path.c_str(), F_OK) != 0) continue;
    auto lock = open_lock(lock_path);
    if (!lock) return failed("open", lock_path);
    switch (wait_for_lock(lock.get(), std::chrono::milliseconds(0))) {
      case LockOutcome::taken:
        break;
      case LockOutcome::busy:
        continue;
      case LockOutcome::unavailable:
        return failed("lock", lock_path);
    }
    if (ours) {
      left.emplace_back(path, std::move(lock));
    } else {
      ours = InboxFile(path, std::move(lock));
    }
  }
  if (!ours) {
    return fail(Errc::internal, fmt::format("{} other processes have channels in this project", most_processes));
  }
  auto text = read_whole_file(ours->path_, largest_file);
  if (!text) return std::unexpected(std::move(text).error());
  if (*text) read_inbox(**text, ours->contents_);
  for (const auto& [path, lock] : left) {
    auto more = read_whole_file(path, largest_file);
    if (!more) return std::unexpected(std::move(more).error());
    if (*more) read_inbox(**more, ours->contents_);
  }
  if (!left.empty()) sort_by_time(ours->contents_.messages);
  if (auto written = ours->replace(write_inbox(ours->contents_)); !written) {
    return std::unexpected(std::move(written).error());
  }
  for (const auto& [path, lock] : left) (void)::unlink(path.c_str());
  return std::move(*ours);
}

Result<void> InboxFile::replace(std::string_view text) {
  if (auto written = replace_file(path_, text, Survives::loss_of_power); !written) return written;
  file_ = Fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file_) return failed("open", path_);
  size_ = text.size();
  return {};
}

Result<void> InboxFile::append(std::string_view lines, bool sync) {
  if (!file_) return fail(Errc::internal, fmt::format("{} is not open", path_));
  const auto whole = lines.size();
  auto take_back = [&](std::string_view what) {
    auto why = failed(what, path_);
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) file_.reset();  // half a line: begun anew
    return why;
  };
  while (!lines.empty()) {
    const auto count = ::write(file_.get(), lines.data(), lines.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return take_back("write");
    lines.remove_prefix(static_cast<std::size_t>(count));
  }
  if (sync && ::fdatasync(file_.get()) != 0) return take_back("write");
  size_ += whole;
  return {};
}

Result<void> InboxFile::add(std::string_view lines) { return append(lines, true); }
Result<void> InboxFile::note(std::string_view lines) { return append(lines, false); }

}  // namespace patchbay
