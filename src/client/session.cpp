// The typed methods: each builds members, sends them through the core and decodes.
#include <set>

#include <patchbay/session.h>

#include "base/as_result.h"
#include "client/session_core.h"
#include "client/watch.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {

// The last handle to go closes what nobody closed: the closing coroutine keeps the core
// alive until the connection has ended.
struct Session::Holder {
  std::shared_ptr<SessionCore> core;
  explicit Holder(std::shared_ptr<SessionCore> c) : core(std::move(c)) {}
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    if (core->closing) return;
    core->closing = true;
    Scope ending(core->executor);
    ending.spawn_last(
        [](std::shared_ptr<SessionCore> keep) -> Task<void> { co_await keep->close(CloseMode::quick); }(core));
  }
};

namespace {

// One page. The key tells the first page from the one after an empty cursor, which is legal.
Task<Json> page_of(SessionCore& core, std::string_view method, std::optional<std::string> cursor) {
  Members members;
  if (cursor) members.emplace_back("cursor", Json(*cursor));
  RequestSettings settings;
  settings.total = core.runtime.limits.list;
  co_return co_await core.cached_request(method, std::move(members), cursor ? *cursor + "+" : "", std::move(settings));
}

// Follows the cursors of one list within its bounds.
template <class T>
Task<Listing<T>> list_all(SessionCore& core, std::string_view method, std::string_view key) {
  const auto& limits = core.runtime.limits;
  Listing<T> listing;
  std::set<std::string> seen;
  std::optional<std::string> cursor;
  bool restarted = false;
  for (std::size_t pages = 0;; ++pages) {
    if (pages == limits.pages) {
      listing.cut = fmt::format("the server sent more than {} pages", limits.pages);
      break;
    }
    auto result = co_await as_result(page_of(core, method, cursor));
    if (!result) {
      // The server may have forgotten a cursor that came out of our cache: begin again, once.
      if (!cursor || restarted || result.error().rpc_code() != rpc_code::invalid_params) {
        throw std::move(result).error();
      }
      restarted = true;
      core.cache.drop(method);
      listing = {};
      seen.clear();
      cursor.reset();
      continue;
    }
    auto page = value_or_throw(decode_page<T>(std::move(*result), key));
    for (auto& problem : page.problems) {
      if (listing.problems.size() == limits.items) break;
      listing.problems.push_back(std::move(problem));
    }
    for (auto& item : page.items) {
      if (listing.items.size() == limits.items) {
        listing.cut = fmt::format("the server listed more than {} items", limits.items);
        break;
      }
      listing.items.push_back(std::move(item));
    }
    if (listing.cut || !page.next_cursor) break;
    cursor = std::move(page.next_cursor);
    if (cursor->size() > limits.cursor) {
      listing.cut = fmt::format("the server sent a cursor of {} bytes", cursor->size());
      break;
    }
    if (!seen.insert(*cursor).second) {
      listing.cut = "the server repeated a cursor";
      break;
    }
  }
  if (listing.cut) core.runtime.log(LogLevel::warning, "event=list_cut method={} reason=\"{}\"", method, *listing.cut);
  co_return listing;
}

}  // namespace

Session::Session(std::shared_ptr<SessionCore> core) : holder_(std::make_shared<Holder>(std::move(core))) {}

const ServerDescription& Session::server() const noexcept { return holder_->core->server; }
bool Session::is_legacy() const noexcept { return holder_->core->wire->era() == Era::legacy; }
bool Session::closed() const noexcept { return !holder_ || holder_->core->peer->closed(); }
std::string Session::diagnostics() const { return holder_->core->peer->channel().diagnostics(); }

Task<Listing<Tool>> Session::list_tools() {
  auto core = holder_->core;
  co_return co_await list_all<Tool>(*core, method::list_tools, "tools");
}
Task<Listing<Resource>> Session::list_resources() {
  auto core = holder_->core;
  co_return co_await list_all<Resource>(*core, method::list_resources, "resources");
}
Task<Listing<ResourceTemplate>> Session::list_resource_templates() {
  auto core = holder_->core;
  co_return co_await list_all<ResourceTemplate>(*core, method::list_resource_templates, "resourceTemplates");
}
Task<Listing<Prompt>> Session::list_prompts() {
  auto core = holder_->core;
  co_return co_await list_all<Prompt>(*core, method::list_prompts, "prompts");
}

