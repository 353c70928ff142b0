// Messages of channels between their arrival and the moment when somebody acknowledges that he has them for good. Each
// is on the disk before anybody sees it (host/channels/inbox_file), so that neither a busy agent nor a crash loses one;
// what was not acknowledged is there again in the next run, under the same id. Bounded for each server: what does not
// fit is refused, and whoever asked is told. Where the disk does not take them they are kept in memory, with one
// warning. Owned by host/channels/channels; loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/channels.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "host/channels/channel_message.h"
#include "host/channels/inbox_file.h"

namespace patchbay {

struct InboxLimits {
  std::size_t messages = 256;    // of a server
  std::size_t bytes = 1u << 20;  // of their texts
  // Handed out at once; one message is, however long it is.
  std::size_t group_messages = 64;
  std::size_t group_bytes = 128u << 10;
};

class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  Inbox(Random random, Log log, InboxLimits limits = {})
      : random_(std::move(random)), log_(std::move(log)), limits_(limits) {}

  // Once. `folder` of the project; empty: in memory alone.
  void begin(asio::any_io_executor executor, std::string folder);
  bool begun() const noexcept { return scope_.has_value(); }

  enum class Added : std::uint8_t {
    taken,
    known,  // it came before
    full,
  };
  // Only after begin().
  Added add(const std::string& server, ChannelText message);
  // Those that nobody was given yet, of servers for which `is_open` holds, the oldest first.
  std::vector<ChannelMessage> take(const std::function<bool(const std::string&)>& is_open);
  // There may be more to take.
  Event& arrived() noexcept { return arrived_; }
  // They are not kept any more; ids that nobody knows do no harm. Returns when that is noted.
  Task<void> acknowledge(std::vector<std::string> ids);

  std::size_t waiting(const std::string& server) const;  // not acknowledged
  // Writes what is left to write, within a limit. Nothing is taken any more.
  Task<void> finish();

 private:
  struct Held {
    KeptMessage message;
    bool kept = false;   // on the disk, or nowhere but here for good
    bool given = false;  // to somebody, in this run
  };
  struct Load {
    std::size_t messages = 0;
    std::size_t bytes = 0;
  };
  void write_soon();
  Task<void> write_all();
  Task<void> open_file();
  Task<void> write_once();
  Task<void> written();
  void count(const KeptMessage& message);
  InboxContents contents() const;
  void keep_in_memory(const Error& why);

  Random random_;
  Log log_;
  InboxLimits limits_;
  std::string folder_;
  std::shared_ptr<InboxFile> file_;  // null: there is none, or not yet
  bool opened_ = false;              // or known not to be
  bool broken_ = false;              // what it holds is not all there is
  bool warned_ = false;
  bool finished_ = false;
  std::deque<Held> held_;
  std::map<std::string, Load, std::less<>> loads_;
  SeenDigests seen_;
  std::vector<std::string> gone_;  // acknowledged, and not noted yet
  bool dirty_ = false;
  bool writing_ = false;
  Event idle_;
  Event arrived_;
  std::optional<Scope> scope_;
};

}  // namespace patchbay
