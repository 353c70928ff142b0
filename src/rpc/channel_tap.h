// ChannelTap: sees what passes over the channels of one server, as values: nothing is written or copied for it. The
// recorder of a Host and --trace are taps. tapped() puts them around a Transport, so that every channel it opens, over
// whatever it runs, is seen in one place; a request may get a trace context on its way there (rpc/trace_context).
// Called on the loop, in the middle of the channel's work: take note and return.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "rpc/transport.h"

namespace patchbay {

class TraceContext;

class ChannelTap {
 public:
  virtual ~ChannelTap() = default;
  // Numbers the new channel; several may be open at once.
  virtual std::uint32_t opened() = 0;
  virtual void sent(std::uint32_t channel, const Message& message) = 0;
  virtual void received(std::uint32_t channel, const Message& message) = 0;
  // This request's own stream ended without an answer.
  virtual void lost(std::uint32_t channel, const Lost& lost) = 0;
  // `why`: how the other side ended it; null: we did. Once.
  virtual void closed(std::uint32_t channel, const Error* why) = 0;
};

using ChannelTaps = std::vector<std::shared_ptr<ChannelTap>>;

// `context` may be null.
std::shared_ptr<Transport> tapped(std::shared_ptr<Transport> transport, ChannelTaps taps,
                                  std::shared_ptr<const TraceContext> context = nullptr);

// Runtime::trace of one server, whose name stands in front. What it throws is logged once.
std::shared_ptr<ChannelTap> trace_tap(std::string server,
                                      std::function<void(std::string_view direction, std::string_view message)> trace,
                                      Log log);

}  // namespace patchbay
