// Questions: what a Host does with what its servers ask. Puts a question (elicitation) to the hooks, the program and
// the person, in this order; lets requests for text of a model through where budget and approval allow; and says which
// folders there are. The calls on whose behalf is asked have stopped their clocks before it gets here (client/answers),
// and a question that is cancelled leaves the queue. A question that cannot be answered is cancelled, with the reason
// in the log. Shared by the host and by whoever is being asked; loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <patchbay/asking.h>
#include <patchbay/client.h>

#include "base/runtime.h"
#include "host/asking/question_queue.h"
#include "host/asking/sampling_rule.h"

namespace patchbay {

class Questions : public std::enable_shared_from_this<Questions> {
 public:
  Questions(AskingOptions options, const ClientOptions& program, Log log);

  // The handlers of a connection's client: those of the program, with all this before them. A server that gets nothing
  // of the model, by the settings of now, is not told that there is one: it may know another way.
  void answer_for(ClientOptions& client, const std::string& server, const ConfigOrigin& declared);
  QuestionQueue& queue() noexcept { return queue_; }

  // What settings say, again whenever they are others; true when the folders are.
  bool use(std::span<const SettingsLayer> layers, const std::string& cwd, const std::string& home);
  // Other folders of the program; true when they are others.
  bool set_folders(std::vector<std::string> folders);

 private:
  using Self = std::shared_ptr<Questions>;
  static Task<ElicitResult> elicit(Self self, ElicitRequest question, CallContext context);
  static Task<ElicitResult> answered(Self self, ElicitRequest question, CallContext context);
  static Task<ElicitResult> ask_person(Self self, ElicitRequest question, CallContext context);
  static Task<CreateMessageResult> sample(Self self, ConfigOrigin declared, CreateMessageRequest request,
                                          CallContext context);
  static Task<void> permit(Self self, const ConfigOrigin& declared, const CreateMessageRequest& request,
                           const CallContext& context);
  static Task<std::vector<Root>> roots(Self self);
  void tell_cancelled(const CallContext& context, std::string_view reason) const;
  std::vector<std::string> all_folders() const;

  AskingOptions options_;
  std::function<Task<ElicitResult>(ElicitRequest, CallContext)> program_;
  bool program_visits_;
  std::function<Task<CreateMessageResult>(CreateMessageRequest, CallContext)> model_;
  bool program_has_roots_;
  Log log_;
  QuestionQueue queue_;
  std::vector<SettingsLayer> layers_;
  SamplingBudget budget_;
  SamplingSpent spent_;
  std::vector<std::string> more_folders_;  // of settings
};

// As servers are told: absolute, as a file URL.
Root root_of(const std::string& folder);

}  // namespace patchbay
