#include "rpc/read_messages.h"

#include <utility>

#include "base/as_result.h"
#include "base/offload.h"

namespace patchbay {
namespace {

struct Read {
  ReadMessages messages;
  MessageCensus census;
};

Read read(std::shared_ptr<const std::string> block, std::string_view text, const Limits& limits) {
  MessageCensus census;
  ReadMessages messages{
      decode_messages(std::move(block), text, {.max_depth = limits.depth}, limits.items, limits.nodes, census), {}};
  if (!messages.decoded) messages.seems_to_answer = peek_id(text);
  return {std::move(messages), census};
}

const Payload* payload_of(const Message& message) {
  if (const auto* request = std::get_if<Request>(&message)) return &request->params;
  if (const auto* notification = std::get_if<Notification>(&message)) return &notification->params;
  if (const auto* response = std::get_if<Response>(&message)) return &response->result;
  return &std::get<ErrorResponse>(message).error.data;
}

std::optional<RequestId> answered_by(const Message& message) {
  if (const auto* response = std::get_if<Response>(&message)) return response->id;
  if (const auto* error = std::get_if<ErrorResponse>(&message)) return error->id;
  return std::nullopt;
}

ReadMessages failed(const Decoded& decoded, Error error) {
  return {std::unexpected(std::move(error)), answered_by(decoded.messages.front())};
}

// A payload with a key that comes twice is found out here, where it would be an error for whoever looks inside.
ReadMessages with_values(ReadMessages messages) {
  for (const auto& message : messages.decoded->messages) {
    try {
      (void)payload_of(message)->value();
    } catch (const Error& error) {
      return {std::unexpected(error), answered_by(message)};
    }
  }
  return messages;
}

// What the values take: each has its place, which is twice as large for one with a block of its own, and a key beside
// it in an object; their text is copied.
std::size_t weight_of_values(const MessageCensus& census, std::size_t text) {
  return (2 * census.nodes + census.keys) * sizeof(Json) + text;
}

}  // namespace

ReadMessages read_messages(std::shared_ptr<const std::string> block, std::string_view text, const Limits& limits) {
  return read(std::move(block), text, limits).messages;
}

Task<ReadMessages> read_messages_aside(std::shared_ptr<const std::string> block, std::string_view text,
                                       ByteBudget::Charge weight, Limits limits) {
  auto weighed = std::make_shared<WeighedText>(std::move(block), std::move(weight));
  const std::shared_ptr<const std::string> shared(weighed, weighed->text.get());
  auto first = co_await offload(Pool::read, [shared, text, limits] { return read(shared, text, limits); });
  if (!first.messages.decoded) co_return std::move(first.messages);
  auto admitted = co_await as_result(
      byte_budget().admit(weight_of_values(first.census, text.size()), weighed->of_text.bytes(), limits.buffered));
  if (!admitted) {
    if (admitted.error().code() != Errc::limit) throw std::move(admitted).error();
    co_return failed(*first.messages.decoded, std::move(admitted).error());
  }
  weighed->of_values = std::move(*admitted);
  co_return co_await offload(
      Pool::read, [messages = std::move(first.messages)]() mutable { return with_values(std::move(messages)); });
}

}  // namespace patchbay
