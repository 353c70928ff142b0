#include "transport/memory.h"

#include <array>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "base/waiting.h"

namespace patchbay {
namespace {

// The depth a text reaches. The text is valid JSON: only strings can hide a bracket.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

struct Measure {
  std::size_t size = 0;   // bytes on a wire, without the fixed words of the envelope
  std::size_t depth = 0;  // levels inside the message object

  void add(std::string_view text, std::size_t levels_above) {
    size += text.size();
    depth = std::max(depth, levels_above + depth_of(text));
  }
};

Measure measure(const Message& message) {
  Measure total;
  if (const auto* request = std::get_if<Request>(&message)) {
    total.size = request->method.size() + to_text(request->id).size();
    if (request->params) total.add(request->params.text(), 1);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    total.size = notification->method.size();
    if (notification->params) total.add(notification->params.text(), 1);
  } else if (const auto* response = std::get_if<Response>(&message)) {
    total.size = to_text(response->id).size();
    if (response->result) total.add(response->result.text(), 1);
  } else {
    const auto& error = std::get<ErrorResponse>(message).error;
    total.size = error.message.size();
    if (error.data) total.add(error.data.text(), 2);
  }
  return total;
}

struct Item {
  Incoming incoming;
  std::size_t size;
};

// What one end will receive.
struct Inbox {
  std::deque<Item> items;
  std::size_t queued = 0;
  Event changed;
  std::optional<Error> end;  // after the items
};

struct Link {
  Link(const Limits& l, MemoryPayloads p) : limits(l), payloads(p) {}
  Limits limits;
  MemoryPayloads payloads;
  std::array<Inbox, 2> inboxes;
  bool open = true;

  void close(const Error& here, int side, const Error& there) {
    if (!open) return;
    open = false;
    auto& mine = inboxes[side];
    mine.items.clear();
    mine.end = here;
    inboxes[1 - side].end = there;
    for (auto& inbox : inboxes) inbox.changed.notify_all();
  }
};

Result<Incoming> copied(const std::vector<Message>& messages, bool batch, std::size_t depth) {
  auto block = std::make_shared<std::string>();
  if (batch) block->push_back('[');
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i > 0) block->push_back(',');
    append_message(*block, messages[i]);
  }
  if (batch) block->push_back(']');
  std::string_view text = *block;
  auto decoded = decode_messages(std::move(block), text, {.max_depth = depth});
  if (!decoded) return std::unexpected(std::move(decoded).error());
  if (batch) return Batch{std::move(decoded->messages)};
  return std::move(decoded->messages.front());
}

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Link> link, int side) : link_(std::move(link)), side_(side) {}
  ~MemoryChannel() override { close_now(); }

  Result<void> send(Message message) override {
    std::vector<Message> one;
    one.push_back(std::move(message));
    return deliver(std::move(one), false);
  }

  Result<void> send_batch(std::vector<Message> messages) override { return deliver(std::move(messages), true); }

  Task<Incoming> receive() override { return receive_from(link_, side_); }

  void abandon(const RequestId&) override {}

  Task<void> close(CloseMode) override {
    close_now();
    co_return;
  }

 private:
  // Holds the link, not the channel: a channel may be destroyed while a receive is pending.
  static Task<Incoming> receive_from(std::shared_ptr<Link> link, int side) {
    auto& inbox = link->inboxes[side];
    while (inbox.items.empty()) {
      if (inbox.end) throw Error(*inbox.end);
      co_await inbox.changed.wait();
    }
    auto item = std::move(inbox.items.front());
    inbox.items.pop_front();
    inbox.queued -= item.size;
    co_return std::move(item.incoming);
  }

  Result<void> deliver(std::vector<Message> messages, bool batch) {
    if (!link_->open) return fail(Errc::closed, "the connection was closed");
    Measure total;
    for (const auto& message : messages) {
      auto one = measure(message);
      total.size += one.size;
      total.depth = std::max(total.depth, one.depth + (batch ? 1 : 0));
    }
    const auto& limits = link_->limits;
    // On a wire the receiver finds this out and ends the connection; so it is here.
    if (total.size > limits.message) {
      return break_off(fmt::format("a message of {} bytes is larger than the limit of {}", total.size, limits.message));
    }
    if (total.depth > limits.depth) {
      return break_off(
          fmt::format("a message is nested {} deep, more than the limit of {}", total.depth, limits.depth));
    }
    auto& inbox = link_->inboxes[1 - side_];
    if (!inbox.items.empty() && inbox.queued + total.size > limits.outgoing) {
      return fail(Errc::limit,
                  fmt::format("{} bytes wait to be read, because the other side does not read", inbox.queued));
    }
    if (link_->payloads == MemoryPayloads::copy) {
      auto incoming = copied(messages, batch, limits.depth);
      if (!incoming) return break_off(incoming.error().message());
      inbox.items.push_back({std::move(*incoming), total.size});
    } else if (batch) {
      inbox.items.push_back({Batch{std::move(messages)}, total.size});
    } else {
      inbox.items.push_back({std::move(messages.front()), total.size});
    }
    inbox.queued += total.size;
    inbox.changed.notify_all();
    return {};
  }

  Result<void> break_off(std::string reason) {
    Error limit(Errc::limit, std::move(reason));
    link_->close(Error(Errc::closed, "the other side ended the connection: " + limit.message()), side_, limit);
    return std::unexpected(std::move(limit));
  }

  void close_now() {
    link_->close(Error(Errc::closed, "the connection was closed"), side_,
                 Error(Errc::closed, "the other side closed the connection"));
  }

  std::shared_ptr<Link> link_;
  int side_;
};

}  // namespace

ChannelPair make_memory_pair(const Limits& limits, MemoryPayloads payloads) {
  auto link = std::make_shared<Link>(limits, payloads);
  return {std::make_unique<MemoryChannel>(link, 0), std::make_unique<MemoryChannel>(link, 1)};
}

}  // namespace patchbay
