// What the kernel says of a TCP connection, beyond what the C library knows to ask. The HTTP client decides
// by it whether the other side has had a request. Loop thread or any other.
#pragma once

#include <cstdint>
#include <optional>

namespace patchbay {

// Bytes that were sent and not acknowledged; known also after a reset. Nothing where the kernel does not say.
std::optional<std::uint64_t> unacknowledged(int socket);
// The port of ours; 0 for a socket that has none.
int local_port(int socket);
// Whether it has an address of the internet on the other side.
bool has_internet_peer(int socket);

}  // namespace patchbay
