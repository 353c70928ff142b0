// The threads behind the blocking face: one runs the loop, others run the functions of the embedder, which may
// block. Everything made from one Host, connect() or Server shares a Loop; the last owner ends it. Any thread but
// the loop's own.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/blocking.h>
#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"

namespace patchbay::blocking {

inline constexpr auto loop_farewell = std::chrono::seconds(5);

// The threads callbacks run on. Functions that outlive their Loop hold this weakly. The pool must not own itself, so
// what runs on it refers to it plainly: it outlives what it runs.
struct CallbackParts {
  explicit CallbackParts(std::size_t threads) : callbacks(threads) {}
  virtual ~CallbackParts() = default;

  // From the moment something is given to the threads until it has returned, or will never run.
  struct Busy {
    CallbackParts& parts;
    explicit Busy(CallbackParts& p) : parts(p) {
      std::lock_guard lock(parts.mutex);
      ++parts.busy;
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      std::lock_guard lock(parts.mutex);
      if (--parts.busy == 0) parts.idle.notify_all();
    }
  };
  bool wait_idle(std::chrono::seconds limit) {
    std::unique_lock lock(mutex);
    return idle.wait_for(lock, limit, [this] { return busy == 0; });
  }

  // On a thread that runs a function of the embedder: whose callback it is.
  struct Calling {
    explicit Calling(const CallbackParts& parts) : before(std::exchange(current(), &parts)) {}
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;
    ~Calling() { current() = before; }
    static const CallbackParts*& current() noexcept {
      thread_local const CallbackParts* parts = nullptr;
      return parts;
    }
    const CallbackParts* before;
  };

  // A function of the embedder, run where it may block, awaited on the loop. One that is asked while a callback
  // itself waits for the library gets a thread of its own: the callback may be waiting for this very answer. Not by
  // co_spawn onto the pool: a cancellation that is on its way there when the function returns would meet memory that is
  // gone.
  template <class T>
  static Task<T> callback(std::shared_ptr<CallbackParts> self, std::function<T()> function) {
    auto run = [parts = self.get(), counted = std::make_shared<Busy>(*self), function = std::move(function)] {
      const Calling now(*parts);
      return function();
    };
    std::optional<asio::thread_pool> own;
    if (self->waiting > 0) own.emplace(1);
    co_return co_await offload_to(own ? *own : self->callbacks, WhenCancelled::withdraws, std::move(run));
  }
  // There is nobody to tell what such a function throws.
  void post(std::function<void()> function) { asio::post(callbacks, guarded(std::move(function))); }
  // One after the other, in the order in which they are given.
  void post_in_order(std::function<void()> function) { asio::post(in_order, guarded(std::move(function))); }

  std::atomic<int> waiting = 0;  // callbacks that wait for the library
  std::mutex mutex;
  std::condition_variable idle;
  int busy = 0;
  asio::thread_pool callbacks;  // behind what its threads use
  asio::strand<asio::thread_pool::executor_type> in_order = asio::make_strand(callbacks.get_executor());

 private:
  std::function<void()> guarded(std::function<void()> function) {
    return [this, counted = std::make_shared<Busy>(*this), function = std::move(function)] {
      const Calling now(*this);
      try {
        function();
      } catch (...) {
      }
    };
  }
};

class Loop : public std::enable_shared_from_this<Loop> {
 public:
  // One thread for callbacks keeps them in order; handlers of a server need several.
  explicit Loop(std::size_t threads) : parts_(std::make_shared<Parts>(threads)) {}
  static std::shared_ptr<Loop> start(std::size_t threads = 1) {
    auto loop = std::make_shared<Loop>(threads);
    loop->thread_ = std::thread([parts = loop->parts_] {
      parts->id = std::this_thread::get_id();
      parts->io.run();
      parts->ended.set_value();
    });
    return loop;
  }

  // Ends the loop. A callback that never returns cannot keep the program: after a while the
  // threads, and what they use, are left to it.
  ~Loop() {
    asio::post(parts_->io, [parts = parts_] {
      parts->scope.cancel();
      parts->guard.reset();
    });
    const bool ended = parts_->ended.get_future().wait_for(loop_farewell) == std::future_status::ready;
    if (ended) {
      thread_.join();
    } else {
      parts_->io.stop();
      thread_.detach();
    }
    // What was reported last is told as well.
    const bool idle = parts_->wait_idle(loop_farewell);
    parts_->callbacks.stop();
    if (!idle) (void)new std::shared_ptr<CallbackParts>(parts_);
  }

  std::weak_ptr<CallbackParts> callbacks() const { return parts_; }

  // Runs `make()` on the loop and waits for what it returns.
  template <class T>
  T run(std::function<Task<T>()> make, std::stop_token stop = {}) {
    check_caller();
    const Waiting waiting(*parts_);
    auto outcome = std::make_shared<Outcome<T>>();
    auto future = outcome->promise.get_future();
    auto running = std::make_shared<Spawned>();
    asio::post(parts_->io, [parts = parts_, make = std::move(make), outcome = std::move(outcome), running] {
      *running = parts->scope.spawn([](std::function<Task<T>()> m, std::shared_ptr<Outcome<T>> out) -> Task<void> {
        auto result = co_await as_result(m());
        out->set(std::move(result));
      }(make, outcome));
    });
    std::stop_callback on_stop(stop,
                               [parts = parts_, running] { asio::post(parts->io, [running] { running->cancel(); }); });
    return value_or_throw(future.get());
  }

