// What this machine can do for a sandbox: asks the kernel for Landlock and seccomp, and tries bubblewrap. The trial
// starts a program, so what it showed is kept in the state directory until the machine is started again, bubblewrap
// changes, or we run as somebody else or in another container. Blocking, through offload(); any number of processes.
#pragma once

#include <string>

#include "sandbox/confinement.h"

namespace patchbay {

struct SandboxProbe {
  std::string state_directory;  // empty: nothing is kept
  // Where bubblewrap is looked for. Not along PATH, which a repository may set.
  std::string path = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin";
};

SandboxMachine look_at_sandbox_machine(const SandboxProbe& probe);

}  // namespace patchbay
