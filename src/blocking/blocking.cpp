// The blocking face: a thread with a loop, and calls that wait for a coroutine on it.
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/blocking.h>
#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "entries/limits.h"

namespace patchbay::blocking {
namespace {
constexpr auto farewell = std::chrono::seconds(5);
}

// The thread callbacks run on. Functions that outlive their Loop hold this weakly.
struct CallbackParts {
  asio::thread_pool callbacks{1};
  std::mutex mutex;
  std::condition_variable idle;
  int busy = 0;

  virtual ~CallbackParts() = default;

  struct Busy {
    CallbackParts& parts;
    explicit Busy(CallbackParts& p) : parts(p) {
      std::lock_guard lock(parts.mutex);
      ++parts.busy;
    }
    ~Busy() {
      std::lock_guard lock(parts.mutex);
      if (--parts.busy == 0) parts.idle.notify_all();
    }
  };
  bool wait_idle(std::chrono::seconds limit) {
    std::unique_lock lock(mutex);
    return idle.wait_for(lock, limit, [this] { return busy == 0; });
  }

  // A function of the embedder, run where it may block, awaited on the loop.
  template <class T>
  static Task<T> callback(std::shared_ptr<CallbackParts> self, std::function<T()> function) {
    co_return co_await asio::co_spawn(
        self->callbacks,
        [](std::shared_ptr<CallbackParts> parts, std::function<T()> f) -> Task<T> {
          Busy now(*parts);
          co_return f();
        }(self, std::move(function)),
        asio::use_awaitable);
  }
  // There is nobody to tell what such a function throws. The pool must not own itself, so
  // the function refers to it plainly: the pool outlives what runs on it.
  void post(std::function<void()> function) {
    asio::post(callbacks, [this, function = std::move(function)] {
      Busy now(*this);
      try {
        function();
      } catch (...) {
      }
    });
  }
};

// The loop thread and the thread callbacks run on. Shared by everything that was made from
// one Host or connect(); the last owner ends both.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  static std::shared_ptr<Loop> start() {
    auto loop = std::make_shared<Loop>();
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
    const bool ended = parts_->ended.get_future().wait_for(farewell) == std::future_status::ready;
    if (ended) {
      thread_.join();
    } else {
      parts_->io.stop();
      thread_.detach();
    }
    parts_->callbacks.stop();
    if (!parts_->wait_idle(farewell)) (void)new std::shared_ptr<CallbackParts>(parts_);
  }

  // Runs `make()` on the loop and waits for what it returns.
  template <class T>
  T run(std::function<Task<T>()> make, std::stop_token stop = {}) {
    check_caller();
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

  void check_caller() const {
    if (getpid() != parts_->owner) {
      throw Error(Errc::internal, "this process was forked after Patchbay was set up; create a new Host after fork()");
    }
    if (std::this_thread::get_id() == parts_->id.load()) {
      throw Error(Errc::internal, "a blocking call on the thread of the loop would wait for itself");
    }
  }

  std::shared_ptr<Parts> parts_ = std::make_shared<Parts>();
  std::thread thread_;

 public:
  std::weak_ptr<CallbackParts> callbacks() const { return parts_; }
};

