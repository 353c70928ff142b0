// The system calls of the warden, and how it begins. Used by warden.c alone; one thread.
//
// With PB_WARDEN_BARE (x86-64) the warden is linked without libc. The start of a static libc
// asks the processor what it can do, a few dozen times, and in a virtual machine each of these
// questions goes to the hypervisor: 400 of the 500 µs that starting a warden took. Other
// machines have no such instruction; there the same calls go through libc's syscall().
//
// Every call returns what the kernel does: a result, or an error number below zero.
#ifndef PATCHBAY_PROCESS_WARDEN_KERNEL_H
#define PATCHBAY_PROCESS_WARDEN_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Numbers that are the same on all architectures; headers of older systems lack them.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

int warden(int argc, char** argv, char** environment);

#ifdef PB_WARDEN_BARE

static inline long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

// Runs `child`, which executes something or exits, on a stack of its own in our memory. We go on
// when it has. Returns its number.
static inline long start_child(void (*child)(void)) {
  static char stack[16384] __attribute__((aligned(16)));
  long result;
  register void (*run)(void) __asm__("r12") = child;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"((long)SYS_clone), "D"((long)(CLONE_VM | CLONE_VFORK | SIGCHLD)), "S"(stack + sizeof stack), "d"(0L),
        "r"(r10), "r"(r8), "r"(run)
      : "rcx", "r11", "memory");
  return result;
}

__asm__(
    ".text\n"
    ".global _start\n"
    ".type _start, @function\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call begin\n"
    "  ud2\n");

// What the kernel leaves on the stack: the number of arguments, the arguments, the environment.
__attribute__((used, noreturn)) static void begin(long* stack) {
  const int count = (int)stack[0];
  char** argv = (char**)(stack + 1);
  const int code = warden(count, argv, argv + count + 1);
  for (;;) call(SYS_exit_group, code, 0, 0, 0, 0);
}

// Compilers call these by themselves.
__attribute__((used)) void* memset(void* to, int byte, size_t size) {
  for (size_t i = 0; i < size; ++i) ((volatile char*)to)[i] = (char)byte;
  return to;
}
__attribute__((used)) void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  for (size_t i = 0; i < size; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
  return to;
}

#else

static inline long call(long number, long a, long b, long c, long d, long e) {
  const long result = syscall(number, a, b, c, d, e, 0L);
  return result == -1 ? -errno : result;
}

static inline long start_child(void (*child)(void)) {
  const pid_t pid = vfork();
  if (pid == 0) child();
  return pid < 0 ? -errno : pid;
}

int main(int argc, char** argv, char** environment) { return warden(argc, argv, environment); }

#endif

static inline int open_file(const char* path, int flags) {
  return (int)call(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, 0, 0);
}
static inline long read_file(int fd, void* to, size_t size) { return call(SYS_read, fd, (long)to, (long)size, 0, 0); }
static inline void close_file(int fd) { call(SYS_close, fd, 0, 0, 0, 0); }
static inline int send_signal(pid_t pid, int number) { return (int)call(SYS_kill, pid, number, 0, 0, 0); }
static inline int open_process(pid_t pid) { return (int)call(SYS_pidfd_open, pid, 0, 0, 0, 0); }
static inline void set_mask(const uint64_t* blocked) { call(SYS_rt_sigprocmask, SIG_SETMASK, (long)blocked, 0, 8, 0); }

// Zeros are the default action in the kernel's structure, whatever its layout is.
static inline void default_action(int number) {
  static const long nothing[8];
  call(SYS_rt_sigaction, number, (long)nothing, 0, 8, 0);
}

struct kernel_time {
  long seconds;
  long nanoseconds;
};

// Without a limit when `ms` is negative.
static inline int wait_for(struct pollfd* files, int count, int ms) {
  struct kernel_time limit = {ms / 1000, (long)(ms % 1000) * 1000000};
  return (int)call(SYS_ppoll, (long)files, count, ms < 0 ? 0 : (long)&limit, 0, 8);
}

// The names in a directory, one after the other.
struct listing {
  int fd;
  long size;
  long at;
  char room[32768] __attribute__((aligned(8)));
};
static inline int list(struct listing* names, const char* path) {
  names->size = names->at = 0;
  names->fd = open_file(path, O_RDONLY | O_DIRECTORY);
  return names->fd;
}
static inline const char* next_name(struct listing* names) {
  if (names->at >= names->size) {
    names->at = 0;
    names->size = call(SYS_getdents64, names->fd, (long)names->room, sizeof names->room, 0, 0);
    if (names->size <= 0) return NULL;
  }
  // Number and offset of 8 bytes each, length of the entry, type, name.
  const char* entry = names->room + names->at;
  names->at += *(const uint16_t*)(entry + 16);
  return entry + 19;
}

#endif
