#include "support/raw_client.h"

#include <gtest/gtest.h>

#include "server/serve.h"
#include "transport/memory.h"

namespace patchbay::test {

RawClient::RawClient(asio::any_io_executor executor, Server& server, const Runtime& runtime) : scope_(executor) {
  auto [near, far] = make_memory_pair(runtime.limits, MemoryPayloads::copy);
  channel_ = std::move(near);
  serving_ = scope_.spawn(serve(server, std::move(far), runtime));
}

RawClient::~RawClient() = default;

void RawClient::send(std::string_view text) {
  auto block = std::make_shared<const std::string>(text);
  auto decoded = decode_messages(block, *block);
  if (!decoded) throw decoded.error().within(text);
  auto sent = decoded->batch ? channel_->send_batch(std::move(decoded->messages))
                             : channel_->send(std::move(decoded->messages.front()));
  if (!sent) throw sent.error().within(text);
}

Task<std::string> RawClient::next() {
  auto incoming = co_await channel_->receive();
  std::string text;
  if (const auto* batch = std::get_if<Batch>(&incoming)) {
    for (const auto& message : batch->messages) {
      text += text.empty() ? '[' : ',';
      append_message(text, message);
    }
    text += ']';
  } else {
    append_message(text, std::get<Message>(incoming));
  }
  co_return text;
}

Task<std::string> RawClient::ask(std::string text) {
  send(text);
  co_return co_await next();
}

Task<void> RawClient::close() {
  co_await channel_->close(CloseMode::graceful);
  co_await scope_.join();
}

void RawClient::stop_server() { serving_.cancel(); }

}  // namespace patchbay::test
