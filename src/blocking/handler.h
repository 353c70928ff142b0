// A handler of a server, which blocks, run on a helper thread while a coroutine on the loop waits for it. When nobody
// wants the answer any more, its questions end and its stop token says so; the coroutine waits on until the function
// has returned, because that uses the request. Made by Server's functions, called on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "blocking/loop.h"

namespace patchbay::blocking {

// Where the handlers of a server run, and where it serves.
struct Places {
  std::weak_ptr<CallbackParts> threads;
  std::weak_ptr<CallbackParts> loop;
};

// One handler that runs. Loop thread only but for on_loop(), ask() and the stop token.
class Handling : public std::enable_shared_from_this<Handling> {
 public:
  Handling(asio::any_io_executor loop, RequestContext& context) : loop_(loop), context_(context), questions_(loop) {}

  void cancel() {
    stop_.request_stop();
    questions_.cancel();
  }
  std::stop_token stopped() const noexcept { return stop_.get_token(); }

  // The thread of the handler waits for these two. What does not wait, done on the loop.
  template <class T>
  T on_loop(std::function<T(RequestContext&)> what) {
    std::promise<T> promise;
    auto done = promise.get_future();
    asio::post(loop_, [&] {
      try {
        promise.set_value(what(context_));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    });
    return done.get();
  }
  // What it throws is thrown here, whatever it is.
  template <class T>
  T ask(std::function<Task<T>(RequestContext&)> question) {
    auto answer = std::make_shared<Answer<T>>();
    auto known = answer->promise.get_future();
    asio::post(loop_,
               [self = shared_from_this(), question = std::move(question), answer = std::move(answer)]() mutable {
                 auto& questions = self->questions_;
                 questions.spawn(put<T>(std::move(self), std::move(question), std::move(answer)));
               });
    return known.get();
  }

 private:
  // A question that is cancelled before it begins is destroyed unasked, and whoever waits must hear of it.
  template <class T>
  struct Answer {
    std::promise<T> promise;
    bool given = false;
    ~Answer() {
      if (!given) promise.set_exception(std::make_exception_ptr(Error(Errc::cancelled, "cancelled")));
    }
  };
  template <class T>
  static Task<void> put(std::shared_ptr<Handling> self, std::function<Task<T>(RequestContext&)> question,
                        std::shared_ptr<Answer<T>> answer) {
    std::exception_ptr failed;
    std::optional<T> value;
    try {
      value = co_await question(self->context_);
    } catch (const boost::system::system_error&) {
      failed = std::make_exception_ptr(error_from(std::current_exception()));
    } catch (...) {
      failed = std::current_exception();
    }
    answer->given = true;
    failed ? answer->promise.set_exception(failed) : answer->promise.set_value(std::move(*value));
  }

  asio::any_io_executor loop_;
  RequestContext& context_;
  Scope questions_;  // what it asks now
  std::stop_source stop_;
};

// One function on its way to a helper thread and back. It may be destroyed without having run, with the threads.
template <class T>
class HandlerJob {
 public:
  struct Outcome {
    std::optional<T> value;
    std::exception_ptr failed;
  };
  using Done = Completion<Outcome>;

  HandlerJob(asio::any_io_executor executor, std::weak_ptr<CallbackParts> loop, std::shared_ptr<Handling> handling,
             std::shared_ptr<Done> done, std::function<T(Handling&)> function)
      : executor_(std::move(executor)),
        loop_(std::move(loop)),
        handling_(std::move(handling)),
        done_(std::move(done)),
        function_(std::move(function)) {}
  HandlerJob(const HandlerJob&) = delete;
  HandlerJob& operator=(const HandlerJob&) = delete;
  ~HandlerJob() {
    if (!done_)
      return;  // it ran: the loop is not looked for, since a thread of its own must not be the last to hold it
    const auto alive = loop_.lock();
    if (!alive) return;
    tell({std::nullopt, std::make_exception_ptr(Error(Errc::closed, "the server no longer exists"))});
  }

  void run() {
    auto alive = loop_.lock();
    if (!alive) return;
    const CallbackParts::Busy busy(*alive);  // so the loop is not destroyed meanwhile
    alive.reset();
    Outcome outcome;
    try {
      // Nobody wants it any more, and it has not begun.
      if (handling_->stopped().stop_requested()) throw Error(Errc::cancelled, "cancelled");
      outcome.value = function_(*handling_);
    } catch (...) {
      outcome.failed = std::current_exception();
    }
    tell(std::move(outcome));
  }

 private:
  // What belongs to the loop is let go of there.
  void tell(Outcome outcome) {
    asio::post(executor_, [handling = std::move(handling_), done = std::exchange(done_, nullptr),
                           outcome = std::move(outcome)]() mutable { done->set(std::move(outcome)); });
  }

  asio::any_io_executor executor_;
  std::weak_ptr<CallbackParts> loop_;
  std::shared_ptr<Handling> handling_;
  std::shared_ptr<Done> done_;
  std::function<T(Handling&)> function_;
};

template <class T>
Task<T> run_handler(std::shared_ptr<const Places> places, RequestContext& context,
                    std::function<T(Handling&)> function) {
  auto executor = co_await asio::this_coro::executor;
  auto handling = std::make_shared<Handling>(executor, context);
  auto done = std::make_shared<typename HandlerJob<T>::Done>();
  {
    auto threads = places->threads.lock();
    if (!threads) throw Error(Errc::closed, "the server no longer exists");
    auto job = std::make_shared<HandlerJob<T>>(executor, places->loop, handling, done, std::move(function));
    threads->post([job = std::move(job)] { job->run(); });
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!done->is_set()) {
    if (auto waited = co_await as_result(done->changed()); !waited) handling->cancel();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  auto outcome = done->take();
  if (outcome.failed) std::rethrow_exception(outcome.failed);
  co_return std::move(*outcome.value);
}

}  // namespace patchbay::blocking
