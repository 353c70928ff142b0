#include "host/pins/host_pins.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "host/kept/pin_files.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

// A disk that hangs holds nobody up for longer.
constexpr auto for_files = 2s;
constexpr std::size_t most_named = 5;

struct Question {
  std::string directory;  // empty: nothing is kept
  std::string key;
  std::optional<LockedServer> lock;
  std::optional<PinnedServer> last;                       // what this run knows
  bool kept = false;                                      // and the disk knew too: without its file nothing is known
  std::map<std::string, PinnedTool, std::less<>> agreed;  // and not kept
  SeenServer seen;
  PinMode mode = PinMode::off;
  sys_seconds now;
};

struct Answer {
  Judgement judgement;
  std::optional<Error> failure;  // why nothing is kept
  bool missing = false;          // there was no file
};

// What the lock file says about this server.
struct Lock {
  std::optional<LockedServer> server;
  std::string problem;  // why the file allows nothing
};
Lock locked_by(const std::string& file, const std::string& name) {
  auto lock = load_lock_file(file);
  if (!lock) return {LockedServer(), lock.error().message()};
  if (!*lock) return {};
  const auto found = (*lock)->servers.find(name);
  return {found == (*lock)->servers.end() ? std::nullopt : std::optional(found->second), {}};
}

Judgement judged(const Question& question, std::optional<PinnedServer> before) {
  if (before) {
    for (const auto& [name, tool] : question.agreed) before->tools.insert_or_assign(name, tool);
  }
  // What is not remembered is at first sight each time.
  const auto mode = question.mode == PinMode::off ? PinMode::record : question.mode;
  return judge(before, question.seen, question.lock ? &*question.lock : nullptr, mode, question.now);
}

Answer answer(const Question& question) {
  Answer out;
  auto kept = load_pins(question.directory, question.key);
  const bool known = kept.use == PinUse::usable;
  out.missing = kept.use == PinUse::missing;
  const bool forgotten = out.missing && question.kept;
  const auto before = known ? std::move(kept.server) : forgotten ? std::nullopt : question.last;
  out.judgement = judged(question, before);
  if (known && out.judgement.pins == *before) return out;
  // Others may have kept something since.
  auto written = change_pins(question.directory, question.key, [&](std::optional<PinnedServer> now) {
    out.judgement = judged(question, now || question.kept ? now : question.last);
    return now == out.judgement.pins ? std::nullopt : std::optional(out.judgement.pins);
  });
  if (!written) out.failure = written.error();
  return out;
}

std::string words_of(const std::map<std::string, WaitingTool, std::less<>>& waiting, bool instructions) {
  std::vector<std::string> named;
  for (const auto& [name, tool] : waiting) {
    if (named.size() == most_named) break;
    const auto& reasons = tool.change.reasons;
    named.push_back(reasons.empty() ? name : fmt::format("{} ({})", name, reasons.front()));
  }
  if (waiting.size() > named.size()) named.push_back(fmt::format("{} more", waiting.size() - named.size()));
  if (instructions) named.emplace_back("its instructions");
  return fmt::format("changed, awaiting approval: {}", fmt::join(named, ", "));
}

}  // namespace

HostPins::HostPins(std::string state_directory, Log log)
    : directory_(std::move(state_directory)), log_(std::move(log)) {}

void HostPins::use(PinMode mode, KeyContext context) {
  mode_ = directory_.empty() ? PinMode::off : mode;
  context_ = std::move(context);
}

// That the folder cannot be written is a warning of the recorder's already.
void HostPins::tell(const Error& failure) {
  if (std::exchange(told_, true)) return;
  const auto level = failure.code() == Errc::config ? LogLevel::warning : LogLevel::info;
  log_(level, "pins_not_kept", "text", failure.message());
}

