// The warden: one small process between the library and each server it starts, so that no
// descendant of the server outlives the program that asked for it.
//
// It is a child subreaper: whatever the server leaves behind (double fork, setsid, parents
// that end) becomes the warden's own child. It holds one end of a socket whose other end
// only the host holds: the kernel closes that end when the host ends, however it ends.
// Then, or when the host orders it, the warden ends every descendant, and itself when none
// is left. It does nothing else: the server's stdin, stdout and stderr are the server's
// alone, and messages never pass through here.
//
// Killing touches direct children only, over and over. A direct child's pid cannot be
// reused before the warden itself reaps it, so no stranger is ever hit, and the children
// of a killed child become direct children in turn.
//
// Plain C, static, one thread, no sanitizer: it must run from a memory file inside any
// program. All signals stay blocked; SIGCHLD is read from a descriptor.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <time.h>

#include "protocol.h"

enum {
  TERM_GRACE_MS = 300,  // between TERM and KILL when the host is gone
  MAX_TREE = 4096,      // descendants that one INT or TERM reaches; KILL has no bound
  MAX_LOOKS = 8,        // at /proc for one INT or TERM; a tree that grows at each look gets KILL
};

static pid_t self;
static pid_t command;

static void report(int kind, int place, int value) {
  struct pb_warden_record record = {kind, place, value};
  ssize_t sent = send(PB_WARDEN_SOCKET, &record, sizeof record, MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)sent;  // a host that is gone shows as the end of the socket
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void close_from(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  struct rlimit limit;  // before Linux 5.9
  unsigned last = 65536;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < last) last = (unsigned)limit.rlim_cur;
  for (unsigned fd = first; fd < last; ++fd) close((int)fd);
}

// Parent of `pid` as /proc says now, or -1. The name may hold blanks and brackets, so the
// fields are counted from the last ')'.
static pid_t parent_of(const char* pid) {
  char path[64] = "/proc/";
  strncat(path, pid, 20);
  strcat(path, "/stat");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return -1;
  text[length] = '\0';
  const char* end = strrchr(text, ')');
  if (end == NULL || strlen(end) < 5) return -1;
  return (pid_t)atoi(end + 4);  // ") S ppid"
}

static int is_pid(const char* name) { return name[0] >= '1' && name[0] <= '9'; }

// SIGKILL for every direct child, as the kernel lists them: one short read, so that a chain
// of processes that fork and end does not outrun it. False when the kernel keeps no list.
static int kill_listed_children(void) {
  int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  static char text[65536];
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length < 0) return 0;
  text[length] = '\0';
  for (char* next = text; *next != '\0';) {
    char* end;
    long pid = strtol(next, &end, 10);
    // A number cut off by the end of the buffer would be somebody else's.
    if (end == next || *end != ' ') break;
    if (pid > 1) kill((pid_t)pid, SIGKILL);
    next = end + 1;
  }
  return 1;
}

// The same by looking at every process.
static void kill_found_children(void) {
  DIR* proc = opendir("/proc");
  if (proc == NULL) {
    // Out of memory or descriptors: the command and its group are known without looking.
    if (command > 0) {
      kill(-command, SIGKILL);
      kill(command, SIGKILL);
    }
    return;
  }
  for (struct dirent* entry; (entry = readdir(proc)) != NULL;) {
    if (is_pid(entry->d_name) && parent_of(entry->d_name) == self) kill((pid_t)atoi(entry->d_name), SIGKILL);
  }
  closedir(proc);
}

// One signal for every descendant there is now. Deeper descendants are reaped by others, so
// each is pinned by a pidfd and looked up again before it is signalled.
static void signal_tree(int number) {
  static pid_t tree[MAX_TREE];
  int count = 0;
  tree[count++] = self;
  for (int before = 0, looks = 0; before != count && looks < MAX_LOOKS; ++looks) {
    before = count;
    DIR* proc = opendir("/proc");
    if (proc == NULL) break;
    for (struct dirent* entry; (entry = readdir(proc)) != NULL && count < MAX_TREE;) {
      if (!is_pid(entry->d_name)) continue;
      pid_t pid = (pid_t)atoi(entry->d_name);
      pid_t parent = parent_of(entry->d_name);
      int known = 0, descends = 0;
      for (int i = 0; i < count; ++i) {
        known |= tree[i] == pid;
        descends |= tree[i] == parent;
      }
      if (descends && !known) tree[count++] = pid;
    }
    closedir(proc);
  }
  for (int i = 1; i < count; ++i) {
    int pin = (int)syscall(SYS_pidfd_open, tree[i], 0);
    if (pin < 0 && errno == ESRCH) continue;
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
        syscall(SYS_pidfd_send_signal, pin, number, NULL, 0);
      } else {
        kill(tree[i], number);  // before Linux 5.3, or where a container refuses the descriptor
      }
    }
    if (pin >= 0) close(pin);
  }
}

