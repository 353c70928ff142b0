// The server every HTTP client of the comparison talks to: the fixed answers behind HTTP/1.1 with
// connections kept open, one thread, nothing understood that need not be. Prints its URL.
//
//   stream  answers with an event stream: as many progress notifications as `events` says, one
//           every `pace` microseconds, each with the time it was written at as its message
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <time.h>

#include "answers.h"

enum { most_connections = 4096, events = 4000, pace = 250 };

struct connection {
  char* in;
  size_t size;
};
static struct connection connections[most_connections];

static void write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t wrote = send(fd, bytes, size, MSG_NOSIGNAL);
    if (wrote < 0 && errno != EINTR) return;  // the client has gone, which reading will tell
    if (wrote > 0) {
      bytes += wrote;
      size -= (size_t)wrote;
    }
  }
}

static void send_head(int fd, const char* status, size_t length) {
  char head[256];
  const int size = sprintf(head,
                           "HTTP/1.1 %s\r\nContent-Type: application/json\r\nMcp-Session-Id: bench\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           status, length);
  // Head and body in one write, as long as the body is small.
  if (length <= room) {
    char whole[room + 256];
    memcpy(whole, head, (size_t)size);
    memcpy(whole + size, out, length);
    write_all(fd, whole, (size_t)size + length);
  } else {
    write_all(fd, head, (size_t)size);
    write_all(fd, out, length);
  }
}

static void send_chunk(int fd, const char* text, int size) {
  char chunk[1024];
  const int length = sprintf(chunk, "%x\r\n%.*s\r\n", size, size, text);
  write_all(fd, chunk, (size_t)length);
}

static void stream(int fd, const char* body, size_t size) {
  const char* token = find(body, size, "\"progressToken\":");
  const char* id = find(body, size, "\"id\":");
  if (!token || !id) return;
  token += 16;
  id += 5;
  int token_size = 0, id_size = 0;
  while (!strchr(",}", token[token_size])) ++token_size;
  while (!strchr(",}", id[id_size])) ++id_size;
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  write_all(fd, head, sizeof head - 1);
  char text[512];
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int i = 1; i <= events; ++i) {
    next.tv_nsec += pace * 1000;
    if (next.tv_nsec >= 1000000000) {
      next.tv_nsec -= 1000000000;
      ++next.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    send_chunk(fd, text,
               sprintf(text,
                       "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                       "{\"progressToken\":%.*s,\"progress\":%d,\"message\":\"%lld\"}}\n\n",
                       token_size, token, i, (long long)now.tv_sec * 1000000000 + now.tv_nsec));
  }
  send_chunk(fd, text,
             sprintf(text,
                     "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":"
                     "\"text\",\"text\":\"said\"}]}}\n\n",
                     id_size, id));
  write_all(fd, "0\r\n\r\n", 5);
}

// One whole request.
static void serve(int fd, const char* head, const char* body, size_t size) {
  out_size = 0;
  if (head[0] != 'P') {  // GET: there is no stream of our own; DELETE: as you like
    send_head(fd, head[0] == 'G' ? "405 Method Not Allowed" : "200 OK", 0);
    return;
  }
  if (find(body, size, "\"stream\"")) {
    stream(fd, body, size);
    return;
  }
  answer(body, size);
  send_head(fd, out_size > 0 ? "200 OK" : "202 Accepted", out_size);
}

// What came in on a connection, as far as it is whole; 0 when the connection is over.
static int read_some(int fd) {
  struct connection* connection = &connections[fd];
  const ssize_t got = recv(fd, connection->in + connection->size, room - connection->size - 1, 0);
  if (got <= 0) return got < 0 && errno == EINTR;
  connection->size += (size_t)got;
  char* at = connection->in;
  for (;;) {
    at[connection->size] = 0;
    char* body = strstr(at, "\r\n\r\n");
    if (!body) break;
    body += 4;
    const char* length = strcasestr(at, "\r\ncontent-length:");
    const size_t size = length && length < body ? strtoul(length + 17, NULL, 10) : 0;
    if ((size_t)(body - at) + size > connection->size) break;
    serve(fd, at, body, size);
    connection->size -= (size_t)(body - at) + size;
    memmove(at, body + size, connection->size);
    if (connection->size == 0) break;
  }
  return connection->size < room - 1;
}

int main(void) {
  const struct rlimit limit = {most_connections, most_connections};
  setrlimit(RLIMIT_NOFILE, &limit);
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listening, (struct sockaddr*)&address, size) != 0 || listen(listening, 1024) != 0) return 1;
  getsockname(listening, (struct sockaddr*)&address, &size);
  printf("http://127.0.0.1:%d/mcp\n", ntohs(address.sin_port));
  fflush(stdout);
  const int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listening};
  epoll_ctl(loop, EPOLL_CTL_ADD, listening, &event);
  for (;;) {
    struct epoll_event ready[64];
    const int count = epoll_wait(loop, ready, 64, -1);
    for (int i = 0; i < count; ++i) {
      int fd = ready[i].data.fd;
      if (fd == listening) {
        fd = accept(listening, NULL, NULL);
        if (fd < 0 || fd >= most_connections) {
          if (fd >= 0) close(fd);
          continue;
        }
        const int yes = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (!connections[fd].in) connections[fd].in = malloc(room);
        connections[fd].size = 0;
        event.data.fd = fd;
        epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
      } else if (!read_some(fd)) {
        close(fd);
      }
    }
  }
}
