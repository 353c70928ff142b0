// The server that is always there: files beneath one directory and, where allowed, commands,
// offered as tools. Embedded in a Host under the name `patchbay`, and served over stdio by
// `patchbay serve`. Loop thread only; file work runs on helper threads.
//
// Every path is confined to the root by the kernel. Commands are not confined: who allows
// them gives the caller everything this user can do.
#pragma once

#include <memory>

#include <patchbay/server.h>

#include "builtin/options.h"

namespace patchbay {

// Throws Errc::invalid_argument when the root is not a directory.
std::shared_ptr<Server> make_builtin_server(BuiltinOptions options);

}  // namespace patchbay
