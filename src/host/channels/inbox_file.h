// Where messages of channels are kept until somebody has acknowledged them: one file of lines for each process that has
// channels in a project, `channels/<project>/<n>.jsonl` in the state directory, for the user alone. A process holds the
// lock `<n>.lock` beside it for as long as it lives; the next one takes over what processes that have ended left
// behind. A message that was added is on the disk when add() returns. Blocking; one thread at a time, through
// offload().
//
// A line is a message {"id","server","time","text","digest"}, {"gone":[ids]} about messages that were acknowledged, or
// {"seen":{server:[digests]}}: messages of before that would be the same ones if they came again.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

#include "base/fd.h"

namespace patchbay {

struct KeptMessage {
  std::string id;
  std::string server;
  std::chrono::sys_seconds time{};
  std::string text;
  std::string digest;  // empty: it does not say which one it is
  bool operator==(const KeptMessage&) const = default;
};

// By server, the oldest first.
using SeenDigests = std::map<std::string, std::deque<std::string>, std::less<>>;
inline constexpr std::size_t most_seen_digests = 256;  // of a server
// False: it was there already. The oldest makes room.
bool add_digest(SeenDigests& seen, const std::string& server, const std::string& digest);

struct InboxContents {
  std::vector<KeptMessage> messages;  // in the order in which they came in
  SeenDigests seen;
  bool operator==(const InboxContents&) const = default;
};

std::string write_message(const KeptMessage& message);  // a line
std::string write_gone(std::span<const std::string> ids);
std::string write_inbox(const InboxContents& contents);
// Adds what a file holds; a line that was not finished, or that nobody understands, is passed over.
void read_inbox(std::string_view text, InboxContents& contents);

class InboxFile {
 public:
  // `folder` of the project. Reads what is there for us. Errc::internal, or Errc::config, with the reason.
  static Result<InboxFile> open(std::string folder);

  // Once: what earlier processes left.
  InboxContents take_contents() { return std::move(contents_); }
  // More lines, on the disk when this returns. On failure nothing of them is there.
  Result<void> add(std::string_view lines);
  // The same, not waiting for the disk: for what does no harm when a loss of power takes it back.
  Result<void> note(std::string_view lines);
  // All of it anew.
  Result<void> replace(std::string_view text);
  std::size_t size() const noexcept { return size_; }

 private:
  InboxFile(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Result<void> append(std::string_view lines, bool sync);

  std::string path_;
  Fd lock_;
  Fd file_;
  std::size_t size_ = 0;
  InboxContents contents_;
};

}  // namespace patchbay
