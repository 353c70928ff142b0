#include "agent/sampling.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace patchbay {

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

}  // namespace patchbay
