#include "agent/conversation/conversation.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "agent/conversation/conversation_file.h"
#include "agent/conversation/record.h"
#include "base/as_result.h"
#include "base/clock.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/waiting.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_id_shown = 40;

std::uint64_t random_number() {
  std::uint64_t number = 0;
  std::array<std::uint8_t, sizeof number> bytes{};
  system_random()(bytes);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// A disk may take long, and others wait for nothing here: the threads for that. It is waited for all the same.
template <class F>
auto on_disk(F work) {
  return offload_to(offload_pool(Pool::slow), WhenCancelled::waits, std::move(work));
}

Task<std::chrono::sys_seconds> current_time() {
  const auto executor = co_await asio::this_coro::executor;
  auto& clock = loop_clock(executor);
  co_return std::chrono::floor<std::chrono::seconds>(clock.wall());
}

// What helper threads need of the options.
struct Place {
  explicit Place(const ConversationOptions& options)
      : state_directory(options.state_directory), directory(options.directory), only_folder(options.folder) {}
  std::string folder() const {
    return only_folder.empty() ? conversation_folder(state_directory, directory) : only_folder;
  }
  std::string state_directory, directory;
  std::string only_folder;
};

ConversationOptions settled(ConversationOptions options) {
  if (options.directory.empty()) {
    std::error_code error;
    options.directory = std::filesystem::current_path(error).string();
  }
  return options;
}

}  // namespace

class Conversation::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(ConversationOptions o, ConversationHead h) : options(std::move(o)), head(std::move(h)) {
    kept = !options.state_directory.empty();
  }

  // To memory at once, then to the file: all that waits is written together, in its order, by whoever comes first.
  Task<void> add(std::shared_ptr<Impl> self, std::vector<ConversationRecord> added) {
    std::string text;
    for (const auto& record : added) {
      state.apply(record);
      if (!kept) continue;
      auto line = write_record(record);
      if (line.size() > options.limits.record) {
        give_up(fmt::format("a message has more than {} bytes", options.limits.record));
      }
      text += line;
    }
    if (!kept) co_return;
    waiting += text;
    records += added.size();
    const auto mine = ++queued;
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    while (done < mine && kept) {
      if (writing) {
        (void)co_await as_result(written.wait());
      } else {
        co_await write(self);
      }
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
  }

  Task<void> write(std::shared_ptr<Impl> /*alive*/) {
    writing = true;
    const auto upto = queued;
    auto lines = std::exchange(waiting, {});
    if (!file) {
      head.begun = co_await current_time();
      lines.insert(0, write_head(head));
    }
    const auto size = lines.size() + (file ? file->size() : 0);
    Result<void> outcome;
    if (size > options.limits.file || records > options.limits.records) {
      outcome = fail(Errc::limit, fmt::format("it has more than {} bytes or {} events", options.limits.file,
                                              options.limits.records));
    } else {
      // Whatever happens, those who wait for it are told.
      auto put_down = co_await as_result(put(std::move(lines)));
      outcome = put_down ? std::move(*put_down) : std::unexpected(std::move(put_down).error());
    }
    writing = false;
    done = upto;
    if (!outcome) give_up(outcome.error().message());
    written.notify_all();
  }

  Task<Result<void>> put(std::string lines) {
    if (file) {
      auto work = [to = file, lines = std::move(lines)] { return to->add(lines); };
      co_return co_await on_disk(std::move(work));
    }
    auto work = [place = Place(options), id = head.id, lines = std::move(lines)] {
      return ConversationFile::make(place.folder(), id, lines);
    };
    auto made = co_await on_disk(std::move(work));
    if (!made) co_return std::unexpected(std::move(made).error());
    file = std::move(*made);
    co_return Result<void>();
  }

  void give_up(const std::string& why) {
    if (!std::exchange(kept, false)) return;
    file.reset();
    waiting.clear();
    if (options.on_trouble)
      options.on_trouble(clean_line(fmt::format("this conversation is not kept any more: {}", why)));
  }

  ConversationOptions options;
  ConversationHead head;
  ConversationState state;
  std::shared_ptr<ConversationFile> file;  // null: not made yet, or not kept
  bool kept = false;
  std::size_t records = 0;

 private:
  std::string waiting;  // lines
  std::uint64_t queued = 0;
  std::uint64_t done = 0;
  bool writing = false;
  Event written;
};

