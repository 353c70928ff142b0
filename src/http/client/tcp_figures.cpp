#include "http/client/tcp_figures.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>

namespace patchbay {
namespace {

// struct tcp_info of <linux/tcp.h>, of which the C library declares only the beginning.
struct ConnectionFigures {
  tcp_info beginning;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  std::uint32_t segments_out, segments_in, bytes_not_sent, least_round_trip, data_segments_in, data_segments_out;
  std::uint64_t delivery_rate, busy_time, window_limited, buffer_limited;
  std::uint32_t delivered, delivered_marked;
  std::uint64_t bytes_sent, bytes_sent_again;
};
static_assert(offsetof(ConnectionFigures, bytes_acked) == 120 && offsetof(ConnectionFigures, bytes_sent) == 200);

}  // namespace

std::optional<std::uint64_t> unacknowledged(int socket) {
  ConnectionFigures told{};
  socklen_t length = sizeof told;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &told, &length) != 0 || length < sizeof told) return std::nullopt;
  const auto sent = told.bytes_sent - told.bytes_sent_again;
  const auto acknowledged = told.bytes_acked > 0 ? told.bytes_acked - 1 : 0;  // the first was for opening it
  return sent > acknowledged ? sent - acknowledged : 0;
}

int local_port(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

bool has_internet_peer(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return ::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
         (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

}  // namespace patchbay