// Starts the command in a process group of its own, with default signals and nothing but
// its three descriptors. vfork: when it returns, exec has happened or has failed.
static int start(char** argv) {
  volatile int failed = 0;
  sigset_t none;
  sigemptyset(&none);
  pid_t pid = vfork();
  if (pid == 0) {
    setpgid(0, 0);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    // If a stranger kills the warden, at least the command goes too. Safe here: the
    // warden has one thread, and this counts the parent's thread.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(127);  // killed before that line
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], argv + 1);
    failed = errno;
    _exit(127);
  }
  if (pid < 0) {
    report(PB_WARDEN_FAILED, PB_AT_FORK, errno);
    return -1;
  }
  if (failed != 0) {
    waitpid(pid, NULL, 0);
    report(PB_WARDEN_FAILED, PB_AT_EXEC, failed);
    return -1;
  }
  command = pid;
  report(PB_WARDEN_STARTED, 0, pid);
  return 0;
}

// Reaps whatever has ended. Returns 0 when no child is left.
static int reap(void) {
  int ended = 0, result = 0, left = 1;
  for (;;) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
    if (pid < 0 && errno == EINTR) continue;
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

int main(int argc, char** argv) {
  close_from(PB_WARDEN_SOCKET + 1);
  prctl(PR_SET_NAME, "patchbay-warden");
  fcntl(PB_WARDEN_SOCKET, F_SETFD, FD_CLOEXEC);
  sigset_t all, child;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  self = getpid();
  if (argc < 4 || strcmp(argv[1], PB_WARDEN_VERSION) != 0) {
    report(PB_WARDEN_FAILED, PB_AT_VERSION, 0);
    return 1;
  }
  // An ignored SIGCHLD would be inherited over exec and children would vanish unreaped.
  signal(SIGCHLD, SIG_DFL);
  setsid();  // away from the signals of the host's terminal, which were blocked until here
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // The end of the socket says that the host is gone. So does its pidfd, even when a fork
  // of the host still holds a copy of the socket.
  int host = (int)syscall(SYS_pidfd_open, getppid(), 0);
  int events = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (events < 0) {
    report(PB_WARDEN_FAILED, PB_AT_FORK, errno);
    return 1;
  }
  if (parent_of("self") < 0) {
    report(PB_WARDEN_FAILED, PB_AT_PROC, errno);
    return 1;
  }
  struct pollfd early = {PB_WARDEN_SOCKET, POLLIN, 0};
  if (poll(&early, 1, 0) > 0 && (early.revents & POLLHUP)) return 0;  // the host ended meanwhile
  if (start(argv + 2) != 0) return 1;

  // From here on the command alone holds its pipes: their ends mean what they say.
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < PB_WARDEN_SOCKET; ++fd) {
    if (null < 0 || dup2(null, fd) < 0) close(fd);
  }
  if (null >= PB_WARDEN_SOCKET) close(null);
  if (chdir("/") != 0) {
    // Staying only keeps a directory busy.
  }

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
    if (poll(watched, 3, wait) <= 0) continue;
    if (watched[0].revents != 0) {
      struct signalfd_siginfo info;
      while (read(events, &info, sizeof info) > 0) pause = 5;
    }
    int gone = watched[2].revents != 0;
    if (watched[1].revents != 0) {
      char order;
      ssize_t length = recv(PB_WARDEN_SOCKET, &order, 1, MSG_DONTWAIT);
      if (length > 0) {
        if (order == PB_ORDER_INTERRUPT) signal_tree(SIGINT);
        if (order == PB_ORDER_TERMINATE) signal_tree(SIGTERM);
        if (order == PB_ORDER_KILL) killing = 1;
      } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
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
