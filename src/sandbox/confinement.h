// From what one server may do and what this machine can to what the warden is told, and to what then holds. Pure: the
// machine comes in as values (process/sandbox_probe.h asks it). The numbers are the kernel's, written down here because
// the headers of older systems do not have them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/domain_rule.h"
#include "sandbox/plan.h"
#include "sandbox/policy.h"

namespace patchbay {

struct SandboxMachine {
  int landlock = 0;          // the version the kernel answers; 0: it has none
  bool filters = false;      // seccomp
  bool native_calls = true;  // this program knows the numbers of this processor's system calls
  std::string bubblewrap;    // the program, where a trial of it succeeded; else empty
  std::string kernel;        // "6.1"
  bool root = false;         // processes of root are not counted
  bool operator==(const SandboxMachine&) const = default;
};

// One instruction of a classic BPF program, as the kernel has it.
struct FilterStep {
  std::uint16_t code = 0;
  std::uint8_t yes = 0;
  std::uint8_t no = 0;
  std::uint32_t value = 0;
  bool operator==(const FilterStep&) const = default;
};

struct ConfinedPath {
  std::string path;
  std::uint64_t access = 0;
  bool operator==(const ConfinedPath&) const = default;
};

// What the warden does before it executes the command. Nothing in it is decided there.
struct Confinement {
  std::uint64_t handled_files = 0;  // 0: no Landlock
  std::uint64_t scoped = 0;
  std::vector<ConfinedPath> paths;
  std::vector<FilterStep> filter;  // empty: none
  SandboxLimits limits;
  // Bubblewrap and its arguments; empty: nothing in front.
  std::vector<std::string> front;
  // Whom it may reach, through a proxy; nothing: its network is as the rest says. Only with something in front.
  std::optional<DomainAccess> domains;
  bool operator==(const Confinement&) const = default;
};

// What holds for one server.
enum class FilesHold : std::uint8_t {
  open,          // nothing is limited
  writes,        // writing is limited, and keys cannot be read
  reads_writes,  // reading as well
};
enum class NetworkHold : std::uint8_t {
  open,
  own_loopback,
  domains,  // those named, through a proxy; with SandboxGap::domains it is not started at all
  closed,
};
// What was asked for and does not hold.
enum class SandboxGap : std::uint8_t {
  files,            // this kernel has no Landlock
  files_too_large,  // see FileRules::too_large
  network,          // this kernel has no filters
  loopback,         // bubblewrap is not there, or does not work here
  domains,          // the same
  processes,        // root is not counted
};

struct SandboxState {
  SandboxMode mode = SandboxMode::off;
  FilesHold files = FilesHold::open;
  NetworkHold network = NetworkHold::open;
  bool own_processes = false;  // it sees no processes but its own
  std::vector<SandboxGap> gaps;
  std::vector<std::string> domains;  // as they are read, for NetworkHold::domains
  std::string kernel;
  bool operator==(const SandboxState&) const = default;
};
// Whether a server with this sandbox is not started: what is required is not there, or its network would be open though
// somebody named the only places it may reach.
bool keeps_from_starting(const SandboxState& state) noexcept;
std::string_view to_string(FilesHold files) noexcept;
std::string_view to_string(NetworkHold network) noexcept;
std::string_view to_string(SandboxGap gap) noexcept;

// `too_large`: the files could not be planned.
SandboxState sandbox_state(const SandboxPolicy& policy, const SandboxMachine& machine, bool too_large = false);

// What to do about a gap, for an error that names it. Whole words for people, without commands.
std::string gap_text(SandboxGap gap, const SandboxMachine& machine);

// Bubblewrap with everything that we ask of it, up to the command behind it.
std::vector<std::string> bubblewrap_front(const std::string& program, bool own_network);

// `server`: its name, for what a proxy says.
Confinement confinement(const SandboxPolicy& policy, const SandboxMachine& machine, const FileRules& files,
                        const std::string& server = {});

// Refuses sockets of the network (or, for a network of its own, those that are not part of it: of virtual machines, of
// radios), and every way around that; `emptying`: refuses to cut files by name, which a Landlock
// before version 3 does not see.
struct FilterWish {
  enum class Network : std::uint8_t { open, own, none };
  Network network = Network::open;
  bool emptying = false;
};
std::vector<FilterStep> socket_filter(const FilterWish& wish);
bool knows_native_calls() noexcept;

}  // namespace patchbay
