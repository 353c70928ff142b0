// `patchbay acp`: the agent inside of an editor, which has started this and talks to it on stdin and stdout.
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/version.h>

#include "acp/agent_server.h"
#include "agent/models/api_extras.h"
#include "agent/sampling.h"
#include "base/as_result.h"
#include "base/scope.h"
#include "cli/agent_host.h"
#include "cli/context.h"
#include "cli/host_options.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "transport/line_channel.h"

namespace patchbay::cli {
namespace {

Task<bool> approve(acp::SessionWish wish, Settings settings, std::function<void(const std::string&)> say,
                   ServerConfig server) {
  const auto answer = co_await wish.approve(server);
  if (!answer) co_return false;
  co_return co_await remember_approval(std::move(settings), std::move(say), std::move(server), *answer);
}

// Made before there is a model, and kept by connections that may end later than the session.
struct ModelOfServers {
  std::shared_ptr<Model> model;  // null: not yet
};

Task<CreateMessageResult> answer_server(std::shared_ptr<ModelOfServers> with, CreateMessageRequest request, Io& io) {
  if (!with->model) throw Error(Errc::unsupported, "there is no model yet");
  co_return co_await answer_sampling(with->model, std::move(request), [&io](const ModelAnswer& answer) {
    for (const auto& warning : answer.warnings) io.talk(message_line(warning, 1000));
  });
}

class Ground final : public acp::SessionGround {
 public:
  // `settings`: of this session.
  Ground(const Settings& settings, Io& io, const Runtime& runtime, const acp::SessionWish& wish,
         std::shared_ptr<RefusedExtras> refused)
      : settings_(settings),
        resume_(wish.resume),
        house_(
            settings_, io, runtime, host_options_of(settings_, io, wish, of_servers_),
            [&io](const std::string& text) { io.talk(text); }, std::move(refused)),
        model_(house_.model()) {
    of_servers_->model = model_;
  }

  Host& host() override { return house_.host; }
  std::shared_ptr<Model> model() override { return model_; }
  AgentOptions options() override {
    auto options = agent_options(settings_);
    options.resume = resume_;
    return options;
  }

 private:
  static HostOptions host_options_of(const Settings& settings, Io& io, const acp::SessionWish& wish,
                                     std::shared_ptr<ModelOfServers> of_servers) {
    auto options = agent_host_options(settings, io, wish.directory);
    options.follow_config = true;
    options.permission.ask = wish.ask;
    options.approve = [wish, settings, say = io.talk, declared = options.config->servers](
                          const ApprovalQuestion& question) { return approve(wish, settings, say, question.server); };
    options.asking.person = wish.person;
    options.asking.sampling = wish.sampling;
    options.client.sample = [of_servers, &io](CreateMessageRequest request, const CallContext&) {
      return answer_server(of_servers, std::move(request), io);
    };
    for (const auto& more : wish.directories) options.asking.folders.push_back(more);
    options.on_event = wish.on_host_event;
    return options;
  }

  Settings settings_;
  std::string resume_;
  const std::shared_ptr<ModelOfServers> of_servers_ = std::make_shared<ModelOfServers>();
  AgentHost house_;
  std::shared_ptr<Model> model_;
};

// What a session of an editor is told beside the words that started us.
Settings settings_of(Settings settings, const acp::SessionWish& wish) {
  if (settings.root.empty()) settings.root = wish.directory;
  if (!wish.servers.empty()) settings.mcp_config.push_back(wish.servers);
  return settings;
}

}  // namespace

int acp(const Settings& settings, Io& io, const Runtime& runtime) {
  acp::AgentServerOptions options{.version = std::string(version()), .state_directory = state_directory()};
  // What an API refuses in one session is not tried again in the next.
  const auto refused = std::make_shared<RefusedExtras>();
  options.make_ground = [&](acp::SessionWish wish) -> std::unique_ptr<acp::SessionGround> {
    return std::make_unique<Ground>(settings_of(settings, wish), io, runtime, wish, refused);
  };
  options.shown = [secrets = std::make_shared<const KnownSecrets>()](const Error& error) {
    return with_remedy_in_words(secrets->without(error));
  };
  asio::io_context loop(1);
  Scope scope(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  int stopped_by = 0;
  std::optional<Error> fault;
  auto channel = std::make_unique<LineChannel>(loop.get_executor(), STDIN_FILENO, STDOUT_FILENO, runtime);
  auto serving = scope.spawn([](acp::AgentServerOptions o, std::unique_ptr<Channel> c, Runtime r, Scope& beside,
                                asio::signal_set& s, std::optional<Error>& why) -> Task<void> {
    auto served = co_await as_result(acp::serve_agent(std::move(o), std::move(c), std::move(r)));
    if (!served) why = std::move(served).error();
    beside.cancel();
    s.cancel();
  }(std::move(options), std::move(channel), runtime, side, signals, fault));
  side.spawn([](asio::signal_set& s, Spawned work, int& by) -> Task<void> {
    by = co_await s.async_wait(asio::use_awaitable);
    work.cancel();
    (void)co_await s.async_wait(asio::use_awaitable);
    _exit(128 + by);
  }(signals, serving, stopped_by));
  loop.run();
  if (stopped_by != 0) return 128 + stopped_by;
  return fault ? report(*fault, false, io) : 0;
}

}  // namespace patchbay::cli
