#include "transport/inbox.h"

#include <algorithm>

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

bool MessageInbox::put_text(std::string text, const std::optional<RequestId>& wanted, const Runtime& runtime) {
  const auto size = std::max(text.size(), least_weight);
  auto block = std::make_shared<const std::string>(std::move(text));
  auto decoded = decode_messages(block, *block, {.max_depth = runtime.limits.depth});
  if (!decoded) {
    auto id = peek_id(*block);
    runtime.log(LogLevel::info, "event=not_a_message reason=\"{}\"", decoded.error().message());
    if (!id) return false;
    const bool ours = wanted == id;
    auto error = decoded.error().within("the answer cannot be read");
    // Only a request with a POST of its own is wanted, and what that brought was a success in HTTP.
    if (ours) error = std::move(error).with_http_status(200);
    put(Lost{std::move(*id), std::move(error)}, 0);
    return ours;
  }
  bool answered = false;
  for (auto& message : decoded->messages) {
    answered = answered || answers(message, wanted);
    if (auto* request = std::get_if<Request>(&message)) request->on_stream = wanted;
  }
  if (decoded->batch) {
    put(Batch{std::move(decoded->messages)}, size);
  } else {
    put(std::move(decoded->messages.front()), size);
  }
  return answered;
}

}  // namespace patchbay
