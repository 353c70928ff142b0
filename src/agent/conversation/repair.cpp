#include "agent/conversation/repair.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::string_view lost_beginning = "(The beginning of this conversation is missing.)";

// Whether a message of this role may have the part, and whether there is anything in it.
bool belongs(const ModelPart& part, Role role) {
  if (const auto* text = std::get_if<ModelText>(&part)) return !trim(text->text).empty();
  if (std::holds_alternative<ModelToolUse>(part)) return role == Role::assistant;
  if (std::holds_alternative<ModelToolOutcome>(part)) return role == Role::user;
  if (const auto* news = std::get_if<ModelNews>(&part)) {
    return role == Role::user && !(trim(news->text).empty() && news->added.empty() && news->removed.empty());
  }
  return true;
}

std::vector<ModelToolUse> uses_of(const ModelMessage& message) {
  std::vector<ModelToolUse> uses;
  for (const auto& part : message.parts) {
    if (const auto* use = std::get_if<ModelToolUse>(&part)) uses.push_back(*use);
  }
  return uses;
}

const ModelToolUse* use_of(const ModelMessage& message, std::string_view id) {
  for (const auto& part : message.parts) {
    if (const auto* use = std::get_if<ModelToolUse>(&part); use != nullptr && use->id == id) return use;
  }
  return nullptr;
}

void add_assistant(ModelMessages& messages, const ModelMessage& message) {
  if (auto closing = closing_message(messages)) messages.push_back(std::move(closing));
  const bool joins = !messages.empty() && messages.back()->role == Role::assistant;
  auto next = joins ? *messages.back() : ModelMessage{.role = Role::assistant};
  const auto before = next.parts.size();
  for (const auto& part : message.parts) {
    if (!belongs(part, Role::assistant)) continue;
    // An id means one use.
    if (const auto* use = std::get_if<ModelToolUse>(&part); use != nullptr && use_of(next, use->id)) continue;
    next.parts.push_back(part);
  }
  if (next.parts.size() == before) return;
  if (joins) messages.pop_back();
  if (messages.empty()) {
    messages.push_back(std::make_shared<ModelMessage>(ModelMessage{.parts = {ModelText{std::string(lost_beginning)}}}));
  }
  messages.push_back(std::make_shared<ModelMessage>(std::move(next)));
}

// What is known of the uses of one message, in their order.
struct Outcomes {
  std::vector<ModelToolUse> uses;
  std::vector<ModelToolOutcome> known;  // one for each use once complete() was called

  // False: it belongs to no use, or to one that has its outcome.
  bool add(const ModelToolOutcome& outcome) {
    const auto use = std::ranges::find(uses, outcome.id, &ModelToolUse::id);
    if (use == uses.end()) return false;
    const auto there = std::ranges::find(known, outcome.id, &ModelToolOutcome::id);
    if (there == known.end()) {
      known.push_back(outcome);
      return true;
    }
    if (*there != interrupted_outcome(*use)) return false;
    *there = outcome;
    return true;
  }
  void complete() {
    std::vector<ModelToolOutcome> all;
    for (const auto& use : uses) {
      const auto there = std::ranges::find(known, use.id, &ModelToolOutcome::id);
      all.push_back(there != known.end() ? std::move(*there) : interrupted_outcome(use));
    }
    known = std::move(all);
  }
};

void add_user(ModelMessages& messages, const ModelMessage& message) {
  const bool joins = !messages.empty() && messages.back()->role == Role::user;
  const auto* asking = joins ? (messages.size() > 1 ? messages[messages.size() - 2].get() : nullptr)
                             : (messages.empty() ? nullptr : messages.back().get());
  Outcomes outcomes{.uses = asking ? uses_of(*asking) : std::vector<ModelToolUse>(), .known = {}};
  std::vector<ModelPart> rest;
  auto take = [&](const ModelMessage& from) {
    for (const auto& part : from.parts) {
      if (!belongs(part, Role::user)) continue;
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
        outcomes.add(*outcome);
      } else {
        rest.push_back(part);
      }
    }
  };
  if (joins) take(*messages.back());
  take(message);
  outcomes.complete();
  ModelMessage next;
  next.parts.assign(std::make_move_iterator(outcomes.known.begin()), std::make_move_iterator(outcomes.known.end()));
  next.parts.insert(next.parts.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  if (next.parts.empty()) return;
  if (joins) messages.pop_back();
  messages.push_back(std::make_shared<ModelMessage>(std::move(next)));
}

// The rule that one message breaks, given the one before it.
std::string broken_rule(const ModelMessage& message, const ModelMessage* before) {
  if (message.parts.empty()) return "it is empty";
  if (before == nullptr && message.role != Role::user) return "the person does not begin";
  if (before != nullptr && before->role == message.role) return "it has the role of the message before it";
  std::unordered_set<std::string> ids;
  auto uses = before ? uses_of(*before) : std::vector<ModelToolUse>();
  std::size_t outcomes = 0;
  for (std::size_t at = 0; at < message.parts.size(); ++at) {
    const auto& part = message.parts[at];
    if (!belongs(part, message.role)) return fmt::format("part {} is empty or not of this role", at);
    if (const auto* use = std::get_if<ModelToolUse>(&part); use && !ids.insert(use->id).second) {
      return fmt::format("two uses have the id {}", use->id);
    }
    const auto* outcome = std::get_if<ModelToolOutcome>(&part);
    if (!outcome) continue;
    if (at != outcomes++) return "an outcome stands behind something else";
    if (!before || !use_of(*before, outcome->id)) return fmt::format("no use has the id {}", outcome->id);
    if (!ids.insert(outcome->id).second) return fmt::format("two outcomes have the id {}", outcome->id);
  }
  if (outcomes != uses.size()) return "a use has no outcome";
  return {};
}

}  // namespace

const std::string_view interrupted_call =
    "The call was interrupted. Whether it was carried out, and what came of it, is not known.";

ModelToolOutcome interrupted_outcome(const ModelToolUse& use) {
  return {.id = use.id, .name = use.name, .blocks = {ModelText{std::string(interrupted_call)}}, .is_error = true};
}

void add_message(ModelMessages& messages, std::shared_ptr<const ModelMessage> message) {
  if (message->role == Role::assistant) {
    add_assistant(messages, *message);
  } else {
    add_user(messages, *message);
  }
}

std::vector<ModelToolUse> open_uses(const ModelMessages& messages) {
  if (messages.empty() || messages.back()->role != Role::assistant) return {};
  return uses_of(*messages.back());
}

std::shared_ptr<const ModelMessage> closing_message(const ModelMessages& messages) {
  const auto open = open_uses(messages);
  if (open.empty()) return nullptr;
  auto message = std::make_shared<ModelMessage>();
  for (const auto& use : open) message->parts.emplace_back(interrupted_outcome(use));
  return message;
}

ModelMessages repaired(const ModelMessages& messages) {
  ModelMessages out;
  for (const auto& message : messages) add_message(out, message);
  return out;
}

std::string broken_rule(const ModelMessages& messages) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    auto broken = broken_rule(*messages[at], at == 0 ? nullptr : messages[at - 1].get());
    if (!broken.empty()) return fmt::format("message {}: {}", at, broken);
  }
  return {};
}

}  // namespace patchbay
