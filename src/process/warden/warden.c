// The warden: one small process between the library and each server it starts, so that no
// descendant of the server outlives the program that asked for it.
//
// It is a child subreaper: whatever the server leaves behind (double fork, setsid, parents
// that end) becomes the warden's own child. It holds one end of a socket whose other end
// only the host holds: the kernel closes that end when the host ends, however it ends.
// Then, or when the host orders it, the warden ends every descendant, and itself when none
// is left. It does nothing else: the server's stdin, stdout and stderr are the server's
// alone, and messages never pass through here. For a server in a sandbox it also applies a plan
// to the command before it executes it (confine.h); it is never in the sandbox itself.
//
// Killing touches direct children only, over and over. A direct child's pid cannot be
// reused before the warden itself reaps it, so no stranger is ever hit, and the children
// of a killed child become direct children in turn.
//
// Plain C, static, one thread, no sanitizer, on x86-64 no libc (kernel.h): it must run from a
// memory file inside any program, and start fast. All signals stay blocked; SIGCHLD is read
// from a descriptor.
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <time.h>

#include "confine.h"
#include "kernel.h"
#include "listen.h"
#include "protocol.h"

enum {
  TERM_GRACE_MS = 300,  // between TERM and KILL when the host is gone
  MAX_TREE = 4096,      // descendants that one INT or TERM reaches; KILL has no bound
  MAX_LOOKS = 8,        // at /proc for one INT or TERM; a tree that grows at each look gets KILL
};

static pid_t self;
static pid_t command;

static struct listing processes;

static void report(int kind, int place, int value) {
  struct pb_warden_record record = {kind, place, value};
  // A host that is gone shows as the end of the socket.
  call(SYS_sendto, PB_WARDEN_SOCKET, (long)&record, sizeof record, MSG_NOSIGNAL | MSG_DONTWAIT, 0);
}

static int64_t now_ms(void) {
  struct kernel_time now = {0, 0};
  call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0);
  return (int64_t)now.seconds * 1000 + now.nanoseconds / 1000000;
}

static void close_from(unsigned first) {
  if (call(SYS_close_range, first, ~0u, 0, 0, 0) == 0) return;
  uint64_t limit[2];  // before Linux 5.9
  unsigned last = 65536;
  if (call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)limit, 0) == 0 && limit[0] < last) last = (unsigned)limit[0];
  for (unsigned fd = first; fd < last; ++fd) close_file((int)fd);
}

// The number at the beginning of `text`; `end` gets what follows it.
static pid_t number_in(const char* text, const char** end) {
  pid_t number = 0;
  while (*text >= '0' && *text <= '9') number = number * 10 + (*text++ - '0');
  if (end != NULL) *end = text;
  return number;
}

// Parent of `pid` as /proc says now, or -1. The name may hold blanks and brackets, so the
// fields are counted from the last ')'.
static pid_t parent_of(const char* pid) {
  char path[32] = "/proc/";
  int length = 6;
  for (int i = 0; pid[i] != '\0' && i < 20; ++i) path[length++] = pid[i];
  for (const char* rest = "/stat"; *rest != '\0'; ++rest) path[length++] = *rest;
  path[length] = '\0';
  int fd = open_file(path, O_RDONLY);
  if (fd < 0) return -1;
  char text[512];
  long size = read_file(fd, text, sizeof text - 1);
  close_file(fd);
  if (size <= 0) return -1;
  text[size] = '\0';
  long end = size;
  while (end >= 0 && text[end] != ')') --end;
  if (end < 0 || size - end < 5) return -1;
  return number_in(text + end + 4, NULL);  // ") S ppid"
}

static int is_pid(const char* name) { return name[0] >= '1' && name[0] <= '9'; }

