#include "http/server/tcp_listener.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include <patchbay/error.h>

#include "base/strings.h"
#include "http/host_name.h"

namespace patchbay {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// "::1" of "[::1]"; any other text is left alone.
std::string_view without_brackets(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

std::string endpoint_text(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

bool is_loopback_name(std::string_view host) {
  // Names below localhost are left out: who answers for those is not certain with every resolver.
  const auto canonical = canonical_host(host);
  return canonical && is_loopback_host(*canonical) && !canonical->ends_with(".localhost");
}

tcp::endpoint listen_on(tcp::acceptor& acceptor, const std::string& address, std::uint16_t port) {
  boost::system::error_code error;
  const auto host = without_brackets(address);
  const auto literal = to_lower_ascii(host) == "localhost" ? std::string("127.0.0.1") : std::string(host);
  const auto ip = asio::ip::make_address(literal, error);
  if (error) {
    throw Error(Errc::invalid_argument,
                fmt::format("\"{}\" is not an address to listen on; use 127.0.0.1, ::1, or an address of this machine",
                            address));
  }
  const tcp::endpoint endpoint(ip, port);
  auto check = [&](std::string_view doing) {
    if (!error) return;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    if (error == asio::error::address_in_use) {
      throw Error(Errc::connect, fmt::format("port {} on {} is in use by another program; choose another port, or 0 "
                                             "for any free port (`ss -ltnp 'sport = :{}'` shows which program uses it)",
                                             port, address, port));
    }
    if (error == asio::error::access_denied) {
      throw Error(Errc::connect, fmt::format("port {} needs a privileged user; choose 1024 or higher", port));
    }
    throw Error(Errc::connect, fmt::format("cannot {} {}: {}", doing, endpoint_text(endpoint), error.message()));
  };
  acceptor.open(endpoint.protocol(), error);
  check("open a socket for");
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  check("prepare");
  acceptor.bind(endpoint, error);
  check("listen on");
  acceptor.listen(1024, error);
  check("listen on");
  const auto bound = acceptor.local_endpoint(error);
  check("listen on");
  return bound;
}

}  // namespace patchbay
