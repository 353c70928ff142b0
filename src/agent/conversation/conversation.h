// Conversation: what a person, a model and tools have said, kept in memory and in a file of the state directory, so
// that it goes on when the process has ended, however it ended. An Agent owns one. Loop thread only.
//
// `<state>/conversations/<project>/<id>.jsonl`, for the user alone. <project> is made of the directory's real path.
// The first line says what it is; every line behind it is one event (record.h). A line is only ever added: what was
// there stays when a write is cut off, and opening drops the half line. What is read is repaired (repair.h), so
// messages() is always something a model can be given. While it is open the file is locked: two processes never write
// the same conversation.
//
// Those of sub-agents are files of the same kind in a folder beside it, `<id>.agents/`, and the file names them
// (SubConversation). They are no conversations of the directory: list() and open() do not find them there.
//
// A disk that is full, or a folder that cannot be written, ends the keeping and not the conversation: it goes on in
// memory, and ConversationOptions::on_trouble is told once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/model.h>
#include <patchbay/task.h>

#include "agent/conversation/record.h"

namespace patchbay {

struct ConversationLimits {
  std::uint64_t file = 256u << 20;  // bytes; beyond it nothing more is kept
  std::size_t record = 64u << 20;   // of one line
  std::size_t records = 200'000;
};

struct ConversationOptions {
  std::string state_directory = {};  // empty: kept nowhere
  std::string directory = {};        // what the conversation is about; empty: the current one
  // Where its file is, and no other place is looked at; empty: the folder of the directory. See sub_folder().
  std::string folder = {};
  std::string model = {};  // "provider:name"; for people
  // Why it is not kept any more, for the person, in one line. Called on the loop, at most once.
  std::function<void(std::string)> on_trouble = {};
  ConversationLimits limits = {};
};

// One that is kept, for a list to choose from.
struct KeptConversation {
  std::string id;
  std::string directory;
  std::string model;  // that it was begun with
  std::string words;  // the first ones of the person, cleaned, on one line
  std::chrono::sys_seconds begun;
  std::chrono::sys_seconds newest;  // when it was last written to
  std::size_t turns = 0;            // what the person said; of a very long one those at its beginning
  std::uint64_t bytes = 0;
  bool operator==(const KeptConversation&) const = default;
};

class Conversation {
 public:
  // A new one. Its file is made with the first message.
  static std::unique_ptr<Conversation> make(ConversationOptions options);
  // One that is kept, of whatever directory. Errc::invalid_argument: there is none of that id. Errc::config: another
  // process has it, and the message says which; or its file is damaged or of a newer version.
  static Task<std::unique_ptr<Conversation>> open(ConversationOptions options, std::string id);
  // Those of the directory, the newest first. What cannot be read is left out.
  static Task<std::vector<KeptConversation>> list(ConversationOptions options, std::size_t most = 100);

  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  // Lets go of the lock. What append() has returned from is on the disk.
  ~Conversation();

  const std::string& id() const noexcept;
  // Roles alternate, no message is empty, and every use of a tool has exactly one outcome in the message behind it. Of
  // the last message alone the uses may still wait for their outcomes.
  const std::vector<std::shared_ptr<const ModelMessage>>& messages() const noexcept;
  const ModelUsage& usage() const noexcept;  // of all that was asked for it, in every process
  bool is_kept() const noexcept;             // false as soon as anything went wrong with the file
  const ResultHandles& handles() const noexcept;
  const std::vector<SubConversation>& subs() const noexcept;

  // Adds a message, at once to messages() and in the order of the calls to the file; returns when the disk has it.
  // Cancelling does not undo it. Neighbours of one role become one message, and a use that the message behind it says
  // nothing about is interrupted until an outcome comes after all, so outcomes can be added one by one: repair.h has
  // the rules. `usage`: of the request that was answered by it. What goes wrong with the file is on_trouble's.
  Task<void> append(std::shared_ptr<const ModelMessage> message, ModelUsage usage = {}, ResultHandles handles = {});
  // What was asked besides, for a summary, say.
  Task<void> add_usage(ModelUsage usage);
  // The conversation is this from now on: it was shortened. The file keeps what was before, for people.
  Task<void> replace(std::vector<std::shared_ptr<const ModelMessage>> messages);

  // Its file, which is made with the first message; empty where it is not kept.
  Task<std::string> path() const;
  // Where conversations of sub-agents are kept; empty where this one is not.
  Task<std::string> sub_folder() const;
  Task<void> add_sub(SubConversation sub);

  // Calls that are to be made later, on purpose (AgentAnswer::End::deferred): uses of the newest assistant's message.
  // They are remembered, also in the file, until a message has an outcome for them or says something else. Until then
  // messages() calls them interrupted.
  Task<void> defer(std::vector<std::string> ids);
  std::vector<ModelToolUse> deferred() const;

  class Impl;
  explicit Conversation(std::shared_ptr<Impl> impl);

 private:
  // A neighbour of its file, or the file itself; empty where it is not kept.
  static Task<std::string> with_ending(std::shared_ptr<Impl> impl, std::string_view ending);

  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
