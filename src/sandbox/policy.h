// From what all places say about one server to what it may do: the strictest counts. Pure; paths are made absolute and
// free of links by a function that is passed in, before any two are compared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/setting.h"

namespace patchbay {

// Everything that is said about one server.
struct SandboxLevels {
  std::vector<SandboxSetting> organisation;  // its settings
  std::vector<SandboxSetting> user;          // settings of the user, and the flag
  std::vector<SandboxSetting> repository;    // settings in the repository, which can only take away
  std::optional<SandboxSetting> entry;
  // Whether the user wrote the entry. One that comes with a repository or a plugin cannot widen what the user's
  // settings ask for; what an organisation asks for nobody can.
  bool entry_is_users = false;
  std::string command;  // of the server, for the preset of npx and the like
};

// Where things are for this user, absolute.
struct SandboxPlaces {
  std::string home;
  std::string directory;           // the server's working directory
  std::string temporary = "/tmp";  // and TMPDIR, if that is another one
  std::vector<std::string> keys;   // what no server in a sandbox may read
};

// What one server may do. `off`: everything, and nothing else here counts.
struct SandboxPolicy {
  SandboxMode mode = SandboxMode::off;
  std::vector<std::string> read;   // "/": everything but the keys
  std::vector<std::string> write;  // also readable
  std::vector<std::string> make;   // folders of `write` that are made where they are missing
  SandboxNetwork network = SandboxNetwork::any;
  std::vector<std::string> domains;  // where network is `domains`
  std::string domains_setting;       // where one would have to be added, in words
  std::optional<SandboxPreset> preset;
  SandboxLimits limits;       // `processes` is always set
  bool asked_limits = false;  // somebody named a number of processes, and it is not our own
  bool operator==(const SandboxPolicy&) const = default;
};

inline constexpr std::uint64_t usual_process_limit = 4096;

// A path as written, made absolute and free of links as far as it exists; empty where it means nothing, as ~ without a
// home.
using ResolvePath = std::function<std::string(const std::string& written)>;

SandboxPolicy sandbox_policy(const SandboxLevels& levels, const SandboxPlaces& places, const ResolvePath& resolve);

// What fits a command that fetches the program it runs: npx, uvx and the like.
std::optional<SandboxPreset> preset_of_command(std::string_view command) noexcept;

// Files and folders of credentials below `home`: of ssh, clouds, containers, other agents.
std::vector<std::string> key_places(const std::string& home);

// Whether `path` is `root` or below it. Both are absolute and normal.
bool is_within(std::string_view path, std::string_view root) noexcept;

}  // namespace patchbay
