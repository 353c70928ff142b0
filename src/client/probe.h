// Probe: which era and revision a server speaks, decided from what it answers. Pure: it is
// told what happened and says what to do next; client/negotiate does it. Both eras are tried
// on one connection, whatever it is made of.
//
// The newest revision is tried first by `server/discover`. Anything but a modern sign leads
// to `initialize` on the same connection; silence leads there too while the first question
// stays open, so a slow server may answer either. A modern error never leads to `initialize`
// unless the server itself names a revision of that era. Over HTTP a status that means "I do
// not know this" is such an answer too, and when `initialize` meets one as well, the older
// transport is left to try; a status that will pass (429, 5xx) or asks for sign-in is none.
//
// A server that is remembered as an older one is asked by `initialize` first. Whatever speaks
// against it leads to `server/discover`: the memory changes the order and nothing else.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/types.h>

#include "client/era_memory.h"

namespace patchbay {

class Probe {
 public:
  struct Step {
    enum class Do {
      send_discover,    // with `version`
      send_initialize,  // with `version`
      wait,             // something is still open
      settled,          // on `version`; `server` describes the peer
      reopen,           // a new connection, then send_initialize with `version`
      start_over,       // a new connection, then send_discover with `version`
      fall_back,        // the same over the transport's older form; `error` is what led there
      fail,             // with `error`
    };
    Do what = Do::wait;
    std::string version;
    ServerDescription server;
    std::optional<Error> error;
    // With settled: whether the server proved to be an older one. Unset when it was not asked
    // anything that would show it.
    std::optional<bool> legacy;
  };

  // `wanted` is ClientOptions::protocol; `older_transport`: whether there is one to fall back to;
  // `first`: what is remembered, for "auto".
  explicit Probe(std::string_view wanted, bool older_transport = false, FirstQuestion first = FirstQuestion::discover);

  Step start();
  Step on_discover(const Result<Json>& answer);
  Step on_initialize(const Result<Json>& answer);
  Step on_silence();
  Step on_closed(const Error& error);

  // Whether an answer to `server/discover` is a newer server's.
  static bool is_modern(const Json& discover_answer);

 private:
  Step discover(std::string version);
  Step initialize(std::string version);
  Step choose(const std::vector<std::string>& supported, const ServerDescription* server);
  Step not_modern();
  Step give_up(const Error& error);
  Step initialize_refused(Error error);
  // Begun with `initialize` because of what is remembered, and not asked otherwise yet.
  bool only_remembered() const noexcept { return remembered_ && discovered_with_.empty(); }
  static Step failed(Error error);

  std::string wanted_;
  bool discover_open_ = false;
  bool initialize_open_ = false;
  bool initialize_sent_ = false;
  bool older_transport_ = false;
  bool remembered_ = false;
  bool reopened_ = false;
  std::set<std::string> discovered_with_;  // versions already sent, each once more after a refusal
  bool retried_same_ = false;
  std::set<std::string> initialized_with_;
  std::optional<Error> refusal_;  // of initialize, while discover is still open
};

}  // namespace patchbay
