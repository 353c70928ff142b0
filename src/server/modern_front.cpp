#include "server/modern_front.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "base/as_result.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "server/context.h"
#include "server/request_state.h"
#include "server/requests.h"

namespace patchbay {
namespace {

// The only results that may ask something.
constexpr std::array may_ask{method::call_tool, method::read_resource, method::get_prompt};

// Leaves a handler whose question has no answer yet. No Error, so that a handler that
// deals with errors does not take it for one.
struct AnswerMissing {};

class ModernContext final : public Context {
 public:
  ModernContext(std::shared_ptr<PeerLink> link, Caller caller, std::optional<LoggingLevel> level, bool asks)
      : Context(std::move(link), std::move(caller)), level_(level), asks_(asks) {}

  // Answers given in earlier rounds, which stay as they are, and in this one.
  void add_earlier(std::vector<std::pair<std::string, Json>> answers) { earlier_ = std::move(answers); }
  void add_new(std::vector<std::pair<std::string, Json>> answers) { new_ = std::move(answers); }

  // What the run left behind. A handler cannot go on without an answer, so an open
  // question outweighs whatever it returned.
  const std::optional<Error>& malformed() const noexcept { return malformed_; }
  std::vector<std::pair<std::string, InputRequest>>& questions() noexcept { return questions_; }
  std::vector<std::pair<std::string, Json>>& used() noexcept { return used_; }

  Error refine(Error error) const override {
    if (error.code() == Errc::unsupported && !missing_.is_null()) return missing_capability_error(missing_);
    return error;
  }

 protected:
  std::optional<LoggingLevel> log_level() const override { return level_; }
  bool tasks_talk() const noexcept override { return false; }

  void require(const InputRequest& question) override {
    if (!asks_)
      throw Error(Errc::unsupported, "the client can be asked only during tools/call, resources/read and prompts/get");
    if (auto missing = missing_capability(client_capabilities(), question); !missing.is_null()) {
      missing_ = std::move(missing);
      throw Error(Errc::unsupported, fmt::format("the client does not support {}", method_of(question)));
    }
  }

  Task<InputResponse> ask_client(InputRequest question, std::string name) override {
    if (!name.empty()) return answer(std::move(name), std::move(question));
    // Named by kind and order: a handler that runs again asks the same under the same name.
    static constexpr std::array names{"elicitation", "sampling", "roots"};
    auto key = fmt::format("{}-{}", names[question.index()], ++asked_[question.index()]);
    return answer(std::move(key), std::move(question));
  }

 private:
  Task<InputResponse> answer(std::string key, InputRequest question) {
    require(question);
    const Json* given = find(earlier_, key);
    if (!given) given = find(new_, key);
    if (!given) {
      questions_.emplace_back(std::move(key), std::move(question));
      throw AnswerMissing();
    }
    auto decoded = decode_answer(question, *given, schema_steps());
    if (!decoded) {
      malformed_ = invalid_params(fmt::format("inputResponses.{}: {}", key, decoded.error().message()));
      throw Error(*malformed_);
    }
    used_.emplace_back(std::move(key), *given);
    co_return std::move(*decoded);
  }

  static const Json* find(const std::vector<std::pair<std::string, Json>>& answers, const std::string& key) {
    auto found = std::ranges::find(answers, key, [](const auto& answer) -> const std::string& { return answer.first; });
    return found == answers.end() ? nullptr : &found->second;
  }

