// What a server asks the user while a command waits for it (elicitation): shown on the terminal with the name of the
// server that asks, answered there or not at all. What is typed becomes a value by the rules of texts/form_words.h.
#pragma once

#include <patchbay/call.h>
#include <patchbay/questions.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// Cancelled when there is no terminal or the user leaves it; a form is asked for field by field.
Task<ElicitResult> ask_user(Io& io, Waiting& waiting, ElicitRequest question, CallContext context);

}  // namespace patchbay::cli
