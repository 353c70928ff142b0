// What one place says about the sandbox of a local server: the key "sandbox" of an entry, "sandbox.default" in
// settings, or the flag. Values and their reading; pure. policy.h puts several places together, plan.h says what
// follows for files, confinement.h what the warden is told. Nothing here names a command or flag of ours.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// From loose to strict. `automatic`: what this machine can do, and it is said what it cannot; `required`: all of it, or
// the server is not started.
enum class SandboxMode : std::uint8_t { off, automatic, required };
std::string_view to_string(SandboxMode mode) noexcept;  // as written: "auto"

// Whom a server may reach. `loopback`: 127.0.0.1 among its own processes; `domains`: only those named.
enum class SandboxNetwork : std::uint8_t { none, loopback, domains, any };
std::string_view to_string(SandboxNetwork network) noexcept;

enum class SandboxPreset : std::uint8_t { files, network, package_runner };
std::string_view to_string(SandboxPreset preset) noexcept;

// Each unset where nothing is said.
struct SandboxLimits {
  std::optional<std::uint64_t> processes;  // of the user, the server's among them
  std::optional<std::uint64_t> files;      // open at the same time
  std::optional<std::uint64_t> memory;     // bytes of address space of each process
  bool operator==(const SandboxLimits&) const = default;
};

struct SandboxSetting {
  SandboxMode mode = SandboxMode::off;
  std::optional<std::vector<std::string>> read;  // paths as written
  std::optional<std::vector<std::string>> write;
  std::optional<SandboxNetwork> network;
  std::vector<std::string> domains;  // where network is `domains`; each as to_text(DomainRule) writes it
  std::optional<SandboxPreset> preset;
  SandboxLimits limits;
  bool operator==(const SandboxSetting&) const = default;
};

inline constexpr std::size_t most_sandbox_paths = 256;    // in one list
inline constexpr std::size_t most_sandbox_domains = 256;  // in one list

// "auto", or an object. The error says what is wrong, with the key: "\"sandbox.write\" must be an array of paths".
std::expected<SandboxSetting, std::string> read_sandbox(const Json& value);

}  // namespace patchbay
