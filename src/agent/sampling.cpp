#include "agent/sampling.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/as_result.h"

namespace patchbay {
namespace {

constexpr std::size_t most_prompt_bytes = 32u << 10;
constexpr std::ptrdiff_t most_prompt_lines = 400;

}  // namespace

Result<ModelRequest> sampling_request(const CreateMessageRequest& request, const ModelInfo& model) {
  if (request.max_tokens <= 0) return fail(Errc::invalid_argument, "maxTokens must be greater than 0");
  // Providers want the roles to alternate, and the user to begin and to end.
  std::vector<ModelMessage> messages;
  for (const auto& said : request.messages) {
    if (messages.empty() || messages.back().role != said.role) messages.push_back({.role = said.role});
    for (const auto& block : said.content) {
      const auto* text = std::get_if<TextContent>(&block);
      if (text == nullptr) return fail(Errc::unsupported, "only text is given to the model of this conversation");
      messages.back().parts.emplace_back(ModelText{text->text});
    }
  }
  std::erase_if(messages, [](const ModelMessage& message) { return message.parts.empty(); });
  if (messages.empty() || messages.front().role != Role::user || messages.back().role != Role::user) {
    return fail(Errc::invalid_argument, "the messages must begin and end with one of the user");
  }
  ModelRequest out;
  out.system = request.system_prompt.value_or("");
  for (auto& message : messages) out.messages.push_back(std::make_shared<const ModelMessage>(std::move(message)));
  const auto most = static_cast<std::size_t>(request.max_tokens);
  out.max_tokens = model.max_output > 0 ? std::min(most, model.max_output) : most;
  return out;
}

Result<CreateMessageResult> sampling_answer(const ModelAnswer& answer, const std::vector<std::string>& stops) {
  if (answer.stop == ModelStop::refusal) return fail(Errc::denied, "the model refused to answer");
  auto text = text_of(answer.message);
  CreateMessageResult out;
  out.model = answer.model;
  out.stop_reason = answer.stop == ModelStop::max_tokens ? "maxTokens" : "endTurn";
  auto end = text.size();
  for (const auto& stop : stops) {
    if (!stop.empty()) end = std::min(end, text.find(stop));
  }
  if (end < text.size()) {
    text.resize(end);
    out.stop_reason = "stopSequence";
  }
  out.content.emplace_back(TextContent{.text = std::move(text)});
  return out;
}

Task<CreateMessageResult> answer_sampling(std::shared_ptr<Model> model, CreateMessageRequest request,
                                          std::function<void(const ModelAnswer&)> heard) {
  auto asked = value_or_throw(sampling_request(request, model->info()));
  const auto answer = co_await model->ask(std::move(asked), {});
  if (heard) heard(answer);
  co_return value_or_throw(sampling_answer(answer, request.stop_sequences));
}

Result<void> can_be_read(std::string_view prompt) {
  if (prompt.size() <= most_prompt_bytes && std::ranges::count(prompt, '\n') <= most_prompt_lines) return {};
  return fail(Errc::denied, "the prompt is longer than a person can be asked to read");
}

}  // namespace patchbay
