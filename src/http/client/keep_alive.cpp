#include "http/client/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace patchbay {

void keep_alive(int socket, const KeepAlive& how) {
  // What a kernel refuses it does not have; the connection works all the same.
  auto set = [&](int level, int option, int value) { (void)::setsockopt(socket, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(how.idle.count()));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(how.interval.count()));
  set(IPPROTO_TCP, TCP_KEEPCNT, how.count);
}

}  // namespace patchbay
