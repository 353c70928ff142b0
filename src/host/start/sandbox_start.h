// The sandbox of one server: from what its entry and all settings say to what the warden is told, and to what is shown
// of it. The decisions are in src/sandbox; here the places of this user and what is on the disk come in. What looks at
// the disk blocks and goes through offload().
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "sandbox/confinement.h"
#include "settings/settings_file.h"

namespace patchbay {

// What everybody says. The entry is as written; what cannot be read counts as "required", and is reported by its
// reader.
SandboxLevels sandbox_levels(const ServerConfig& written, std::span<const SettingsLayer> layers);

// Whether any sandbox is asked for: nothing else needs to be looked at where none is.
bool wants_sandbox(const SandboxLevels& levels) noexcept;

// Of this user. `directory`: where the server runs. `config_dir`: ours.
SandboxPlaces sandbox_places(const VariableLookup& variables, const std::string& directory,
                             const std::string& config_dir);

// Makes absolute what an entry or a setting says, with ~ and ${VARIABLE} replaced, and follows links. Blocking.
ResolvePath path_resolver(const SandboxPlaces& places, VariableLookup variables);

// What would hold for a server, without a look at its files. Nothing for one that is not local.
SandboxState sandbox_of(const ServerConfig& written, std::span<const SettingsLayer> layers,
                        const VariableLookup& variables, const std::string& cwd, const std::string& config_dir,
                        const SandboxMachine& machine);

struct SandboxStart {
  std::shared_ptr<const Confinement> confinement;  // null: no sandbox
  SandboxState state;
  // From what the server wrote to stderr, and what its proxy refused, to what would help, if it did not start.
  std::function<std::string(std::string_view stderr_text, std::string_view refused)> explain;
};

// Blocking. `command`: the program, as it is looked up. The error says what a required sandbox lacks.
Result<SandboxStart> plan_sandbox(const std::string& name, const SandboxLevels& levels, const SandboxPlaces& places,
                                  const VariableLookup& variables, const std::string& program,
                                  const SandboxMachine& machine);

}  // namespace patchbay
