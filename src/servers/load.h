// From what is on this machine to the servers that count: reads every source of sources.h, asks entry_answers.h
// what was said about each entry, and merges. load_servers of the public header is this with nothing remembered.
// Blocking; any thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "settings/sources.h"

namespace patchbay {

// What a program that reads again and again keeps between two readings: the last text of each file that
// could be read. A file somebody is just editing then goes on saying what it said before.
struct ConfigMemory {
  bool remembers = true;  // false: only `looked_for` is filled in
  std::map<std::string, std::string> good;
  // Every file the last reading looked for, there or not.
  std::set<std::string> looked_for;
};

LoadedConfig load_servers(const LoadRequest& request, ConfigMemory& memory);

// Where this request looks; what plugins and connectors add is not in it.
ConfigPaths config_paths(const LoadRequest& request);

}  // namespace patchbay
