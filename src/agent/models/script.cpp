#include "agent/models/script.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "text/document.h"

namespace patchbay {
namespace {

constexpr std::string_view call_prefix = "script_";

struct ScriptFile {
  const std::string& name;
  std::string_view text;

  std::unexpected<Error> wrong(const Place* place, std::string message) const {
    ConfigProblem problem{.file = name, .message = std::move(message)};
    if (place) {
      const auto position = PositionCounter(text).at(place->value);
      problem.line = position.line;
      problem.column = position.column;
    }
    return std::unexpected(Error(Errc::config, problem.text()));
  }
};

std::string text_at(const Json& turn, std::string_view key) {
  const auto text = turn[key].text();
  return text ? std::string(*text) : std::string();
}

std::optional<ModelStop> stop_named(std::string_view name) {
  for (const auto stop : {ModelStop::end_turn, ModelStop::tool_use, ModelStop::max_tokens, ModelStop::refusal,
                          ModelStop::pause, ModelStop::context_full, ModelStop::malformed, ModelStop::other}) {
    if (to_string(stop) == name) return stop;
  }
  return std::nullopt;
}

// The text of everything in a message, outcomes included.
std::string words_of(const ModelMessage& message) {
  std::string all;
  const auto add = [&](const ModelBlock& block) {
    if (const auto* text = std::get_if<ModelText>(&block)) (all += text->text) += '\n';
  };
  for (const auto& part : message.parts) {
    if (const auto* text = std::get_if<ModelText>(&part)) (all += text->text) += '\n';
    if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) std::ranges::for_each(outcome->blocks, add);
    if (const auto* news = std::get_if<ModelNews>(&part)) (all += news->text) += '\n';
  }
  return all;
}

std::string newest_outcome(const ModelRequest& request) {
  for (auto message = request.messages.rbegin(); message != request.messages.rend(); ++message) {
    for (auto part = (*message)->parts.rbegin(); part != (*message)->parts.rend(); ++part) {
      const auto* outcome = std::get_if<ModelToolOutcome>(&*part);
      if (!outcome) continue;
      std::string all;
      for (const auto& block : outcome->blocks) {
        if (const auto* text = std::get_if<ModelText>(&block)) all += (all.empty() ? "" : "\n") + text->text;
      }
      return all;
    }
  }
  return {};
}

void put_in(std::string& text, std::string_view variable, const std::string& value) {
  for (auto at = text.find(variable); at != std::string::npos; at = text.find(variable, at + value.size())) {
    text.replace(at, variable.size(), value);
  }
}

// A tool may be called by the end of its name where that is enough.
std::string whole_name(const ModelRequest& request, const std::string& name) {
  if (!request.tools || request.tools->find(name) != nullptr) return name;
  const std::string* found = nullptr;
  for (const auto& tool : request.tools->tools) {
    if (!tool.name.ends_with("__" + name)) continue;
    if (found) return name;
    found = &tool.name;
  }
  return found ? *found : name;
}

class ScriptModel final : public Model {
 public:
  ScriptModel(const std::string& name, std::vector<ScriptTurn> turns)
      : turns_(std::move(turns)), played_(turns_.size()) {
    info_.provider = "script";
    info_.model = name;
  }

  const ModelInfo& info() const noexcept override { return info_; }

  Task<ModelAnswer> ask(ModelRequest request, std::function<void(const ModelEvent&)> on_event) override {
    if (request.messages.empty()) throw Error(Errc::invalid_argument, "there is no message to answer");
    const auto next = next_script_turn(turns_, played_, *request.messages.back());
    if (!next) throw Error(Errc::limit, "the script has no answer left for this message");
    go_on_counting(request);
    played_[*next] = true;
    const ScriptTurn& turn = turns_[*next];
    if (!turn.error.empty()) throw Error(Errc::http, turn.error);
    ModelAnswer answer;
    answer.model = info_.model;
    answer.usage = turn.usage;
    const auto tell = [&](const ModelEvent& event) {
      if (on_event) on_event(event);
    };
    if (!turn.thinking.empty()) {
      tell(ModelThinkingDelta{turn.thinking});
      answer.message.parts.emplace_back(
          ProviderBlock{.provider = info_.provider, .value = {{"type", "thinking"}, {"thinking", turn.thinking}}});
    }
    if (!turn.text.empty()) {
      auto text = turn.text;
      put_in(text, "${result}", newest_outcome(request));
      tell(ModelTextDelta{text});
      answer.message.parts.emplace_back(ModelText{std::move(text)});
    }
    for (const auto& call : turn.calls) {
      auto use = call;
      use.id = fmt::format("{}{}", call_prefix, ++calls_);
      use.name = whole_name(request, use.name);
      tell(ModelToolBegun{use.id, use.name});
      answer.message.parts.emplace_back(std::move(use));
    }
    answer.stop = turn.stop.value_or(turn.calls.empty() ? ModelStop::end_turn : ModelStop::tool_use);
    answer.stop_text = to_string(answer.stop);
    co_return answer;
  }

