#include "simulation/sim_server.h"

#include <algorithm>
#include <deque>

#include "base/timeout.h"
#include "protocol/methods.h"
#include "protocol/wire.h"

namespace patchbay::test {

using namespace std::chrono_literals;

// One connection, shared by both ends.
struct SimServer::Wire {
  SimServer* server = nullptr;
  int number = 0;
  bool modern = true;
  bool open = true;
  bool forgotten = false;  // it no longer knows the session
  std::deque<Incoming> inbox;
  std::optional<Error> end;
  Event fed;
  std::map<RequestId, Request> queued;  // sent by the client, and not left yet
  std::vector<RequestId> listening;
  std::set<RequestId> cancelled;

  void feed(Incoming incoming) {
    if (!open) return;
    inbox.push_back(std::move(incoming));
    fed.notify_all();
  }
  void finish(Error error) {
    if (!open) return;
    open = false;
    end = std::move(error);
    fed.notify_all();
  }
};

class SimChannel final : public Channel {
 public:
  SimChannel(SimServer& server, SimServer::Held wire) : server_(server), wire_(std::move(wire)) {}
  ~SimChannel() override {
    if (!closed_) ++server_.dropped;
  }

  Result<void> send(Message message) override {
    if (!wire_->open) return fail(Errc::closed, "the connection was closed");
    if (auto* request = std::get_if<Request>(&message)) {
      const auto id = request->id;
      if (server_.choices_.chance("lingers", static_cast<std::uint64_t>(server_.habits_.lingers))) {
        ++server_.tally_["lingered"];
        wire_->queued.emplace(id, std::move(*request));
        server_.world_.later(server_.choices_.wait("leaves", 2s), [server = &server_, wire = wire_, id] {
          auto node = wire->queued.extract(id);
          if (!node.empty() && wire->open) server->arrive(wire, std::move(node.mapped()));
        });
      } else {
        server_.world_.later(server_.choices_.wait("way", 2ms),
                             [server = &server_, wire = wire_, r = std::move(*request)] {
                               if (wire->open) server->arrive(wire, r);
                             });
      }
    } else if (auto* notification = std::get_if<Notification>(&message)) {
      server_.told(wire_, *notification);
    }
    return {};
  }
  Task<Incoming> receive() override { return receive_from(wire_); }
  void abandon(const RequestId& id) override { wire_->cancelled.insert(id); }
  bool withdraw(const RequestId& id) override { return wire_->queued.erase(id) > 0; }
  std::vector<RequestId> withdraw_all() override {
    std::vector<RequestId> ids;
    for (const auto& [id, request] : wire_->queued) ids.push_back(id);
    wire_->queued.clear();
    return ids;
  }
  Task<void> close(CloseMode mode) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    if (std::exchange(closed_, true)) co_return;
    wire_->finish(Error(Errc::closed, "the connection was closed"));
    if (mode == CloseMode::graceful) {
      // A child that takes its time to end.
      const auto wait = server_.choices_.wait("ends", 1s);
      (void)co_await as_result(sleep_for(wait));
    }
    std::erase(server_.wires_, wire_);
    if (server_.habits_.sabotage != Habits::Sabotage::left_open) --server_.open_now;
    server_.world_.note("{}#{} closed", server_.name(), wire_->number);
  }

 private:
  static Task<Incoming> receive_from(SimServer::Held wire) {
    while (wire->inbox.empty()) {
      if (wire->end) throw Error(*wire->end);
      co_await wire->fed.wait();
    }
    auto incoming = std::move(wire->inbox.front());
    wire->inbox.pop_front();
    co_return incoming;
  }

  SimServer& server_;
  SimServer::Held wire_;
  bool closed_ = false;
};

class SimTransport final : public Transport {
 public:
  explicit SimTransport(SimServer& server) : server_(server) {}
  Kind kind() const noexcept override { return server_.habits_.remote ? Kind::http : Kind::stdio; }
  std::string describe() const override { return "simulated " + server_.name(); }
  Task<std::unique_ptr<Channel>> open(const Runtime&) override { return server_.open(); }

 private:
  SimServer& server_;
};