 private:
  struct Parts : CallbackParts {
    using CallbackParts::CallbackParts;
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
    Scope scope{io.get_executor()};
    std::promise<void> ended;
    std::atomic<std::thread::id> id;
    pid_t owner = getpid();
  };

  // Kept by the coroutine alone: one that is cancelled before it begins is destroyed unrun,
  // and whoever waits must hear of that too.
  template <class T>
  struct Outcome {
    std::promise<Result<T>> promise;
    bool is_set = false;
    void set(Result<T> result) {
      is_set = true;
      promise.set_value(std::move(result));
    }
    ~Outcome() {
      if (!is_set) promise.set_value(std::unexpected(Error(Errc::cancelled, "cancelled")));
    }
  };

  // A callback that calls the library.
  struct Waiting {
    explicit Waiting(CallbackParts& p) : parts(CallbackParts::Calling::current() == &p ? &p : nullptr) {
      if (parts) ++parts->waiting;
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
      if (parts) --parts->waiting;
    }
    CallbackParts* parts;
  };

  void check_caller() const {
    if (getpid() != parts_->owner) {
      throw Error(Errc::internal, "this process was forked after Patchbay was set up; create a new Host after fork()");
    }
    if (std::this_thread::get_id() == parts_->id.load()) {
      throw Error(Errc::internal,
                  "a blocking call was made on the thread that carries it out, so it would never end; make it on "
                  "another thread");
    }
  }

  std::shared_ptr<Parts> parts_;
  std::thread thread_;
};

// A function of the embedder as one that is awaited on the loop. Errc::closed when the threads are gone.
template <class R, class... A>
std::function<Task<R>(A...)> awaited(std::weak_ptr<CallbackParts> weak, std::function<R(const A&...)> function) {
  if (!function) return nullptr;
  return [weak = std::move(weak), function = std::move(function)](A... arguments) -> Task<R> {
    auto parts = weak.lock();
    if (!parts) throw Error(Errc::closed, "the host no longer exists");
    return CallbackParts::callback<R>(std::move(parts),
                                      [function, ... each = std::move(arguments)] { return function(each...); });
  };
}
// One that nobody waits for.
template <class... A>
std::function<void(const A&...)> posted(std::weak_ptr<CallbackParts> weak, std::function<void(const A&...)> function) {
  if (!function) return nullptr;
  return [weak = std::move(weak), function = std::move(function)](const A&... arguments) {
    if (auto parts = weak.lock()) parts->post_in_order([function, ... each = arguments] { function(each...); });
  };
}

// What a program says about itself, for sessions and hosts alike.
ClientOptions client_options(const Options& options, const std::weak_ptr<CallbackParts>& weak);
// Progress and the state of tasks are reported on the helper thread, and all of it before the call returns: what these
// functions refer to is often gone after it. A call made by a callback does not wait, since it would wait for itself;
// what is left then is not reported any more.
class CallEvents {
 public:
  CallEvents(CallOptions& options, const Loop& loop) : weak_(loop.callbacks()), state_(std::make_shared<State>()) {
    options.on_progress = reported(std::move(options.on_progress));
    options.on_task = reported(std::move(options.on_task));
  }
  CallEvents(const CallEvents&) = delete;
  CallEvents& operator=(const CallEvents&) = delete;
  ~CallEvents() {
    const auto parts = weak_.lock();
    std::unique_lock lock(state_->mutex);
    if (CallbackParts::Calling::current() != parts.get()) {
      state_->changed.wait(lock, [this] { return state_->pending == 0; });
    }
    state_->over = true;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int pending = 0;
    bool over = false;
  };
  // Counts from the moment it is given to the thread until it has run, or never will.
  struct Pending {
    explicit Pending(std::shared_ptr<State> s) : state(std::move(s)) {
      std::lock_guard lock(state->mutex);
      ++state->pending;
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    ~Pending() {
      std::lock_guard lock(state->mutex);
      --state->pending;
      state->changed.notify_all();
    }
    std::shared_ptr<State> state;
  };

  template <class A>
  std::function<void(const A&)> reported(std::function<void(const A&)> function) {
    if (!function) return nullptr;
    return [weak = weak_, state = state_, function = std::move(function)](const A& what) {
      const auto parts = weak.lock();
      if (!parts) return;
      parts->post_in_order([pending = std::make_shared<Pending>(state), function, what] {
        {
          std::lock_guard lock(pending->state->mutex);
          if (pending->state->over) return;
        }
        function(what);
      });
    };
  }

  std::weak_ptr<CallbackParts> weak_;
  std::shared_ptr<State> state_;
};

struct Session::Impl {
  std::shared_ptr<Loop> loop;
  patchbay::Session session;
  Impl(std::shared_ptr<Loop> l, patchbay::Session s) : loop(std::move(l)), session(std::move(s)) {}
  ~Impl();
};

}  // namespace patchbay::blocking
