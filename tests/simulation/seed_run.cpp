#include "simulation/seed_run.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/ranges.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "host/make_host.h"
#include "simulation/legal_states.h"
#include "support/host_parts.h"

namespace patchbay::test {

using namespace std::chrono_literals;

std::string Totals::text() const {
  const auto counts = [](const Tally& tally) {
    std::string out;
    for (const auto& [what, count] : tally) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", what, count);
    return out;
  };
  std::size_t made = 0;
  for (const auto& [what, count] : calls) made += count;
  return fmt::format(
      "simulation: {} seeds, {:.0f} hours of virtual time, {} connections, {} calls: {}\n"
      "simulation: held: one outcome {}, not carried out twice {}, right answer {}, \"carried out: no\" is true {}, "
      "legal state {}, names stay {}, lists {}, others unharmed {}, came back {}, quiet at the end {}\n"
      "simulation: servers: {}\n"
      "simulation: states: {}\n"
      "simulation: edits: {}\n",
      seeds, std::chrono::duration<double, std::ratio<3600>>(time).count(), opens, made, counts(calls), one_outcome,
      not_twice, right_answer, said_not_carried_out, legal_states, names_stay, lists, unharmed, came_back, quiet,
      counts(tried), counts(states), counts(edits));
}

SeedRun::SeedRun(std::uint64_t seed, Habits::Sabotage sabotage)
    : world_(std::make_unique<World>(seed)), choices_(world_->dice(), "the run") {
  const auto& habits = all_habits();
  const auto count = 1 + choices_.number("servers", 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto one = habits[choices_.number("habits", habits.size())];
    one.sabotage = sabotage;
    auto name = fmt::format("s{}", i);
    world_->note("{} {}", name, one.name);
    servers_.emplace_back(*world_, name, one, tried_);
    auto entry = named(name);
    entry.kind = one.remote ? ServerKind::http : ServerKind::stdio;
    (one.remote ? entry.url : entry.command) = one.remote ? "https://" + name + ".example/mcp" : name;
    declared_.emplace(name, std::move(entry));
  }
}

SeedRun::~SeedRun() = default;

template <class... Values>
void SeedRun::problem(fmt::format_string<Values...> text, Values&&... values) {
  problems_.push_back(fmt::format(text, std::forward<Values>(values)...));
  world_->note("PROBLEM {}", problems_.back());
}

LoadedConfig SeedRun::config() const {
  LoadedConfig config;
  config.cwd = "/";
  for (const auto& [name, entry] : declared_) config.servers.push_back(entry);
  return config;
}

std::vector<std::string> SeedRun::check(Totals& totals) {
  Runtime runtime;
  runtime.limits.connect = 5s;
  runtime.limits.silent_probe = 500ms;
  runtime.limits.list = 2s;
  runtime.limits.request = 3s;
  runtime.limits.tool = 20s;
  runtime.limits.pages = 5;
  runtime.random = [made = std::uint64_t{0}, dice = world_->dice()](std::span<std::uint8_t> out) mutable {
    for (auto& byte : out) byte = static_cast<std::uint8_t>(Dice(dice.seed() + ++made).number("random", "byte", 256));
  };
  HostOptions options;
  options.config = config();
  options.load.reset();
  options.keep_connected = choices_.chance("keeps connected", 80);
  options.on_event = [this](const HostEvent& event) { heard(event); };
  host_.reset(new Host(make_host(std::move(options), runtime, {}, [this](const ServerConfig& entry) {
    const auto found = std::ranges::find(servers_, entry.name, &SimServer::name);
    return found != servers_.end() ? found->transport() : nullptr;
  })));
  const auto end = world_->run(body());
  if (end == World::End::stuck) problem("somebody waits for ever");
  if (end == World::End::endless) problem("it does not end");
  if (const auto thrown = world_->thrown()) problem("thrown: {}", error_from(thrown).message());
  judge(totals);
  if (end != World::End::dry) (void)world_.release();  // frames that wait for ever cannot be taken apart safely
  return problems_;
}

Task<void> SeedRun::body() {
  const auto executor = co_await asio::this_coro::executor;
  Scope scope(executor);
  const auto callers = 1 + choices_.number("callers", 4);
  if (choices_.chance("starts all", 50)) {
    scope.spawn([](Host& host) -> Task<void> { (void)co_await as_result(host.start()); }(*host_));
  }
  for (std::uint64_t who = 0; who < callers; ++who) scope.spawn(call_again_and_again(static_cast<int>(who)));
  Scope deeds(executor);
  deeds.spawn(administer());
  const auto stops = choices_.chance("stops early", 30)
                         ? choices_.wait("stops", 5s)
                         : Duration(std::chrono::milliseconds(5'000 + choices_.number("stops", 115'000)));
  co_await sleep_for(stops);
  if (choices_.chance("calms down", 40)) {
    deeds.cancel();
    co_await deeds.join();
    co_await calm_down();
  }
  // Not only where everybody waits for time.
  for (auto hops = choices_.number("hops", 12); hops > 0; --hops) co_await asio::post(asio::use_awaitable);
  stopping_ = true;
  const auto how = choices_.number("how it stops", 4);
  world_->note("stop {}", how);
  if (how == 0) {
    co_await host_->stop_quickly();
  } else if (how < 3) {
    co_await host_->stop();
  }
  if (how < 3) {
    for (const auto& server : servers_) {
      if (server.open_now != 0) problem("{} has {} open connections after stop()", server.name(), server.open_now);
    }
    if (!host_->catalog()->empty()) problem("the catalog is not empty after stop()");
    auto late = co_await as_result(host_->call("s0/t0", Json{{"n", -1}}));
    if (late || late.error().code() != Errc::closed) problem("a call after stop() is not refused as closed");
  } else {
    host_.reset();  // whoever lets go of it without stopping it: it ends what it has by itself
  }
  world_->note("stopped");
  for (auto* one : {&scope, &deeds}) {
    one->cancel();
    co_await one->join();
  }
  host_.reset();
}

