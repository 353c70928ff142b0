// What a model can be given as a conversation: roles alternate, the person begins, no message is empty, and every use
// of a tool has exactly one outcome, in the message behind it and in front of everything else there. Providers refuse
// the whole request otherwise, and a process can end between any two messages. Conversation calls this for all that is
// read and added. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/model.h>

namespace patchbay {

using ModelMessages = std::vector<std::shared_ptr<const ModelMessage>>;

// What a model is told of a call whose outcome nobody knows.
extern const std::string_view interrupted_call;
ModelToolOutcome interrupted_outcome(const ModelToolUse& use);

// Uses of the last message that wait for their outcomes.
std::vector<ModelToolUse> open_uses(const ModelMessages& messages);

// Adds a message to a valid conversation, so that it stays valid: see the top. Outcomes that belong to no use, and
// second ones, are left out. `waiting`: ids of uses that need no outcome yet as long as `message` has outcomes only.
void add_message(ModelMessages& messages, std::shared_ptr<const ModelMessage> message,
                 std::span<const std::string> waiting = {});

// Gives the uses of the last message an outcome that says "interrupted", but for those in `waiting`. True: there were
// any.
bool close_uses(ModelMessages& messages, std::span<const std::string> waiting = {});

// The same of a conversation that anybody wrote.
ModelMessages repaired(const ModelMessages& messages, std::span<const std::string> waiting = {});

// The first rule that is broken, in words; empty for a valid conversation. Uses of the last message may be open, and
// those in `waiting` behind it as well.
std::string broken_rule(const ModelMessages& messages, std::span<const std::string> waiting = {});

}  // namespace patchbay
