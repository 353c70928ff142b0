#include "server/legacy_front.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/as_result.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "server/context.h"
#include "server/requests.h"

namespace patchbay {
namespace {

using asio::experimental::awaitable_operators::operator||;

std::string random_id(const Random& random) {
  std::array<std::uint8_t, 16> bytes;
  random(bytes);
  return base64url_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// A question as a request of ours, answered in its own time. `meta` goes along. Whoever keeps this may await it
// when the connection is gone.
Task<InputResponse> send_question(std::shared_ptr<const PeerLink> link, InputRequest question, Json meta,
                                  std::optional<RequestId> about) {
  auto& peer = link->required();
  const auto& runtime = link->runtime;
  const auto method = method_of(question);
  PeerCall call;
  call.id = peer.reserve_id();
  call.method = method;
  call.about = std::move(about);
  auto with_meta = [&](Json own) {
    for (const auto& [key, value] : meta.members()) own[key] = value;
    return own;
  };
  // A person or a model may take as long as the call itself may; a list of roots may not.
  if (auto* roots = std::get_if<ListRootsRequest>(&question)) {
    call.total = runtime.limits.request;
    roots->meta = with_meta(std::move(roots->meta));
    if (roots->meta.size() > 0) call.params = encode(*roots);
  } else if (auto* elicit = std::get_if<ElicitRequest>(&question)) {
    if (elicit->mode == ElicitRequest::Mode::url && !elicit->elicitation_id) {
      elicit->elicitation_id = random_id(runtime.random);
    }
    elicit->meta = with_meta(std::move(elicit->meta));
    call.params = encode(*elicit);
  } else {
    auto& sample = std::get<CreateMessageRequest>(question);
    sample.meta = with_meta(std::move(sample.meta));
    call.params = encode(sample);
  }
  auto answer = co_await peer.ask(std::move(call));
  if (!answer) {
    // The client's refusal is no error of the request it sent: without its code, a tool
    // that does not handle it reports it to the model.
    if (!answer.error().rpc_code()) throw std::move(answer).error();
    throw Error(Errc::rpc, fmt::format("the client refused {}: {}", method, answer.error().message()));
  }
  auto decoded = decode_answer(question, std::move(*answer).take(), runtime.limits.schema_steps);
  if (!decoded) throw decoded.error().within(fmt::format("the client's answer to {}", method));
  co_return std::move(*decoded);
}

class LegacyContext final : public Context {
 public:
  LegacyContext(std::shared_ptr<PeerLink> link, Caller caller, const Wire& wire,
                std::shared_ptr<const LoggingLevel> level)
      : Context(std::move(link), std::move(caller)), wire_(wire), level_(std::move(level)) {}

 protected:
  std::optional<LoggingLevel> log_level() const override { return *level_; }
  bool tasks_talk() const noexcept override { return true; }

  void require(const InputRequest& question) override {
    const auto method = method_of(question);
    if (!wire_.has_server_request(method) || !missing_capability(client_capabilities(), question).is_null()) {
      throw Error(Errc::unsupported, fmt::format("the client does not support {}", method));
    }
  }
  Task<InputResponse> ask_client(InputRequest question, std::string) override {
    require(question);
    (void)link()->required();
    return send_question(link(), std::move(question), {}, request());
  }

 private:
  const Wire& wire_;
  std::shared_ptr<const LoggingLevel> level_;  // the session's: it may change during the call
};

// Clients of these revisions reject a whole answer over a member of an unexpected kind.
void fit_result(std::string_view method, Json& result) {
  if (method == method::call_tool) {
    if (const Json* structured = result.find("structuredContent"); structured && !structured->is_object()) {
      result.as_object().erase("structuredContent");
    }
  } else if (method == method::list_tools) {
    for (Json& tool : result["tools"].as_array()) {
      const Json* schema = tool.find("outputSchema");
      if (schema && (*schema)["type"] != Json("object")) tool.as_object().erase("outputSchema");
    }
  }
}

}  // namespace

LegacyFront::LegacyFront(std::shared_ptr<ServerCore> core, std::shared_ptr<PeerLink> link, Peer& peer,
                         const Runtime& runtime)
    : core_(std::move(core)),
      link_(std::move(link)),
      peer_(peer),
      runtime_(runtime),
      log_level_(std::make_shared<LoggingLevel>(LoggingLevel::info)),
      session_(random_id(runtime.random)) {}

Json LegacyFront::initialize(Json params) {
  if (wire_) throw Error::rpc(rpc_code::invalid_request, "the session is already initialized");
  auto request = params_or_throw(decode<InitializeRequest>(std::move(params)));
  const Wire* wire = find_wire(request.protocol_version);
  if (!wire || wire->era() != Era::legacy) wire = find_wire(legacy_versions().front());
  wire_ = wire;
  client_ = std::move(request.client_info);
  capabilities_ = std::move(request.capabilities);
  declared_ = wire_->offered(core_->capabilities());
  peer_.channel().set_protocol_version(wire_->version());
  return encode(InitializeResult{.protocol_version = std::string(wire_->version()),
                                 .capabilities = declared_,
                                 .server_info = core_->options.info,
                                 .instructions = core_->options.instructions,
                                 .meta = {},
                                 .extra = {}});
}

void LegacyFront::set_log_level(Json params) {
  *log_level_ = params_or_throw(decode<SetLevelRequest>(std::move(params))).level;
}

void LegacyFront::subscribe(std::string_view method, Json params) {
  auto request = params_or_throw(decode<ResourceUri>(std::move(params)));
  if (method == method::unsubscribe) {
    subscriptions_.erase(request.uri);
    return;
  }
  if (subscriptions_.size() >= runtime_.limits.items && !subscriptions_.contains(request.uri)) {
    throw invalid_params(
        fmt::format("you have {} subscriptions, which is the limit; end some of them", runtime_.limits.items));
  }
  subscriptions_.insert(std::move(request.uri));
}

Task<Json> LegacyFront::handle(RequestId id, std::string method, Json params) {
  if (method == method::initialize) co_return initialize(std::move(params));
  if (method == method::ping) co_return Json::object();
  if (!wire_->has_request(method) || !core_->offers(method)) throw method_not_found(method);
  if (method == method::set_log_level) {
    set_log_level(std::move(params));
    co_return Json::object();
  }
  if (method == method::subscribe || method == method::unsubscribe) {
    subscribe(method, std::move(params));
    co_return Json::object();
  }
  if (method == method::list_tasks) co_return list_tasks(std::move(params));
  if (method == method::get_task) {
    co_return wire_->write_task(named_task(*core_->legacy_tasks, params, link_->principal)->state());
  }
  if (method == method::cancel_task) {
    auto task = named_task(*core_->legacy_tasks, params, link_->principal);
    if (!task->cancel("cancelled by the client")) {
      throw invalid_params(fmt::format("the task is already {}", to_string(task->task().status)));
    }
    co_return wire_->write_task(task->state());
  }
  if (method == method::task_result)
    co_return co_await task_result(named_task(*core_->legacy_tasks, params, link_->principal), std::move(id));

  auto meta = params_or_throw(read_meta(params));
  auto context = std::make_shared<LegacyContext>(
      link_, Caller{client_, capabilities_, std::move(meta.progress_token), std::move(id)}, *wire_, log_level_);
  Json result;
  if (method == method::call_tool) {
    result = co_await call_tool(std::move(params), context);
  } else {
    result = co_await serve_method(core_, *wire_, *context, method, std::move(params));
  }
  fit_result(method, result);
  co_return wire_->complete(method, std::move(result), core_->options.info, {});
}

Task<Json> LegacyFront::call_tool(Json params, std::shared_ptr<Context> context) {
  // A wish for tasks where none are declared is no wish.
  auto wish = params_or_throw(wire_->task_wish(params));
  if (!declared_.tasks) wish.reset();
  auto call = read_tool_call(*core_, std::move(params));
  const auto support = task_support_of(call.entry->item);
  if (wish && support == TaskSupport::forbidden) {
    throw Error::rpc(rpc_code::method_not_found,
                     fmt::format("the tool \"{}\" cannot run as a task", call.entry->item.name));
  }
  if (!wish && declared_.tasks && support == TaskSupport::required) {
    throw Error::rpc(rpc_code::method_not_found,
                     fmt::format("the tool \"{}\" can only run as a task", call.entry->item.name));
  }
  if (!wish) co_return co_await run_tool(std::move(call), *context);
  auto run = co_await run_as_task(core_->legacy_tasks, *wire_, std::move(call), context, *wish,
                                  {link_->principal, session_}, true);
  co_return wire_->task_created(run->created, core_->options.info);
}

Json LegacyFront::list_tasks(Json params) {
  const auto request = params_or_throw(decode<ListRequest>(std::move(params)));
  // In the order of their ids, which is as good as any and stays the same between two pages.
  const std::string after = request.cursor ? params_or_throw(base64url_decode(*request.cursor)) : std::string();
  Json listed = Json::array();
  std::optional<std::string> last;
  for (const auto& task : core_->legacy_tasks->of_session(session_)) {
    if (task->task().id <= after) continue;
    if (listed.size() == core_->options.page_size) {
      return Json{{"tasks", std::move(listed)}, {"nextCursor", base64url_encode(*last)}};
    }
    listed.push_back(wire_->write_task(task->state()));
    last = task->task().id;
  }
  return Json{{"tasks", std::move(listed)}};
}

Task<void> until_ended(std::shared_ptr<StoredTask> task) {
  while (!task->ended()) co_await task->changed.wait();
}

// The answer of the call itself, once there is one. Until then this request is the way on
// which the task's questions reach the client.
Task<Json> LegacyFront::task_result(std::shared_ptr<StoredTask> task, RequestId id) {
  const Json tag = related_task_meta(task->task().id);
  while (!task->ended()) {
    auto question = task->unsent_question();
    if (!question) {
      co_await task->changed.wait();
      continue;
    }
    // Given up by the client, the question may go out with its next request for the result.
    struct Sending {
      explicit Sending(std::shared_ptr<StoredTask::Question> q) : question(std::move(q)) { question->sent = true; }
      Sending(const Sending&) = delete;
      Sending& operator=(const Sending&) = delete;
      ~Sending() { question->sent = false; }
      std::shared_ptr<StoredTask::Question> question;
    } sending(question);
    // A task that ends meanwhile takes its question back.
    auto raced = co_await (as_result(send_question(link_, question->request, tag, id)) || until_ended(task));
    if (raced.index() == 1) break;
    auto& answer = std::get<0>(raced);
    if (!answer && (answer.error().code() == Errc::cancelled || answer.error().code() == Errc::closed)) {
      throw std::move(answer).error();
    }
    (void)task->answer(question->key, std::move(answer));
  }
  const auto& outcome = task->outcome();
  if (!outcome)
    throw invalid_params(fmt::format("the task was cancelled: {}", task->task().status_message.value_or("")));
  if (!*outcome) throw Error(outcome->error());
  Json result = **outcome;
  fit_result(method::call_tool, result);
  for (const auto& [key, value] : tag.as_object()) result["_meta"][key] = value;
  co_return result;
}

void LegacyFront::on_notification(std::string_view method) {
  if (method == method::initialized && wire_) initialized_ = true;
}

void LegacyFront::on_change(const Change& change) {
  if (!initialized_) return;
  switch (change.kind) {
    case Change::Kind::tools:
      if (declared_.tools) (void)peer_.notify(method::tools_changed, {});
      break;
    case Change::Kind::prompts:
      if (declared_.prompts) (void)peer_.notify(method::prompts_changed, {});
      break;
    case Change::Kind::resources:
      if (declared_.resources) (void)peer_.notify(method::resources_changed, {});
      break;
    case Change::Kind::resource_updated:
      if (std::ranges::any_of(subscriptions_, [&](const auto& uri) { return concerns(uri, change.uri); })) {
        (void)peer_.notify(method::resource_updated, Json{{"uri", change.uri}});
      }
      break;
    case Change::Kind::task:
      if (auto task = core_->legacy_tasks->find(change.uri, link_->principal);
          task && task->owner().session == session_) {
        (void)peer_.notify(method::task_status, wire_->write_task(task->state()));
      }
      break;
    case Change::Kind::roots:
      break;
  }
}

}  // namespace patchbay
