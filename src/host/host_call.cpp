// A call from its name to its answer: finding the tool, asking rules and the user, and what its outcome tells.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "catalog/naming.h"
#include "entries/limits.h"
#include "host/failure_memory.h"
#include "host/host_impl.h"
#include "host/server_error.h"
#include "protocol/methods.h"

namespace patchbay {

using namespace std::chrono_literals;

namespace {

// Of names that are not the exposed ones, how many are kept with what they mean.
constexpr std::size_t most_spellings = 1000;

// Sets the answer to a question that was never put, or not to its end.
struct Unanswered {
  explicit Unanswered(std::shared_ptr<Completion<Result<bool>>> a) : answer(std::move(a)) {}
  Unanswered(Unanswered&&) = default;
  ~Unanswered() {
    if (answer) answer->set(fail(Errc::cancelled, "cancelled"));
  }
  std::shared_ptr<Completion<Result<bool>>> answer;
};

Task<void> guarded(Task<void> work, Unanswered /*guard*/) { co_await std::move(work); }

// Ends a question that nobody waits for any more.
struct Withdraw {
  explicit Withdraw(Spawned s) : question(std::move(s)) {}
  Withdraw(const Withdraw&) = delete;
  Withdraw& operator=(const Withdraw&) = delete;
  ~Withdraw() { question.cancel(); }
  Spawned question;
};

}  // namespace

Task<void> Host::Impl::put_question(std::shared_ptr<Impl> self, PermissionQuestion question,
                                    std::shared_ptr<Completion<Result<bool>>> answer) {
  auto turn = co_await self->asking_->queue().acquire();
  const Withdraw reminder(
      self->remind("permission_prompt", fmt::format("Patchbay needs your permission to use {}", question.tool.name)));
  answer->set(co_await as_result(self->questions_->run(ask(self->options_.permission.ask, std::move(question)))));
}

// In our own scope, so that stop() ends it, whoever waits.
Task<bool> Host::Impl::ask_person(PermissionQuestion question) {
  auto answer = std::make_shared<Completion<Result<bool>>>();
  // Whoever answers first is who has answered, and the others are not asked any more.
  const auto relayed = relay(question, answer);
  const Withdraw withdraw(
      scope_->spawn(guarded(put_question(shared_from_this(), std::move(question), answer), Unanswered(answer))));
  auto said = co_await answer->wait();
  check_running();
  co_return value_or_throw(std::move(said));
}

std::shared_ptr<const Host::Impl::Target> Host::Impl::add_target(std::string_view text, Entry entry,
                                                                 InputSchemas::Compiled input) {
  const auto found = connections_.find(entry->server);
  if (found == connections_.end()) return nullptr;
  const auto& config = found->second->config();
  auto target = std::make_shared<Target>();
  const auto& catalog = offered_.all();
  target->catalog = catalog.get();
  target->connection = found->second;
  target->limit = call_limit(config);
  target->input = std::move(input);
  if (!permissions_.look_at_arguments()) target->decision = decide(*entry, config, {});
  if (!hooks_.empty() && !hooks_elsewhere_.contains(entry->server)) target->hooks = hooks_.about(*entry);
  target->waits = pins_->waiting(entry->server, entry->tool->name) != nullptr;
  target->entry = std::move(entry);
  // One of a catalog that was replaced meanwhile is for this call alone.
  if (catalog->at(target->entry->name) != target->entry.get()) return target;
  if (spelled_.size() >= most_spellings) spelled_.clear();
  spelled_.insert_or_assign(std::string(text), target);
  return target;
}

std::shared_ptr<const Host::Impl::Target> Host::Impl::target_now(std::string_view text) {
  const auto& catalog = offered_.all();
  if (const auto known = spelled_.find(text); known != spelled_.end()) {
    if (known->second->catalog == catalog.get()) return known->second;
    spelled_.clear();
  }
  const auto* entry = catalog->at(text);
  if (!entry) return nullptr;
  auto input = inputs_.find(entry->tool);
  return input ? add_target(text, Entry(catalog, entry), std::move(*input)) : nullptr;
}

Host::Impl::Entry Host::Impl::find_now(std::string_view text) {
  if (const auto target = target_now(text)) return target->entry;
  const auto& catalog = offered_.all();
  const auto* entry = catalog->at(text);
  return entry ? Entry(catalog, entry) : nullptr;
}

std::optional<PermissionDecision> Host::Impl::refused_whole(const std::string& server) const {
  if (permissions_.rules().refuse_all) return std::nullopt;
  return permissions_.denied_server(server);
}

void Host::Impl::require_permitted(const std::string& server) const {
  if (refused_whole(server)) permissions_.require_server(server);
}

std::vector<std::shared_ptr<Connection>> Host::Impl::servers_meant(std::string_view text) const {
  std::vector<std::shared_ptr<Connection>> meant;
  for (const auto& [name, connection] : connections_) {
    if (addresses_server(text, name)) meant.push_back(connection);
  }
  return meant;
}

Task<Host::Impl::Entry> Host::Impl::find_tool(std::string text, std::shared_ptr<CallClock> time, CallContext context) {
  co_await prepare();
  std::vector<std::shared_ptr<Connection>> meant;
  if (auto entry = find_now(text)) {
    auto connection = require(entry->server);
    if (connection->has_listed()) co_return entry;
    // It had this tool in an earlier run, or under an earlier entry. What it has now it says itself.
    meant.push_back(std::move(connection));
  } else {
    meant = servers_meant(text);
  }
  const auto before = offered_.all();
  if (meant.size() == 1) {
    if (!meant.front()->connected()) require_permitted(meant.front()->name());
    // Only this server can be meant, so its failure is the answer.
    (void)co_await ensure(meant.front()->name(), time, context);
    if (!offered_.all()->require(text)) co_await require(meant.front()->name())->list_again();
  } else if (!meant.empty()) {
    co_await start(meant, time, context);
  }
  if (meant.empty()) {
    // Any server may have it, so the answer must not depend on which happen to be connected.
    // One that could not be started is not tried again for every name that nobody knows.
    std::vector<std::shared_ptr<Connection>> all;
    for (auto& connection : startable()) {
      if (connection->worth_trying()) all.push_back(std::move(connection));
    }
    co_await start(all, time, context);
  }
  bool settled = false;  // in two steps: g++ 14.2 fails on `… && co_await …` here
  if (!offered_.all()->require(text)) settled = co_await settle_new(text, context, time);
  const auto catalog = offered_.all();
  auto found = catalog->require(text);
  if (!found && settled) co_return co_await find_tool(std::move(text), std::move(time), std::move(context));
  if (!found) {
    auto error = with_changes(std::move(found).error(), text, *before);
    throw meant.empty() ? with_failures(std::move(error)) : error;
  }
  co_return Entry(catalog, *found);
}

PermissionDecision Host::Impl::decide(const CatalogEntry& entry, const ServerConfig& server,
                                      const Payload& arguments) const {
  if (!permissions_.look_at_arguments()) return permissions_.decide(entry, Json(), {});
  return permissions_.decide(entry, argument_value(arguments),
                             argument_directory(server, directory_, context_->variables),
                             argument_roots(server, directory_, context_->variables));
}

Error Host::Impl::denied(const CatalogEntry& entry, const PermissionDecision& decision) const {
  runtime_.log.for_server(entry.server)(LogLevel::info, "call_denied", "tool", entry.name, "reason", decision.reason);
  return denial(entry.name, decision);
}

Error Host::Impl::refused_unasked(const CatalogEntry& entry, const PermissionDecision& decision) const {
  runtime_.log.for_server(entry.server)(LogLevel::info, "call_denied", "tool", entry.name, "reason", decision.reason);
  return Error(Errc::denied,
               fmt::format("\"{}\" was not called: the user would have to be asked ({})", entry.name, decision.reason));
}

void Host::Impl::coerce(const Target& target, const CallOptions& options, Prepared& call) const {
  if (!options.coerce_arguments || !options.check_arguments || !target.input) return;
  coerce_arguments(*target.input, runtime_.limits.schema_steps, call.arguments, call.coerced);
  if (call.coerced.empty() || !runtime_.log.enabled(LogLevel::info)) return;
  std::vector<std::string> places;
  for (const auto& [path, from, to] : call.coerced) places.push_back(fmt::format("{} {} to {}", path, from, to));
  runtime_.log.for_server(target.entry->server)(LogLevel::info, "arguments_coerced", "tool", target.entry->name,
                                                "places", fmt::format("{}", fmt::join(places, ", ")));
}

bool Host::Impl::prepare_now(std::string_view tool, const CallOptions& options, Prepared& call) {
  check_running();
  if (unprepared_) return false;
  auto target = target_now(tool);
  if (!target || target->hooks || target->waits) return false;
  const auto& connection = *target->connection;
  const auto* session = connection.session();
  if (session == nullptr) return false;
  coerce(*target, options, call);
  const auto decided =
      target->decision ? std::nullopt : std::optional(decide(*target->entry, connection.config(), call.arguments));
  const auto& decision = decided ? *decided : *target->decision;
  if (decision.outcome == PermissionOutcome::deny) throw denied(*target->entry, decision);
  if (decision.outcome == PermissionOutcome::ask) {
    if (options.refuse_asking) throw refused_unasked(*target->entry, decision);
    if (options_.permission.ask) return false;
  }
  call.use.emplace(*target->connection);
  call.session = *session;
  call.target = std::move(target);
  return true;
}

Task<void> Host::Impl::prepare_call(std::string tool, CallOptions options, std::shared_ptr<CallClock> time,
                                    Prepared& call) {
  co_await prepare();
  // The limit of an entry counts from the beginning when only that entry can be meant.
  auto limit_by = [&](const Connection& connection) {
    const auto limit = call_limit(connection.config());
    if (!options.total && limit) time->set_total(as_duration(*limit));
  };
  const auto meant = servers_meant(tool);
  if (meant.size() == 1) {
    call.server = meant.front()->name();
    limit_by(*meant.front());
  }
  const auto given = call.arguments;
  for (;;) {
    // Hooks of a round before have changed them for what the name meant then.
    call.arguments = given;
    call.coerced.clear();
    CallContext context{
        .method = std::string(method::call_tool), .principal = options.principal, .call_id = options.call_id};
    auto entry = co_await find_tool(tool, time, context);
    call.server = entry->server;
    context.server = call.server;
    context.tool = entry->tool->name;
    if (co_await settle_change(entry, context, time)) continue;
    auto input = co_await inputs_.prepare(entry->tool);
    check_running();
    call.target = add_target(tool, std::move(entry), std::move(input));
    if (!call.target) (void)require(call.server);  // which says that it is gone
    const auto connection = call.target->connection;
    limit_by(*connection);
    coerce(*call.target, options, call);
    const bool hooked = call.target->hooks || call.for_hook;
    co_await (hooked ? permit_hooked(call, options, context, time) : permit(call, options, context, time));
    auto session = co_await as_result(connection->ensure(time, context));
    check_running();
    // Whoever was asked meant the server of that name; if it is another one by now, that decides.
    if (session && !is_current(*connection)) continue;
    // It may have listed something else while somebody was asked, or when it came back.
    if (session && pins_->waiting(call.server, context.tool) != nullptr) continue;
    if (session) {
      // From here on an edited entry does not cut it off.
      call.use.emplace(*connection);
      call.session = std::move(*session);
      co_return;
    }
    // One that was replaced meanwhile is not the server of that name any more: what it is now decides.
    if (session.error().code() != Errc::closed || is_current(*connection)) throw std::move(session).error();
  }
}

Task<void> Host::Impl::permit(const Prepared& call, const CallOptions& options, CallContext context,
                              std::shared_ptr<CallClock> time) {
  const auto& entry = *call.target->entry;
  const auto& config = call.target->connection->config();
  auto decision = decide(entry, config, call.arguments);
  if (decision.outcome == PermissionOutcome::ask && options.refuse_asking) throw refused_unasked(entry, decision);
  if (decision.outcome == PermissionOutcome::ask && options_.permission.ask) {
    {
      const CallClock::Stop asking(time);
      if (!co_await ask_person({entry, call.arguments, decision, std::move(context)})) {
        throw Error(Errc::denied, fmt::format("\"{}\" was not called: the answer to the question was no ({})",
                                              entry.name, decision.reason));
      }
    }
    // Rules may have changed while the user thought about it.
    decision = decide(entry, config, call.arguments);
  }
  if (decision.outcome == PermissionOutcome::deny) throw denied(entry, decision);
}

Error Host::Impl::with_changes(Error error, std::string_view text, const Catalog& before) {
  const auto known = before.find(text);
  const auto* const* entry = std::get_if<const CatalogEntry*>(&known);
  if (!entry) return error;
  const auto& server = (*entry)->server;
  const auto names = [&server](const Catalog& catalog) {
    std::set<std::string> out;
    for (const auto& one : catalog.tools()) {
      if (one.server == server) out.insert(one.tool->name);
    }
    return out;
  };
  return error.with_message(
      fmt::format("{} ({})", error.message(), changed_tools(server, names(before), names(*offered_.all()))));
}

Error Host::Impl::with_failures(Error error) const {
  std::vector<std::string> failed;
  std::optional<Remedy> approve;
  for (const auto& [name, connection] : connections_) {
    auto status = connection->status();
    if (status.state == ServerState::connected || status.state == ServerState::disabled) continue;
    const auto refused = refused_whole(name);
    const auto remedy = status.error ? status.error->remedy() : std::nullopt;
    if (!approve && remedy && remedy->kind == Remedy::Kind::approve_server) approve = remedy;
    const bool told =
        events_->wanted() && status.state != ServerState::pending && !(recorder_ && recorder_->holds_back(name));
    failed.push_back(told ? fmt::format("\"{}\"", name)
                          : fmt::format("\"{}\": {}", name,
                                        status.error ? without_name(name, status.error->message())
                                        : refused    ? refused->reason
                                                     : std::string(to_string(status.reason))));
  }
  if (failed.empty()) return error;
  const auto which = fmt::format(" (not connected: {})", fmt::join(failed, "; "));
  auto original = error.original().with_message(error.original().message() + which);
  error = error.with_message(error.message() + which).with_original(std::move(original));
  return approve ? std::move(error).with_remedy(*approve) : error;
}

Task<void> Host::Impl::note(ServerConfig config, std::optional<Error> error) const {
  keep_recording(config, error);
  const auto& path = options_.failure_memory;
  if (path.empty() || (error && !is_failure_of_server(error->code()))) co_return;
  const auto key = failure_key(config);
  if (!error && !recall_failure(path, key)) co_return;
  const auto now = std::chrono::floor<std::chrono::seconds>(loop_clock(co_await asio::this_coro::executor).wall());
  std::optional<KnownFailure> known;
  if (error) {
    known = failure_of(config, context_->variables, context_->environment, *error, doing_, now);
  }
  auto write = [path, key, known, now] { return remember_failure(path, key, known, now); };
  auto written = co_await offload(Pool::quick, std::move(write));
  if (!written) runtime_.log(LogLevel::debug, "failure_not_kept", "text", written.error().message());
}

bool Host::Impl::is_noted(const ServerConfig& config) const {
  return !options_.failure_memory.empty() && config.standing == ServerStanding::active &&
         config.origin.scope != ConfigScope::embedded && !reached_.contains(config.name);
}

void Host::Impl::keep_recording(const ServerConfig& config, const std::optional<Error>& error) const {
  // Who wants a sign-in has not failed.
  if (!flight_ || !error || !is_failure_of_server(error->code()) || error->code() == Errc::unauthorized) return;
  if (config.origin.scope == ConfigScope::embedded || reached_.contains(config.name)) return;
  flight_->failed(config, *error);
}

Task<void> Host::Impl::note_call(std::shared_ptr<Connection> connection, std::optional<Error> error) {
  const auto& config = connection->config();
  if (!is_noted(config)) {
    keep_recording(config, error);
    co_return;
  }
  if (error && !is_failure_of_server(error->code())) co_return;
  if (!error && failed_calls_.erase(config.name) == 0) co_return;
  if (error) failed_calls_.insert(config.name);
  (void)co_await as_result(note(config, std::move(error)));
}

// The slow way of a call: what it needs is not at hand. Gives its result where the tool is the one to sign in by.
Task<std::optional<CallToolResult>> Host::Impl::prepare_or_sign_in(std::shared_ptr<Impl> impl, const std::string& tool,
                                                                   CallOptions& options, Prepared& call) {
  // A server that needs a sign-in is not connected, so its tool for that is never ready at once.
  auto server = impl->sign_in_meant(tool);
  if (!server.empty()) co_return co_await sign_in_by_tool(impl, std::move(server));
  co_await prepare_in_time(*impl, tool, options, call);
  co_return std::nullopt;
}

// Within the time of the call, of which it leaves the rest in the options.
Task<void> Host::Impl::prepare_in_time(Impl& impl, const std::string& tool, CallOptions& options, Prepared& call) {
  const auto time = std::make_shared<CallClock>(loop_clock(co_await asio::this_coro::executor),
                                                as_duration(options.total.value_or(impl.runtime_.limits.tool)));
  auto prepared = co_await as_result(unless(impl.prepare_call(tool, options, time, call), CallClock::over(time), [&] {
    return fmt::format("\"{}\" was not called: the limit of {} ms for the call was reached while {}", tool,
                       std::chrono::duration_cast<std::chrono::milliseconds>(time->total()).count(),
                       call.server.empty() ? std::string("the servers that may have it were starting")
                                           : fmt::format("server \"{}\" was starting", call.server));
  }));
  if (!prepared && prepared.error().code() == Errc::timeout && time->left() == Duration::zero()) {
    throw std::move(prepared).error().with_remedy({Remedy::Kind::give_more_time, call.server});
  }
  value_or_throw(std::move(prepared));
  options.total = std::chrono::ceil<std::chrono::milliseconds>(time->left());
}

// Not a part of the coroutine that awaits it: that would keep what is passed on by value for as long as it waits, and a
// small coroutine is a cheap one.
[[gnu::noinline]] Task<CallToolResult> Host::Impl::send(Prepared& call, CallOptions& options) const {
  const auto& target = *call.target;
  if (!options.total && target.limit) options.total = target.limit;
  // Who gives a server more time for a call gives it more time to be silent as well.
  if (!options.idle && idle_limit_) options.idle = std::max(*idle_limit_, target.limit.value_or(0ms));
  return call.session.call_tool(target.entry->tool->name, std::move(call.arguments), std::move(options));
}

Task<CallToolResult> Host::Impl::call(std::shared_ptr<Impl> impl, std::string tool, Payload arguments,
                                      CallOptions options) {
  auto so_far = CarriedOut::no;  // for what fails around the call itself
  try {
    Prepared call;
    call.arguments = std::move(arguments);
    if (options.call_id == 0) options.call_id = ++*impl->runtime_.calls;
    if (impl->results_.may_be_named_in(call.arguments))
      co_await impl->insert_results(call.arguments, options.principal);
    if (!impl->prepare_now(tool, options, call)) {
      auto signed_in = co_await prepare_or_sign_in(impl, tool, options, call);
      if (signed_in) co_return std::move(*signed_in);
    }
    const auto& target = *call.target;
    std::optional<Error> failed;
    try {
      auto result = co_await (target.hooks ? impl->send_hooked(call, options) : impl->send(call, options));
      so_far = CarriedOut::unknown;
      if (impl->is_noted(target.connection->config())) co_await impl->note_call(target.connection, std::nullopt);
      if (!call.coerced.empty()) result.coerced = std::move(call.coerced);
      co_return result;
    } catch (...) {
      failed = error_from(std::current_exception());
    }
    so_far = failed->carried_out().value_or(CarriedOut::unknown);
    failed = error_of_call(target.entry->server, target.entry->tool->name, *failed);
    if (failed->code() != Errc::cancelled) co_await impl->note_call(target.connection, failed);
    throw std::move(*failed);
  } catch (...) {
    auto error = error_from(std::current_exception());
    throw error.carried_out() ? error : std::move(error).with_carried_out(so_far);
  }
}

Task<CallToolResult> Host::call(std::string tool, Payload arguments, CallOptions options) {
  return Impl::call(impl_, std::move(tool), std::move(arguments), std::move(options));
}

Task<void> Host::Impl::run_in_background(std::shared_ptr<Impl> impl, std::string tool, Payload arguments,
                                         CallOptions options, BackgroundCalls::Ending ending) {
  auto result = co_await as_result(call(impl, std::move(tool), std::move(arguments), std::move(options)));
  if (!result && impl->stopped_ && result.error().code() == Errc::cancelled) {
    // That was our way to end it.
    const auto whether = result.error().carried_out().value_or(CarriedOut::unknown);
    result = std::unexpected(Error(Errc::closed, "the host was stopped").with_carried_out(whether));
  }
  ending.set(std::move(result));
}

Task<BackgroundCall> Host::start_call(std::string tool, Payload arguments, CallOptions options) {
  auto impl = impl_;
  co_await impl->prepare();
  impl->check_running();
  if (options.call_id == 0) options.call_id = ++*impl->runtime_.calls;
  auto [started, ending] = impl->background_.add(tool, options, impl->runtime_.limits.background_calls);
  started.set_running(impl->scope_->spawn(
      Impl::run_in_background(impl, std::move(tool), std::move(arguments), std::move(options), std::move(ending))));
  co_return started.call();
}

std::vector<BackgroundCall> Host::background_calls() const { return impl_->background_.kept(); }

Task<CatalogEntry> Host::find_tool(std::string tool) {
  auto impl = impl_;
  co_return *co_await impl->find_tool(std::move(tool));
}

Task<PermissionDecision> Host::decide(std::string tool, Payload arguments) {
  auto impl = impl_;
  auto entry = co_await impl->find_tool(std::move(tool));
  if (impl->results_.may_be_named_in(arguments)) co_await impl->insert_results(arguments, {});
  const auto input = co_await impl->inputs_.prepare(entry->tool);
  impl->check_running();
  std::vector<CoercedArgument> coerced;
  if (input) coerce_arguments(*input, impl->runtime_.limits.schema_steps, arguments, coerced);
  co_return impl->decide(*entry, impl->require(entry->server)->config(), arguments);
}

}  // namespace patchbay
