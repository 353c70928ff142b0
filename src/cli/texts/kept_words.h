// What commands that start nothing say of servers: how old what they know is, how a server failed, and which servers
// are missing from a list. Pure; used by `--cached` and `status`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "host/kept/kept_server.h"

namespace patchbay::cli {

// "failed 3 minutes ago: it exited with status 7"; empty when this state is not a failure.
std::string failure_words(std::string_view server, const KeptState& state, std::chrono::sys_seconds now);

// A server that may be used, and of which there is no list to show.
struct Unlisted {
  std::string server;
  KeptUse use = KeptUse::missing;
  std::string failure;   // failure_words() of its last state
  bool has_log = false;  // there may be more about the failure in it
};
// Why one of them is not listed and what to do about it. `command`: "tools".
std::string unlisted_words(const Unlisted& one, std::string_view command);
// One line for each reason, with all servers that have it.
std::string unlisted_lines(const std::vector<Unlisted>& all, std::string_view command);

}  // namespace patchbay::cli