namespace {

ClientOptions client_options(const Options& options, const std::weak_ptr<CallbackParts>& weak) {
  ClientOptions client;
  client.info = options.info;
  client.protocol = options.protocol;
  const auto& callbacks = options.callbacks;
  auto strong = [weak] {
    auto parts = weak.lock();
    if (!parts) throw Error(Errc::closed, "the host no longer exists");
    return parts;
  };
  if (callbacks.elicit) {
    client.elicit = [strong, f = callbacks.elicit](ElicitRequest request) -> Task<ElicitResult> {
      return CallbackParts::callback<ElicitResult>(strong(), [f, request = std::move(request)] { return f(request); });
    };
    client.elicit_by_url = callbacks.elicit_by_url;
  }
  if (callbacks.sample) {
    client.sample = [strong, f = callbacks.sample](CreateMessageRequest request) -> Task<CreateMessageResult> {
      return CallbackParts::callback<CreateMessageResult>(strong(),
                                                          [f, request = std::move(request)] { return f(request); });
    };
  }
  if (callbacks.roots) {
    client.roots = [strong, f = callbacks.roots]() -> Task<std::vector<Root>> {
      return CallbackParts::callback<std::vector<Root>>(strong(), f);
    };
  }
  if (callbacks.on_log) {
    client.on_log = [weak, f = callbacks.on_log](const LogMessage& message) {
      if (auto parts = weak.lock()) parts->post([f, message] { f(message); });
    };
  }
  if (callbacks.on_change) {
    client.on_change = [weak, f = callbacks.on_change](const Change& change) {
      if (auto parts = weak.lock()) parts->post([f, change] { f(change); });
    };
  }
  return client;
}

// Progress and the state of tasks, too, are told on the helper thread.
CallOptions off_loop(CallOptions options, const std::shared_ptr<Loop>& loop) {
  if (options.on_progress) {
    options.on_progress = [f = std::move(options.on_progress), weak = loop->callbacks()](const Progress& progress) {
      if (auto alive = weak.lock()) alive->post([f, progress] { f(progress); });
    };
  }
  if (options.on_task) {
    options.on_task = [f = std::move(options.on_task), weak = loop->callbacks()](const RemoteTask& task) {
      if (auto alive = weak.lock()) alive->post([f, task] { f(task); });
    };
  }
  return options;
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<Loop> loop;
  patchbay::Session session;
  Impl(std::shared_ptr<Loop> l, patchbay::Session s) : loop(std::move(l)), session(std::move(s)) {}
  // The handle belongs to the loop, so it is let go of there.
  ~Impl() {
    try {
      loop->run<void>([s = std::make_shared<patchbay::Session>(std::move(session))]() -> Task<void> {
        return [](std::shared_ptr<patchbay::Session> last) -> Task<void> {
          *last = patchbay::Session();
          co_return;
        }(s);
      });
    } catch (const Error&) {
    }
  }
};

ServerDescription Session::server() const {
  return impl_->loop->run<ServerDescription>([s = impl_->session] {
    return [](patchbay::Session session) -> Task<ServerDescription> { co_return session.server(); }(s);
  });
}

Listing<Tool> Session::list_tools() {
  return impl_->loop->run<Listing<Tool>>([s = impl_->session]() mutable { return s.list_tools(); });
}
Listing<Resource> Session::list_resources() {
  return impl_->loop->run<Listing<Resource>>([s = impl_->session]() mutable { return s.list_resources(); });
}
Listing<ResourceTemplate> Session::list_resource_templates() {
  return impl_->loop->run<Listing<ResourceTemplate>>(
      [s = impl_->session]() mutable { return s.list_resource_templates(); });
}
Listing<Prompt> Session::list_prompts() {
  return impl_->loop->run<Listing<Prompt>>([s = impl_->session]() mutable { return s.list_prompts(); });
}
CallToolResult Session::call_tool(std::string name, Json arguments, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<CallToolResult>(
      [s = impl_->session, name, arguments = std::move(arguments),
       options = off_loop(std::move(options), loop)]() mutable {
        return s.call_tool(name, arguments.is_null() ? Payload() : Payload(arguments), options);
      },
      stop);
}
ReadResourceResult Session::read_resource(std::string uri, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<ReadResourceResult>(
      [s = impl_->session, uri, options = off_loop(std::move(options), loop)]() mutable {
        return s.read_resource(uri, options);
      },
      stop);
}
Listing<Skill> Session::list_skills() {
  return impl_->loop->run<Listing<Skill>>([s = impl_->session]() mutable { return s.list_skills(); });
}
Skill Session::get_skill(std::string uri, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<Skill>(
      [s = impl_->session, uri, options = off_loop(std::move(options), loop)]() mutable {
        return s.get_skill(uri, options);
      },
      stop);
}
ResourceContents Session::read_skill(Skill skill, std::string file, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<ResourceContents>(
      [s = impl_->session, skill = std::move(skill), file, options = off_loop(std::move(options), loop)]() mutable {
        return s.read_skill(skill, file, options);
      },
      stop);
}
Listing<Resource> Session::read_directory(std::string uri) {
  return impl_->loop->run<Listing<Resource>>([s = impl_->session, uri]() mutable { return s.read_directory(uri); });
}
GetPromptResult Session::get_prompt(std::string name, std::map<std::string, std::string> arguments, CallOptions options,
                                    std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<GetPromptResult>(
      [s = impl_->session, name, arguments = std::move(arguments),
       options = off_loop(std::move(options), loop)]() mutable { return s.get_prompt(name, arguments, options); },
      stop);
}
CompleteResult Session::complete(CompleteRequest request, CallOptions options) {
  auto& loop = impl_->loop;
  return loop->run<CompleteResult>(
      [s = impl_->session, request = std::move(request), options = off_loop(std::move(options), loop)]() mutable {
        return s.complete(request, options);
      });
}
void Session::set_log_level(LoggingLevel level) {
  impl_->loop->run<void>([s = impl_->session, level]() mutable { return s.set_log_level(level); });
}
void Session::ping(CallOptions options) {
  auto& loop = impl_->loop;
  loop->run<void>(
      [s = impl_->session, options = off_loop(std::move(options), loop)]() mutable { return s.ping(options); });
}
void Session::close() {
  impl_->loop->run<void>([s = impl_->session]() mutable { return s.close(); });
}

Session connect(StdioOptions server, Options options) {
  auto loop = Loop::start();
  auto client = std::make_shared<Client>(client_options(options, loop->callbacks()));
  auto transport = std::shared_ptr<Transport>(stdio_transport(std::move(server)));
  Session session;
  auto connected = loop->run<patchbay::Session>([client, transport]() -> Task<patchbay::Session> {
    return [](std::shared_ptr<Client> c, std::shared_ptr<Transport> t) -> Task<patchbay::Session> {
      Runtime runtime;
      runtime.limits = limits_from(process_environment());
      co_return co_await c->connect(t, runtime);
    }(client, transport);
  });
  session.impl_ = std::make_shared<Session::Impl>(std::move(loop), std::move(connected));
  return session;
}

struct Host::Impl {
  std::shared_ptr<Loop> loop = Loop::start();
  std::shared_ptr<patchbay::Host> host;
};

Host::Host(Options options) : impl_(std::make_shared<Impl>()) {
  HostOptions host_options;
  host_options.client = client_options(options, impl_->loop->callbacks());
  host_options.config = std::move(options.config);
  host_options.trust_project = options.trust_project;
  impl_->host = std::make_shared<patchbay::Host>(std::move(host_options));
}

Host::~Host() {
  try {
    stop();
    // What belongs to the loop is let go of there.
    impl_->loop->run<void>([impl = impl_.get()] {
      return [](Impl* last) -> Task<void> {
        last->host.reset();
        co_return;
      }(impl);
    });
  } catch (const Error&) {
  }
}

void Host::start() {
  impl_->loop->run<void>([h = impl_->host] { return h->start(); });
}
std::shared_ptr<const Catalog> Host::catalog() const {
  return impl_->loop->run<std::shared_ptr<const Catalog>>([h = impl_->host] {
    return [](std::shared_ptr<patchbay::Host> host) -> Task<std::shared_ptr<const Catalog>> {
      co_return host->catalog();
    }(h);
  });
}
std::vector<ServerStatus> Host::status() const {
  return impl_->loop->run<std::vector<ServerStatus>>([h = impl_->host] {
    return [](std::shared_ptr<patchbay::Host> host) -> Task<std::vector<ServerStatus>> { co_return host->status(); }(h);
  });
}
CallToolResult Host::call(std::string tool, Json arguments, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  return loop->run<CallToolResult>(
      [h = impl_->host, tool, arguments = std::move(arguments), options = off_loop(std::move(options), loop)] {
        return h->call(tool, arguments.is_null() ? Payload() : Payload(arguments), options);
      },
      stop);
}
Session Host::session(std::string server) {
  auto connected = impl_->loop->run<patchbay::Session>([h = impl_->host, server] { return h->session(server); });
  Session session;
  session.impl_ = std::make_shared<Session::Impl>(impl_->loop, std::move(connected));
  return session;
}
void Host::stop() {
  impl_->loop->run<void>([h = impl_->host] { return h->stop(); });
}

}  // namespace patchbay::blocking
