// One TCP connection to a server under test, byte by byte: what is sent is what was written,
// what comes back is taken apart only as far as HTTP/1.1 framing goes. Loop thread only.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include <patchbay/task.h>

#include "http/message.h"

namespace patchbay::test {

struct WireAnswer {
  int status = 0;
  HttpHeaders headers;
  std::string body;  // without its chunks
};

class HttpWire {
 public:
  explicit HttpWire(asio::any_io_executor executor) : socket_(std::move(executor)) {}

  // "127.0.0.1:40312", or a URL with that in it.
  Task<void> connect(std::string address);
  Task<void> send(std::string bytes);
  // Everything up to and with `mark`; throws when the server closes before.
  Task<std::string> read_until(std::string mark);
  Task<WireAnswer> head();    // status and headers alone
  Task<WireAnswer> answer();  // with its body
  Task<std::string> chunk();  // the next one of a streamed body; empty: the last
  Task<std::string> rest();   // until the server closes
  void close();

 private:
  Task<std::string> take(std::size_t bytes);
  Task<bool> more();

  asio::ip::tcp::socket socket_;
  std::string in_;
};

// A POST of JSON with its framing.
std::string post_text(std::string_view path, std::string_view body, std::string_view more_headers = "",
                      std::string_view host = "localhost");

}  // namespace patchbay::test
