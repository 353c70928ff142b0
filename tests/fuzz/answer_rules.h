// What must hold of the answer of a model, whatever its provider's server sends. Input of such a target: one piece of
// the answer on each line; a line that begins with @ names the event of the next.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/models/provider.h"
#include "fuzz/fuzz.h"

namespace patchbay::fuzz {

struct ReadAnswer {
  std::string told;  // the texts
  std::vector<std::string> begun;
  std::expected<ModelAnswer, ProviderFailure> answer;
};

inline ReadAnswer read_pieces(AnswerReader& reader, std::string_view input) {
  ReadAnswer read;
  const auto tell = [&](const ModelEvent& event) {
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) read.told += text->text;
    if (const auto* begun = std::get_if<ModelToolBegun>(&event)) read.begun.push_back(begun->id);
  };
  std::string_view event;
  while (!input.empty() && !reader.complete()) {
    const auto line = take_line(input);
    if (line.starts_with('@')) {
      event = line.substr(1);
      continue;
    }
    if (auto taken = reader.take(event, line, tell); !taken) {
      read.answer = std::unexpected(std::move(taken).error());
      return read;
    }
    event = {};
  }
  read.answer = reader.finish();
  return read;
}

// A conversation that has a call already, whose id is not given again.
inline ModelRequest request_before() {
  auto pool = std::make_shared<ToolPool>();
  pool->tools.push_back({.name = "look",
                         .description = "Looks.",
                         .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  auto message = std::make_shared<ModelMessage>();
  message->role = Role::assistant;
  message->parts = {ModelToolUse{.id = "call_1", .name = "look"}};
  return {.tools = pool, .messages = {message}};
}

inline void check_answer(const Provider& provider, std::string_view input) {
  auto request = request_before();
  const auto read = read_pieces(*provider.reader(request), input);
  require(read_pieces(*provider.reader(request), input).answer == read.answer, "another answer of the same pieces");
  if (!read.answer) {
    const int status = read.answer.error().status;
    require(status == 0 || (status >= 400 && status < 600), "a failure that is none");
    return;
  }
  std::set<std::string> ids{"call_1"};
  for (const auto& part : read.answer->message.parts) {
    require(!std::holds_alternative<ModelToolOutcome>(part) && !std::holds_alternative<ModelNews>(part),
            "a part that no model sends");
    if (const auto* text = std::get_if<ModelText>(&part)) require(!text->text.empty(), "a text of nothing");
    const auto* use = std::get_if<ModelToolUse>(&part);
    if (!use) continue;
    require(ids.insert(use->id).second && !use->id.empty(), "an id that is taken");
    require(use->input.is_object(), "arguments that are no object");
    require(use->broken.empty() || use->input.size() == 0, "arguments that are both");
  }
  for (const auto& begun : read.begun) require(ids.contains(begun), "a call that begins and is not in the answer");
  require(read.answer->message.role == Role::assistant, "somebody else's answer");
  // It can be sent back.
  request.messages.push_back(std::make_shared<const ModelMessage>(read.answer->message));
  const auto text = to_text(provider.request(request).body);
  require(parse_json(text).has_value(), "a request that is not JSON");
}

}  // namespace patchbay::fuzz
