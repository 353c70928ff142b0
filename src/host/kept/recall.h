// The tools that servers listed in an earlier run, so that a Host can offer them before it has started anything. The
// files are read on a helper thread and not waited for long: whatever goes wrong, there is just no memory. Called by
// the Host on its loop, with entries that may be started; whether they still may when the answer comes it decides
// itself. Nothing is started and no secret fetched.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/task.h>
#include <patchbay/types.h>

#include "host/kept/server_key.h"

namespace patchbay {

struct RecalledTools {
  ServerConfig entry;  // they are those of this entry, and of no other
  std::vector<std::shared_ptr<const Tool>> tools;
};

// Of each entry whose list can be used (judge_kept): young enough, and of the same values and program files.
Task<std::vector<RecalledTools>> recall_tools(std::string state_directory, KeyContext context,
                                              std::vector<ServerConfig> entries);

}  // namespace patchbay
