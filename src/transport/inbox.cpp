#include "transport/inbox.h"

#include <algorithm>
#include <utility>

namespace patchbay {
namespace {

// A small message costs more than its text, and may lead to an answer of ours: some hundred at a time are enough.
constexpr std::size_t least_weight = 16u << 10;

bool answers(const Message& message, const std::optional<RequestId>& wanted) {
  if (!wanted) return false;
  if (const auto* response = std::get_if<Response>(&message)) return response->id == *wanted;
  if (const auto* error = std::get_if<ErrorResponse>(&message)) return error->id == *wanted;
  return false;
}

}  // namespace

MessageInbox::Put MessageInbox::put_text(std::string text, const std::optional<RequestId>& wanted,
                                         const Runtime& runtime) {
  const auto size = text.size();
  auto block = std::make_shared<const std::string>(std::move(text));
  return put_read(read_messages(block, *block, runtime.limits), size, wanted, runtime);
}

Task<MessageInbox::Put> MessageInbox::put_text_aside(std::string text, ByteBudget::Charge weight,
                                                     std::optional<RequestId> wanted, const Runtime& runtime) {
  const auto size = text.size();
  auto block = std::make_shared<const std::string>(std::move(text));
  auto read = co_await read_messages_aside(block, *block, std::move(weight), runtime.limits);
  co_return put_read(std::move(read), size, wanted, runtime);
}

MessageInbox::Put MessageInbox::put_read(ReadMessages read, std::size_t size, const std::optional<RequestId>& wanted,
                                         const Runtime& runtime) {
  size = std::max(size, least_weight);
  auto& decoded = read.decoded;
  if (!decoded) {
    auto& id = read.seems_to_answer;
    // A server can send such things without end.
    runtime.log(std::exchange(told_, true) ? LogLevel::debug : LogLevel::info, "not_a_message", "reason",
                decoded.error().message());
    if (!id) return Put::nothing;
    const bool ours = wanted == id;
    auto error = decoded.error().within("the answer cannot be read");
    // Only a request with a POST of its own is wanted, and what that brought was a success in HTTP.
    if (ours) error = std::move(error).with_http_status(200);
    put(Lost{std::move(*id), std::move(error)}, least_weight);
    return ours ? Put::answer : Put::nothing;
  }
  bool answered = false;
  for (auto& message : decoded->messages) {
    answered = answered || answers(message, wanted);
    if (auto* request = std::get_if<Request>(&message)) request->on_stream = wanted;
    if (auto* notification = std::get_if<Notification>(&message)) notification->on_stream = wanted;
  }
  if (decoded->batch) {
    put(Batch{std::move(decoded->messages)}, size);
  } else {
    put(std::move(decoded->messages.front()), size);
  }
  return answered ? Put::answer : Put::message;
}

}  // namespace patchbay
