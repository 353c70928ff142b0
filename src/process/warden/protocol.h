// What the library and the warden say to each other over the lifetime socket. Plain C:
// the warden is not C++. Both sides are built from this file; the version is compared at
// start, so a warden left over from another installation is refused, not misunderstood.
#ifndef PATCHBAY_NET_WARDEN_PROTOCOL_H
#define PATCHBAY_NET_WARDEN_PROTOCOL_H

#include <stdint.h>

// argv of the warden: its name, one of these, the file to execute, then the argv of the command. A warden of another
// version knows none of them, so it starts nothing that should have been confined.
#define PB_WARDEN_VERSION "2"
#define PB_WARDEN_CONFINES PB_WARDEN_VERSION " confines"  // applies a plan to the command
#define PB_WARDEN_BEHIND PB_WARDEN_VERSION " behind"      // the command is bubblewrap, which executes the next one
#define PB_WARDEN_INSIDE PB_WARDEN_VERSION " inside"      // guards nothing: applies the plan and becomes the command
// The same two where the way out is a proxy of the library's: the one inside listens for it first, on the loopback of
// the command's own network, and hands the socket out.
#define PB_WARDEN_BEHIND_PROXY PB_WARDEN_BEHIND " proxy"
#define PB_WARDEN_INSIDE_PROXY PB_WARDEN_INSIDE " proxy"

// Where it listens: above the ports that a system gives out by itself, in a network where nobody else is.
#define PB_WARDEN_PROXY_PORT 61128

// Descriptors of the warden; 0, 1 and 2 are the command's. The last three are there only where the word above says so.
enum {
  PB_WARDEN_SOCKET = 3,
  PB_WARDEN_PLAN = 4,    // a file: see pb_plan
  PB_WARDEN_ITSELF = 5,  // the warden's program, for bubblewrap to execute
  PB_WARDEN_PROXY = 6,   // a socket that takes the listening one: one byte, and the descriptor beside it
};

// Warden to library, one per packet.
enum pb_warden_kind {
  PB_WARDEN_STARTED = 1,  // value: pid of the command
  PB_WARDEN_FAILED = 2,   // value: errno; place: pb_warden_place. The warden ends.
  PB_WARDEN_EXITED = 3,   // value: wait status of the command; place: 1 when descendants live on
};
enum pb_warden_place {
  PB_AT_VERSION = 1,  // the two sides are of different versions
  PB_AT_PROC = 2,     // no /proc, so descendants could not be found
  PB_AT_FORK = 3,
  PB_AT_EXEC = 4,
  // Of a sandbox.
  PB_AT_PLAN = 5,  // it cannot be read, or is not a plan
  PB_AT_LIMITS = 6,
  PB_AT_LANDLOCK = 7,
  PB_AT_FILTER = 8,
};
struct pb_warden_record {
  int32_t kind;
  int32_t place;
  int32_t value;
};

// Library to warden, one byte each: a signal for every descendant. KILL is final: the
// warden repeats it until nothing is left. The end of the socket means the host is gone.
#define PB_ORDER_INTERRUPT 'I'
#define PB_ORDER_TERMINATE 'T'
#define PB_ORDER_KILL 'K'

// The plan of a sandbox: this, the steps of a seccomp filter (8 bytes each), then the paths, each behind a
// pb_plan_path. Everything begins at a multiple of 8. The warden checks that it stays inside of what it read and
// decides nothing else; sandbox/confinement.h makes it.
#define PB_PLAN_MARK 0x324E4C50u  // "PLN2"
enum {
  PB_PLAN_MOST = 2 << 20,  // bytes
  PB_PLAN_MOST_STEPS = 256,
};
struct pb_plan {
  uint32_t mark;
  uint32_t size;  // of the whole
  uint32_t steps;
  uint32_t paths;
  uint64_t handled_files;  // 0: no Landlock
  uint64_t scoped;
  // 0: as it was.
  uint64_t most_files;
  uint64_t most_processes;
  uint64_t most_memory;
};
struct pb_plan_path {
  uint64_t access;
  uint32_t size;  // of the path behind this, with its NUL and what fills it up to a multiple of 8
  uint32_t unused;
};

#endif
