// The files of conversations: making, opening, locking, adding to and listing them. Blocking: Conversation calls this
// through offload(). The lock is on the file itself (flock) and goes with the process that has it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/record.h"
#include "base/fd.h"

namespace patchbay {

// The folder of a directory's conversations: "<its name>-<hash>" of its real path.
std::string conversation_folder(const std::string& state_directory, const std::string& directory);

class ConversationFile {
 public:
  static constexpr std::string_view ending = ".jsonl";  // of its name, behind the id

  // A new file with these lines in it, and its lock. It has its name only when all of them are on the disk.
  static Result<std::shared_ptr<ConversationFile>> make(const std::string& folder, const std::string& id,
                                                        std::string_view lines);
  enum class Where : std::uint8_t { here, here_or_beside };
  // Where it is, in this folder or also in one beside it. Nothing: nowhere.
  static std::optional<std::string> find(const std::string& folder, const std::string& id,
                                         Where where = Where::here_or_beside);

  struct Opened {
    std::shared_ptr<ConversationFile> file;  // null: it can be read and not be written
    std::string trouble;                     // why
    ReadConversation read;
  };
  // Takes the lock, and drops a last line that was cut off. Errc::config: another process has it, or it cannot be read.
  static Result<Opened> open(const std::string& path, const ConversationLimits& limits);

  // Adds whole lines; returns when the disk has them. An Error: nothing of them is left, as far as the disk allows.
  Result<void> add(std::string_view lines);

  std::uint64_t size() const noexcept { return size_; }
  std::string_view folder() const noexcept;

 private:
  ConversationFile(std::string path, Fd fd, std::uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  std::string path_;
  Fd fd_;
  std::uint64_t size_;
};

std::vector<KeptConversation> list_conversations(const std::string& folder, std::size_t most);

}  // namespace patchbay