SimServer::SimServer(World& world, std::string name, Habits habits, Tally& tally)
    : world_(world),
      name_(std::move(name)),
      habits_(std::move(habits)),
      tally_(tally),
      choices_(world.dice(), name_),
      modern_(choices_.chance("modern", 50)) {
  steady_ = !habits_.differs && !habits_.grows;
  const auto count = 1 + choices_.number("tools", 3);
  for (std::uint64_t i = 0; i < count; ++i) tools_.push_back(fmt::format("t{}", i));
}

std::shared_ptr<Transport> SimServer::transport() { return std::make_shared<SimTransport>(*this); }

bool SimServer::up() const { return world_.clock().now() >= down_until_; }

Task<std::unique_ptr<Channel>> SimServer::open() {
  ++opens;
  if (choices_.chance("refuses", static_cast<std::uint64_t>(habits_.refuses))) {
    down_until_ = world_.clock().now() + choices_.wait("down", habits_.away);
  }
  if (choices_.chance("never opens", static_cast<std::uint64_t>(habits_.never_opens))) {
    ++tally_["never opened"];
    world_.note("{} never opens", name_);
    Event never;
    co_await never.wait();
  }
  const bool slow = choices_.chance("slow start", static_cast<std::uint64_t>(habits_.slow_start));
  if (slow) ++tally_["opened slowly"];
  const auto wait = slow ? choices_.wait("start", 10s) : choices_.wait("start", 20ms);
  co_await sleep_for(wait);
  // Who is reached by a URL is asked at the first request.
  if (!up() && !habits_.remote) {
    ++tally_["not started"];
    world_.note("{} cannot be started", name_);
    throw Error(Errc::connect, fmt::format("{} could not be started", name_));
  }
  if (habits_.changes_era && opens > 1 && choices_.chance("other era", 50)) {
    ++tally_["changed its era"];
    modern_ = !modern_;
  }
  auto wire = std::make_shared<Wire>();
  wire->server = this;
  wire->number = opens;
  wire->modern = modern_;
  wires_.push_back(wire);
  ++open_now;
  world_.note("{}#{} opened, {}", name_, wire->number, modern_ ? "modern" : "legacy");
  live(wire);
  co_return std::make_unique<SimChannel>(*this, std::move(wire));
}

// What a connection does by itself.
void SimServer::live(const Held& wire) {
  if (habits_.lives != Duration::max()) {
    world_.later(habits_.lives, [this, wire] {
      if (!wire->open || habits_.lives == Duration::max()) return;
      ++tally_["died"];
      break_off(wire, "died");
    });
  }
  if (habits_.storms > 0) weather(wire);
}

void SimServer::weather(const Held& wire) {
  world_.later(1s, [this, wire] {
    if (!wire->open || habits_.storms == 0) return;
    if (choices_.chance("storm", static_cast<std::uint64_t>(habits_.storms))) {
      ++tally_["stormed"];
      for (int i = 0; i < 20; ++i) tell_changed(wire);
    }
    weather(wire);
  });
}

void SimServer::storm() {
  for (const auto& wire : wires_) {
    for (int i = 0; i < 20; ++i) tell_changed(wire);
  }
}

void SimServer::calm() {
  habits_ = Habits{.name = habits_.name, .remote = habits_.remote, .sabotage = habits_.sabotage};
  down_until_ = refuses_until_ = {};
}

void SimServer::die(std::string_view why) {
  const auto all = wires_;
  for (const auto& wire : all) break_off(wire, why);
}

void SimServer::break_off(const Held& wire, std::string_view why) {
  if (!wire->open) return;
  world_.note("{}#{} {}", name_, wire->number, why);
  wire->finish(Error(Errc::closed, fmt::format("{} ended: {}", name_, why)));
}

void SimServer::tell_changed(const Held& wire) {
  for (const auto changed : {method::tools_changed, method::prompts_changed, method::resources_changed}) {
    if (!wire->modern) wire->feed(Notification{std::string(changed), {}});
    for (const auto& id : wire->listening) {
      wire->feed(Notification{
          std::string(changed),
          *Payload::parse(fmt::format(R"({{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})", to_text(id)))});
    }
  }
}

