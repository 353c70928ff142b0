// Process: a child program with pipes on its stdin, stdout and stderr, and the certainty
// that nothing of it is left behind.
//
// The library starts a warden (warden/warden.c) and the warden starts the command: see
// docs/adr/0002-warden.md. The pipes run straight between us and the command. A socket to
// the warden carries orders one way and the exit status the other; its end means that every
// descendant is gone. No signal handler and no SIGCHLD is involved: the library is a guest.
//
// Used by the stdio transport; loop thread only. Owners call shutdown() and await it. The
// destructor is the last resort: it kills the tree at once and waits for that, up to a
// second, without the loop.
//
// Does not know what the bytes mean.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/task.h>

#include "base/runtime.h"

namespace patchbay {

struct Confinement;  // sandbox/confinement.h

struct ExitStatus {
  int code = 0;    // when signal is 0
  int signal = 0;  // that ended it
  bool operator==(const ExitStatus&) const = default;
};
// "exited with status 1", "was killed by signal 9 (SIGKILL)".
std::string describe(const ExitStatus& status);

// The last step that was needed to end the tree.
enum class ShutdownStep : std::uint8_t { none, input_closed, interrupted, terminated, killed };

// How the command ended, and what had been done by then to end it; none: it ended by itself.
struct ProcessEnd {
  std::optional<ExitStatus> status;  // nothing: a stranger killed the warden
  ShutdownStep step = ShutdownStep::none;
  bool operator==(const ProcessEnd&) const = default;
};

struct ProcessSpec {
  std::string command;  // looked up along the PATH of the environment below
  std::vector<std::string> args;
  std::map<std::string, std::string> env;  // overlays ours
  std::vector<std::string> unset;          // taken out of ours
  std::string cwd;                         // empty: ours
  // Gets stderr as it comes, for who needs more than the tail. Never called after shutdown.
  std::function<void(std::string_view)> on_stderr;
  // Called once, by shutdown(), behind the last of its stderr.
  std::function<void(const ProcessEnd&)> on_end;
  // What the warden takes away from the command before it executes it; null: nothing.
  std::shared_ptr<const Confinement> confinement;
};

// How long each step of shutdown() waits before the next.
struct Patience {
  std::chrono::milliseconds after_eof{1000};
  std::chrono::milliseconds after_interrupt{500};
  std::chrono::milliseconds after_terminate{500};
};

class Process {
 public:
  // Returns when the command runs. Errc::connect says why it does not (not found, not
  // executable, no such directory, no descriptors left, no warden) and what to do;
  // Errc::invalid_argument for what no program can be given, such as a NUL.
  static Task<std::unique_ptr<Process>> start(ProcessSpec spec, Runtime runtime);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const noexcept;  // of the command
  pid_t warden_pid() const noexcept;

  // stdin. Writes what the pipe takes now and returns how much: 0 when it is full,
  // Errc::closed when nobody can read it any more. Never raises SIGPIPE.
  Result<std::size_t> write_some(std::string_view bytes);
  // Whether nothing that was written has been read, by it or by what it started.
  bool has_read_nothing() const noexcept;
  // Calls back once when write_some is worth trying again, or input was closed.
  void when_writable(std::function<void()> ready);
  void close_input();

  // stdout. One reader at a time. 0: the end, that is EOF, or the command has ended and
  // what it wrote has been read. Nothing: interrupt_read() was called.
  Task<std::optional<std::size_t>> read_some(std::span<char> room);
  void interrupt_read();

  // Set when the command has ended; its descendants may live on. Ended without a status:
  // a stranger killed the warden, see warden_lost().
  bool ended() const noexcept;
  const std::optional<ExitStatus>& exit_status() const noexcept;
  bool warden_lost() const noexcept;
  // The command is on its way out, though its exit status has not come yet.
  bool exiting() const;
  // True when the command ends within `limit`.
  Task<bool> ended_within(std::chrono::milliseconds limit);

  // Returns when what lies in the stderr pipe now has gone to on_stderr and the tail.
  Task<void> take_waiting_errors();
  // What the command wrote to stderr lately.
  std::string stderr_tail();
  std::string stderr_tail(std::size_t lines);
  // What the proxy of its sandbox refused first, as it said it; empty: nothing. The same is in its stderr, where the
  // command can write that as well.
  const std::string& refused() const noexcept;
  // At most so many lines of it that say what went wrong; see TextTail.
  std::string telling_stderr(std::size_t lines);

  // Ends the tree: stdin closed, INT, TERM, KILL, each as soon as the one before has had its
  // time, skipping what cannot help. stdout is drained meanwhile, so that nobody hangs in a
  // write. Returns the step that was needed, when nothing is left. Callable again; the
  // shutdown goes on when a waiter is cancelled.
  Task<ShutdownStep> shutdown(Patience patience);

 private:
  struct State;
  explicit Process(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
