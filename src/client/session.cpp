// The typed methods: each builds members, sends them by client/exchange and decodes.
#include <patchbay/session.h>

#include "base/as_result.h"
#include "client/exchange.h"
#include "client/listing.h"
#include "client/remote_tasks.h"
#include "client/session_owner.h"
#include "client/skills.h"
#include "client/watch.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

// The last handle to go closes what nobody closed.
struct Session::Holder {
  std::shared_ptr<SessionOwner> owner;
  explicit Holder(std::shared_ptr<SessionOwner> o) : owner(std::move(o)) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { owner->close_behind(); }
};

namespace {

// Whether the arguments fit what the tool said of them when it was listed.
Task<void> check_before(const Runtime& runtime, std::shared_ptr<ListedTool> listed, Payload arguments,
                        const CallOptions& options) {
  if (!listed->ready()) co_await ListedTool::prepare(listed, runtime);
  if (!options.check_arguments) co_return;
  if (ListedTool::is_large(arguments)) {
    co_await ListedTool::check_large_arguments(listed, arguments, runtime);
  } else {
    listed->check_arguments(arguments, runtime);
  }
}

// Arguments that are null are none, for whoever looks at them afterwards too.
Members call_members(const std::string& name, Payload& arguments) {
  Members members;
  members.reserve(2);
  members.emplace_back("name", Json(name));
  if (!arguments) return members;
  const auto text = arguments.text();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '{') {
    members.emplace_back("arguments", arguments);
  } else if (text == "null") {
    arguments = {};
  } else {
    throw Error(Errc::invalid_argument, "the arguments of a tool must be a JSON object");
  }
  return members;
}

// The call itself, up to its answer or the task it became.
Task<Exchanged> begin_call(SessionOwner& owner, std::string name, Members members, TaskUse use,
                           std::optional<std::chrono::milliseconds> ttl, RequestSettings settings) {
  settings.tasks = use != TaskUse::avoid;
  if (!settings.tasks || !owner.wire().asks_for_tasks(owner.server()->capabilities)) {
    co_return co_await exchange(owner, method::call_tool, std::move(members), std::move(settings));
  }
  if (use == TaskUse::prefer && !owner.lists().knows_tasks()) {
    co_await in_time(method::call_tool, settings, owner.relist_tools());
  }
  const auto support = owner.lists().task_support(name);
  Members as_task = members;
  owner.wire().add_task_wish(as_task, {ttl ? std::optional<std::int64_t>(ttl->count()) : std::nullopt});
  const bool wanted =
      support && (*support == TaskSupport::required || (*support == TaskSupport::optional && use == TaskUse::prefer));
  auto sent = co_await as_result(exchange(owner, method::call_tool, wanted ? as_task : std::move(members), settings));
  if (sent) co_return std::move(*sent);
  // A tool that nobody listed may run as a task only, and says so by refusing.
  const auto code = sent.error().rpc_code();
  if (support || (code != rpc_code::method_not_found && code != rpc_code::invalid_request)) {
    throw std::move(sent).error();
  }
  auto learned = co_await as_result(in_time(method::call_tool, settings, owner.relist_tools()));
  if (!learned || owner.lists().task_support(name) != TaskSupport::required) throw std::move(sent).error();
  co_return co_await exchange(owner, method::call_tool, std::move(as_task), std::move(settings));
}

}  // namespace

Session SessionAccess::make(std::shared_ptr<SessionOwner> owner) {
  Session session;
  session.holder_ = std::make_shared<Session::Holder>(std::move(owner));
  return session;
}

Task<void> SessionAccess::take_over(Session older, Session newer) {
  co_await newer.holder_->owner->take_over(older.holder_->owner);
}
bool SessionAccess::is_watched(const Session& session) { return session.holder_->owner->watches().any_held(); }
Task<void> SessionAccess::wait_unused(Session session) { co_await session.holder_->owner->wait_unused(); }
std::optional<LoggingLevel> SessionAccess::log_level(const Session& session) {
  return session.holder_->owner->log_level();
}
Result<void> SessionAccess::notify(const Session& session, std::string_view method, Payload params) {
  if (session.closed()) return fail(Errc::closed, "the connection is closed");
  return session.holder_->owner->peer()->notify(method, std::move(params));
}

ServerDescription Session::server() const { return *holder_->owner->server(); }
bool Session::is_legacy() const noexcept { return holder_->owner->wire().era() == Era::legacy; }
bool Session::closed() const noexcept { return !holder_ || holder_->owner->closed(); }
std::string Session::diagnostics() const { return holder_->owner->peer()->channel().diagnostics(); }

Task<Listing<Tool>> Session::list_tools(CallOptions options) {
  auto owner = holder_->owner;
  auto [listing, generation] = co_await list_whole<Tool>(*owner, {method::list_tools}, "tools", std::move(options));
  owner->note_routing(listing.items, listing.problems, true);
  owner->lists().note_tools(listing.items, generation);
  co_return std::move(listing);
}
Task<Listing<Resource>> Session::list_resources(CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await list_all<Resource>(*owner, {method::list_resources}, "resources", std::move(options));
}
Task<Listing<ResourceTemplate>> Session::list_resource_templates(CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await list_all<ResourceTemplate>(*owner, {method::list_resource_templates}, "resourceTemplates",
                                                std::move(options));
}
Task<Listing<Prompt>> Session::list_prompts(CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await list_all<Prompt>(*owner, {method::list_prompts}, "prompts", std::move(options));
}

