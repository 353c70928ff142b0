// The file of a conversation: any bytes are a conversation or an Error, what is read is valid, and written again it
// reads the same.
#include "agent/conversation/message_json.h"
#include "agent/conversation/record.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(conversation) {
  (void)read_conversation_start(input);
  const auto read = read_conversation(input, 1000);
  if (!read) return;
  require(read->whole <= input.size(), "more than there is");
  require(broken_rule(read->state.messages).empty(), "a conversation that no model takes");
  auto text = write_head(read->head);
  const auto head = read_head(std::string_view(text).substr(0, text.size() - 1));
  require(head && *head == read->head, "a head that reads otherwise");
  text += write_record(MessagesReplaced{read->state.messages});
  const auto again = read_conversation(text, 1000);
  require(again.has_value(), "messages that cannot be read again");
  require(again->state.messages.size() == read->state.messages.size(), "another number of messages");
  for (std::size_t i = 0; i < again->state.messages.size(); ++i) {
    require(*again->state.messages[i] == *read->state.messages[i], "another message");
  }
  // Whatever follows is whole or not there.
  const auto cut = read_conversation(input.substr(0, read->whole + (input.size() - read->whole) / 2), 1000);
  require(cut && cut->whole == read->whole, "half a line that counts");
}
