// ChaosFront: an HTTP server that misbehaves under a seed. Behind it stands a well-behaved MCP
// server, so what comes through is real; on the way the front drops, delays, truncates,
// duplicates and reorders, answers with error pages, forgets sessions and breaks the framing.
// What it does to a request depends on the seed, on what the request is and on how often that
// came before.
//
// /mcp is Streamable HTTP as the server behind speaks it. /sse is the older pair of endpoints, which
// the front makes out of it. Threads of its own; ended with the object.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/dice.h"
#include "support/scripted_server.h"

namespace patchbay::test {

enum class Mishap {
  none,
  drop,         // closed without an answer; the server behind never saw the request
  lose_answer,  // the same after the server has done what was asked
  silence,      // no answer, and the connection stays
  status,       // an error page, an empty success, something that is not an answer
  forget,       // 404 for the session, now and later
  redirect,
  junk,      // not HTTP, or a header that is too large
  oversize,  // an answer over the limit of the client
  garble,    // JSON that is none
  truncate,
  duplicate,  // every message twice
  reorder,    // messages of a stream in another order
  elsewhere,  // the answer comes on another stream
  twice,      // the whole answer twice on one connection
  endless,    // a stream that does not end after its answer
};
std::string_view to_string(Mishap mishap) noexcept;

class ChaosFront {
 public:
  // `limit`: what the client takes as one message at most.
  ChaosFront(std::uint16_t upstream, std::uint64_t seed, std::size_t limit);
  ChaosFront(const ChaosFront&) = delete;
  ChaosFront& operator=(const ChaosFront&) = delete;
  ~ChaosFront();

  std::string url(std::string_view path) const { return server_->url(path); }
  // From now on nothing goes wrong any more, and what was held back in silence is closed.
  void calm();
  // What was asked and what became of it, one line each.
  std::vector<std::string> story() const;
  std::map<Mishap, int> counts() const;
  // Whether a request with this text in it was answered by a reset after the server had worked on it.
  bool was_reset(std::string_view text) const;

 private:
  struct Plan;
  struct OlderSession;
  class Output;
  class Upstream;

  Plan plan_for(const std::string& label, const ScriptConnection::Request& request, bool handshake) const;
  std::string label_of(const ScriptConnection::Request& request, bool& handshake);
  void serve(ScriptConnection& connection);
  bool misbehave(ScriptConnection& connection, const ScriptConnection::Request& request, const Plan& plan);
  void forward(ScriptConnection& connection, const ScriptConnection::Request& request, const Plan& plan);
  void stream(Output& out, Upstream& upstream, const Plan& plan, const std::string& session, std::string first);
  void serve_older_stream(ScriptConnection& connection, const Plan& plan);
  void serve_older_post(ScriptConnection& connection, const ScriptConnection::Request& request, const Plan& plan,
                        const std::string& key);
  void wait(int descriptor, const ScriptConnection* client, int milliseconds, bool until_calm = false);
  void pause(const ScriptConnection& client, int milliseconds) { wait(-1, &client, milliseconds); }
  [[noreturn]] void hold(ScriptConnection& client);
  [[noreturn]] void hold_back(ScriptConnection& connection, const Plan& plan);
  std::vector<std::string> take_strays(const std::string& session);

  std::uint16_t upstream_;
  Dice dice_;
  std::size_t limit_;
  int stop_ = -1;
  int calmed_ = -1;
  std::atomic<bool> calm_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, int> seen_;
  std::map<Mishap, int> counts_;
  std::vector<std::string> story_;
  std::vector<std::string> reset_;  // bodies
  std::set<std::string> forgotten_;
  std::map<std::string, std::vector<std::string>> strays_;  // events that wait for another stream, by session
  std::map<std::string, std::shared_ptr<OlderSession>> older_;
  std::unique_ptr<ScriptedServer> server_;
};

}  // namespace patchbay::test
