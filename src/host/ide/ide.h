// The server inside an editor, found through the lock file the editor wrote. A
// transport whose open() looks for it anew, so an editor that was restarted at
// another port is found again. It connects to loopback alone, past every HTTP
// proxy: the editor's token goes nowhere else. Lock files of other people,
// links, and files that cannot be understood are left alone; the error that no
// editor was found says so.
//
// A program adds it to a Host; no configuration file can. Loop thread; looking
// at the few small files blocks it shortly.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "host/ide/ide_lock.h"
#include "rpc/transport.h"

namespace patchbay {

// Where to look, and for what.
struct IdeSearch {
  std::string folder;  // of the lock files
  std::string cwd;     // absolute
  std::string port;    // what CLAUDE_CODE_SSE_PORT says; empty: it is not set
  uid_t owner = 0;     // whose lock files count
};

// CLAUDE_CONFIG_DIR or ~/.claude, CLAUDE_CODE_SSE_PORT, and the user we run
// as.
IdeSearch ide_search(const VariableLookup& lookup, std::string cwd);

struct FoundLocks {
  std::vector<IdeCandidate> candidates;
  std::vector<std::string> ignored;  // "8080.lock: it is larger than 64 KiB"
};
FoundLocks find_ide_locks(const IdeSearch& search);

std::unique_ptr<Transport> ide_transport(IdeSearch search);

// Its entry: named "ide", with the two tools that are meant for a model; `source` is what its origin is called.
ServerConfig ide_server(std::string source);

}  // namespace patchbay
