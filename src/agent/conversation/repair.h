// What a model can be given as a conversation: the person begins, roles alternate, no message is empty, and every use
// of a tool has exactly one outcome, in the message behind it and in front of everything else there. Providers refuse
// the whole request otherwise, and a process can end between any two messages. Conversation calls this for all that is
// read and added, so that memory and file always come to the same. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/model.h>

namespace patchbay {

using ModelMessages = std::vector<std::shared_ptr<const ModelMessage>>;

// What a model is told of a call whose outcome nobody knows.
extern const std::string_view interrupted_call;
ModelToolOutcome interrupted_outcome(const ModelToolUse& use);

// Adds a message to a valid conversation. What would break a rule is left out or mended:
// - neighbours of one role become one message; texts of blanks and parts that the role cannot have are left out;
// - a use that the message behind it says nothing about is interrupted;
// - an outcome belongs to a use of the message before. Others are left out, and so is a second one for the same use;
//   but one that comes after all takes the place of one that says "interrupted".
// The uses of a new last message may wait for the next message.
void add_message(ModelMessages& messages, std::shared_ptr<const ModelMessage> message);

// Uses of the last message, which wait for their outcomes.
std::vector<ModelToolUse> open_uses(const ModelMessages& messages);
// The message that ends that: all of them were interrupted. Null: there are none.
std::shared_ptr<const ModelMessage> closing_message(const ModelMessages& messages);

// The same of messages that anybody put together; open uses stay open.
ModelMessages repaired(const ModelMessages& messages);

// The first rule that is broken, in words; empty for a valid conversation.
std::string broken_rule(const ModelMessages& messages);

}  // namespace patchbay
