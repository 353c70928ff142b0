// What blocking::Server consists of: a Server, the threads of its handlers, and the loop it serves on, which is its own
// until a host takes it in. Any thread; what touches the Server itself is done on that loop.
#pragma once

#include <memory>
#include <mutex>

#include <patchbay/server.h>

#include "blocking/handler.h"
#include "blocking/loop.h"

namespace patchbay::blocking {

struct Server::Impl {
  explicit Impl(ServerOptions options);
  ~Impl();

  // What does not wait, done on the loop.
  template <class T>
  T run(std::function<T(patchbay::Server&)> function) {
    const std::lock_guard lock(mutex_);  // a host does not take it in meanwhile
    return loop_->template run<T>([s = server, function = std::move(function)] {
      return [](std::shared_ptr<patchbay::Server> one, std::function<T(patchbay::Server&)> f) -> Task<T> {
        co_return f(*one);
      }(s, function);
    });
  }
  void serve(std::function<Task<void>()> serving, const std::stop_token& stop);
  // From now on it runs on the loop of a host. Errc::invalid_argument when it cannot.
  std::shared_ptr<patchbay::Server> join(std::shared_ptr<Loop> host);

  const std::shared_ptr<Loop> threads;  // of the handlers
  const std::shared_ptr<Places> places;
  std::shared_ptr<patchbay::Server> server;

 private:
  std::shared_ptr<Loop> loop();

  std::mutex mutex_;
  std::shared_ptr<Loop> loop_;
  int doors_ = 0;  // that are open
};

}  // namespace patchbay::blocking