 private:
  // A conversation that was taken up again has calls of this script already.
  void go_on_counting(const ModelRequest& request) {
    for (const auto& message : request.messages) {
      for (const auto& part : message->parts) {
        const auto* use = std::get_if<ModelToolUse>(&part);
        if (!use || !use->id.starts_with(call_prefix)) continue;
        const auto digits = std::string_view(use->id).substr(call_prefix.size());
        std::uint64_t number = 0;
        const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (fault == std::errc() && end == digits.data() + digits.size()) calls_ = std::max(calls_, number);
      }
    }
  }

  ModelInfo info_;
  std::vector<ScriptTurn> turns_;
  std::vector<bool> played_;
  std::uint64_t calls_ = 0;
};

}  // namespace

Result<std::vector<ScriptTurn>> read_script(const std::string& name, std::string_view text) {
  const ScriptFile file{name, text};
  const auto document = read_document(text, name, "an object with \"turns\"");
  if (!document) return std::unexpected(Error(Errc::config, document.error().text()));
  const auto turns = member_of(document->top(), "turns");
  if (!turns || !turns.value->is_array()) {
    return file.wrong(&document->place, "a script is an object with \"turns\", an array");
  }
  std::vector<ScriptTurn> all;
  for (const auto& each : turns.value->items()) {
    const Place* const place = all.size() < turns.place->children.size() ? &turns.place->children[all.size()] : nullptr;
    if (!each.is_object()) return file.wrong(place, fmt::format("turn {} is not an object", all.size() + 1));
    ScriptTurn turn{.when = text_at(each, "when"),
                    .text = text_at(each, "text"),
                    .thinking = text_at(each, "thinking"),
                    .error = text_at(each, "error")};
    for (const auto& call : each["calls"].items()) {
      ModelToolUse use{.name = text_at(call, "name")};
      if (use.name.empty()) {
        return file.wrong(place, fmt::format("a call of turn {} has no name", all.size() + 1));
      }
      if (const auto* input = call.find("input")) {
        if (input->is_object()) {
          use.input = *input;
        } else {
          use.broken = to_text(*input);
        }
      }
      turn.calls.push_back(std::move(use));
    }
    if (const auto stop = each["stop"].text()) {
      turn.stop = stop_named(*stop);
      if (!turn.stop) {
        return file.wrong(place, fmt::format("\"stop\" of turn {} is an unknown word", all.size() + 1));
      }
    }
    const auto& usage = each["usage"];
    turn.usage = {.input = usage["input"].to_uint().value_or(0),
                  .cache_read = usage["cache_read"].to_uint().value_or(0),
                  .cache_written = usage["cache_written"].to_uint().value_or(0),
                  .output = usage["output"].to_uint().value_or(0)};
    all.push_back(std::move(turn));
  }
  return all;
}

std::optional<std::size_t> next_script_turn(const std::vector<ScriptTurn>& turns, const std::vector<bool>& played,
                                            const ModelMessage& newest) {
  const auto words = words_of(newest);
  for (std::size_t at = 0; at < turns.size(); ++at) {
    if (!played[at] && (turns[at].when.empty() || words.contains(turns[at].when))) return at;
  }
  return std::nullopt;
}

std::shared_ptr<Model> make_script_model(std::string name, std::string_view text) {
  auto turns = read_script(name, text);
  if (!turns) throw turns.error();
  return std::make_shared<ScriptModel>(name, std::move(*turns));
}

}  // namespace patchbay
