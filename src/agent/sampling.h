// Text of the model for a server that asks for it (sampling): its request as a model takes it, and the answer as the
// server expects it. Whether the server may have it is decided before (host/asking). Pure.
#pragma once

#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/model.h>
#include <patchbay/questions.h>

namespace patchbay {

// Without tools, and with nothing of any conversation. Errc::invalid_argument where there is nothing to answer,
// Errc::unsupported for what is not text.
Result<ModelRequest> sampling_request(const CreateMessageRequest& request, const ModelInfo& model);

// Ends before the first of the `stops` that is in it. Errc::denied when the model refused.
Result<CreateMessageResult> sampling_answer(const ModelAnswer& answer, const std::vector<std::string>& stops);

}  // namespace patchbay