void SimServer::told(const Held& wire, const Notification& notification) {
  if (notification.method != method::cancelled) return;
  if (auto id = request_id_of(notification.params.value()["requestId"])) {
    wire->cancelled.insert(*id);
    std::erase(wire->listening, *id);
  }
}

void SimServer::answer(const Held& wire, const RequestId& id, Message message, Duration takes) {
  world_.later(takes, [this, wire, id, message = std::move(message)] {
    // Half of those that were taken back are answered all the same.
    if (wire->cancelled.contains(id) && choices_.chance("obeys", 50)) return;
    wire->feed(message);
  });
}

void SimServer::lose(const Held& wire, const RequestId& id, Error error, Duration takes) {
  world_.later(takes, [wire, id, error = std::move(error)] { wire->feed(Lost{id, error}); });
}

void SimServer::arrive(const Held& wire, Request request) {
  const auto of_hundred = [&](std::string_view what, int percent) {
    const bool yes = choices_.chance(what, static_cast<std::uint64_t>(percent));
    if (yes) {
      ++tally_[std::string(what)];
      world_.note("{}#{} {} {} {}", name_, wire->number, what, request.method, to_text(request.id));
    }
    return yes;
  };
  const auto now = world_.clock().now();
  const auto takes =
      of_hundred("is slow with", habits_.slow) ? choices_.wait("takes", 5s) : choices_.wait("takes", 30ms);
  if (habits_.remote) {
    if (!up()) {
      ++tally_["not reached"];
      return lose(
          wire, request.id,
          Error(Errc::connect, fmt::format("{} refused the connection", name_)).with_carried_out(CarriedOut::no),
          takes);
    }
    if (of_hundred("wants credentials for", habits_.challenges)) {
      refuses_until_ = now + choices_.wait("challenge", 10s);
    }
    if (now < refuses_until_) {
      return lose(wire, request.id,
                  Error(Errc::unauthorized, fmt::format("{} needs credentials (401 Unauthorized)", name_))
                      .with_http_status(401),
                  takes);
    }
    if (!wire->modern && request.method != method::initialize && request.method != method::discover) {
      if (of_hundred("has forgotten the session of", habits_.forgets)) wire->forgotten = true;
      if (wire->forgotten) {
        return lose(wire, request.id,
                    Error(Errc::closed, fmt::format("{} no longer knows the session", name_))
                        .with_http_status(404)
                        .with_carried_out(CarriedOut::no),
                    takes);
      }
    }
    if (of_hundred("answers 503 to", habits_.statuses)) {
      if (request.method == method::call_tool && choices_.chance("503 behind", 50)) (void)result_of(wire, request);
      return lose(wire, request.id,
                  Error(Errc::http, fmt::format("{} answered 503 Service Unavailable", name_)).with_http_status(503),
                  takes);
    }
  }
  if (habits_.sabotage == Habits::Sabotage::said_to_be_not_carried_out && request.method == method::call_tool) {
    (void)result_of(wire, request);
    return lose(wire, request.id, Error(Errc::connect, "not sent").with_carried_out(CarriedOut::no), takes);
  }
  if (of_hundred("drops", habits_.drops)) return;
  if (of_hundred("crashes at", habits_.crashes)) {
    if (choices_.chance("crashes late", 50)) (void)result_of(wire, request);
    return break_off(wire, "crashed");
  }
  if (of_hundred("hangs at", habits_.hangs)) {
    (void)result_of(wire, request);
    return;
  }
  if (of_hundred("asks before", habits_.asks)) {
    wire->feed(Request{"ask-" + to_text(request.id),
                       std::string(choices_.chance("ping", 50) ? method::ping : method::list_roots),
                       {}});
  }
  serve(wire, std::move(request), takes);
}

