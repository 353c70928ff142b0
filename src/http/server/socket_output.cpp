#include "http/server/socket_output.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace patchbay {

using asio::ip::tcp;

SocketOutput::Put SocketOutput::put(std::string first, std::string second, std::string_view third) {
  std::size_t sent = 0;
  if (queued_ == 0) {
    const std::array<asio::const_buffer, 3> pieces{asio::buffer(first), asio::buffer(second),
                                                   asio::buffer(third.data(), third.size())};
    boost::system::error_code error;
    sent = socket_.write_some(pieces, error);
    if (error && error != asio::error::would_block) return Put::broken;
  }
  const auto total = first.size() + second.size() + third.size();
  if (sent == total) return Put::sent;
  if (queued_ > 0 && queued_ + total > bounds_.unread) return Put::too_much;
  keep(std::move(first), sent);
  keep(std::move(second), sent);
  keep(std::string(third), sent);
  if (std::exchange(writing_, true)) return Put::queued;
  deadline_ = clock_.now() + bounds_.stall;
  return Put::begin_writing;
}

void SocketOutput::keep(std::string piece, std::size_t& sent) {
  const auto gone = std::min(sent, piece.size());
  sent -= gone;
  if (gone == piece.size()) return;
  queued_ += piece.size() - gone;
  if (pieces_.empty()) offset_ = gone;
  pieces_.push_back(std::move(piece));
}

Task<void> SocketOutput::write_queued() {
  while (queued_ > 0) {
    co_await socket_.async_wait(tcp::socket::wait_write, asio::use_awaitable);
    while (queued_ > 0) {
      auto& piece = pieces_.front();
      boost::system::error_code error;
      const auto count = socket_.write_some(asio::buffer(piece.data() + offset_, piece.size() - offset_), error);
      if (error == asio::error::would_block) break;
      if (error) throw Error(Errc::closed, error.message());
      deadline_ = clock_.now() + bounds_.stall;
      queued_ -= count;
      offset_ += count;
      if (offset_ == piece.size()) {
        pieces_.pop_front();
        offset_ = 0;
      }
    }
    if (queued_ <= bounds_.eased) flushed_.notify_all();
  }
}

void SocketOutput::drop() {
  pieces_.clear();
  queued_ = 0;
  deadline_ = TimePoint::max();
  flushed_.notify_all();
}

}  // namespace patchbay
