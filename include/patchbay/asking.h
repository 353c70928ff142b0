// Who answers what servers ask of a Host's user and model. A question of a server (elicitation) is put to hooks, then
// to the program (ClientOptions::elicit), then to the person; a request for text of a model (sampling) needs a budget
// and an approval before ClientOptions::sample gets it. Values and handlers; handlers run on the loop of the Host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/questions.h>
#include <patchbay/task.h>

namespace patchbay {

// Whether a server may have text from the user's model.
struct SamplingQuestion {
  CreateMessageRequest request;
  std::string text;  // all that would be sent, as lines in which every character shows itself
  CallContext context;
};

struct AskingOptions {
  // Asks the person, in form and URL mode, when there is no ClientOptions::elicit, or when it throws
  // Errc::unsupported: not its question. One question at a time over all servers and calls, in turn with
  // HostOptions::approve and PermissionOptions::ask. Unset: such a question is cancelled.
  std::function<Task<ElicitResult>(ElicitRequest, CallContext)> person = {};
  // Before program and person: an answer, which then counts, or nothing. What it throws declines the question.
  std::function<Task<std::optional<ElicitResult>>(ElicitRequest, CallContext)> before = {};
  // What is sent to the server instead of this answer, whoever gave it. What it throws declines the question.
  std::function<Task<ElicitResult>(ElicitRequest, ElicitResult, CallContext)> after = {};
  // Whether a server may have text from the model; in the same turn as other questions. Not asked about servers that
  // settings allow ("sampling" in docs/questions.md). Unset: all others are refused.
  std::function<Task<bool>(SamplingQuestion)> sampling = {};
  // The folders the user works in, told to servers unless ClientOptions::roots does that. What settings outside the
  // repository add (permissions.additionalDirectories) comes behind them. Empty: servers are told nothing.
  std::vector<std::string> folders = {};
};

}  // namespace patchbay
