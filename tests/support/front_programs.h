// Programs that stand between a client and a server on real networks: nginx as the reverse
// proxy that ends TLS and speaks HTTP/2, tinyproxy as the forward proxy. Each has a directory
// and ports of its own and ends with its object; all of it is on loopback.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/command.h"
#include "support/running_program.h"
#include "support/scripted_server.h"

namespace patchbay::test {

// TLS and HTTP/2 in front of whatever speaks HTTP/1.1 at `upstream`. The path /protocol is
// answered by nginx itself: what was spoken, the method, and the number of the connection.
class Nginx {
 public:
  explicit Nginx(std::uint16_t upstream);

  std::string url(std::string_view path) const;
  // The certificate that signed the one of nginx.
  const std::string& ca_file() const noexcept { return authority_.root().certificate; }
  // What was asked of it and has been answered, each as "HTTP/2.0 POST /mcp 200".
  std::vector<std::string> answered() const;

 private:
  TemporaryDirectory directory_;
  CertificateAuthority authority_;
  std::uint16_t port_;
  std::optional<RunningProgram> program_;
};

class Tinyproxy {
 public:
  // `env` is its environment beside ours.
  explicit Tinyproxy(const std::map<std::string, std::string>& env = {});

  // "http://127.0.0.1:1234"
  std::string url() const;
  // The request lines it was sent, such as "CONNECT 127.0.0.1:443 HTTP/1.1".
  std::vector<std::string> asked() const;

 private:
  TemporaryDirectory directory_;
  std::uint16_t port_;
  std::optional<RunningProgram> program_;
};

}  // namespace patchbay::test
