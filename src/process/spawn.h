// Starting a warden: from a ProcessSpec to the pipes, arguments and environment it gets, its start, and the meaning of
// its first word. Everything that can be refused is refused here, with what to do about it. Does not wait and
// knows no loop; Process::start calls it and supervises what it started.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "process/process.h"
#include "process/warden/image.h"
#include "process/warden/protocol.h"

namespace patchbay {

// The two ends of a pipe or socket.
struct FdPair {
  Fd ours;  // does not block
  Fd theirs;
};

// What a start needs, all of it found and opened.
struct SpawnPlan {
  std::string file;  // of the command
  WardenImage image;
  std::string cwd;  // empty: ours
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  FdPair input, output, errors, control;
  // Of a sandbox: what the warden does to the command, and the warden's own program where bubblewrap is in front.
  Fd confinement;
  Fd itself;
  FdPair proxy;  // where the way out is a proxy of ours: what comes to ours is where it listens
};

SpawnPlan plan_spawn(const ProcessSpec& spec);
// The number of the warden. Our ends may have been taken out of the plan before: once it runs, nothing
// may fail that would leave it without an owner.
pid_t spawn_warden(SpawnPlan& plan, const std::string& command);

// Why there is no command: what the warden said instead of having started it.
[[noreturn]] void throw_not_started(const pb_warden_record& said, const SpawnPlan& plan, const std::string& command);
[[noreturn]] void throw_errno(int number, std::string_view what, std::string_view command);

// The room of a pipe, raised while there is some to give: the kernel rations it per user (64 MiB), so the process as a
// whole asks for few and leaves the rest to others.
class LargePipe {
 public:
  LargePipe() = default;
  LargePipe(const LargePipe&) = delete;
  LargePipe& operator=(const LargePipe&) = delete;
  ~LargePipe();
  void enlarge(int fd);

 private:
  bool held_ = false;
};

}  // namespace patchbay