// SIGKILL for every direct child, as the kernel lists them: one short read, so that a chain
// of processes that fork and end does not outrun it. False when the kernel keeps no list.
static int kill_listed_children(void) {
  int fd = open_file("/proc/thread-self/children", O_RDONLY);
  if (fd < 0) return 0;
  static char text[65536];
  long length = read_file(fd, text, sizeof text - 1);
  close_file(fd);
  if (length < 0) return 0;
  text[length] = '\0';
  for (const char* next = text; *next != '\0';) {
    const char* end;
    pid_t pid = number_in(next, &end);
    // A number cut off by the end of the buffer would be somebody else's.
    if (end == next || *end != ' ') break;
    if (pid > 1) send_signal(pid, SIGKILL);
    next = end + 1;
  }
  return 1;
}

// The same by looking at every process.
static void kill_found_children(void) {
  if (list(&processes, "/proc") < 0) {
    // Out of memory or descriptors: the command and its group are known without looking.
    if (command > 0) {
      send_signal(-command, SIGKILL);
      send_signal(command, SIGKILL);
    }
    return;
  }
  for (const char* name; (name = next_name(&processes)) != NULL;) {
    if (is_pid(name) && parent_of(name) == self) send_signal(number_in(name, NULL), SIGKILL);
  }
  close_file(processes.fd);
}

// One signal for every descendant there is now. Deeper descendants are reaped by others, so
// each is pinned by a pidfd and looked up again before it is signalled.
static void signal_tree(int number) {
  static pid_t tree[MAX_TREE];
  int count = 0;
  tree[count++] = self;
  for (int before = 0, looks = 0; before != count && looks < MAX_LOOKS; ++looks) {
    before = count;
    if (list(&processes, "/proc") < 0) break;
    for (const char* name; count < MAX_TREE && (name = next_name(&processes)) != NULL;) {
      if (!is_pid(name)) continue;
      pid_t pid = number_in(name, NULL);
      pid_t parent = parent_of(name);
      int known = 0, descends = 0;
      for (int i = 0; i < count; ++i) {
        known |= tree[i] == pid;
        descends |= tree[i] == parent;
      }
      if (descends && !known) tree[count++] = pid;
    }
    close_file(processes.fd);
  }
  for (int i = 1; i < count; ++i) {
    int pin = open_process(tree[i]);
    if (pin == -ESRCH) continue;
    char name[16];
    int length = 0;
    for (pid_t rest = tree[i]; rest > 0; rest /= 10) ++length;
    name[length] = '\0';
    for (pid_t rest = tree[i]; rest > 0; rest /= 10) name[--length] = (char)('0' + rest % 10);
    pid_t parent = parent_of(name);
    int descends = 0;
    for (int j = 0; j < count; ++j) descends |= tree[j] == parent;
    if (descends) {
      if (pin >= 0) {
        call(SYS_pidfd_send_signal, pin, number, 0, 0, 0);
      } else {
        send_signal(tree[i], number);  // before Linux 5.3, or where a container refuses the descriptor
      }
    }
    if (pin >= 0) close_file(pin);
  }
}

static char** words;      // the file to execute, then the argv of the command
static char** variables;  // its environment
static volatile int failed;
static volatile int failed_at = PB_AT_EXEC;
static int confines;  // the plan was read and is for the command

static void become_command(void) {
  static const uint64_t none = 0;
  call(SYS_setpgid, 0, 0, 0, 0, 0);
  for (int number = 1; number <= 64; ++number) default_action(number);
  // If a stranger kills the warden, at least the command goes too. Safe here: the
  // warden has one thread, and this counts the parent's thread.
  call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (call(SYS_getppid, 0, 0, 0, 0, 0) == self) {  // else killed before that line
    set_mask(&none);
    int error = 0;
    if (confines) failed_at = confine(&error);
    if (error != 0) {
      failed = error;
      for (;;) call(SYS_exit_group, 127, 0, 0, 0, 0);
    }
    failed = (int)-call(SYS_execve, (long)words[0], (long)(words + 1), (long)variables, 0, 0);
  }
  for (;;) call(SYS_exit_group, 127, 0, 0, 0, 0);
}

