// A visit whose answer the user copies out of the browser: for machines whose browser is elsewhere. Nothing listens;
// the address that the browser ends at is one of this machine, where it finds nobody, and that is what is copied. Loop
// thread only.
#pragma once

#include <functional>
#include <string>

#include <patchbay/sign_in.h>
#include <patchbay/task.h>

#include "auth/engine/visit.h"

namespace patchbay {

OpenVisit pasted_visits(std::function<Task<std::string>(SignInPage)> paste);

}  // namespace patchbay
