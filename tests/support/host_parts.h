// The least that a host and an entry can be made of, for tests that add their servers themselves.
#pragma once

#include <string>
#include <utility>

#include <patchbay/config.h>
#include <patchbay/host.h>

namespace patchbay::test {

// Reads no file and declares no server.
inline HostOptions empty_options() {
  HostOptions options;
  options.config = LoadedConfig{};
  return options;
}

inline ServerConfig named(std::string name) {
  ServerConfig config;
  config.name = std::move(name);
  return config;
}

}  // namespace patchbay::test