// Starts the command in a process group of its own, with default signals and nothing but
// its three descriptors. When start_child returns, exec has happened or has failed.
static int start(void) {
  long pid = start_child(become_command);
  if (pid < 0) {
    report(PB_WARDEN_FAILED, PB_AT_FORK, (int)-pid);
    return -1;
  }
  if (failed != 0) {
    call(SYS_wait4, pid, 0, 0, 0, 0);
    report(PB_WARDEN_FAILED, failed_at, failed);
    return -1;
  }
  command = (pid_t)pid;
  report(PB_WARDEN_STARTED, 0, command);
  return 0;
}

// Reaps whatever has ended. Returns 0 when no child is left.
static int reap(void) {
  int ended = 0, result = 0, left = 1;
  for (;;) {
    int status = 0;
    long pid = call(SYS_wait4, -1, (long)&status, WNOHANG | __WALL, 0, 0);
    if (pid == -EINTR) continue;
    if (pid < 0) left = 0;
    if (pid <= 0) break;
    if (pid == command) {
      ended = 1;
      result = status;
      command = 0;
    }
  }
  if (ended) report(PB_WARDEN_EXITED, left, result);
  return left;
}

static int is_same(const char* text, const char* ours) {
  for (;; ++ours, ++text) {
    if (*ours != *text) return 0;
    if (*ours == '\0') return 1;
  }
}

static void say(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  call(SYS_write, STDERR_FILENO, (long)text, (long)length, 0, 0);
}

// Behind bubblewrap: the plan is applied where the command runs, and then this is the command. Whoever watches sees
// stderr alone.
static int become_confined(char** argv, char** environment, int listens) {
  int error = 0;
  int place = read_plan(PB_WARDEN_PLAN, &error) ? PB_AT_PLAN : 0;
  // Before the plan, and closed here: the command can neither take connections on it nor end it.
  if (listens && listen_for_proxy(PB_WARDEN_PROXY) != 0) {
    say("patchbay-warden: the proxy of the sandbox cannot be reached inside of bubblewrap\n");
    return 127;
  }
  close_from(PB_WARDEN_SOCKET);
  if (place == 0) place = confine(&error);
  if (error != 0) {
    say(place == PB_AT_PLAN       ? "patchbay-warden: the plan of the sandbox cannot be read\n"
        : place == PB_AT_LANDLOCK ? "patchbay-warden: Landlock cannot be used inside of bubblewrap\n"
        : place == PB_AT_FILTER   ? "patchbay-warden: the seccomp filter cannot be used inside of bubblewrap\n"
                                  : "patchbay-warden: the limits of the sandbox cannot be set\n");
    return 127;
  }
  call(SYS_execve, (long)argv[0], (long)(argv + 1), (long)environment, 0, 0);
  say("patchbay-warden: the command cannot be executed inside of the sandbox; add its files to \"sandbox.read\"\n");
  return 127;
}

