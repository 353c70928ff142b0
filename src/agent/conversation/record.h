// The lines of a conversation's file, and what they come to. The first one is the head; every other is one event. A
// conversation in memory is changed by the same events, so that it is what its file would be read as. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/model.h>

#include "agent/conversation/repair.h"

namespace patchbay {

inline constexpr std::int64_t conversation_version = 1;

struct ConversationHead {
  std::string id = {};
  std::string directory = {};
  std::string model = {};
  std::chrono::sys_seconds begun = {};
  std::int64_t pid = 0;  // of the process that began it
  bool operator==(const ConversationHead&) const = default;
};

using ResultHandles = std::map<std::string, std::string, std::less<>>;  // of large results, by the id of their use

struct MessageAdded {
  std::shared_ptr<const ModelMessage> message;  // never null
  ModelUsage usage = {};
  ResultHandles handles = {};  // of the outcomes in it
};
struct UsageAdded {
  ModelUsage usage;
};
// What was said so far is this now.
struct MessagesReplaced {
  ModelMessages messages;
};
struct CallsDeferred {
  std::vector<std::string> ids;
};
// A sub-agent began, whose conversation is in a file of its own.
struct SubConversation {
  std::string id = {};          // of that conversation
  std::string agent = {};       // "reviewer-2", as the model and the person know it
  std::string definition = {};  // "reviewer"
  bool operator==(const SubConversation&) const = default;
};
// Another process has taken the conversation up.
struct ConversationOpened {
  std::chrono::sys_seconds time = {};
  std::int64_t pid = 0;
};
using ConversationRecord =
    std::variant<MessageAdded, UsageAdded, MessagesReplaced, CallsDeferred, SubConversation, ConversationOpened>;

// One line each, with the newline behind it.
std::string write_head(const ConversationHead& head);
std::string write_record(const ConversationRecord& record);
// A line without its newline. Errc::config: it is none, or one of a newer version.
Result<ConversationHead> read_head(std::string_view line);
Result<ConversationRecord> read_record(std::string_view line);

struct ConversationState {
  ModelMessages messages;
  ModelUsage usage;
  std::vector<std::string> deferred;  // ids of uses of the newest assistant's message
  std::size_t turns = 0;              // messages in which the person says something
  std::string words;                  // the beginning of the first of them, cleaned, on one line
  ResultHandles handles;              // of all that was said in it, also of what was shortened since
  std::vector<SubConversation> subs;  // in the order in which they began

  void apply(const ConversationRecord& record);
};

// Conversation ids are names of files: nothing else may be one.
bool is_conversation_id(std::string_view text) noexcept;
std::string conversation_id(std::uint64_t random);

struct ReadConversation {
  ConversationHead head;
  ConversationState state;
  std::int64_t pid = 0;     // of the process that had it last
  std::size_t records = 0;  // behind the head
  std::size_t whole = 0;    // bytes up to the end of the last line that counts
};
// Of a whole file. A last line that was cut off does not count. Errc::config: it is damaged, with the line, or of a
// newer version; or it has more than `most_records`.
Result<ReadConversation> read_conversation(std::string_view text, std::size_t most_records);
// As much as the beginning of a file tells; a line that cannot be read ends it.
Result<ReadConversation> read_conversation_start(std::string_view text);

}  // namespace patchbay
