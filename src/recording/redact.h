// Takes secrets out of a message before it leaves the ring: what stands under a name that says so, bearer tokens and
// words in the form of well-known tokens, and whatever `known` takes out by its value. What is hidden stays of its
// kind: a text becomes "[redacted]", a number 0, so that a recording can be replayed; and schemas stay schemas, since a
// property that is called "token" is no token. The same function is used on what a replayed request brings: it meets
// what was recorded. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

inline constexpr std::string_view redaction_mark = "[redacted]";

// By names and forms alone.
Json without_secrets(Json message);

using KnownSecretsOf = std::function<Json(Json)>;
// The message as JSON text on one line. A text that is no JSON is replaced by a note about its size.
std::string redacted_frame(std::string_view message, const KnownSecretsOf& known);

}  // namespace patchbay