int warden(int argc, char** argv, char** environment) {
  static const uint64_t all = ~(uint64_t)0;
  static const uint64_t child = (uint64_t)1 << (SIGCHLD - 1);
  const char* version = argc < 4 ? "" : argv[1];
  if (is_same(version, PB_WARDEN_INSIDE)) return become_confined(argv + 2, environment, 0);
  if (is_same(version, PB_WARDEN_INSIDE_PROXY)) return become_confined(argv + 2, environment, 1);
  const int has_proxy = is_same(version, PB_WARDEN_BEHIND_PROXY);
  const int behind = has_proxy || is_same(version, PB_WARDEN_BEHIND);
  const int reads_plan = is_same(version, PB_WARDEN_CONFINES);
  const int last = has_proxy    ? PB_WARDEN_PROXY
                   : behind     ? PB_WARDEN_ITSELF
                   : reads_plan ? PB_WARDEN_PLAN
                                : PB_WARDEN_SOCKET;
  close_from((unsigned)last + 1);
  call(SYS_prctl, PR_SET_NAME, (long)"patchbay-warden", 0, 0, 0);
  call(SYS_fcntl, PB_WARDEN_SOCKET, F_SETFD, FD_CLOEXEC, 0, 0);
  set_mask(&all);
  self = (pid_t)call(SYS_getpid, 0, 0, 0, 0, 0);
  if (!behind && !reads_plan && !is_same(version, PB_WARDEN_VERSION)) {
    report(PB_WARDEN_FAILED, PB_AT_VERSION, 0);
    return 1;
  }
  if (reads_plan) {
    int error = 0;
    if (read_plan(PB_WARDEN_PLAN, &error)) {
      report(PB_WARDEN_FAILED, PB_AT_PLAN, error);
      return 1;
    }
    close_file(PB_WARDEN_PLAN);
    confines = 1;
  }
  words = argv + 2;
  variables = environment;
  // An ignored SIGCHLD would be inherited over exec and children would vanish unreaped.
  default_action(SIGCHLD);
  call(SYS_setsid, 0, 0, 0, 0, 0);  // away from the signals of the host's terminal, which were blocked until here
  call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // The end of the socket says that the host is gone. So does its pidfd, even when a fork
  // of the host still holds a copy of the socket.
  int host = open_process((pid_t)call(SYS_getppid, 0, 0, 0, 0, 0));
  int events = (int)call(SYS_signalfd4, -1, (long)&child, 8, SFD_CLOEXEC | SFD_NONBLOCK, 0);
  if (events < 0) {
    report(PB_WARDEN_FAILED, PB_AT_FORK, -events);
    return 1;
  }
  if (parent_of("self") < 0) {
    report(PB_WARDEN_FAILED, PB_AT_PROC, ENOENT);
    return 1;
  }
  struct pollfd early = {PB_WARDEN_SOCKET, POLLIN, 0};
  if (wait_for(&early, 1, 0) > 0 && (early.revents & POLLHUP)) return 0;  // the host ended meanwhile
  if (start() != 0) return 1;

  // From here on the command alone holds its pipes: their ends mean what they say.
  for (int fd = 0; fd < PB_WARDEN_SOCKET; ++fd) close_file(fd);
  for (int fd = PB_WARDEN_PLAN; behind && fd <= last; ++fd) close_file(fd);
  call(SYS_chdir, (long)"/", 0, 0, 0, 0);  // refused: staying only keeps a directory busy

  int orphaned = 0, killing = 0, pause = 5;
  int64_t deadline = 0;
  while (reap()) {
    if (orphaned && !killing && now_ms() >= deadline) killing = 1;
    int wait = -1;
    if (killing) {
      // The list may miss some while others end; what is still here after a while gets looked for.
      if (!kill_listed_children() || pause > 5) kill_found_children();
      wait = pause;
      if (pause < 320) pause *= 2;  // what does not die at once sits in the kernel
    } else if (orphaned) {
      wait = (int)(deadline - now_ms());
      if (wait < 0) wait = 0;
    }
    struct pollfd watched[3] = {
        {events, POLLIN, 0}, {orphaned ? -1 : PB_WARDEN_SOCKET, POLLIN, 0}, {orphaned ? -1 : host, POLLIN, 0}};
    if (wait_for(watched, 3, wait) <= 0) continue;
    if (watched[0].revents != 0) {
      struct signalfd_siginfo info;
      while (read_file(events, &info, sizeof info) > 0) pause = 5;
    }
    int gone = watched[2].revents != 0;
    if (watched[1].revents != 0) {
      char order;
      long length = call(SYS_recvfrom, PB_WARDEN_SOCKET, (long)&order, 1, MSG_DONTWAIT, 0);
      if (length > 0) {
        if (order == PB_ORDER_INTERRUPT) signal_tree(SIGINT);
        if (order == PB_ORDER_TERMINATE) signal_tree(SIGTERM);
        if (order == PB_ORDER_KILL) killing = 1;
      } else if (length != -EAGAIN && length != -EINTR) {
        gone = 1;
      }
    }
    if (gone) {
      orphaned = 1;
      deadline = now_ms() + TERM_GRACE_MS;
      if (!killing) signal_tree(SIGTERM);
    }
  }
  return 0;
}
