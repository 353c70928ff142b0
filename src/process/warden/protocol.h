// What the library and the warden say to each other over the lifetime socket. Plain C:
// the warden is not C++. Both sides are built from this file; the version is compared at
// start, so a warden left over from another installation is refused, not misunderstood.
#ifndef PATCHBAY_NET_WARDEN_PROTOCOL_H
#define PATCHBAY_NET_WARDEN_PROTOCOL_H

#include <stdint.h>

// argv of the warden: its name, this, the file to execute, then the argv of the command.
#define PB_WARDEN_VERSION "1"

// The socket's place in the warden; 0, 1 and 2 are the command's.
enum { PB_WARDEN_SOCKET = 3 };

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

#endif
