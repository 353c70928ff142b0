// Context: the part of RequestContext that is the same for every client: who asks,
// progress and log messages. The fronts derive from it and say how a question reaches the
// client. One lives in the frame of each running request or task.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <patchbay/server.h>

#include "base/apart.h"
#include "base/runtime.h"
#include "rpc/peer.h"
#include "rpc/task_store.h"

namespace patchbay {

// The way to the client. A task may outlive its connection, and then there is none.
struct PeerLink {
  PeerLink(Peer* p, Apart h) : peer(p), runtime(p->runtime()), handlers(std::move(h)) {}
  // Throws when the connection is gone, which a handler may find out too late.
  Peer& required() const;
  Peer* peer;
  Runtime runtime;        // the connection's, for what outlives it
  std::string principal;  // who the client is known to be; empty where nobody asks
  Apart handlers;         // of requests that are no tasks
};

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
// The answer to a question of this kind; Errc::protocol when it is malformed or, for a form, does
// not fit what was asked. `steps` bounds finding that out.
Result<InputResponse> decode_answer(const InputRequest& question, Json answer, std::uint64_t steps);

class Context : public RequestContext, public std::enable_shared_from_this<Context> {
 public:
  Context(std::shared_ptr<const PeerLink> link, Caller caller)
      : link_(std::move(link)),
        handlers_(link_->handlers),
        caller_(std::move(caller)),
        schema_steps_(link_->runtime.limits.schema_steps),
        answer_limit_(link_->runtime.limits.answer),
        log_(link_->runtime.log) {}

  const std::optional<Implementation>& client() const final { return caller_.info; }
  const ClientCapabilities& client_capabilities() const final { return caller_.capabilities; }
  void progress(double value, std::optional<double> total, std::optional<std::string> message) final;
  void log(LoggingLevel level, Json data, std::optional<std::string> logger) final;
  void release_stream(std::optional<std::chrono::milliseconds> retry) final;

  void status(std::string message) final;
  bool start_task() final;

  Task<ElicitResult> elicit(ElicitRequest request, std::string name) final;
  Task<CreateMessageResult> sample(CreateMessageRequest request, std::string name) final;
  Task<std::vector<Root>> list_roots(std::string name) final;

  // Kept here because a task may outlive its connection.
  std::uint64_t schema_steps() const noexcept { return schema_steps_; }
  std::size_t answer_limit() const noexcept { return answer_limit_; }
  const Log& own_log() const noexcept { return log_; }
  // The error a failed handler means for this client.
  virtual Error refine(Error error) const { return error; }

  // Runs a handler of the program with this context, which it may use for as long as it runs: longer
  // than whoever waits here, if it does not listen when it is cancelled. `kept` is what the handler is
  // part of.
  template <class T>
  Task<T> run(Task<T> handler, std::shared_ptr<const void> kept) {
    return handlers_.run(keeping(shared_from_this(), std::move(kept), std::move(handler)));
  }
  // What became of the request runs elsewhere from now on.
  void run_in(Apart handlers) { handlers_ = std::move(handlers); }

  // Makes a task of the call; null when it cannot be one.
  using TaskStarter = std::function<std::shared_ptr<StoredTask>()>;
  void allow_task(TaskStarter starter) { starter_ = std::move(starter); }
  // The task this call is by now, or null.
  const std::shared_ptr<StoredTask>& task() const noexcept { return task_; }

 protected:
  // Called in the order the handler asks, before anything is awaited.
  virtual Task<InputResponse> ask_client(InputRequest question, std::string name) = 0;
  // Throws when the client cannot be asked this.
  virtual void require(const InputRequest& question) = 0;
  // The least level to send now; none means that nothing is sent.
  virtual std::optional<LoggingLevel> log_level() const = 0;
  // Whether a task's progress and log messages reach its client.
  virtual bool tasks_talk() const noexcept = 0;

  const std::shared_ptr<const PeerLink>& link() const noexcept { return link_; }
  const std::optional<RequestId>& request() const noexcept { return caller_.request; }

 private:
  template <class T>
  static Task<T> keeping(std::shared_ptr<Context> /*context*/, std::shared_ptr<const void> /*kept*/, Task<T> handler) {
    co_return co_await std::move(handler);
  }
  Task<InputResponse> ask(InputRequest question, std::string name);
  // Where messages about this call go now, or null.
  Peer* listener() const;
  Json message_meta() const;
  // The request whose stream they belong on; that of a task was answered when it became one.
  std::optional<RequestId> about() const { return task_ ? std::nullopt : caller_.request; }

  std::shared_ptr<const PeerLink> link_;
  Apart handlers_;
  Caller caller_;
  std::uint64_t schema_steps_;
  std::size_t answer_limit_;
  Log log_;
  TaskStarter starter_;
  std::shared_ptr<StoredTask> task_;
  std::optional<double> last_progress_;
};

}  // namespace patchbay
