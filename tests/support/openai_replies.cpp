#include "support/openai_replies.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay::test {
namespace {

// A text in two pieces, so that somebody has to join them.
std::array<std::string, 2> pieces_of(const std::string& text) {
  const auto first = cut_utf8(text, text.size() / 2);
  return {std::string(first), text.substr(first.size())};
}

std::string arguments_of(const ModelToolUse& use) { return use.broken.empty() ? to_text(use.input) : use.broken; }

std::string id_of(const ModelToolUse& use, std::size_t at) {
  return use.id.empty() ? fmt::format("call_test_{}", at) : use.id;
}

Json usage_of(const ModelUsage& usage, std::string_view prompt, std::string_view answer) {
  Json out = Json::object();
  out[fmt::format("{}_tokens", prompt)] = usage.prompt();
  out[fmt::format("{}_tokens_details", prompt)] = Json{{"cached_tokens", usage.cache_read}};
  out[fmt::format("{}_tokens", answer)] = usage.output;
  return out;
}

ModelApiReply in_chunks(const std::vector<std::string>& events) {
  std::string all;
  for (const auto& event : events) all += event;
  ModelApiReply reply;
  constexpr std::size_t size = 50;
  for (std::size_t at = 0; at < all.size(); at += size) reply.chunks.push_back(all.substr(at, size));
  return reply;
}

class ChatEvents {
 public:
  explicit ChatEvents(std::string model) : model_(std::move(model)) {}
  void delta(Json delta, Json finish = nullptr) {
    add(Json::array({Json{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}}));
  }
  void add(Json choices, Json usage = nullptr) {
    all.push_back(sse_event("", Json{{"id", "chatcmpl-test"},
                                     {"object", "chat.completion.chunk"},
                                     {"model", model_},
                                     {"choices", std::move(choices)},
                                     {"usage", std::move(usage)}}));
  }
  std::vector<std::string> all;

 private:
  std::string model_;
};

class ResponsesEvents {
 public:
  void add(std::string_view name, Json data) {
    const auto type = fmt::format("response.{}", name);
    data["type"] = type;
    data["sequence_number"] = all.size();
    all.push_back(sse_event(type, data));
  }
  // What is said of an item between its beginning and its end. Its id differs each time, as with some servers.
  void item(Json begin, std::string_view delta, const std::string& text, Json end) {
    const auto at = [&](Json data) {
      data["output_index"] = index_;
      return data;
    };
    begin["id"] = fmt::format("item_{}_a", index_);
    add("output_item.added", at(Json{{"item", std::move(begin)}}));
    for (const auto& piece : pieces_of(text)) {
      if (!piece.empty()) {
        add(delta, at(Json{{"item_id", fmt::format("item_{}_b", index_)}, {"content_index", 0}, {"delta", piece}}));
      }
    }
    end["id"] = fmt::format("item_{}_c", index_);
    add("output_item.done", at(Json{{"item", std::move(end)}}));
    ++index_;
  }
  std::vector<std::string> all;

 private:
  int index_ = 0;
};

}  // namespace

std::vector<std::string> openai_chat_events(const OpenAiReply& reply) {
  ChatEvents events(reply.model);
  events.delta(Json{{"role", "assistant"}, {"content", ""}});
  for (const auto& piece : pieces_of(reply.thinking)) {
    if (!piece.empty()) events.delta(Json{{"reasoning_content", piece}});
  }
  for (const auto& piece : pieces_of(reply.text)) {
    if (!piece.empty()) events.delta(Json{{"content", piece}});
  }
  for (std::size_t at = 0; at < reply.uses.size(); ++at) {
    const auto& use = reply.uses[at];
    events.delta(Json{{"tool_calls", Json::array({Json{{"index", at},
                                                       {"id", id_of(use, at)},
                                                       {"type", "function"},
                                                       {"function", Json{{"name", use.name}, {"arguments", ""}}}}})}});
    for (const auto& piece : pieces_of(arguments_of(use))) {
      events.delta(Json{{"tool_calls", Json::array({Json{{"index", at}, {"function", Json{{"arguments", piece}}}}})}});
    }
  }
  const auto stop = !reply.stop.empty() ? reply.stop : reply.uses.empty() ? "stop" : "tool_calls";
  events.delta(Json::object(), stop);
  events.add(Json::array(), usage_of(reply.usage, "prompt", "completion"));
  events.all.emplace_back("data: [DONE]\n\n");
  return events.all;
}

std::vector<std::string> openai_responses_events(const OpenAiReply& reply) {
  ResponsesEvents events;
  events.add("created", Json{{"response", Json{{"model", reply.model}, {"status", "in_progress"}}}});
  if (!reply.thinking.empty()) {
    events.item(Json{{"type", "reasoning"}, {"summary", Json::array()}}, "reasoning_summary_text.delta", reply.thinking,
                Json{{"type", "reasoning"},
                     {"summary", Json::array({Json{{"type", "summary_text"}, {"text", reply.thinking}}})},
                     {"encrypted_content", "c2VjcmV0"}});
  }
  if (!reply.text.empty()) {
    events.item(
        Json{{"type", "message"}, {"role", "assistant"}, {"content", Json::array()}}, "output_text.delta", reply.text,
        Json{{"type", "message"},
             {"role", "assistant"},
             {"content",
              Json::array({Json{{"type", "output_text"}, {"text", reply.text}, {"annotations", Json::array()}}})}});
  }
  for (std::size_t at = 0; at < reply.uses.size(); ++at) {
    const auto& use = reply.uses[at];
    Json call{{"type", "function_call"}, {"call_id", id_of(use, at)}, {"name", use.name}, {"arguments", ""}};
    Json whole = call;
    whole["arguments"] = arguments_of(use);
    events.item(std::move(call), "function_call_arguments.delta", arguments_of(use), std::move(whole));
  }
  const auto* status = reply.stop.empty() ? "completed" : "incomplete";
  events.add(
      status,
      Json{{"response", Json{{"model", reply.model},
                             {"status", status},
                             {"incomplete_details", reply.stop.empty() ? Json() : Json(Json{{"reason", reply.stop}})},
                             {"output", Json::array()},
                             {"usage", usage_of(reply.usage, "input", "output")}}}});
  return events.all;
}

ModelApiReply openai_chat_reply(const OpenAiReply& reply) { return in_chunks(openai_chat_events(reply)); }
ModelApiReply openai_responses_reply(const OpenAiReply& reply) { return in_chunks(openai_responses_events(reply)); }

ModelApiReply openai_error(int status, std::string code, std::string message, std::string param) {
  ModelApiReply reply{.status = status, .headers = {{"Content-Type", "application/json"}}};
  reply.chunks.push_back(to_text(Json{{"error", Json{{"message", std::move(message)},
                                                     {"type", "invalid_request_error"},
                                                     {"param", param.empty() ? Json() : Json(std::move(param))},
                                                     {"code", std::move(code)}}}}));
  return reply;
}

}  // namespace patchbay::test
