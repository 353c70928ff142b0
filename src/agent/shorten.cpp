// Making the conversation of an agent shorter: compaction.h decides, the model writes the summary.
#include <algorithm>

#include "agent/agent_impl.h"
#include "agent/compaction.h"
#include "agent/fit_request.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t keep_messages = 6;         // whose results stay
constexpr std::size_t longest_summary = 40'000;  // bytes
// Tokens of what a summary takes the place of; it may well be as long as less than that.
constexpr std::size_t least_worth = 500;

}  // namespace

// As the provider counted for the newest answer, and an estimate of what came since.
std::size_t Agent::Impl::tokens_now() const {
  const auto& all = messages();
  if (last_usage_.prompt() > 0 && asked_messages_ <= all.size()) {
    return last_usage_.prompt() + last_usage_.output + tokens_of(all, asked_messages_);
  }
  const auto bytes = system_.size() + (offer_.pool() ? bytes_of(*offer_.pool()) : 0);
  return bytes / 4 + tokens_of(all);
}

Task<bool> Agent::Impl::shorten(Self self, bool summarise, Wanted wanted) {
  if (!co_await may_shorten(self, wanted)) co_return false;
  const auto before = self->tokens_now();
  const auto limit = self->model_->info().context_tokens;
  const auto whole = self->messages();
  const auto handle_of = [&](const std::string& id) {
    const auto found = self->handles_.find(id);
    return found == self->handles_.end() ? std::string() : found->second;
  };
  auto shorter = without_old_results(whole, keep_messages, handle_of);
  const auto old_tokens = tokens_of(whole);
  const auto saved = old_tokens - std::min(old_tokens, tokens_of(shorter));
  // Where the provider counts otherwise than we do, only what is saved is sure.
  const bool enough = !summarise && saved >= old_tokens / 3 && before - std::min(before, saved) < limit / 2;
  if (!enough) {
    const auto from = cut_at(shorter, std::min(limit / 5, old_tokens / 4));
    const auto tail = shorter.begin() + static_cast<std::ptrdiff_t>(from);
    const auto replaced = tokens_of(ModelMessages(shorter.begin(), tail));
    // Where nothing presses, the model is not asked for what gains nothing.
    if (from > 0 && (replaced >= least_worth || wanted != Wanted::by_person)) {
      self->freeze();
      ModelRequest request = self->request();
      request.answer_schema.reset();
      request.messages.assign(shorter.begin(), tail);
      auto question = std::make_shared<ModelMessage>();
      question->parts.emplace_back(ModelText{std::string(summary_request())});
      add_message(request.messages, std::move(question));
      const auto model = self->model_;
      auto fitted = fit_request(std::move(request), model->info());
      auto asked = co_await under_way(self, model->ask(std::move(fitted.request), {}));
      if (self->ending_ != Ending::none) throw self->why_ended();
      std::string summary;
      if (asked) {
        for (const auto& warning : asked->warnings) self->notice(warning);
        co_await self->conversation_->add_usage(asked->usage);
        summary = std::string(cut_utf8(trim(text_of(asked->message)), longest_summary));
      }
      if (summary.empty()) self->notice("there is no summary of the conversation: its beginning was left out");
      shorter = with_summary(shorter, from, summary);
    }
  }
  const auto new_tokens = tokens_of(shorter);
  if (new_tokens >= old_tokens) co_return false;
  co_await self->conversation_->replace(std::move(shorter));
  self->refused_shortening_.reset();
  // A new beginning: providers keep nothing of the old one.
  self->beginnings_.clear();
  self->offer_ = self->offer_.anew(self->growth());
  self->last_usage_ = {};
  self->asked_messages_ = 0;
  self->freeze();
  // What the provider counted and what is estimated cannot be compared, so what was saved is taken away.
  const auto gained = old_tokens - new_tokens;
  self->report_own(
      AgentCompacted{.tokens_before = before, .tokens_after = gained < before ? before - gained : self->tokens_now()});
  co_return true;
}

}  // namespace patchbay
