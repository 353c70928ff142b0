// Player: serves a Script on channels, as the server that was recorded would: whoever sends a request that was recorded
// gets what was said then, in that order, under the ids of now. A question of the server is asked again, and what
// followed it waits for the answer. Where the server was silent the player is, and where it ended the connection the
// player ends it. It knows frames and nothing of eras: a recording speaks its own. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <patchbay/task.h>

#include "recording/script.h"
#include "rpc/channel.h"

namespace patchbay {

// Whether a channel carries a whole connection or one request alone, as HTTP without sessions has it.
enum class PlayedChannel { connection, one_request };

class Player : public std::enable_shared_from_this<Player> {
 public:
  // `say`: what a person should know, in a line: a request that was not recorded, one that gets no answer.
  Player(Script script, std::function<void(const std::string&)> say);

  // Until the channel ends, or the recording ends it: then true.
  static Task<bool> serve(std::shared_ptr<Player> self, std::unique_ptr<Channel> channel, PlayedChannel kind);

  const Script& script() const noexcept { return script_; }

 private:
  struct Link;
  struct Listener {
    std::weak_ptr<Link> link;
    RequestId id;  // of its request on that link
  };
  Task<void> read(std::shared_ptr<Link> link);
  void take(const std::shared_ptr<Link>& link, Message message);
  Task<void> play(std::shared_ptr<Link> link, Request request);
  Task<bool> tell(std::shared_ptr<Link> link, Message message, RequestId about, const RecordedExchange* exchange,
                  std::optional<Json> token);

  Script script_;
  std::function<void(const std::string&)> say_;
  Matcher shared_;                             // of requests that come one by one
  std::map<std::string, Listener> listeners_;  // by the id that the stream of changes had in the recording
};

}  // namespace patchbay