Task<Page<Tool>> Session::list_tools_page(std::optional<std::string> cursor, CallOptions options) {
  auto owner = holder_->owner;
  auto settings = settings_for(options, owner->runtime().limits.list);
  const Tagged tagged(*owner, settings, method::list_tools, {}, options);
  auto result = co_await page_of(*owner, {method::list_tools}, std::move(cursor), std::move(settings));
  auto page = decoded_or_throw(method::list_tools, decode_page<Tool>(std::move(result).take(), "tools"));
  owner->note_routing(page.items, page.problems, false);
  owner->lists().tools().add(page.items);
  co_return page;
}

namespace {

// What call_tool needs beside waiting. Apart from it, because a coroutine keeps what it passes on by value and what
// functions that became a part of it need; a small one is a cheap one.

[[gnu::noinline]] Task<Exchanged> send_call(SessionOwner& owner, const std::string& name, Members members,
                                            const CallOptions& options, const RequestSettings& settings,
                                            CallToolResult& plain) {
  if (settings.tasks && owner.wire().asks_for_tasks(owner.server()->capabilities)) {
    return begin_call(owner, name, std::move(members), options.task, options.task_ttl, settings);
  }
  return exchange(owner, method::call_tool, std::move(members), settings, nullptr, &plain);
}

Task<void> read_result_of(std::shared_ptr<SessionOwner> owner, RemoteTask task, FollowTask how, CallToolResult& out) {
  out = value_or_throw(decode<CallToolResult>(co_await follow_task(owner, std::move(task), std::move(how))));
}

[[gnu::noinline]] Task<void> follow(const std::shared_ptr<SessionOwner>& owner, Exchanged& exchanged,
                                    RequestSettings& settings, CallOptions& options, CallToolResult& out) {
  FollowTask how{.settings = std::move(settings), .on_task = std::move(options.on_task)};
  how.peer = std::move(exchanged.peer);
  how.progress = std::move(exchanged.progress);
  return read_result_of(owner, std::move(*exchanged.task), std::move(how), out);
}

[[gnu::noinline]] void read_result(Json& answer, CallToolResult& out) {
  out = value_or_throw(decode<CallToolResult>(std::move(answer)));
}

}  // namespace

Task<CallToolResult> Session::call_tool(std::string name, Payload arguments, CallOptions options) {
  auto owner = holder_->owner;
  // What fails says whether the call was carried out. Nothing was sent yet; what has an answer may have been.
  auto so_far = CarriedOut::no;
  try {
    auto members = call_members(name, arguments);
    auto listed = options.check_arguments || options.check_result ? owner->lists().tools().find(name) : nullptr;
    if (listed) {
      // The usual case without a coroutine of its own.
      if (listed->ready() && !ListedTool::is_large(arguments)) {
        if (options.check_arguments) listed->check_arguments(arguments, owner->runtime());
      } else {
        co_await check_before(owner->runtime(), listed, arguments, options);
      }
    }
    auto settings = settings_for(options, owner->runtime().limits.tool);
    const Tagged tagged(*owner, settings, method::call_tool, name, options);
    settings.tasks = options.task != TaskUse::avoid;
    CallToolResult decoded;
    auto exchanged = co_await send_call(*owner, name, std::move(members), options, settings, decoded);
    so_far = CarriedOut::unknown;
    if (exchanged.task) {
      co_await follow(owner, exchanged, settings, options, decoded);
    } else if (!exchanged.answer.is_null()) {
      read_result(exchanged.answer, decoded);
    }
    if (listed && options.check_result) listed->check_result(decoded, owner->runtime());
    co_return decoded;
  } catch (...) {
    throw error_of_exchange(method::call_tool, so_far, error_from(std::current_exception()));
  }
}

Task<StartedTool> Session::start_tool(std::string name, Payload arguments, CallOptions options) {
  auto owner = holder_->owner;
  auto so_far = CarriedOut::no;
  try {
    auto members = call_members(name, arguments);
    auto listed = owner->lists().tools().find(name);
    if (listed) co_await check_before(owner->runtime(), listed, arguments, options);
    auto settings = settings_for(options, owner->runtime().limits.tool);
    const Tagged tagged(*owner, settings, method::call_tool, name, options);
    auto exchanged =
        co_await begin_call(*owner, name, std::move(members), TaskUse::prefer, options.task_ttl, std::move(settings));
    so_far = CarriedOut::unknown;
    if (exchanged.task) co_return std::move(*exchanged.task);
    auto result = value_or_throw(decode<CallToolResult>(std::move(exchanged.answer)));
    if (listed && options.check_result) listed->check_result(result, owner->runtime());
    co_return result;
  } catch (...) {
    throw error_of_exchange(method::call_tool, so_far, error_from(std::current_exception()));
  }
}

