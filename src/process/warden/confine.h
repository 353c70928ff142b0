// Applying the plan of a sandbox to oneself, before executing the command: no_new_privs, limits, Landlock, a seccomp
// filter, in this order, because each may need what the next one takes away. Used by warden.c alone. What is in the
// plan was decided by the library; here it is only checked that it is well-formed, and whatever cannot be applied
// means that the command is not executed. What is allowed and is not there, or is something else by now, is left out:
// that allows less.
#ifndef PATCHBAY_PROCESS_WARDEN_CONFINE_H
#define PATCHBAY_PROCESS_WARDEN_CONFINE_H

#include <sys/prctl.h>
#include <sys/resource.h>

#include "kernel.h"
#include "protocol.h"

// Pages that are never touched cost nothing.
static char plan_room[PB_PLAN_MOST] __attribute__((aligned(8)));

// The kernel's structures, some of which older headers do not have.
struct landlock_rules {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};
struct landlock_path {
  uint64_t access;
  int32_t fd;
} __attribute__((packed));
struct open_how_ {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};
struct filter_program {
  unsigned short count;
  const void* steps;
};

enum {
  landlock_path_beneath = 1,
  no_links = 4,       // RESOLVE_NO_SYMLINKS
  set_filter = 1,     // SECCOMP_SET_MODE_FILTER
  no_new_privs = 38,  // PR_SET_NO_NEW_PRIVS
};

// 0 when a whole plan is in plan_room.
static int read_plan(int fd, int* error) {
  const struct pb_plan* plan = (const struct pb_plan*)plan_room;
  long size = 0;
  *error = EINVAL;
  for (;;) {
    const long got = call(SYS_pread64, fd, (long)(plan_room + size), PB_PLAN_MOST - size, size, 0);
    if (got == -EINTR) continue;
    if (got < 0) {
      *error = (int)-got;
      return -1;
    }
    if (got == 0) break;
    size += got;
  }
  if (size < (long)sizeof *plan || plan->mark != PB_PLAN_MARK || (long)plan->size != size) return -1;
  if (plan->steps > PB_PLAN_MOST_STEPS) return -1;
  long at = (long)sizeof *plan + (long)plan->steps * 8;
  for (uint32_t i = 0; i < plan->paths; ++i) {
    const struct pb_plan_path* path = (const struct pb_plan_path*)(plan_room + at);
    if (at > size - (long)sizeof *path) return -1;
    at += (long)sizeof *path;
    if (path->size == 0 || path->size % 8 != 0 || (long)path->size > size - at) return -1;
    at += path->size;
    if (plan_room[at - 1] != '\0') return -1;
  }
  if (at != size) return -1;
  *error = 0;
  return 0;
}

// Lower for good: the command cannot raise it again.
static int lower(int what, uint64_t most) {
  uint64_t limit[2];
  long result = call(SYS_prlimit64, 0, what, 0, (long)limit, 0);
  if (result < 0) return (int)-result;
  if (limit[1] > most) limit[1] = most;
  if (limit[0] > limit[1]) limit[0] = limit[1];
  result = call(SYS_prlimit64, 0, what, (long)limit, 0, 0);
  return result < 0 ? (int)-result : 0;
}

static int set_limits(const struct pb_plan* plan) {
  int error = lower(RLIMIT_CORE, 0);
  if (error == 0 && plan->most_files != 0) error = lower(RLIMIT_NOFILE, plan->most_files);
  if (error == 0 && plan->most_processes != 0) error = lower(RLIMIT_NPROC, plan->most_processes);
  if (error == 0 && plan->most_memory != 0) error = lower(RLIMIT_AS, plan->most_memory);
  return error;
}

static int limit_files(const struct pb_plan* plan, const char* at) {
  const struct landlock_rules wanted = {plan->handled_files, 0, plan->scoped};
  const long rules = call(SYS_landlock_create_ruleset, (long)&wanted, sizeof wanted, 0, 0, 0);
  if (rules < 0) return (int)-rules;
  for (uint32_t i = 0; i < plan->paths; ++i) {
    const struct pb_plan_path* path = (const struct pb_plan_path*)at;
    at += sizeof *path;
    // The path has no links in it. Where one is now, somebody put it there since.
    const struct open_how_ how = {O_PATH | O_CLOEXEC, 0, no_links};
    const long fd = call(SYS_openat2, AT_FDCWD, (long)at, (long)&how, sizeof how, 0);
    at += path->size;
    if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE) return (int)-fd;
    if (fd < 0) continue;
    const struct landlock_path allowed = {path->access, (int32_t)fd};
    const long added = call(SYS_landlock_add_rule, rules, landlock_path_beneath, (long)&allowed, 0, 0);
    close_file((int)fd);
    if (added == -ENOMEM || added == -E2BIG) return (int)-added;
  }
  const long result = call(SYS_landlock_restrict_self, rules, 0, 0, 0, 0);
  close_file((int)rules);
  return result < 0 ? (int)-result : 0;
}

// Where it failed, with the error number; that stays 0 when everything holds.
static int confine(int* error) {
  const struct pb_plan* plan = (const struct pb_plan*)plan_room;
  const char* steps = plan_room + sizeof *plan;
  *error = (int)-call(SYS_prctl, no_new_privs, 1, 0, 0, 0);
  if (*error == 0) *error = set_limits(plan);
  if (*error != 0) return PB_AT_LIMITS;
  if (plan->handled_files != 0) *error = limit_files(plan, steps + plan->steps * 8);
  if (*error != 0) return PB_AT_LANDLOCK;
  if (plan->steps != 0) {
    const struct filter_program program = {(unsigned short)plan->steps, steps};
    *error = (int)-call(SYS_seccomp, set_filter, 0, (long)&program, 0, 0);
    if (*error != 0) return PB_AT_FILTER;
  }
  return PB_AT_EXEC;
}

#endif