void SimServer::serve(const Held& wire, Request request, Duration takes) {
  const auto refuse = [&](std::int64_t code, std::string text) {
    answer(wire, request.id, ErrorResponse{request.id, {.code = code, .message = std::move(text)}}, takes);
  };
  const auto& id = request.id;
  const bool begins = request.method == method::discover || request.method == method::initialize;
  if (begins && (request.method == method::discover) != wire->modern)
    return refuse(rpc_code::method_not_found, "unknown method");
  if (!begins && choices_.chance("errors", static_cast<std::uint64_t>(habits_.errors))) {
    ++tally_["answers with an error"];
    if (choices_.chance("refuses the call", 50)) return refuse(rpc_code::invalid_params, "not like this");
    (void)result_of(wire, request);
    return refuse(rpc_code::internal_error, "it failed");
  }
  if (request.method == method::listen) {
    wire->listening.push_back(id);
    wire->feed(Notification{
        std::string(method::listen_acknowledged),
        *Payload::parse(fmt::format(
            R"({{"notifications":{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})",
            to_text(id)))});
    return;
  }
  const auto text = result_of(wire, request);
  if (text.empty()) return refuse(rpc_code::method_not_found, "unknown method");
  const Response response{id, *Payload::parse(text)};
  if (choices_.chance("misses", static_cast<std::uint64_t>(habits_.misses))) {
    ++tally_["answers nobody"];
    answer(wire, std::int64_t{1'000'000}, Response{std::int64_t{1'000'000}, response.result}, takes);
  }
  answer(wire, id, response, takes);
  if (choices_.chance("repeats", static_cast<std::uint64_t>(habits_.repeats))) {
    ++tally_["answers twice"];
    answer(wire, id, response, takes + choices_.wait("again", 1s));
  }
}

// Carries it out. Empty: there is no such method.
std::string SimServer::result_of(const Held& wire, const Request& request) {
  const auto* done = wire->modern ? R"("resultType":"complete",)" : "";
  constexpr auto capabilities =
      R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}})";
  if (request.method == method::discover) {
    return fmt::format(R"({{{}"supportedVersions":["{}"],"capabilities":{}}})", done, modern_versions().front(),
                       capabilities);
  }
  if (request.method == method::initialize) {
    return fmt::format(R"({{"protocolVersion":"{}","capabilities":{},"serverInfo":{{"name":"{}","version":"1"}}}})",
                       legacy_versions().front(), capabilities, name_);
  }
  if (request.method == method::ping) return "{}";
  if (request.method == method::list_tools) {
    ++lists_;
    auto names = tools_;
    if (habits_.differs) {
      names.resize(1);
      names.push_back(fmt::format("d{}", choices_.number("other tool", 5)));
    }
    if (habits_.grows) names.push_back(fmt::format("g{}", lists_));
    std::string list;
    for (const auto& name : names) {
      list += fmt::format(R"({}{{"name":"{}","inputSchema":{{"type":"object"}}}})", list.empty() ? "" : ",", name);
      listed_.insert(name);
    }
    return fmt::format(R"({{{}"tools":[{}]{}}})", done, list,
                       habits_.grows ? fmt::format(R"(,"nextCursor":"{}")", lists_) : "");
  }
  // Some are others each time.
  const auto item = fmt::format("i{}", habits_.differs ? choices_.number("other item", 5) : 0);
  if (request.method == method::list_prompts) return fmt::format(R"({{{}"prompts":[{{"name":"{}"}}]}})", done, item);
  if (request.method == method::list_resources) {
    return fmt::format(R"({{{}"resources":[{{"uri":"sim:{}","name":"r"}}]}})", done, item);
  }
  if (request.method == method::list_resource_templates) {
    return fmt::format(R"({{{}"resourceTemplates":[{{"uriTemplate":"sim:{{x}}","name":"{}"}}]}})", done, item);
  }
  if (request.method == method::call_tool) {
    const auto number = request.params.value()["arguments"]["n"].as_int();
    ++carried_out_[number];
    if (habits_.sabotage == Habits::Sabotage::carried_out_twice) ++carried_out_[number];
    world_.note("{}#{} carries out {}", name_, wire->number, number);
    const bool another = habits_.sabotage == Habits::Sabotage::answer_of_another;
    return fmt::format(R"({{{}"content":[{{"type":"text","text":"{} {}"}}]}})", done, name_, number + another);
  }
  return {};
}

}  // namespace patchbay::test