  std::optional<LoggingLevel> level_;
  bool asks_;
  std::vector<std::pair<std::string, Json>> earlier_;
  std::vector<std::pair<std::string, Json>> new_;
  std::array<int, 3> asked_{};
  std::vector<std::pair<std::string, Json>> used_;
  std::vector<std::pair<std::string, InputRequest>> questions_;
  std::optional<Error> malformed_;
  Json missing_;
};

bool wants(const SubscriptionFilter& filter, const Change& change) {
  switch (change.kind) {
    case Change::Kind::tools:
      return filter.tools_list_changed;
    case Change::Kind::prompts:
      return filter.prompts_list_changed;
    case Change::Kind::resources:
      return filter.resources_list_changed;
    case Change::Kind::resource_updated:
      return std::ranges::any_of(filter.resource_subscriptions,
                                 [&](const auto& uri) { return concerns(uri, change.uri); });
    case Change::Kind::task:
      return std::ranges::find(filter.task_ids, change.uri) != filter.task_ids.end();
    case Change::Kind::roots:
      return false;
  }
  return false;
}

}  // namespace

struct ModernFront::Subscription {
  Subscription(ModernFront& f, const Wire& w, Json i, SubscriptionFilter s)
      : front(f), wire(w), id(std::move(i)), filter(std::move(s)) {
    front.subscriptions_.push_back(this);
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription() {
    front.subscriptions_.remove(this);
    front.ended_.notify_all();
  }
  ModernFront& front;
  const Wire& wire;
  Json id;
  SubscriptionFilter filter;
};

std::int64_t ModernFront::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(peer_.clock().wall().time_since_epoch()).count();
}

Task<Json> ModernFront::handle(RequestId id, std::string method, Json params) {
  auto meta = params_or_throw(read_meta(params));
  if (!meta.client_capabilities) throw invalid_params("_meta has no io.modelcontextprotocol/clientCapabilities");
  const Wire* wire = find_wire(*meta.protocol_version);
  if (!wire || wire->era() != Era::modern) throw unsupported_version_error(*meta.protocol_version, modern_versions());
  if (!wire->has_request(method) || !core_->offers(method)) throw method_not_found(method);

  const auto& options = core_->options;
  if (method.starts_with("tasks/")) {
    if (!declares_tasks(*meta.client_capabilities)) throw missing_capability_error(tasks_capability());
    co_return about_task(*wire, method, params);
  }
  if (method == method::listen) co_return co_await listen(*wire, std::move(id), meta, std::move(params));
  if (method == method::discover) {
    ServerDescription description;
    description.info = options.info;
    description.capabilities = wire->offered(core_->capabilities());
    description.instructions = options.instructions;
    co_return wire->complete(method, discover_result(description, modern_versions()), options.info, options.cache);
  }
  co_return co_await run(*wire, std::move(id), std::move(meta), std::move(method), std::move(params));
}

Json ModernFront::about_task(const Wire& wire, std::string_view method, const Json& params) {
  const auto& info = core_->options.info;
  auto task = named_task(*core_->modern_tasks, params, link_->principal);
  if (method == method::get_task) return wire.complete(method, wire.write_task(task->state()), info, {});
  if (method == method::cancel_task) {
    // What has ended stays as it is.
    (void)task->cancel("cancelled by the client");
    return wire.complete(method, Json::object(), info, {});
  }
  auto carried = params_or_throw(read_carried_input(params));
  std::vector<std::pair<std::string, InputResponse>> answers;
  for (auto& [key, answer] : carried.answers) {
    const auto* question = task->find_question(key);
    if (!question) continue;  // answered before, or never asked
    auto decoded = decode_answer(question->request, std::move(answer), runtime_.limits.schema_steps);
    if (!decoded) throw invalid_params(fmt::format("inputResponses.{}: {}", key, decoded.error().message()));
    answers.emplace_back(key, std::move(*decoded));
  }
  for (auto& [key, answer] : answers) (void)task->answer(key, std::move(answer));
  return wire.complete(method, Json::object(), info, {});
}

Task<Json> ModernFront::run(const Wire& wire, RequestId id, ReceivedMeta meta, std::string method, Json params) {
  const auto& options = core_->options;
  const bool asks = std::ranges::find(may_ask, method) != may_ask.end();
  const bool takes_tasks = declares_tasks(*meta.client_capabilities);
  // Shared with what a call becomes when it becomes a task.
  auto shared_context =
      std::make_shared<ModernContext>(link_,
                                      Caller{std::move(meta.client_info), std::move(*meta.client_capabilities),
                                             std::move(meta.progress_token), std::move(id)},
                                      meta.log_level, asks);
  auto& context = *shared_context;
  Json own;  // the params without what differs from round to round
  if (asks) {
    auto carried = params_or_throw(read_carried_input(params));
    auto& object = params.as_object();
    object.erase("inputResponses");
    object.erase("requestState");
    own = params;
    own.as_object().erase("_meta");
    if (carried.state) {
      context.add_earlier(
          params_or_throw(open_state(core_->sealer, *carried.state, {method, own, link_->principal}, now_ms()))
              .answers);
    }
    context.add_new(std::move(carried.answers));
  }

  Result<Json> outcome;
  auto support = TaskSupport::forbidden;
  std::optional<ToolCall> call;
  if (method == method::call_tool) {
    call = read_tool_call(*core_, std::move(params));
    support = task_support_of(call->entry->item);
    if (support == TaskSupport::required && !takes_tasks) throw missing_capability_error(tasks_capability());
  }
  if (takes_tasks && support != TaskSupport::forbidden) {
    const bool at_once = call->entry->handler.options.task_start == TaskStart::at_once;
    auto run = co_await run_as_task(core_->modern_tasks, wire, std::move(*call), shared_context, {},
                                    {link_->principal, {}}, at_once);
    if (run->task) co_return wire.task_created(run->created, options.info);
    outcome = std::move(*run->outcome);
  } else if (call) {
    outcome = co_await as_result(run_tool(std::move(*call), context));
  } else {
    outcome = co_await as_result(serve_method(core_, wire, context, method, std::move(params)));
  }
  if (!outcome && outcome.error().code() == Errc::cancelled) throw std::move(outcome).error();
  if (context.malformed()) throw Error(*context.malformed());
  if (!context.questions().empty()) {
    RequestState state{now_ms() + options.request_state_seconds * 1000, std::move(context.used())};
    InputRequired input;
    input.requests = std::move(context.questions());
    input.state = seal_state(core_->sealer, state, {method, own, link_->principal});
    co_return wire.needs_input(input, options.info);
  }
  if (!outcome) throw context.refine(std::move(outcome).error());
  if (method == method::list_tools) {
    // The older era's word; here the server decides and need not say.
    for (Json& tool : (*outcome)["tools"].as_array()) tool.as_object().erase("execution");
  }
  const CacheHints unsaid{.ttl_ms = 0, .scope = CacheScope::personal};
  co_return wire.complete(method, std::move(*outcome), options.info,
                          method == method::read_resource ? unsaid : options.cache);
}

Task<Json> ModernFront::listen(const Wire& wire, RequestId id, const ReceivedMeta& meta, Json params) {
  const Json* wanted = params.find("notifications");
  if (!wanted) throw invalid_params("notifications: expected an object, found nothing");
  auto filter = params_or_throw(decode<SubscriptionFilter>(*wanted, "notifications"));
  if (filter.resource_subscriptions.size() > runtime_.limits.items) {
    throw invalid_params(
        fmt::format("the subscription names too many resources; the limit is {}", runtime_.limits.items));
  }
  if (core_->tasks_offered && !filter.task_ids.empty() && !declares_tasks(*meta.client_capabilities)) {
    throw missing_capability_error(tasks_capability());
  }
  if (filter.task_ids.size() > runtime_.limits.items) {
    throw invalid_params(fmt::format("the subscription names too many tasks; the limit is {}", runtime_.limits.items));
  }
  // What this server will never send is not acknowledged.
  std::erase_if(filter.task_ids, [&](const auto& task) { return !core_->modern_tasks->find(task, link_->principal); });
  filter.extra = {};
  filter.tools_list_changed &= core_->tools.ever_used();
  filter.prompts_list_changed &= core_->prompts.ever_used();
  filter.resources_list_changed &= core_->offers_resources();
  if (!core_->offers_resources()) filter.resource_subscriptions.clear();

  const Json tag = subscription_meta(to_json(id));
  if (auto sent = peer_.notify(method::listen_acknowledged, Json{{"notifications", encode(filter)}, {"_meta", tag}});
      !sent) {
    throw std::move(sent).error();
  }
  Subscription subscription(*this, wire, to_json(id), std::move(filter));
  while (!ending_) co_await end_.wait();
  co_return wire.complete(method::listen, Json{{"_meta", tag}}, core_->options.info, {});
}

void ModernFront::on_change(const Change& change) {
  const auto task =
      change.kind == Change::Kind::task ? core_->modern_tasks->find(change.uri, link_->principal) : nullptr;
  if (change.kind == Change::Kind::task && !task) return;
  for (const auto* subscription : subscriptions_) {
    if (!wants(subscription->filter, change)) continue;
    Json params = task ? subscription->wire.write_task(task->state()) : Json::object();
    if (change.kind == Change::Kind::resource_updated) params["uri"] = change.uri;
    params["_meta"] = subscription_meta(subscription->id);
    (void)peer_.notify(notification_of(change.kind), std::move(params));
  }
}

Task<void> ModernFront::end_subscriptions() {
  ending_ = true;
  std::vector<Json> ids;
  for (const auto* subscription : subscriptions_) ids.push_back(subscription->id);
  end_.notify_all();
  while (!subscriptions_.empty()) co_await ended_.wait();
  // After the final answer, for clients that only know this sign.
  for (auto& id : ids) (void)peer_.notify(method::cancelled, Json{{"requestId", std::move(id)}});
}

}  // namespace patchbay
