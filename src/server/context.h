// Context: the part of RequestContext that is the same for every client: who asks,
// progress and log messages. The fronts derive from it and say how a question reaches the
// client. One lives in the frame of each running request.
#pragma once

#include <optional>

#include <patchbay/server.h>

#include "rpc/peer.h"

namespace patchbay {

// What the front knows about the caller of one request.
struct Caller {
  std::optional<Implementation> info;
  ClientCapabilities capabilities;
  std::optional<ProgressToken> progress_token;
  std::optional<RequestId> request;  // its id: what is sent on its behalf goes where its answer goes
};

// The capability this question needs and the client did not declare, as the object that
// would declare it; null when the question may be asked.
Json missing_capability(const ClientCapabilities& capabilities, const InputRequest& question);
std::string_view method_of(const InputRequest& question) noexcept;
// The answer to a question of this kind; Errc::protocol when it is malformed.
Result<InputResponse> decode_answer(const InputRequest& question, Json answer);

class Context : public RequestContext {
 public:
  Context(Peer& peer, Caller caller) : peer_(peer), caller_(std::move(caller)) {}

  const std::optional<Implementation>& client() const final { return caller_.info; }
  const ClientCapabilities& client_capabilities() const final { return caller_.capabilities; }
  void progress(double value, std::optional<double> total, std::optional<std::string> message) final;
  void log(LoggingLevel level, Json data, std::optional<std::string> logger) final;
  void release_stream(std::optional<std::chrono::milliseconds> retry) final;

  Task<ElicitResult> elicit(ElicitRequest request, std::string name) final;
  Task<CreateMessageResult> sample(CreateMessageRequest request, std::string name) final;
  Task<std::vector<Root>> list_roots(std::string name) final;

  // The error a failed handler means for this client.
  virtual Error refine(Error error) const { return error; }

 protected:
  // Called in the order the handler asks, before anything is awaited.
  virtual Task<InputResponse> ask(InputRequest question, std::string name) = 0;
  // The least level to send now; none means that nothing is sent.
  virtual std::optional<LoggingLevel> log_level() const = 0;

  Peer& peer() noexcept { return peer_; }
  const std::optional<RequestId>& request() const noexcept { return caller_.request; }

 private:
  Peer& peer_;
  Caller caller_;
  std::optional<double> last_progress_;
};

}  // namespace patchbay
