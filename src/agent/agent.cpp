#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <patchbay/agent.h>

#include "agent/agent_impl.h"
#include "agent/connect_tool.h"
#include "agent/definition_files.h"
#include "agent/own_tools.h"
#include "agent/system_text.h"
#include "base/limits.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "host/hooks/agent_hooks.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// Numbers of calls are the Host's as well, and other agents use it: ours begin far from theirs.
std::uint64_t first_call() {
  std::uint64_t random = 0;
  std::uint8_t bytes[4] = {};
  system_random()(bytes);
  for (const auto byte : bytes) random = random << 8 | byte;
  return (random | 1) << 20;
}

// One of a sub-agent that needs more is not kept any further.
constexpr ConversationLimits limits_of_subs{.file = 64u << 20, .record = 16u << 20, .records = 20'000};

// Models that a conversation was held with, and may come back to.
constexpr std::size_t most_beginnings = 8;

ModelToolsOptions for_model(ModelToolsOptions options, const ModelInfo& info) {
  options.api = info.api;
  options.context_tokens = info.context_tokens;
  return options;
}

// What somebody waits for, and who sees to it that there is an outcome.
template <class T>
struct Outcome {
  std::optional<Result<T>> result;
  Event ended;
};

template <class T, class Free>
struct Guard {
  Guard(std::shared_ptr<Outcome<T>> o, Free f) : outcome(std::move(o)), free(std::move(f)) {}
  Guard(Guard&& other) noexcept : outcome(std::move(other.outcome)), free(std::move(other.free)) {}
  ~Guard() {
    if (!outcome) return;
    free();
    if (!outcome->result) outcome->result = std::unexpected(Error(Errc::closed, "the agent was stopped"));
    outcome->ended.notify_all();
  }
  std::shared_ptr<Outcome<T>> outcome;
  Free free;
};

template <class T, class Free>
Task<void> perform(Guard<T, Free> guard, Task<T> work) {
  guard.outcome->result = co_await as_result(std::move(work));
}

Task<bool> as_bool(Task<void> work) {
  co_await std::move(work);
  co_return true;
}

}  // namespace

Agent::Impl::Impl(Host& host, std::shared_ptr<Model> model, AgentOptions options)
    : host_(host),
      model_(std::move(model)),
      options_(std::move(options)),
      model_tools_(host, for_model(visible(options_.model_tools), model_->info())),
      servers_begun_(!options_.start_servers),
      next_call_(first_call()),
      offer_(growth()) {}

// Resources and skills of what it does not see are not there for it either.
ModelToolsOptions Agent::Impl::visible(ModelToolsOptions options) {
  options.sees_server = [self = self_, theirs = std::move(options.sees_server)](const std::string& server) {
    return *self && (*self)->sees_server(server) && (!theirs || theirs(server));
  };
  return options;
}

void Agent::Impl::report(AgentEvent event) const noexcept {
  if (!options_.on_event) return;
  try {
    options_.on_event(event);
  } catch (...) {
    // Whoever shows things is no part of what happens.
  }
}

void Agent::Impl::heard(const HostEvent& event) {
  model_tools_.heard(event);
  if (sub_agents_) sub_agents_->heard(event);
}

bool Agent::Impl::sees_server(const std::string& server) const {
  if (sub_agents_ && sub_agents_->owns_server(server)) return false;
  return !options_.sees_server || options_.sees_server(server);
}

const std::string& Agent::Impl::id() const noexcept { return conversation_ ? conversation_->id() : no_id_; }
const ModelMessages& Agent::Impl::messages() const noexcept {
  return conversation_ ? conversation_->messages() : no_messages_;
}
const ModelUsage& Agent::Impl::usage() const noexcept { return conversation_ ? conversation_->usage() : no_usage_; }

// ---- begin and stop

Task<void> Agent::Impl::begin(Self self) {
  auto turn = co_await self->beginning_.acquire();
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  if (self->begun_) co_return;
  const auto executor = co_await asio::this_coro::executor;
  if (!self->scope_) {
    self->scope_.emplace(executor);
    self->apart_.emplace(executor);
    self->clock_ = &loop_clock(executor);
  }
  if (self->options_.directory.empty()) {
    std::error_code ignored;
    self->options_.directory = std::filesystem::current_path(ignored).string();
  }
  ConversationOptions options;
  options.state_directory = self->options_.state_directory;
  options.directory = self->options_.directory;
  options.folder = self->options_.kept_in;
  if (!options.folder.empty()) options.limits = limits_of_subs;
  options.model = self->model_->info().provider + ":" + self->model_->info().model;
  options.on_trouble = [weak = std::weak_ptr(self)](std::string text) {
    if (const auto impl = weak.lock()) impl->lost_file(std::move(text));
  };
  std::unique_ptr<Conversation> conversation;
  if (self->options_.resume.empty()) {
    conversation = Conversation::make(std::move(options));
  } else {
    conversation = co_await Conversation::open(std::move(options), self->options_.resume);
  }
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  co_await self->apart_->run(as_bool(self->model_tools_.begin()));
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  auto file = co_await conversation->path();
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  self->conversation_ = std::move(conversation);
  self->file_ = std::move(file);
  self->handles_ = self->conversation_->handles();
  co_await add_tools(self);
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  // Behind it nothing can fail any more.
  if (self->options_.principal.empty()) {
    self->host_.set_conversation(self->conversation_->id());
    tell_hooks_of_conversation(self->host_, self->conversation_->id(), self->transcript());
  }
  self->begun_ = true;
  if (self->options_.channels && self->options_.principal.empty()) self->listening_ = self->scope_->spawn(listen(self));
}