Conversation::Conversation(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Conversation::~Conversation() = default;

std::unique_ptr<Conversation> Conversation::make(ConversationOptions options) {
  options = settled(std::move(options));
  ConversationHead head{.id = conversation_id(random_number()),
                        .directory = options.directory,
                        .model = options.model,
                        .pid = ::getpid()};
  return std::make_unique<Conversation>(std::make_shared<Impl>(std::move(options), std::move(head)));
}

Task<std::unique_ptr<Conversation>> Conversation::open(ConversationOptions options, std::string id) {
  options = settled(std::move(options));
  auto work = [place = Place(options), limits = options.limits, id]() -> Result<ConversationFile::Opened> {
    using Where = ConversationFile::Where;
    const auto where = place.only_folder.empty() ? Where::here_or_beside : Where::here;
    const auto path = place.state_directory.empty() ? std::nullopt : ConversationFile::find(place.folder(), id, where);
    if (!path) {
      return fail(Errc::invalid_argument,
                  fmt::format("there is no conversation {}", clean_excerpt(id, longest_id_shown)));
    }
    return ConversationFile::open(*path, limits);
  };
  auto opened = value_or_throw(co_await on_disk(std::move(work)));
  auto impl = std::make_shared<Impl>(std::move(options), std::move(opened.read.head));
  impl->state = std::move(opened.read.state);
  impl->records = opened.read.records;
  impl->file = std::move(opened.file);
  if (!impl->file) impl->give_up(opened.trouble);
  std::vector<ConversationRecord> first{ConversationOpened{co_await current_time(), ::getpid()}};
  if (auto closing = closing_message(impl->state.messages))
    first.emplace_back(MessageAdded{std::move(closing), {}, {}});
  co_await impl->add(impl, std::move(first));
  co_return std::make_unique<Conversation>(std::move(impl));
}

Task<std::vector<KeptConversation>> Conversation::list(ConversationOptions options, std::size_t most) {
  options = settled(std::move(options));
  if (options.state_directory.empty()) co_return std::vector<KeptConversation>();
  auto work = [place = Place(options), most] { return list_conversations(place.folder(), most); };
  co_return co_await on_disk(std::move(work));
}

const std::string& Conversation::id() const noexcept { return impl_->head.id; }
const std::vector<std::shared_ptr<const ModelMessage>>& Conversation::messages() const noexcept {
  return impl_->state.messages;
}
const ModelUsage& Conversation::usage() const noexcept { return impl_->state.usage; }
bool Conversation::is_kept() const noexcept { return impl_->kept; }
const ResultHandles& Conversation::handles() const noexcept { return impl_->state.handles; }
const std::vector<SubConversation>& Conversation::subs() const noexcept { return impl_->state.subs; }

Task<void> Conversation::append(std::shared_ptr<const ModelMessage> message, ModelUsage usage, ResultHandles handles) {
  std::vector<ConversationRecord> records{MessageAdded{std::move(message), std::move(usage), std::move(handles)}};
  return impl_->add(impl_, std::move(records));
}

Task<std::string> Conversation::with_ending(std::shared_ptr<Impl> impl, std::string_view ending) {
  if (!impl->kept) co_return std::string();
  // Where it was found, which may be in another folder than a new one would be.
  if (impl->file) co_return fmt::format("{}/{}{}", impl->file->folder(), impl->head.id, ending);
  auto work = [place = Place(impl->options), id = impl->head.id, ending] {
    return fmt::format("{}/{}{}", place.folder(), id, ending);
  };
  co_return co_await on_disk(std::move(work));
}

Task<std::string> Conversation::path() const { return with_ending(impl_, ConversationFile::ending); }

Task<std::string> Conversation::sub_folder() const { return with_ending(impl_, ".agents"); }

Task<void> Conversation::add_sub(SubConversation sub) {
  std::vector<ConversationRecord> records{std::move(sub)};
  return impl_->add(impl_, std::move(records));
}

Task<void> Conversation::add_usage(ModelUsage usage) {
  std::vector<ConversationRecord> records{UsageAdded{std::move(usage)}};
  return impl_->add(impl_, std::move(records));
}

Task<void> Conversation::replace(std::vector<std::shared_ptr<const ModelMessage>> messages) {
  std::vector<ConversationRecord> records{MessagesReplaced{std::move(messages)}};
  return impl_->add(impl_, std::move(records));
}

Task<void> Conversation::defer(std::vector<std::string> ids) {
  std::vector<ConversationRecord> records;
  if (auto closing = closing_message(impl_->state.messages))
    records.emplace_back(MessageAdded{std::move(closing), {}, {}});
  records.emplace_back(CallsDeferred{std::move(ids)});
  return impl_->add(impl_, std::move(records));
}

std::vector<ModelToolUse> Conversation::deferred() const {
  std::vector<ModelToolUse> uses;
  const auto& all = impl_->state.messages;
  const auto newest = std::find_if(all.rbegin(), all.rend(), [](const auto& m) { return m->role == Role::assistant; });
  if (newest == all.rend()) return uses;
  for (const auto& part : (*newest)->parts) {
    const auto* use = std::get_if<ModelToolUse>(&part);
    if (use && std::ranges::find(impl_->state.deferred, use->id) != impl_->state.deferred.end()) uses.push_back(*use);
  }
  return uses;
}

}  // namespace patchbay
