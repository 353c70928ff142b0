// Questions whether a tool may be called, put to a person through a channel as well: what a server is sent, what it
// answers, and which questions are open. The first answer counts, whoever gives it; everything else is dropped. Pure
// but for the randomness that is handed in; loop thread only. host/channels/channels sends and hears.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/host_types.h>

#include "base/clock.h"
#include "entries/text_secrets.h"

namespace patchbay {

inline constexpr std::string_view relay_question_notification = "notifications/claude/channel/permission_request";
inline constexpr std::string_view relay_verdict_notification = "notifications/claude/channel/permission";

// Five letters from a to z without l, which looks like a digit: a person types them on a phone.
std::string relay_id(const Random& random);
bool is_relay_id(std::string_view text) noexcept;

// The beginning and the end of a text that is too long, with how much is missing; cleaned.
inline constexpr std::size_t longest_relay_field = 3500;  // characters
std::string relay_preview(std::string_view text, std::size_t longest = longest_relay_field);

// What is sent. Secrets are taken out of it: it goes to somebody's chat.
Json relay_question(std::string_view id, const PermissionQuestion& question, const TextSecrets& secrets);

struct RelayVerdict {
  std::string id;
  bool allow = false;
};
// Errc::protocol: it is no answer.
Result<RelayVerdict> read_relay_verdict(const Json& params);

// The questions that are open.
class RelayBoard {
 public:
  using Answered = std::function<void(bool allow, const std::string& server)>;

  explicit RelayBoard(Random random) : random_(std::move(random)) {}

  // Under an id that no other question has; empty when there are too many.
  std::string add(std::set<std::string> servers, Answered answered);
  void remove(std::string_view id);
  // True when an open question that this server was sent has got its answer.
  bool answer(const RelayVerdict& verdict, const std::string& server);
  std::size_t size() const noexcept { return open_.size(); }

 private:
  struct Question {
    std::set<std::string> servers;
    Answered answered;
  };
  Random random_;
  std::map<std::string, Question, std::less<>> open_;
};

}  // namespace patchbay
