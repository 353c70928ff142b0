// Pieces the two wires build on; not for use outside src/protocol.
#pragma once

#include <span>

#include "protocol/wire.h"

namespace patchbay {

std::span<const Wire* const> modern_wires() noexcept;  // newest first
std::span<const Wire* const> legacy_wires() noexcept;

// Adds "key":value to an object text that is still open.
void append_member(std::string& out, std::string_view key, std::string_view value_text);
// The members and, unless empty, `_meta`, as one object.
Payload params_text(const Members& members, std::string_view meta_text);
Json token_json(const ProgressToken& token);

}  // namespace patchbay
