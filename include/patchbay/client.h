// Client: how a program introduces itself to servers, what it can do for them, and connect(). A value;
// any number of sessions can be made from one. The handlers run on the loop of the session. A handler
// that is not set is a capability that is not declared.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/log.h>
#include <patchbay/questions.h>
#include <patchbay/session.h>
#include <patchbay/task.h>
#include <patchbay/transport.h>
#include <patchbay/types.h>

namespace patchbay {

struct ClientOptions {
  Implementation info{.name = "patchbay", .version = "0"};

  // What CallContext calls the server. A Host sets it to the name of the entry.
  std::string server = {};

  // Answers a question that a server asks the user. Leave it unset when there is nobody to ask.
  std::function<Task<ElicitResult>(ElicitRequest, CallContext)> elicit = {};
  bool elicit_by_url = false;  // whether `elicit` also takes url mode
  // Answers a server's request for text from a model.
  std::function<Task<CreateMessageResult>(CreateMessageRequest, CallContext)> sample = {};
  bool sample_with_tools = false;  // `sample` can also give the model tools that the server sends
  // The folders the user works in.
  std::function<Task<std::vector<Root>>(CallContext)> roots = {};

  std::function<void(const LogMessage&, const CallContext&)> on_log = {};
  std::function<void(const Change&, const CallContext&)> on_change = {};
  // Once per session, when it ends for a reason other than close().
  std::function<void(const Error&)> on_lost = {};

  // The lowest level that servers should send; unset: older servers decide, newer ones send nothing.
  std::optional<LoggingLevel> log_level = {};

  LogOptions log = {};  // what the library reports about its own work; for a Host as well

  // "auto" tries the newest revision first; "legacy" or the date of a revision does not try.
  std::string protocol = "auto";

  // A file that keeps which servers were found to speak only older revisions, so that "auto"
  // asks them in their own way first; forgotten after seven days, or when the server's program
  // changed. It is made when it is missing. Empty: nothing is kept.
  std::string protocol_memory = {};
};

class Client {
 public:
  explicit Client(ClientOptions options = {});

  // Opens the transport, settles the protocol and returns a working session. Errors carry
  // what the server wrote to stderr as their detail; nothing of the attempt is left behind.
  Task<Session> connect(std::shared_ptr<Transport> transport) const;

  const ClientOptions& options() const noexcept { return options_; }

 private:
  ClientOptions options_;
};

}  // namespace patchbay
