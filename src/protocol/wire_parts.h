// Pieces the two wires build on; not for use outside src/protocol.
#pragma once

#include <span>

#include "protocol/wire.h"

namespace patchbay {

std::span<const Wire* const> modern_wires() noexcept;  // newest first
std::span<const Wire* const> legacy_wires() noexcept;

// The `_meta` the caller put among the members, for a wire to add its own keys to.
Json::Object meta_of(const Members& members);
// The members and, unless empty, `meta` in place of any `_meta` among them, as one object.
Payload params_text(const Members& members, Json::Object meta);
// What read_plain is made of. Members of the result itself that are none of the model's are
// offered to `known`, with the text of their value; false leaves the plain way.
bool read_plain_result(std::string_view text, CallToolResult& out,
                       bool (*known)(std::string_view key, std::string_view value));
Json token_json(const ProgressToken& token);

}  // namespace patchbay
