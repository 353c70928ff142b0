// Listening inside of a sandbox for a proxy outside of it. A socket stays in the network in which it was made, so who
// holds this one serves the sandbox's loopback from anywhere. Used by warden.c alone, before the command runs.
#ifndef PATCHBAY_PROCESS_WARDEN_LISTEN_H
#define PATCHBAY_PROCESS_WARDEN_LISTEN_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "kernel.h"
#include "protocol.h"

enum { waiting_connections = 128 };

// 0 when the listening socket has gone through `way`.
static int listen_for_proxy(int way) {
  const long fd = call(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0);
  if (fd < 0) return -1;
  static const unsigned char port[2] = {PB_WARDEN_PROXY_PORT >> 8, PB_WARDEN_PROXY_PORT & 0xFF};
  struct sockaddr_in address = {.sin_family = AF_INET};
  unsigned char* host = (unsigned char*)&address.sin_addr;
  host[0] = 127;
  host[3] = 1;
  ((unsigned char*)&address.sin_port)[0] = port[0];
  ((unsigned char*)&address.sin_port)[1] = port[1];
  if (call(SYS_bind, fd, (long)&address, sizeof address, 0, 0) < 0) return -1;
  if (call(SYS_listen, fd, waiting_connections, 0, 0, 0) < 0) return -1;
  char byte = 'L';
  struct iovec data = {&byte, 1};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
  } space = {.room = {0}};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = space.room, .msg_controllen = sizeof space.room};
  space.head.cmsg_len = CMSG_LEN(sizeof(int));
  space.head.cmsg_level = SOL_SOCKET;
  space.head.cmsg_type = SCM_RIGHTS;
  *(int*)CMSG_DATA(&space.head) = (int)fd;
  const long sent = call(SYS_sendmsg, way, (long)&message, MSG_NOSIGNAL, 0, 0);
  close_file((int)fd);
  return sent == 1 ? 0 : -1;
}

#endif
