// Script: a recording as a server would act it: each request that was recorded with what became of it, and with what
// the server said before and after its answer. Matcher finds the recorded request that another client's request means:
// by method and params, whatever ids, progress tokens and `_meta` it has; secrets that were taken out of the recording
// match anything. Who plays it is recording/player. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/recording.h"

namespace patchbay {

struct RecordedExchange {
  // How it ended.
  enum class End : std::uint8_t {
    unanswered,  // no answer is in the recording: the server was silent, or the recording ends
    answered,
    cut,    // the answer was too large to keep
    lost,   // its stream ended
    ended,  // the server ended the connection
  };
  std::string method;
  std::optional<Json> params;  // without `_meta`; unset: they were too large to keep
  RequestId id;
  std::optional<Json> progress_token;
  End end = End::unanswered;
  std::optional<Message> answer;
  std::string why;                // of lost and ended
  std::size_t bytes = 0;          // of a cut answer
  bool server_ends_then = false;  // the connection, when it had been answered
  std::vector<Message> during;    // what the server said before the answer, in order
  std::vector<Message> after;     // and behind it
};

struct Script {
  RecordingHeader header;
  std::vector<Message> opening;  // what the server said before anybody asked
  std::vector<RecordedExchange> exchanges;
  std::vector<std::string> warnings;  // of the recording, and of what is in it and cannot be played
};
Script script_of(const Recording& recording);

// Whether params mean what was recorded. Both without `_meta`.
bool params_match(const Json& recorded, const Json& given);

class Matcher {
 public:
  explicit Matcher(const Script& script) : script_(&script), used_(script.exchanges.size()) {}

  // The recorded exchange that a request means, and which counts as used from then on: the next one that was not used,
  // else one before it, else the last that was. `initialize` and `server/discover` are the same whoever sends them.
  std::optional<std::size_t> match(std::string_view method, const Json& params);
  // What a request without one is answered: it says what was recorded.
  RpcError no_match(std::string_view method) const;
  void begin_again();

 private:
  const Script* script_;
  std::vector<bool> used_;
  std::size_t next_ = 0;
};

// The params of a message as a Matcher takes them; null when there are none.
Json params_to_match(const Payload& params);

}  // namespace patchbay
