#include "support/http_wire.h"

#include <charconv>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"

namespace patchbay::test {

Task<void> HttpWire::connect(std::string address) {
  if (auto scheme = address.find("://"); scheme != std::string::npos) address = address.substr(scheme + 3);
  address = address.substr(0, address.find('/'));
  const auto colon = address.rfind(':');
  auto host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
  co_await socket_.async_connect({asio::ip::make_address(host), port}, asio::use_awaitable);
}

Task<void> HttpWire::send(std::string bytes) {
  co_await asio::async_write(socket_, asio::buffer(bytes), asio::use_awaitable);
}

Task<bool> HttpWire::more() {
  std::array<char, 16384> buffer;
  auto count = co_await as_result(socket_.async_read_some(asio::buffer(buffer), asio::use_awaitable));
  if (!count) co_return false;
  in_.append(buffer.data(), *count);
  co_return true;
}

Task<std::string> HttpWire::take(std::size_t bytes) {
  while (in_.size() < bytes) {
    const bool got = co_await more();
    if (!got) throw Error(Errc::closed, fmt::format("closed after \"{}\"", in_));
  }
  auto taken = in_.substr(0, bytes);
  in_.erase(0, bytes);
  co_return taken;
}

Task<std::string> HttpWire::read_until(std::string mark) {
  for (;;) {
    if (auto found = in_.find(mark); found != std::string::npos) {
      auto taken = co_await take(found + mark.size());
      co_return taken;
    }
    const bool got = co_await more();
    if (!got) throw Error(Errc::closed, fmt::format("closed after \"{}\"", in_));
  }
}

Task<WireAnswer> HttpWire::head() {
  auto text = co_await read_until("\r\n\r\n");
  WireAnswer answer;
  bool first = true;
  for (auto line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    if (first) {
      first = false;
      answer.status = std::stoi(std::string(line.substr(9, 3)));
    } else if (auto colon = line.find(':'); colon != std::string_view::npos) {
      answer.headers.add(std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
    }
  }
  co_return answer;
}

Task<std::string> HttpWire::chunk() {
  auto line = co_await read_until("\r\n");
  std::size_t size = 0;
  std::from_chars(line.data(), line.data() + line.size(), size, 16);
  auto data = co_await take(size + 2);
  data.resize(size);
  co_return data;
}

Task<WireAnswer> HttpWire::answer() {
  auto answer = co_await head();
  if (answer.headers.get("transfer-encoding") == "chunked") {
    for (;;) {
      auto piece = co_await chunk();
      if (piece.empty()) break;
      answer.body += piece;
    }
  } else if (const auto* length = answer.headers.find("content-length")) {
    answer.body = co_await take(static_cast<std::size_t>(std::stoul(*length)));
  }
  co_return answer;
}

Task<std::string> HttpWire::rest() {
  for (;;) {
    const bool got = co_await more();
    if (!got) break;
  }
  co_return std::exchange(in_, {});
}

void HttpWire::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

std::string post_text(std::string_view path, std::string_view body, std::string_view more_headers,
                      std::string_view host) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{}",
      path, host, body.size(), more_headers, body);
}

}  // namespace patchbay::test