Task<PinnedTools> HostPins::look(ServerConfig config, ServerDescription server, Tools listed) {
  const auto name = config.name;
  auto lock_file = lock_file_of(config);
  const auto look = ++known_[name].begun;
  if (mode_ == PinMode::off && lock_file.empty()) {
    known_[name] = {.begun = look, .stored = look};
    co_return PinnedTools{.offered = std::move(listed), .changed = {}, .instructions = {}};
  }
  const auto clock = std::chrono::floor<std::chrono::seconds>(loop_clock(co_await asio::this_coro::executor).wall());
  Lock lock;
  if (!lock_file.empty()) {
    auto read = [lock_file, name] { return locked_by(lock_file, name); };
    lock = co_await offload(Pool::slow, std::move(read));
  }
  auto question = std::make_shared<Question>();
  question->directory = directory_;
  question->lock = lock.server;
  const auto key = pin_key(config, context_);
  if (known_[name].key == key) {
    question->last = known_[name].last;
    question->kept = known_[name].kept;
    question->agreed = known_[name].agreed;
  }
  question->seen = {name, listed, server.instructions, package_of(server.info)};
  question->mode = mode_;
  question->now = clock;
  Answer answered;
  if (mode_ == PinMode::off) {
    answered.judgement = judged(*question, std::nullopt);
  } else {
    question->key = key;
    auto asked = co_await as_result(with_timeout(offload(Pool::slow, [question] { return answer(*question); }),
                                                 for_files, "the state directory did not answer in time"));
    if (!asked && asked.error().code() == Errc::cancelled) throw std::move(asked).error();
    answered = asked ? std::move(*asked) : Answer{judged(*question, question->last), asked.error()};
  }
  auto& judgement = answered.judgement;
  auto& known = known_[name];
  const bool newest = look > known.stored;
  if (newest) known.stored = look;
  if (newest && known.key != key) {
    known.key = key;
    known.last.reset();
    known.kept = false;
    known.agreed.clear();
  }
  const auto told = log_.for_server(name);
  for (const auto& note : judgement.notes) told(LogLevel::info, "tool_changed", "text", note);
  if (answered.failure) tell(*answered.failure);
  PinnedTools out;
  out.offered = std::move(judgement.offered);
  out.instructions = judgement.instructions;
  if (!judgement.waiting.empty() || judgement.instructions) {
    const bool locked = std::ranges::any_of(judgement.waiting, [](const auto& one) { return one.second.locked; });
    auto words = lock.problem.empty() ? words_of(judgement.waiting, judgement.instructions.has_value())
                                      : fmt::format("no tool can be called: {}", lock.problem);
    Remedy remedy{locked ? Remedy::Kind::renew_lock : Remedy::Kind::approve_changes, name, locked ? lock_file : ""};
    out.changed = Error(Errc::denied, std::move(words)).with_remedy(std::move(remedy));
    for (const auto& [tool, waits] : judgement.waiting) {
      if (known.waiting.contains(tool)) continue;
      told(LogLevel::info, "tool_waits", "tool", tool, "text",
           fmt::format("{}", fmt::join(waits.change.reasons, ", ")));
    }
  }
  if (!newest) co_return out;
  known.last.reset();
  if (mode_ != PinMode::off) known.last = std::move(judgement.pins);
  known.kept = !answered.failure || (known.kept && !answered.missing);
  known.waiting = std::move(judgement.waiting);
  known.lock_file = std::move(lock_file);
  std::vector<ServerTools> fresh;
  for (const auto& [server_name, one] : known_) {
    ServerTools tools{server_name, {}, NamePrefix::server};
    for (const auto& [tool, waits] : one.waiting) {
      if (waits.fresh) tools.tools.push_back(waits.now);
    }
    if (!tools.tools.empty()) fresh.push_back(std::move(tools));
  }
  new_ = Catalog::build(fresh);
  co_return out;
}

