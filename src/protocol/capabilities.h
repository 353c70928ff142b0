// What declared capabilities mean where their shape alone does not say it. Used by
// whoever asks the other side for something, or answers; pure.
#pragma once

#include <patchbay/types.h>

#include "protocol/wire_types.h"

namespace patchbay {

// Elicitation declared without naming a mode means forms.
bool supports_form(const ClientCapabilities& client) noexcept;
bool supports_url(const ClientCapabilities& client) noexcept;

// Whether a client that declared these may be asked this.
bool allows(const ClientCapabilities& client, const InputRequest& request) noexcept;

}  // namespace patchbay