const std::string& Agent::Impl::transcript() const noexcept {
  return conversation_ && conversation_->is_kept() ? file_ : no_id_;
}

void Agent::Impl::lost_file(std::string why) {
  if (begun_ && hooks_are_told_of(host_, id())) tell_hooks_of_conversation(host_, id(), {});
  notice(std::move(why));
}

Task<void> Agent::Impl::add_tools(Self self) {
  self->own_tools_ = self->options_.tools;
  self->own_tools_.push_back(result_read_tool(self->host_));
  self->own_tools_.push_back(sleep_tool([weak = std::weak_ptr(self)](std::chrono::milliseconds time) -> Task<bool> {
    const auto impl = weak.lock();
    if (!impl) throw Error(Errc::closed, "the agent was stopped");
    return wait_for_message(impl, time);
  }));
  const std::weak_ptr weak(self);
  if (self->options_.connect_tool) {
    ConnectOptions connect{.approve = self->options_.approve_server};
    connect.hidden = [weak](const std::string& server) {
      const auto impl = weak.lock();
      return !impl || !impl->sees_server(server);
    };
    self->own_tools_.push_back(connect_tool(self->host_, std::move(connect)));
  }
  if (!self->options_.sub_agents) co_return;
  auto found = co_await offload(Pool::slow, [config = self->host_.config()] { return find_definitions(config); });
  for (const auto& problem : found.problems) {
    if (problem.severity != Severity::note) self->notice(clean_line(problem.text()));
  }
  SubAgentsOptions sub;
  sub.definitions = std::move(found.definitions);
  sub.parent = self->options_;
  sub.model = [weak] {
    const auto impl = weak.lock();
    return impl ? impl->model_ : nullptr;
  };
  sub.mode = [weak] {
    const auto impl = weak.lock();
    return impl ? impl->options_.mode : AgentMode::plan;
  };
  sub.tell = [weak](AgentEvent event) {
    if (const auto impl = weak.lock()) impl->report(std::move(event));
  };
  if (self->conversation_->is_kept()) {
    sub.folder = [weak]() -> Task<std::string> {
      const auto impl = weak.lock();
      co_return impl ? co_await impl->conversation_->sub_folder() : std::string();
    };
    sub.known = [weak] {
      const auto impl = weak.lock();
      return impl ? impl->conversation_->subs() : std::vector<SubConversation>();
    };
    sub.keep = [weak](SubConversation one) -> Task<void> {
      if (const auto impl = weak.lock()) co_await impl->conversation_->add_sub(std::move(one));
    };
  }
  sub.add_usage = [weak](ModelUsage usage) -> Task<void> {
    if (const auto impl = weak.lock()) co_await impl->conversation_->add_usage(std::move(usage));
  };
  self->sub_agents_ = std::make_unique<SubAgents>(self->host_, std::move(sub));
  self->own_tools_.push_back(self->sub_agents_->tool());
}

