// DomainProxy: the way out of a sandbox that lists domains. The server has a network of its own with nothing in it but
// a loopback; there the warden listens, before the server runs, and hands the listening socket to us. So whoever
// connects to it is served here, on our loop, and nothing else leads out. It speaks HTTP as proxies do: CONNECT, and
// plain requests with a whole URL. sandbox/domain_rule.h and sandbox/proxy_request.h decide; the address that was
// judged is the one that is connected to.
//
// Everything a hostile server could make much of is bounded. Owned by Process, and gone with it: the destructor closes
// every connection. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/task.h>

#include "base/fd.h"
#include "sandbox/domain_rule.h"

namespace patchbay {

// Names of one server that are looked up at the same time.
inline constexpr std::size_t most_lookups = 2;

struct DomainProxyLimits {
  std::size_t connections = 64;                 // at the same time; others wait in the kernel's queue
  std::size_t head = 32u << 10;                 // bytes up to the end of the headers
  std::size_t buffer = 16u << 10;               // of each direction of a connection
  std::size_t lookups = most_lookups;           // of names at the same time
  std::size_t addresses = 8;                    // of one name that are tried
  std::size_t refusals = 32;                    // different ones that are told of
  std::chrono::milliseconds head_time{10'000};  // for a whole head
  std::chrono::milliseconds lookup_time{15'000};
  std::chrono::milliseconds connect_time{10'000};  // for each address
  std::chrono::milliseconds silence{10 * 60'000};  // without a byte in any direction
};

// The addresses of a name, as text; an Error says why there are none.
using LookUpName = std::function<Task<std::vector<std::string>>(std::string name)>;
// With what the system knows: hosts, DNS. On one of few helper threads, which are for this alone. A resolver cannot be
// interrupted: while most_lookups of one LookUpName have not returned, timed out or not, its next one fails at once.
// `ask` is in the place of getaddrinfo, for tests; any thread.
using AskForName = std::function<Result<std::vector<std::string>>(const std::string& name)>;
LookUpName system_lookup(AskForName ask = {});

class DomainProxy {
 public:
  struct Options {
    DomainAccess access;
    LookUpName look_up = system_lookup();
    // One line for each thing that was refused, once, and bounded in number.
    std::function<void(std::string_view line)> refused;
    DomainProxyLimits limits = {};
  };
  DomainProxy(const asio::any_io_executor& executor, Options options);
  DomainProxy(const DomainProxy&) = delete;
  DomainProxy& operator=(const DomainProxy&) = delete;
  ~DomainProxy();

  // Serves who connects to this listening socket of a loopback.
  void serve(Fd listener);
  // The same, for the one that comes over `from`, a socket between processes; whatever else comes is not used.
  void serve_what_comes(Fd from);

  std::size_t connections() const noexcept;

 private:
  struct State;
  struct Connection;
  std::shared_ptr<State> state_;
};

// Where a server finds the proxy: HTTPS_PROXY and the like, and what keeps its own loopback out of it, but for the
// names of it that the list means this machine by.
std::vector<std::pair<std::string, std::string>> proxy_variables(const DomainAccess& access);

}  // namespace patchbay
