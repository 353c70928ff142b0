#include "host/channels/inbox.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto for_last_write = 2s;
// Lines about messages that are gone stay in the file until they are this many bytes.
constexpr std::size_t most_waste = 256u << 10;

std::string message_id(const Random& random) {
  std::array<std::uint8_t, 8> bytes{};
  random(bytes);
  std::string id;
  for (const auto byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

}  // namespace

void Inbox::begin(asio::any_io_executor executor, std::string folder) {
  if (scope_) return;
  scope_.emplace(std::move(executor));
  folder_ = std::move(folder);
  opened_ = folder_.empty();
  write_soon();  // which reads what is there
}

void Inbox::count(const KeptMessage& message) {
  auto& load = loads_[message.server];
  ++load.messages;
  load.bytes += message.text.size();
}

std::size_t Inbox::waiting(const std::string& server) const {
  const auto found = loads_.find(server);
  return found == loads_.end() ? 0 : found->second.messages;
}

Inbox::Added Inbox::add(const std::string& server, ChannelText text) {
  if (!scope_ || finished_) return Added::full;
  const auto& load = loads_[server];
  if (load.messages >= limits_.messages || text.text.size() > limits_.bytes - std::min(load.bytes, limits_.bytes)) {
    return Added::full;
  }
  if (!text.digest.empty() && !add_digest(seen_, server, text.digest)) return Added::known;
  Held held;
  held.message = {message_id(random_), server,
                  std::chrono::floor<std::chrono::seconds>(loop_clock(scope_->executor()).wall()), std::move(text.text),
                  std::move(text.digest)};
  count(held.message);
  held_.push_back(std::move(held));
  write_soon();
  return Added::taken;
}

std::vector<ChannelMessage> Inbox::take(const std::function<bool(const std::string&)>& is_open) {
  std::vector<ChannelMessage> out;
  std::size_t bytes = 0;
  for (auto& held : held_) {
    const auto& message = held.message;
    if (!held.kept || held.given || !is_open(message.server)) continue;
    if (!out.empty() && (out.size() >= limits_.group_messages || bytes + message.text.size() > limits_.group_bytes)) {
      break;
    }
    held.given = true;
    bytes += message.text.size();
    out.push_back({message.id, message.server, message.text, message.time});
  }
  return out;
}

Task<void> Inbox::acknowledge(std::vector<std::string> ids) {
  const auto self = shared_from_this();
  const std::set<std::string> wanted(ids.begin(), ids.end());
  std::erase_if(held_, [&](const Held& held) {
    const auto& message = held.message;
    if (!held.given || !wanted.contains(message.id)) return false;
    auto& load = loads_[message.server];
    --load.messages;
    load.bytes -= message.text.size();
    gone_.push_back(message.id);
    return true;
  });
  if (gone_.empty() || !scope_ || finished_) co_return;
  write_soon();
  co_await written();
}

void Inbox::write_soon() {
  dirty_ = true;
  if (!std::exchange(writing_, true)) scope_->spawn(write_all());
}

Task<void> Inbox::written() {
  while (writing_) co_await idle_.wait();
}

Task<void> Inbox::write_all() {
  const auto self = shared_from_this();
  if (!opened_) co_await open_file();
  while (std::exchange(dirty_, false)) co_await write_once();
  writing_ = false;
  idle_.notify_all();
}

void Inbox::keep_in_memory(const Error& why) {
  broken_ = true;
  if (!std::exchange(warned_, true)) log_(LogLevel::warning, "channel_messages_not_kept", "reason", why.message());
}

Task<void> Inbox::open_file() {
  auto opened = co_await offload(Pool::quick, [folder = folder_] { return InboxFile::open(folder); });
  opened_ = true;
  if (!opened) {
    keep_in_memory(opened.error());
    co_return;
  }
  file_ = std::make_shared<InboxFile>(std::move(*opened));
  auto before = file_->take_contents();
  // What was heard meanwhile came later.
  std::deque<Held> all;
  for (auto& message : before.messages) {
    count(message);
    all.push_back({.message = std::move(message), .kept = true});
  }
  std::ranges::move(held_, std::back_inserter(all));
  held_ = std::move(all);
  std::swap(seen_, before.seen);
  for (const auto& [server, digests] : before.seen) {
    for (const auto& digest : digests) add_digest(seen_, server, digest);
  }
  if (!held_.empty()) arrived_.notify_all();
}

InboxContents Inbox::contents() const {
  InboxContents out{{}, seen_};
  for (const auto& held : held_) out.messages.push_back(held.message);
  return out;
}

Task<void> Inbox::write_once() {
  std::string lines;
  std::set<std::string> written;
  std::size_t live = 0;
  for (const auto& held : held_) {
    live += held.message.text.size();
    if (held.kept) continue;
    written.insert(held.message.id);
    lines += write_message(held.message);
  }
  const auto gone = std::exchange(gone_, {});
  if (file_) {
    const bool anew = broken_ || file_->size() > 2 * live + most_waste;
    auto work = [file = file_, lines = std::move(lines), note = gone.empty() ? std::string() : write_gone(gone),
                 whole = anew ? std::optional(write_inbox(contents())) : std::nullopt]() -> Result<void> {
      if (whole) return file->replace(*whole);
      if (!note.empty()) {
        if (auto noted = file->note(note); !noted) return noted;
      }
      return lines.empty() ? Result<void>() : file->add(lines);
    };
    auto done = co_await offload(Pool::quick, std::move(work));
    if (done) {
      broken_ = false;
    } else {
      keep_in_memory(done.error());
    }
  }
  // In memory they are as safe as they can be.
  bool any = false;
  for (auto& held : held_) {
    if (held.kept || !written.contains(held.message.id)) continue;
    held.kept = true;
    any = true;
  }
  if (any) arrived_.notify_all();
}

Task<void> Inbox::finish() {
  const auto self = shared_from_this();
  arrived_.notify_all();  // nobody waits for more
  if (!scope_) co_return;
  if (!std::exchange(finished_, true)) {
    (void)co_await as_result(with_timeout(written(), for_last_write, "the state directory did not answer in time"));
    if (file_ && !writing_ && (broken_ || held_.empty())) {
      auto last = [file = file_, text = write_inbox(contents())] { return file->replace(text); };
      (void)co_await as_result(offload(Pool::quick, std::move(last)));
    }
  }
  scope_->cancel();
  (void)co_await as_result(scope_->join());
  file_.reset();
  arrived_.notify_all();
}

}  // namespace patchbay