Task<Page<Tool>> Session::list_tools_page(std::optional<std::string> cursor) {
  auto core = holder_->core;
  auto result = co_await page_of(*core, method::list_tools, std::move(cursor));
  co_return value_or_throw(decode_page<Tool>(std::move(result), "tools"));
}

Task<CallToolResult> Session::call_tool(std::string name, Payload arguments, CallOptions options) {
  auto core = holder_->core;
  Members members;
  members.emplace_back("name", Json(std::move(name)));
  if (arguments) {
    const auto text = arguments.text();
    if (text.empty() || text.find_first_not_of(" \t\r\n") == text.npos ||
        text[text.find_first_not_of(" \t\r\n")] != '{') {
      if (text != "null") throw Error(Errc::invalid_argument, "the arguments of a tool are a JSON object");
    } else {
      members.emplace_back("arguments", std::move(arguments));
    }
  }
  auto settings = core->settings_for(options, core->runtime.limits.tool);
  CallToolResult plain;
  auto result = co_await core->request(method::call_tool, std::move(members), std::move(settings), nullptr, &plain);
  if (result.is_null()) co_return plain;
  co_return value_or_throw(decode<CallToolResult>(std::move(result)));
}

Task<ReadResourceResult> Session::read_resource(std::string uri, CallOptions options) {
  auto core = holder_->core;
  Members members;
  members.emplace_back("uri", Json(uri));
  auto settings = core->settings_for(options, core->runtime.limits.request);
  auto result =
      co_await core->cached_request(method::read_resource, std::move(members), std::move(uri), std::move(settings));
  co_return value_or_throw(decode<ReadResourceResult>(std::move(result)));
}

Task<GetPromptResult> Session::get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                          CallOptions options) {
  auto core = holder_->core;
  Members members;
  members.emplace_back("name", Json(std::move(name)));
  if (!arguments.empty()) {
    Json object = Json::object();
    for (auto& [key, value] : arguments) object[key] = std::move(value);
    members.emplace_back("arguments", std::move(object));
  }
  auto settings = core->settings_for(options, core->runtime.limits.request);
  auto result = co_await core->request(method::get_prompt, std::move(members), std::move(settings));
  co_return value_or_throw(decode<GetPromptResult>(std::move(result)));
}

Task<CompleteResult> Session::complete(CompleteRequest request, CallOptions options) {
  auto core = holder_->core;
  Members members;
  const Json encoded = encode(request);
  for (const auto& [key, value] : encoded.as_object()) members.emplace_back(key, value);
  auto settings = core->settings_for(options, core->runtime.limits.request);
  auto result = co_await core->request(method::complete, std::move(members), std::move(settings));
  co_return value_or_throw(decode<CompleteResult>(std::move(result)));
}

Task<void> Session::set_log_level(LoggingLevel level) {
  auto core = holder_->core;
  if (!core->server.capabilities.logging) throw Error(Errc::unsupported, "the server does not log to its clients");
  core->log_level = level;
  // Where the level is not a request of its own, every later request carries it.
  if (!core->wire->has_request(method::set_log_level)) co_return;
  Members members;
  members.emplace_back("level", Json(to_string(level)));
  RequestSettings settings;
  settings.total = core->runtime.limits.request;
  co_await core->request(method::set_log_level, std::move(members), settings);
}

Task<void> Session::ping(CallOptions options) {
  auto core = holder_->core;
  auto settings = core->settings_for(options, core->runtime.limits.request);
  const auto cheapest = core->wire->has_request(method::ping) ? method::ping : method::discover;
  co_await core->request(cheapest, {}, std::move(settings));
}

Task<Watch> Session::watch(SubscriptionFilter filter) {
  Watch watch;
  watch.state_ = co_await open_watch(holder_->core, std::move(filter));
  co_return watch;
}

void Session::roots_changed() {
  auto& core = *holder_->core;
  if (core.options.roots && core.wire->has_server_request(method::list_roots)) {
    (void)core.peer->notify(method::roots_changed, {});
  }
}

Task<void> Session::close() {
  auto core = holder_->core;
  co_await core->close(CloseMode::graceful);
}
Task<void> Session::close_quickly() {
  auto core = holder_->core;
  co_await core->close(CloseMode::quick);
}

}  // namespace patchbay