Task<void> Agent::Impl::stop(Self self) {
  if (!self->close_.begin()) {
    co_await self->close_.finished();
    co_return;
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  self->stopped_ = true;
  self->end_turn(Ending::stopped);
  self->told_event_.notify_all();
  if (self->apart_) self->apart_->end(Error(Errc::closed, "the agent was stopped"));
  self->listening_.cancel();
  self->idle_reminder_.cancel();
  if (self->scope_) (void)co_await as_result(self->scope_->join());
  co_await end_session(self);
  if (self->begun_ && hooks_are_told_of(self->host_, self->id())) tell_hooks_of_conversation(self->host_, {}, {});
  (void)co_await as_result(self->model_tools_.stop());
  if (self->sub_agents_) (void)co_await as_result(self->sub_agents_->ended());
  // What the program gave us gets a moment to notice: what it uses may go with us.
  if (self->apart_) (void)co_await as_result(self->apart_->wait_ended(as_duration(Limits().exit_after_eof)));
  co_await asio::this_coro::throw_if_cancelled(throws);
  self->close_.finish();
}

void Agent::Impl::abandon() {
  stopped_ = true;
  end_turn(Ending::stopped);
  told_event_.notify_all();
  if (apart_) apart_->end(Error(Errc::closed, "the agent was stopped"));
  if (scope_) scope_->cancel();
}

// ---- one thing at a time

template <class T>
Task<T> Agent::Impl::alone(Self self, Task<T> work) {
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
  if (self->busy_) throw Error(Errc::invalid_argument, "the agent is still at work on something else");
  self->busy_ = true;
  self->idle_reminder_.cancel();
  self->ending_ = Ending::none;
  auto outcome = std::make_shared<Outcome<T>>();
  auto free = [self] {
    self->busy_ = false;
    self->idle_.notify_all();
    if (!self->told_.empty()) self->told_event_.notify_all();
  };
  self->scope_->start(perform(Guard(outcome, std::move(free)), std::move(work)));
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!outcome->result) {
    const auto waited = co_await as_result(outcome->ended.wait());
    if (!waited && !outcome->result) self->end_turn(Ending::cancelled);
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return value_or_throw(std::move(*outcome->result));
}

// The first reason counts, but nothing goes on after stop().
void Agent::Impl::end_turn(Ending why) {
  if (!busy_) return;
  if (ending_ == Ending::none || why == Ending::stopped) ending_ = why;
  if (apart_) apart_->fail(why_ended());
}

Error Agent::Impl::why_ended() const {
  switch (ending_) {
    case Ending::interrupted:
      return {Errc::cancelled, "interrupted by the person"};
    case Ending::stopped:
      return {Errc::closed, "the agent was stopped"};
    case Ending::none:
    case Ending::cancelled:
      break;
  }
  return {Errc::cancelled, "cancelled"};
}

Task<AgentAnswer> Agent::Impl::send(Self self, AgentInput input) {
  co_await begin(self);
  const bool nothing = input.text.empty() && input.images.empty();
  if (nothing && self->told_.empty() && self->conversation_->deferred().empty()) {
    throw Error(Errc::invalid_argument, "there is nothing to send");
  }
  auto answer = co_await alone(self, turn(self, std::move(input)));
  const bool waits_for_person = self->options_.principal.empty() && !self->stopped_ && !self->busy_;
  if (waits_for_person) self->idle_reminder_ = self->scope_->spawn(remind_of_idleness(self));
  co_return answer;
}

Task<void> Agent::Impl::compact(Self self) {
  co_await begin(self);
  (void)co_await alone(self, shorten(self, true, Wanted::by_person));
}

void Agent::Impl::interrupt() {
  if (calls_under_way_ == 0 || call_interrupted_) return interrupt_turn();
  call_interrupted_ = true;
  apart_->fail(Error(Errc::cancelled, "interrupted by the person"));
}

void Agent::Impl::interrupt_turn() { end_turn(Ending::interrupted); }

// ---- messages from elsewhere

namespace {

constexpr std::size_t most_told = 256;
constexpr std::size_t longest_told = 256u << 10;
// Of messages of channels; the others stay in their inbox.
constexpr std::size_t most_listened = 64;
constexpr std::size_t most_listened_bytes = 128u << 10;

}  // namespace

void Agent::Impl::tell(std::string text) {
  if (stopped_ || text.empty()) return;
  if (told_.size() >= most_told) {
    notice(fmt::format("a message was dropped: {} others wait to be given to the model", told_.size()));
    return;
  }
  if (text.size() > longest_told) text = std::string(cut_utf8(text, longest_told)) + "… [cut]";
  told_.push_back({std::move(text)});
  told_event_.notify_all();
}

bool Agent::Impl::has_told_enough() const noexcept {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const auto& one : told_) {
    if (one.message.empty()) continue;
    ++count;
    bytes += one.text.size();
  }
  return count >= most_listened || bytes >= most_listened_bytes;
}

Task<void> Agent::Impl::listen(Self self) {
  for (;;) {
    auto messages = co_await as_result(self->host_.next_channel_messages());
    if (!messages || self->stopped_) co_return;  // nobody is there any more
    for (auto& message : *messages) self->told_.push_back({std::move(message.text), std::move(message.id)});
    self->told_event_.notify_all();
    while (self->has_told_enough()) {
      if (!co_await as_result(self->told_taken_.wait())) co_return;
    }
  }
}

Task<void> Agent::Impl::told(Self self) {
  // While calls are put off, the person has to go on: asking the hook again and again would not help.
  const auto waits = [&] {
    return self->busy_ || self->told_.empty() || (self->conversation_ && !self->conversation_->deferred().empty());
  };
  while (!self->stopped_ && waits()) co_await self->told_event_.wait();
  if (self->stopped_) throw Error(Errc::closed, "the agent was stopped");
}