Task<void> HostPins::look_at_prompts(ServerConfig config, std::shared_ptr<const std::vector<Prompt>> prompts) {
  if (mode_ == PinMode::off || !prompts) co_return;
  const auto key = pin_key(config, context_);
  auto changed = std::make_shared<std::vector<std::string>>();
  auto work = [directory = directory_, key, prompts, changed]() -> Result<void> {
    const auto kept = load_pins(directory, key);
    auto updated = [&](std::optional<PinnedServer> before) -> std::optional<PinnedServer> {
      if (!before) return std::nullopt;
      auto now = *before;
      *changed = update_prompts(now, *prompts);
      return now == *before ? std::nullopt : std::optional(std::move(now));
    };
    if (!kept.server || !updated(kept.server)) return {};
    return change_pins(directory, key, updated);
  };
  auto written = co_await as_result(with_timeout(offload(Pool::slow, std::move(work)), for_files, "too late"));
  if (!written && written.error().code() == Errc::cancelled) throw std::move(written).error();
  if (!written || !*written) co_return;
  for (const auto& name : *changed) log_.for_server(config.name)(LogLevel::info, "prompt_changed", "prompt", name);
}

const WaitingTool* HostPins::waiting(std::string_view server, std::string_view tool) const {
  const auto known = known_.find(server);
  if (known == known_.end()) return nullptr;
  const auto found = known->second.waiting.find(tool);
  return found == known->second.waiting.end() ? nullptr : &found->second;
}

std::optional<std::pair<std::string, std::string>> HostPins::find_new(std::string_view text) const {
  const auto found = new_->find(text);
  const auto* const* entry = std::get_if<const CatalogEntry*>(&found);
  if (entry == nullptr) return std::nullopt;
  return std::pair((*entry)->server, (*entry)->tool->name);
}

Task<void> HostPins::agree(ServerConfig config, std::shared_ptr<const Tool> definition) {
  const auto name = config.name;
  const auto clock = std::chrono::floor<std::chrono::seconds>(loop_clock(co_await asio::this_coro::executor).wall());
  const PinnedTool pin{print_of(parts_of(*definition)), definition, clock};
  const auto key = pin_key(config, context_);
  auto work = [directory = directory_, key, pin] {
    return change_pins(directory, key, [&](std::optional<PinnedServer> before) {
      if (before) {
        before->tools.insert_or_assign(pin.definition->name, pin);
        before->waiting.erase(pin.definition->name);
      }
      return before;
    });
  };
  auto written = co_await as_result(
      with_timeout(offload(Pool::slow, std::move(work)), for_files, "the state directory did not answer in time"));
  if (!written && written.error().code() == Errc::cancelled) throw std::move(written).error();
  const bool kept = written && *written;
  if (!kept) tell(written ? written->error() : written.error());
  auto& known = known_[name];
  if (known.key != key) co_return;  // another server has the name by now
  if (kept) {
    known.agreed.erase(pin.definition->name);
    if (!known.last) co_return;
    known.last->tools.insert_or_assign(pin.definition->name, pin);
    known.last->waiting.erase(pin.definition->name);
  } else {
    // It counts for this run all the same.
    known.agreed.insert_or_assign(pin.definition->name, pin);
  }
}

Error HostPins::refusal(const std::string& server, std::string_view shown_name, const WaitingTool& tool) const {
  const auto why = fmt::format("{}", fmt::join(tool.change.reasons, "; "));
  const auto known = known_.find(server);
  const auto lock_file = known == known_.end() ? std::string() : known->second.lock_file;
  auto error =
      tool.locked
          ? Error(Errc::denied,
                  fmt::format("\"{}\" was not called: it is not as {} says ({})", shown_name, lock_file, why))
                .with_remedy({Remedy::Kind::renew_lock, server, lock_file})
          : Error(Errc::denied, fmt::format("\"{}\" was not called: changed, awaiting approval ({})", shown_name, why))
                .with_remedy({Remedy::Kind::approve_changes, server, {}});
  return std::move(error).with_carried_out(CarriedOut::no);
}

}  // namespace patchbay
