// Text of the model for a server that asks for it (sampling): its request as a model takes it, and the answer as the
// server expects it. Whether the server may have it is decided before (host/asking).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/model.h>
#include <patchbay/questions.h>
#include <patchbay/task.h>

namespace patchbay {

// Without tools, and with nothing of any conversation. Errc::invalid_argument where there is nothing to answer,
// Errc::unsupported for what is not text.
Result<ModelRequest> sampling_request(const CreateMessageRequest& request, const ModelInfo& model);

// Ends before the first of the `stops` that is in it. Errc::denied when the model refused.
Result<CreateMessageResult> sampling_answer(const ModelAnswer& answer, const std::vector<std::string>& stops);

// The model's answer as the server gets it. `heard` gets it before, also where the server gets nothing of it.
Task<CreateMessageResult> answer_sampling(std::shared_ptr<Model> model, CreateMessageRequest request,
                                          std::function<void(const ModelAnswer&)> heard);

// Errc::denied for a prompt that is longer than a person reads before they say yes.
Result<void> can_be_read(std::string_view prompt);

}  // namespace patchbay
