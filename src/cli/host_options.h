// What every Host of a command line gets: which servers, which rules, where things are kept, what may be asked. Who is
// asked is up to the command: main for single commands, agent_host for the agent. Reads files; before there is a loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <patchbay/host.h>

#include "cli/io.h"
#include "cli/waiting.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// Asks nobody anything. `directory`: what it is about, absolute; empty: the current one.
HostOptions host_options(const Settings& settings, const std::string& directory = {});

// HostOptions::approve: asks on the terminal and keeps the answer, so that the same entry is asked about once. `told`
// gets a rejection, which says itself how to undo it.
Task<bool> ask_and_remember(const Settings& settings, Io& io, Waiting& waiting, std::map<std::string, Error>& told,
                            ServerConfig server);

// The answer is kept, and what was saved is said with how to take it back. Throws what tells that it was a no.
Task<bool> remember_approval(Settings settings, std::function<void(const std::string&)> say, ServerConfig server,
                             bool yes);

// Problems that cost an entry are always said; hints only to people. What does not concern the `named` server does not
// keep the command from its work, so it is a warning to this command.
void say_problems(const std::vector<ConfigProblem>& problems, const Settings& settings, Io& io,
                  const std::string& named = {});

}  // namespace patchbay::cli
