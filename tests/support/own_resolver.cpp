#include "support/own_resolver.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "support/places.h"

namespace patchbay::test {

std::map<std::string, std::string> own_resolver(const std::string& hosts) {
  return {{"LD_PRELOAD", built("patchbay-test-resolver.so")}, {"PATCHBAY_TEST_NAMES", hosts}};
}

SilentResolver::SilentResolver() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("no name server");
  }
}

SilentResolver::~SilentResolver() { ::close(socket_); }

std::string SilentResolver::port() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
  return std::to_string(ntohs(address.sin_port));
}

std::vector<std::string> SilentResolver::asked() const {
  std::vector<std::string> names;
  char name[256];
  for (ssize_t size = 0; (size = ::recv(socket_, name, sizeof name, MSG_DONTWAIT)) >= 0;) {
    names.emplace_back(name, static_cast<std::size_t>(size));
  }
  return names;
}

}  // namespace patchbay::test