Task<bool> Agent::Impl::wait_for_message(Self self, std::chrono::milliseconds time) {
  if (!self->told_.empty()) co_return true;
  const auto woken = co_await as_result(with_timeout(self->told_event_.wait(), as_duration(time), "nothing was told"));
  if (!woken && woken.error().code() != Errc::timeout) throw woken.error();
  co_return woken.has_value();
}

// ---- what it is set to

void Agent::Impl::set_mode(AgentMode mode) {
  options_.mode = mode;
  if (sub_agents_) sub_agents_->set_mode(mode);
}

void Agent::Impl::set_model(std::shared_ptr<Model> model) {
  const auto name = [](const ModelInfo& info) { return fmt::format("{}:{}", info.provider, info.model); };
  // One whose news are in no message yet was not asked: it begins anew.
  if (offer_.is_frozen() && news_.text.empty()) {
    beginnings_.push_back({name(model_->info()), offer_, system_, begun_in_plan_});
  }
  model_ = std::move(model);
  model_tools_.set_model(model_->info().api, model_->info().context_tokens);
  const auto found = std::ranges::find(beginnings_, name(model_->info()), &Beginning::model);
  std::optional<Beginning> before;
  if (found != beginnings_.end()) {
    before = std::move(*found);
    beginnings_.erase(found);
  }
  if (beginnings_.size() > most_beginnings) beginnings_.erase(beginnings_.begin());
  if (before && before->offer.growth() == growth()) {
    before->offer.take_up(told_tools(messages()), offer_);
    offer_ = std::move(before->offer);
    system_ = std::move(before->system);
    begun_in_plan_ = before->in_plan;
    // Others may have been told of it since.
    told_plan_ = told_plan_mode(messages()).value_or(begun_in_plan_);
    found_.clear();
  } else {
    offer_ = offer_.anew(growth());
  }
  last_usage_ = {};
  now_of_ = nullptr;
}

AgentContext Agent::Impl::context() {
  AgentContext out;
  out.limit = model_->info().context_tokens;
  if (!begun_) return out;
  const bool frozen = offer_.is_frozen();
  const auto& now = tools_now();
  const ToolPool& pool = frozen ? *offer_.pool() : now.pool;
  out.system = system_.size() / 4;
  std::size_t tools = 0;
  std::map<std::string, AgentContext::ServerTools> servers;
  const auto server_of = [&](const ModelTool& tool) {
    const auto known = now.servers_of.find(tool.catalog_name);
    return known == now.servers_of.end() ? std::string() : known->second;
  };
  for (const auto& tool : pool.tools) {
    const auto tokens = (tool.name.size() + tool.description.size() + to_text(*tool.input_schema).size()) / 4;
    servers[server_of(tool)].tools.emplace_back(tool.name, tokens);
    tools += tokens;
  }
  for (const auto& tool : now.searchable.tools) ++servers[server_of(tool)].deferred;
  for (auto& [name, server] : servers) {
    server.server = name;
    out.tools.push_back(std::move(server));
  }
  const auto all = tokens_now();
  out.messages = all - std::min(all, out.system + tools);
  return out;
}

// ---- the face

Agent::Agent(Host& host, std::shared_ptr<Model> model, AgentOptions options)
    : impl_(std::make_shared<Impl>(host, std::move(model), std::move(options))) {}
Agent::~Agent() { impl_->abandon(); }
void Agent::heard(const HostEvent& event) { impl_->heard(event); }
Task<void> Agent::begin() { return Impl::begin(impl_); }
Task<void> Agent::stop() { return Impl::stop(impl_); }
Task<AgentAnswer> Agent::send(AgentInput input) { return Impl::send(impl_, std::move(input)); }
void Agent::interrupt() { impl_->interrupt(); }
void Agent::interrupt_turn() { impl_->interrupt_turn(); }
void Agent::tell(std::string text) { impl_->tell(std::move(text)); }
Task<void> Agent::told() { return Impl::told(impl_); }
bool Agent::is_busy() const noexcept { return impl_->busy(); }
const std::string& Agent::id() const noexcept { return impl_->id(); }
const ModelMessages& Agent::messages() const noexcept { return impl_->messages(); }
const ModelUsage& Agent::usage() const noexcept { return impl_->usage(); }
AgentContext Agent::context() const { return impl_->context(); }
AgentMode Agent::mode() const noexcept { return impl_->mode(); }
void Agent::set_mode(AgentMode mode) { impl_->set_mode(mode); }
void Agent::set_model(std::shared_ptr<Model> model) { impl_->set_model(std::move(model)); }
const Model& Agent::model() const noexcept { return impl_->model(); }
ModelTools& Agent::model_tools() noexcept { return impl_->model_tools(); }
Task<void> Agent::compact() { return Impl::compact(impl_); }

}  // namespace patchbay
