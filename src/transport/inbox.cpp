#include "transport/inbox.h"

namespace patchbay {
namespace {

bool answers(const Message& message, const std::optional<RequestId>& wanted) {
  if (!wanted) return false;
  if (const auto* response = std::get_if<Response>(&message)) return response->id == *wanted;
  if (const auto* error = std::get_if<ErrorResponse>(&message)) return error->id == *wanted;
  return false;
}

}  // namespace

bool MessageInbox::put_text(std::string text, const std::optional<RequestId>& wanted, const Runtime& runtime) {
  const auto size = text.size();
  auto block = std::make_shared<const std::string>(std::move(text));
  auto decoded = decode_messages(block, *block, {.max_depth = runtime.limits.depth});
  if (!decoded) {
    auto id = peek_id(*block);
    runtime.log(LogLevel::info, "event=not_a_message reason=\"{}\"", decoded.error().message());
    if (!id) return false;
    const bool ours = wanted == id;
    put(Lost{std::move(*id), decoded.error().within("the answer cannot be read")}, 0);
    return ours;
  }
  bool answered = false;
  for (const auto& message : decoded->messages) answered = answered || answers(message, wanted);
  if (decoded->batch) {
    put(Batch{std::move(decoded->messages)}, size);
  } else {
    put(std::move(decoded->messages.front()), size);
  }
  return answered;
}

}  // namespace patchbay
