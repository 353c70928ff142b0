// What a server asks the user while a command waits for it (elicitation): shown on the terminal with the name of the
// server that asks, answered there field by field, looked at as a whole, and sent or not. A page is shown with its host
// and opened in the browser after a yes. Nothing clears the screen: it works in any terminal, however small. What is
// typed becomes a value by the rules of protocol/question_form.
#pragma once

#include <patchbay/call.h>
#include <patchbay/questions.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// Cancelled when there is no terminal or the user leaves it.
Task<ElicitResult> ask_user(Io& io, Waiting& waiting, ElicitRequest question, CallContext context);

}  // namespace patchbay::cli