// L6: whatever happened before, whoever is declared and can be reached answers.
Task<void> SeedRun::calm_down() {
  world_->note("nothing goes wrong any more");
  for (auto& server : servers_) server.calm();
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& server : servers_) {
    const auto entry = declared_.find(server.name());
    if (entry != declared_.end() && !entry->second.disabled) scope.spawn(call_until_answered(server));
  }
  co_await scope.join();
}

// The first call may share an attempt that was begun when not all was well; the second may not.
Task<void> SeedRun::call_until_answered(const SimServer& server) {
  for (int tries = 1;; ++tries) {
    auto& call = calls_.emplace_back();
    call.number = ++calls_made_;
    call.server = server.name();
    co_await perform(call, fmt::format("{}/{}", server.name(), server.tools().front()), {.total = 60s});
    if (!call.error) ++came_back_;
    if (!call.error || stopping_) co_return;
    if (tries == 2) {
      problem("{} does not come back", server.name());
      co_return;
    }
  }
}

Task<void> SeedRun::call_again_and_again(int who) {
  Choices mine(world_->dice(), fmt::format("caller {}", who));
  Scope scope(co_await asio::this_coro::executor);
  const auto count = 5 + mine.number("calls", 20);
  for (std::uint64_t i = 0; i < count && !stopping_; ++i) {
    const auto pause = mine.wait("pause", 15s);
    if (!co_await as_result(sleep_for(pause)) || stopping_) break;
    const auto& server = servers_[mine.number("server", servers_.size())];
    auto& call = calls_.emplace_back();
    call.number = ++calls_made_;
    call.server = server.name();
    const auto& tool = server.tools().front();
    const auto name = mine.chance("short name", 50) ? fmt::format("{}/{}", server.name(), tool)
                                                    : fmt::format("mcp__{}__{}", server.name(), tool);
    CallOptions options;
    if (mine.chance("limited", 60)) options.total = std::chrono::milliseconds(1 + mine.number("limit", 10'000));
    if (mine.chance("idle", 10)) options.idle = std::chrono::milliseconds(1 + mine.number("silent", 3'000));
    call.has_time = !options.total && !options.idle;
    auto running = scope.spawn(perform(call, name, std::move(options)));
    if (mine.chance("cancels", 20)) {
      call.has_time = false;
      const auto after = mine.wait("cancel", 3s);
      world_->later(after, [this, running, number = call.number]() mutable {
        world_->note("call {} is cancelled", number);
        running.cancel();
      });
    }
    if (mine.chance("one at a time", 40)) {
      if (!co_await as_result(scope.join())) break;
    }
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await scope.join();
}

Task<void> SeedRun::perform(Call& call, std::string tool, CallOptions options) {
  if (!host_) co_return;
  call.begun = true;
  world_->note("call {} of {}", call.number, tool);
  auto result = co_await as_result(host_->call(std::move(tool), Json{{"n", call.number}}, std::move(options)));
  ++call.ended;
  if (result) {
    call.answer = text_of(*result);
    world_->note("call {} answered: {}", call.number, call.answer);
  } else {
    call.error = std::move(result).error();
    call.while_stopping = stopping_;
    const auto whether = call.error->carried_out();
    world_->note("call {} failed: {}, carried out: {}: {}", call.number, to_string(call.error->code()),
                 whether ? to_string(*whether) : "not said", call.error->message());
  }
}

// Whoever runs the host: edits entries, connects again, looks at what there is; and what happens to servers from
// outside.
Task<void> SeedRun::administer() {
  const auto count = choices_.number("deeds", 15);
  for (std::uint64_t i = 0; i < count && !stopping_; ++i) {
    const auto pause = choices_.wait("before a deed", 20s);
    if (!co_await as_result(sleep_for(pause)) || stopping_) co_return;
    auto& server = servers_[choices_.number("whom", servers_.size())];
    const auto deed = choices_.number("deed", 8);
    if (deed == 2 || deed == 7) touched_.insert(server.name());
    switch (deed) {
      case 0:
      case 1:
        co_await edit();
        break;
      case 2:
        ++edits_["killed"];
        server.die("was killed");
        break;
      case 3:
        ++edits_["stormed"];
        server.storm();
        break;
      case 4:
        ++edits_["started"];
        (void)co_await as_result(host_->start());
        break;
      case 5:
      case 6:
        co_await look();
        break;
      case 7:
        ++edits_["reconnected"];
        (void)co_await as_result(host_->reconnect(server.name()));
        break;
    }
  }
}

Task<void> SeedRun::edit() {
  const auto& server = servers_[choices_.number("edited", servers_.size())];
  const auto name = server.name();
  auto entry = named(name);
  const bool remote = server.habits().remote;
  entry.kind = remote ? ServerKind::http : ServerKind::stdio;
  (remote ? entry.url : entry.command) = remote ? "https://" + name + ".example/mcp" : name;
  const auto was = declared_.find(name);
  const bool off = was == declared_.end() || was->second.disabled;
  const auto what = off && choices_.chance("back", 70) ? 3 : choices_.number("edit", 4);
  if (what == 0 && declared_.contains(name)) {
    ++edits_["removed"];
    declared_.erase(name);
  } else if (what == 1) {
    ++edits_["disabled"];
    entry.disabled = true;
    declared_[name] = entry;
  } else if (what == 2) {
    ++edits_["changed"];
    if (remote) {
      entry.headers.emplace_back("X", std::to_string(choices_.number("value", 1000)));
    } else {
      entry.args.push_back(std::to_string(choices_.number("value", 1000)));
    }
    declared_[name] = entry;
  } else {
    ++edits_["as at first"];
    declared_[name] = entry;
  }
  world_->note("edit {}: {}", name, what);
  // Another entry is another connection, whose life begins anew. What it offered stays while it is declared.
  const auto is = declared_.find(name);
  if (is == declared_.end() || is->second.disabled) offered_.erase(name);
  last_.erase(name);
  touched_.insert(name);
  auto done = co_await as_result(host_->reload(config()));
  if (!done) world_->note("not edited: {}", done.error().message());
}

Task<void> SeedRun::look() {
  ++edits_["looked"];
  for (const auto& status : host_->status()) heard_of(status);
  look_at_catalog();
  const auto& server = servers_[choices_.number("session of", servers_.size())];
  auto session = co_await as_result(host_->session(server.name()));
  if (session && !stopping_) (void)co_await as_result(session->list_tools());
  if (!stopping_) look_at(server, co_await as_result(host_->prompts(server.name())));
  if (!stopping_) look_at(server, co_await as_result(host_->resources(server.name())));
  if (!stopping_) look_at(server, co_await as_result(host_->resource_templates(server.name())));
}

// L9: whatever becomes of its connection, a list is one that the server sent, or there is a reason why it is not.
template <class T>
void SeedRun::look_at(const SimServer& server, const Result<ServerList<T>>& list) {
  if (!list) {
    world_->note("no list of {}: {}", server.name(), list.error().message());
    return;
  }
  ++lists_looked_at_;
  if (!list->items || list->items->size() != 1 || list->generation == 0) {
    problem("{} has a list that it never sent", server.name());
  }
  if (list->from_before && !list->error) problem("a list of {} is old without a reason", server.name());
}

void SeedRun::heard(const HostEvent& event) {
  if (const auto* status = std::get_if<ServerStatus>(&event)) {
    heard_of(*status);
  } else if (std::holds_alternative<CatalogChange>(event)) {
    world_->note("catalog {}", host_ ? host_->catalog()->size() : 0);
  }
  if (host_) look_at_catalog();
}

void SeedRun::heard_of(const ServerStatus& status) {
  ++states_looked_at_;
  const auto shown = fmt::format("{}{}{}", to_string(status.state), status.reason == ServerReason::none ? "" : ": ",
                                 to_string(status.reason));
  ++states_[shown];
  world_->note("{} is {}", status.name, shown);
  if (!is_legal_state(status.state, status.reason)) problem("{} is {}", status.name, shown);
  const auto before = last_.find(status.name);
  if (before != last_.end() && !may_follow(before->second, status.reason)) {
    problem("{} is {}, after {}", status.name, shown, to_string(before->second));
  }
  last_.insert_or_assign(status.name, status.reason);
}

void SeedRun::look_at_catalog() {
  std::map<std::string, std::size_t> offered;
  for (const auto& entry : host_->catalog()->tools()) {
    const auto found = std::ranges::find(servers_, entry.server, &SimServer::name);
    if (found == servers_.end() || !found->listed().contains(entry.tool->name)) {
      problem("the catalog has {}, which {} never listed", entry.name, entry.server);
    } else if (found->steady()) {
      ++offered[entry.server];
    }
  }
  if (stopping_) return;
  // N3: whatever becomes of its connection.
  for (const auto& server : servers_) {
    if (!server.steady()) continue;
    const auto count = offered[server.name()];
    if (count > 0) offered_.insert(server.name());
    if (!offered_.contains(server.name())) continue;
    ++names_looked_at_;
    if (count != server.tools().size()) {
      problem("the catalog has {} tools of {}, which lists {}", count, server.name(), server.tools().size());
      offered_.erase(server.name());  // once is enough
    }
  }
}

void SeedRun::judge(Totals& totals) {
  ++totals.seeds;
  for (auto& call : calls_) {
    int done = 0;
    for (const auto& server : servers_) {
      const auto found = server.carried_out().find(call.number);
      if (found != server.carried_out().end()) done += found->second;
    }
    ++totals.one_outcome;
    if (call.ended != (call.begun ? 1 : 0)) problem("call {} ended {} times", call.number, call.ended);
    ++totals.not_twice;
    if (done > 1) problem("call {} was carried out {} times", call.number, done);
    if (!call.begun || call.ended == 0) continue;
    if (!call.error) {
      ++totals.calls["answered"];
      if (call.has_time && !touched_.contains(call.server)) ++totals.unharmed;
      ++totals.right_answer;
      if (call.answer != fmt::format("{} {}", call.server, call.number)) {
        problem("call {} of {} got the answer \"{}\"", call.number, call.server, call.answer);
      }
      if (done != 1) problem("call {} was answered and carried out {} times", call.number, done);
      continue;
    }
    const auto& error = *call.error;
    const auto server = std::ranges::find(servers_, call.server, &SimServer::name);
    // L5: what is wrong with others is no reason to fail.
    if (call.has_time && !touched_.contains(call.server) && server->habits().name.starts_with("well-behaved") &&
        !call.while_stopping) {
      problem("call {} of {}, with which nothing is wrong, failed", call.number, call.server);
    }
    ++totals.calls[std::string(to_string(error.code()))];
    if (error.code() == Errc::internal || error.message().empty()) problem("call {}: {}", call.number, error.message());
    const auto whether = error.carried_out();
    if (!whether) {
      problem("call {} does not say whether it was carried out", call.number);
    } else if (*whether != CarriedOut::unknown) {
      ++totals.said_not_carried_out;
      if (done > 0) problem("call {} was carried out and says \"{}\"", call.number, to_string(*whether));
    }
  }
  for (const auto& server : servers_) {
    totals.opens += static_cast<std::size_t>(server.opens);
    if (server.open_now != 0) problem("{} has {} connections at the end", server.name(), server.open_now);
    if (server.dropped != 0) problem("{} channels to {} were never closed", server.dropped, server.name());
  }
  ++totals.quiet;
  if (world_->timers() != 0) problem("{} timers are left", world_->timers());
  totals.legal_states += states_looked_at_;
  totals.names_stay += names_looked_at_;
  totals.lists += lists_looked_at_;
  totals.came_back += came_back_;
  totals.steps += world_->steps();
  totals.time += world_->elapsed();
  for (const auto& [what, count] : tried_) totals.tried[what] += count;
  for (const auto& [what, count] : states_) totals.states[what] += count;
  for (const auto& [what, count] : edits_) totals.edits[what] += count;
}

}  // namespace patchbay::test
