#include "support/anthropic_replies.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay::test {
namespace {

// One block in as many events as the API would use.
class Events {
 public:
  void add(std::string_view name, Json data) {
    data["type"] = name;
    all.push_back(sse_event(name, data));
  }
  void block(Json begin, std::vector<Json> deltas) {
    add("content_block_start", {{"index", index_}, {"content_block", std::move(begin)}});
    for (auto& delta : deltas) add("content_block_delta", {{"index", index_}, {"delta", std::move(delta)}});
    add("content_block_stop", {{"index", index_++}});
  }

  std::vector<std::string> all;

 private:
  int index_ = 0;
};

// A text in two pieces, so that somebody has to join them.
std::vector<Json> deltas(std::string_view type, std::string_view member, const std::string& text) {
  const auto first = cut_utf8(text, text.size() / 2);
  std::vector<Json> out;
  for (auto piece : {first, std::string_view(text).substr(first.size())}) {
    if (!piece.empty()) out.push_back({{"type", type}, {member, piece}});
  }
  return out;
}

}  // namespace

std::vector<std::string> anthropic_events(const AnthropicReply& reply) {
  Events events;
  const Json usage{{"input_tokens", reply.usage.input},
                   {"cache_read_input_tokens", reply.usage.cache_read},
                   {"cache_creation_input_tokens", reply.usage.cache_written},
                   {"output_tokens", 1}};
  Json message{{"id", reply.id},           {"type", "message"},      {"role", "assistant"}, {"model", reply.model},
               {"content", Json::array()}, {"stop_reason", nullptr}, {"usage", usage}};
  if (!reply.usage.cache_miss.empty()) {
    message["diagnostics"] = Json{{"cache_miss_reason", Json{{"type", reply.usage.cache_miss}}}};
  }
  events.add("message_start", {{"message", std::move(message)}});
  events.add("ping", Json::object());
  if (!reply.thinking.empty()) {
    auto pieces = deltas("thinking_delta", "thinking", reply.thinking);
    pieces.push_back({{"type", "signature_delta"}, {"signature", "c2lnbmVk"}});
    events.block({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, std::move(pieces));
  }
  if (!reply.text.empty()) {
    events.block({{"type", "text"}, {"text", ""}}, deltas("text_delta", "text", reply.text));
  }
  int number = 0;
  for (const auto& use : reply.uses) {
    ++number;
    events.block({{"type", "tool_use"},
                  {"id", use.id.empty() ? fmt::format("toolu_{}", number) : use.id},
                  {"name", use.name},
                  {"input", Json::object()}},
                 deltas("input_json_delta", "partial_json", use.broken.empty() ? to_text(use.input) : use.broken));
  }
  const auto stop = !reply.stop.empty() ? reply.stop : std::string(reply.uses.empty() ? "end_turn" : "tool_use");
  events.add("message_delta", {{"delta", {{"stop_reason", stop}, {"stop_sequence", nullptr}}},
                               {"usage", {{"output_tokens", reply.usage.output}}}});
  events.add("message_stop", Json::object());
  return std::move(events.all);
}

ModelApiReply anthropic_reply(const AnthropicReply& reply) {
  ModelApiReply out;
  std::string carried;
  for (const auto& event : anthropic_events(reply)) {
    const auto text = carried + event;
    const auto half = text.size() / 2;
    out.chunks.push_back(text.substr(0, half));
    carried = text.substr(half);
  }
  out.chunks.push_back(std::move(carried));
  return out;
}

ModelApiReply anthropic_error(int status, std::string type, std::string message,
                              std::map<std::string, std::string> headers) {
  ModelApiReply out{.status = status, .headers = std::move(headers)};
  out.headers.emplace("Content-Type", "application/json");
  out.chunks.push_back(to_text(Json{{"type", "error"},
                                    {"error", {{"type", std::move(type)}, {"message", std::move(message)}}},
                                    {"request_id", "req_test"}}));
  return out;
}

}  // namespace patchbay::test
