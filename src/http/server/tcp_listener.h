// A TCP port to listen on: found by what somebody wrote, opened, and if that cannot be, an error that says
// what to do. HttpServer uses it on its loop's thread. Knows nothing of HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

namespace patchbay {

// `address` is a literal, with or without brackets, or "localhost"; port 0 any that is free. Returns
// what was bound. Throws Errc::connect or invalid_argument, and leaves the acceptor closed.
boost::asio::ip::tcp::endpoint listen_on(boost::asio::ip::tcp::acceptor& acceptor, const std::string& address,
                                         std::uint16_t port);

// As it stands in a URL: "127.0.0.1:8080", "[::1]:8080".
std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint);

// "localhost", "127.0.0.1", "::1", with or without brackets: addresses of this machine only.
bool is_loopback_name(std::string_view host);

}  // namespace patchbay
