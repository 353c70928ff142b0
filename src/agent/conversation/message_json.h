// Messages of a conversation as JSON, for files of ours. Every part has a "type"; members that are not known are passed
// over, but a part whose type is not known is an error: what it says would be missing from the conversation. Pure.
#pragma once

#include <string>

#include <patchbay/json.h>
#include <patchbay/model.h>

namespace patchbay {

Json to_json(const ModelMessage& message);
Json to_json(const ModelUsage& usage);

// Errc::config: "parts[2].id: expected a text, found null".
Result<ModelMessage> read_message(const Json& json);
Result<ModelUsage> read_usage(const Json& json);

}  // namespace patchbay