Task<CallToolResult> Session::await_task(std::string id, CallOptions options) {
  auto owner = holder_->owner;
  FollowTask how{.settings = settings_for(options, owner->runtime().limits.tool),
                 .on_task = std::move(options.on_task),
                 .cancel_when_left = false,
                 .look_first = true};
  const Tagged tagged(*owner, how.settings, method::get_task, {}, options);
  RemoteTask task;
  task.id = std::move(id);
  auto result = co_await follow_task(owner, std::move(task), std::move(how));
  co_return value_or_throw(decode<CallToolResult>(std::move(result)));
}

Task<RemoteTask> Session::get_task(std::string id) {
  auto owner = holder_->owner;
  RequestSettings settings;
  settings.total = owner->runtime().limits.request;
  auto state = co_await look_at_task(*owner, std::move(id), std::move(settings));
  co_return std::move(state.task);
}

Task<Listing<RemoteTask>> Session::list_tasks(CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await list_all<RemoteTask>(*owner, {method::list_tasks}, "tasks", std::move(options));
}

Task<void> Session::cancel_task(std::string id) {
  auto owner = holder_->owner;
  co_await cancel_remote_task(*owner, std::move(id));
}

Task<ReadResourceResult> Session::read_resource(std::string uri, CallOptions options) {
  auto owner = holder_->owner;
  Members members;
  members.emplace_back("uri", Json(uri));
  auto settings = settings_for(options, owner->runtime().limits.request);
  const Tagged tagged(*owner, settings, method::read_resource, {}, options);
  auto result =
      co_await cached_request(*owner, method::read_resource, std::move(members), std::move(uri), std::move(settings));
  co_return value_or_throw(decode<ReadResourceResult>(std::move(result).take()));
}

Task<Listing<Skill>> Session::list_skills(CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await patchbay::list_skills(*owner, std::move(options));
}
Task<Skill> Session::get_skill(std::string uri, CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await patchbay::get_skill(*owner, std::move(uri), std::move(options));
}
Task<ResourceContents> Session::read_skill(Skill skill, std::string file, CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await patchbay::read_skill(*owner, std::move(skill), std::move(file), std::move(options));
}
Task<Listing<Resource>> Session::read_directory(std::string uri, CallOptions options) {
  auto owner = holder_->owner;
  co_return co_await patchbay::read_directory(*owner, std::move(uri), std::move(options));
}

Task<GetPromptResult> Session::get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                          CallOptions options) {
  auto owner = holder_->owner;
  Members members;
  members.emplace_back("name", Json(std::move(name)));
  if (!arguments.empty()) {
    Json object = Json::object();
    for (auto& [key, value] : arguments) object[key] = std::move(value);
    members.emplace_back("arguments", std::move(object));
  }
  auto settings = settings_for(options, owner->runtime().limits.request);
  const Tagged tagged(*owner, settings, method::get_prompt, {}, options);
  auto result = co_await request(*owner, method::get_prompt, std::move(members), std::move(settings));
  co_return value_or_throw(decode<GetPromptResult>(std::move(result)));
}

Task<CompleteResult> Session::complete(CompleteRequest request, CallOptions options) {
  auto owner = holder_->owner;
  Members members;
  const Json encoded = encode(request);
  for (const auto& [key, value] : encoded.as_object()) members.emplace_back(key, value);
  auto settings = settings_for(options, owner->runtime().limits.request);
  const Tagged tagged(*owner, settings, method::complete, {}, options);
  auto result = co_await patchbay::request(*owner, method::complete, std::move(members), std::move(settings));
  co_return decoded_or_throw(method::complete, decode<CompleteResult>(std::move(result)));
}

Task<void> Session::set_log_level(LoggingLevel level) {
  auto owner = holder_->owner;
  co_await choose_log_level(*owner, level);
}

Task<void> Session::ping(CallOptions options) {
  auto owner = holder_->owner;
  auto settings = settings_for(options, owner->runtime().limits.request);
  const auto cheapest = owner->wire().has_request(method::ping) ? method::ping : method::discover;
  const Tagged tagged(*owner, settings, cheapest, {}, options);
  co_await request(*owner, cheapest, {}, std::move(settings));
}

Task<Watch> Session::watch(SubscriptionFilter filter) {
  Watch watch;
  watch.state_ = co_await open_watch(holder_->owner, std::move(filter));
  co_return watch;
}

void Session::roots_changed() {
  auto& owner = *holder_->owner;
  if (owner.options().roots && owner.wire().has_server_request(method::list_roots)) {
    (void)owner.peer()->notify(method::roots_changed, {});
  }
}

Task<void> Session::close() {
  auto owner = holder_->owner;
  co_await owner->close(CloseMode::graceful);
}
Task<void> Session::close_quickly() {
  auto owner = holder_->owner;
  co_await owner->close(CloseMode::quick);
}

}  // namespace patchbay
