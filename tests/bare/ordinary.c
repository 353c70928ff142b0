// Runs a command as an ordinary container would: with Docker's default capabilities and what
// its default seccomp profile refuses, and without an init that takes care of orphans.
//
//   ordinary [--no-ipv6] [--no-landlock] COMMAND [ARGUMENT...]
//
// Refused are new namespaces (unshare, setns, clone), everything that mounts, the kernel's
// keyring, and what only an administrator of the machine does; clone3 is unknown, so that
// callers fall back to clone, whose flags can be seen. Who is not root keeps what they have and
// gets the filter. The exit code is the command's.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "add the audit architecture of this processor"
#endif

// moby/profiles: what a container's root may do.
static const int capabilities[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FSETID,  CAP_FOWNER,           CAP_MKNOD,      CAP_NET_RAW, CAP_SETGID,
    CAP_SETUID, CAP_SETFCAP,      CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT, CAP_KILL,    CAP_AUDIT_WRITE,
};

// What its profile leaves out for who has these capabilities.
static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mbind,
    SYS_migrate_pages,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_move_pages,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_process_madvise,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef SYS_create_module
    SYS_create_module,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_ioperm
    SYS_ioperm,
#endif
#ifdef SYS_iopl
    SYS_iopl,
#endif
#ifdef SYS_sysfs
    SYS_sysfs,
#endif
#ifdef SYS_uselib
    SYS_uselib,
#endif
#ifdef SYS_ustat
    SYS_ustat,
#endif
};

// The values of personality() that it lets through: the plain ones, and asking.
static const unsigned personalities[] = {0, 0x0008, 0x20000, 0x20008, 0xffffffff};

static struct sock_filter filter[512];
static unsigned short filter_length;

static void add(struct sock_filter step) { filter[filter_length++] = step; }
static void load(size_t offset) { add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset)); }
static void answer(unsigned verdict) { add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict)); }
// The next `over` steps are for this value alone.
static void unless_equal_skip(unsigned value, unsigned char over) {
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over));
}

static void refuse(int number, int error) {
  unless_equal_skip((unsigned)number, 1);
  answer(SECCOMP_RET_ERRNO | (unsigned)error);
}

// landlock_create_ruleset and its like, which older headers do not name.
static const int landlock_calls[] = {444, 445, 446};

static void build_filter(int no_ipv6, int no_landlock) {
  const unsigned namespaces =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  const size_t first = offsetof(struct seccomp_data, args[0]);  // its lower half: both processors are little endian
  load(offsetof(struct seccomp_data, arch));
  unless_equal_skip(OUR_ARCH, 0);
  filter[filter_length - 1].jt = 1;
  answer(SECCOMP_RET_ALLOW);
  load(offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) refuse(refused[i], EPERM);
  refuse(SYS_clone3, ENOSYS);
  for (int i = 0; no_landlock && i < 3; ++i) refuse(landlock_calls[i], ENOSYS);

  unless_equal_skip(SYS_clone, 4);
  load(first);
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1));
  answer(SECCOMP_RET_ERRNO | EPERM);
  answer(SECCOMP_RET_ALLOW);

  const unsigned char plain = sizeof personalities / sizeof *personalities;
  unless_equal_skip(SYS_personality, (unsigned char)(2 * plain + 2));
  load(first);
  for (unsigned char i = 0; i < plain; ++i) {
    unless_equal_skip(personalities[i], 1);
    answer(SECCOMP_RET_ALLOW);
  }
  answer(SECCOMP_RET_ERRNO | EPERM);

  unless_equal_skip(SYS_socket, no_ipv6 ? 5 : 3);
  load(first);
  unless_equal_skip(AF_VSOCK, 1);
  answer(SECCOMP_RET_ERRNO | EPERM);
  if (no_ipv6) {
    unless_equal_skip(AF_INET6, 1);
    answer(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  }
  answer(SECCOMP_RET_ALLOW);
}

static int fail(const char* what) {
  fprintf(stderr, "ordinary: %s: %s\n", what, strerror(errno));
  return 125;
}

static int keep(int capability) {
  for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; ++i) {
    if (capabilities[i] == capability) return 1;
  }
  return 0;
}

static int drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2];
  for (int one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
    if (!keep(one) && prctl(PR_CAPBSET_READ, one, 0, 0, 0) == 1 && prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0) return -1;
  }
  if (syscall(SYS_capget, &header, sets) != 0) return -1;
  for (int one = 0; one < 64; ++one) {
    const unsigned bit = 1u << (one % 32);
    if (!keep(one)) {
      sets[one / 32].permitted &= ~bit;
      sets[one / 32].effective &= ~bit;
    }
    sets[one / 32].inheritable &= ~bit;
  }
  return (int)syscall(SYS_capset, &header, sets);
}

int main(int count, char** words) {
  const int no_ipv6 = count > 1 && strcmp(words[1], "--no-ipv6") == 0;
  const int no_landlock = count > 1 + no_ipv6 && strcmp(words[1 + no_ipv6], "--no-landlock") == 0;
  char** command = words + 1 + no_ipv6 + no_landlock;
  if (count < 2 + no_ipv6 + no_landlock) {
    fprintf(stderr, "usage: ordinary [--no-ipv6] [--no-landlock] COMMAND [ARGUMENT...]\n");
    return 125;
  }
  // Orphans come here and are not waited for: a container's first process seldom does.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return fail("subreaper");
  const pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child > 0) {
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
      if (errno != EINTR) return fail("waitpid");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  build_filter(no_ipv6, no_landlock);
  const struct sock_fprog program = {filter_length, filter};
  // Who may not administer the machine has to promise to stay that way.
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 &&
      (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)) {
    return fail("seccomp");
  }
  if (geteuid() == 0 && drop_capabilities() != 0) return fail("capabilities");
  execvp(command[0], command);
  return fail(command[0]);
}
