// The lists of a connection. Tools are fetched when it is made; prompts, resources and templates when somebody asks for
// them. All are followed, and fetched again when the server says that they changed and when it has come back.
#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "catalog/tool_filter.h"
#include "host/connection.h"
#include "host/server_error.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

constexpr auto first_retry_pause = std::chrono::milliseconds(100);

// Servers that have resources need not know templates.
template <class T>
bool is_unknown_list(const Error& error) {
  return std::is_same_v<T, ResourceTemplate> && error.rpc_code() == rpc_code::method_not_found;
}

// What the server would not answer otherwise a moment later.
template <class T>
bool is_final(const Error& error) {
  // Where nobody is to be reached, a connection has to be made first.
  return error.code() == Errc::unauthorized || error.code() == Errc::connect || is_unknown_list<T>(error);
}

bool is_declared(const ServerCapabilities& capabilities, ListKind kind) {
  return kind == ListKind::prompts ? capabilities.prompts.has_value() : capabilities.resources.has_value();
}

// The method of a session that lists such items.
template <class T>
constexpr auto method_of = nullptr;
template <>
constexpr auto method_of<Prompt> = &Session::list_prompts;
template <>
constexpr auto method_of<Resource> = &Session::list_resources;
template <>
constexpr auto method_of<ResourceTemplate> = &Session::list_resource_templates;

std::string_view name_of(ListKind kind) {
  switch (kind) {
    case ListKind::prompts:
      return "prompts";
    case ListKind::resources:
      return "resources";
    case ListKind::resource_templates:
      return "resource templates";
  }
  return {};
}

}  // namespace

// Within the bounds of the session's lists; gives up at once when the session is not the one of now any more.
template <class T, class Method>
Task<Listing<T>> Connection::list_with_tries(Session session, Method method, std::string_view what) {
  const auto opened = opened_;
  // A server that took all the time there is for a list does not get it again.
  const auto last_try = time_after(loop_clock(executor_).now(), as_duration(runtime_.limits.list));
  auto pause = std::chrono::duration_cast<Duration>(first_retry_pause);
  for (std::size_t tried = 1;; ++tried) {
    auto listing = co_await as_result((session.*method)({}));
    if (listing) {
      for (const auto& problem : listing->problems) {
        runtime_.log(LogLevel::warning, "item_left_out", "list", what, "path", problem.path, "reason", problem.reason);
      }
      co_return std::move(*listing);
    }
    const bool of_now = opened == opened_ && session_ && !session.closed();
    const bool over = tried >= runtime_.limits.list_tries || loop_clock(executor_).now() >= last_try;
    if (over || !of_now || is_final<T>(listing.error())) throw std::move(listing).error();
    co_await sleep_for(pause);
    pause *= 2;
  }
}

Task<PinnedTools> Connection::fetch_tools(Session session) {
  if (!session.server().capabilities.tools) co_return PinnedTools();
  auto listing = co_await list_with_tries<Tool>(session, &Session::list_tools, "tools");
  Tools tools;
  for (auto& tool : listing.items) tools.push_back(std::make_shared<const Tool>(std::move(tool)));
  co_return co_await pinned(session.server(), std::move(tools));
}

// All that is listed is looked at, whatever its entry lets through: a longer list in the entry is not a new tool.
Task<PinnedTools> Connection::look_at_listed() {
  // Another one has the name of one that fades: what this one lists says nothing about that.
  if (fading_ || closing_) throw Error(Errc::closed, fmt::format("server \"{}\" is being closed", name()));
  auto out = co_await parts_.pin(*described_, listed_);
  keep_to_entry(out.offered);
  co_return out;
}

Task<PinnedTools> Connection::pinned(ServerDescription server, Tools listed) {
  if (parts_.pin) {
    const auto turn = co_await pinning_.acquire();
    listed_ = std::move(listed);
    described_ = std::move(server);
    co_return co_await look_at_listed();
  }
  keep_to_entry(listed);
  co_return PinnedTools{.offered = std::move(listed), .changed = {}, .instructions = {}};
}

void Connection::keep_to_entry(Tools& tools) const {
  std::erase_if(tools, [this](const auto& tool) { return !lets_through(parts_.config, tool->name); });
}

void Connection::take(PinnedTools tools) {
  tools_ = std::move(tools.offered);
  instructions_ = std::move(tools.instructions);
  has_listed_ = true;
  const auto said = [](const std::optional<Error>& error) { return error ? error->message() : std::string(); };
  const bool news = open() && (state_.unlisted || said(tools.changed) != said(state_.changed));
  if (news) apply(connection_event::Listed{std::move(tools.changed)});
  // Who is told of the state looks at the tools as well.
  const bool told = news && connected();
  if (!told && parts_.on_change && !closing_) parts_.on_change(*this);
}

Task<void> Connection::pin_again() {
  if (!parts_.pin) co_return;
  // Whatever is listed meanwhile is looked at behind this, or is what is looked at here.
  const auto turn = co_await pinning_.acquire();
  if (!described_ || closing_ || fading_) co_return;
  const auto opened = opened_;
  auto again = co_await look_at_listed();
  if (opened == opened_ && !closing_) take(std::move(again));
}

Task<void> Connection::refresh_tools() {
  const auto opened = opened_;
  auto listed = co_await as_result(fetch_tools(*session_));
  if (opened != opened_ || !open()) co_return;  // another session has another list
  if (!listed) {
    // The old list is kept.
    runtime_.log(LogLevel::warning, "list_not_refreshed", "list", "tools", "reason", listed.error().message());
    co_return;
  }
  take(std::move(*listed));
}

template <class T>
Task<void> Connection::refresh(Kept<T>& kept) {
  const auto opened = opened_;
  const auto session = *session_;
  Result<Listing<T>> listed = Listing<T>();
  if (is_declared(session.server().capabilities, kept.kind)) {
    listed = co_await as_result(list_with_tries<T>(session, method_of<T>, name_of(kept.kind)));
    if (!listed && is_unknown_list<T>(listed.error())) listed = Listing<T>();
  }
  if (closing_ || opened != opened_ || !open()) co_return;
  if (!listed) {
    kept.list.error = listed.error();
    // Without any items, whoever waits gets the error.
    runtime_.log(kept.list.items ? LogLevel::warning : LogLevel::info, "list_not_refreshed", "list", name_of(kept.kind),
                 "reason", listed.error().message());
    co_return;
  }
  kept.opened = opened;
  kept.list.error.reset();
  if (kept.list.items && *kept.list.items == listed->items) co_return;
  const bool first = !kept.list.items;
  kept.list.items = std::make_shared<const std::vector<T>>(std::move(listed->items));
  ++kept.list.generation;
  // Who has asked for the first one gets it.
  if (!first && parts_.on_list_change) parts_.on_list_change(*this, kept.kind);
}

template <class T>
Task<ServerList<T>> Connection::list(Kept<T>& kept) {
  kept.wanted = true;
  // One that is coming back by itself is not waited for where something is known.
  const auto coming_back = [this] {
    return state_.coming_back &&
           (state_.doing == ConnectionState::Doing::pausing || state_.doing == ConnectionState::Doing::opening);
  };
  std::optional<Error> away;
  if (!connected() && !(kept.list.items && coming_back())) {
    auto ensured = co_await as_result(ensure());
    if (!ensured) away = ensured.error();
    if (away && (!kept.list.items || over() || away->code() == Errc::cancelled)) throw std::move(*away);
  }
  const bool fresh = kept.list.items && !kept.list.error && kept.heard && kept.opened == opened_ && !kept.again.stale();
  if (connected() && !fresh) co_await kept.again.fetched();
  require_not_over();
  if (state_.state == ServerState::disabled) throw_off();
  auto now = kept.list;
  now.from_before = !connected() || kept.opened != opened_;
  if (!now.error && !connected()) now.error = away ? away : state_.error;
  if (!now.error && now.from_before) now.error = Error(Errc::closed, "the connection was lost meanwhile");
  if (!now.items) throw error_of_server(name(), now.error.value_or(Error(Errc::closed, "there is no list yet")));
  co_return now;
}

template Task<ServerList<Prompt>> Connection::list(Kept<Prompt>&);
template Task<ServerList<Resource>> Connection::list(Kept<Resource>&);
template Task<ServerList<ResourceTemplate>> Connection::list(Kept<ResourceTemplate>&);
template Task<void> Connection::refresh(Kept<Prompt>&);
template Task<void> Connection::refresh(Kept<Resource>&);
template Task<void> Connection::refresh(Kept<ResourceTemplate>&);

// Returns when the server has said yes or no. One that says neither is not waited for: if it agrees after all, the
// tools are listed once more.
Task<void> Connection::begin_following(Session session) {
  const auto& capabilities = session.server().capabilities;
  SubscriptionFilter filter;
  filter.tools_list_changed = capabilities.tools && capabilities.tools->list_changed;
  filter.prompts_list_changed = capabilities.prompts && capabilities.prompts->list_changed;
  filter.resources_list_changed = capabilities.resources && capabilities.resources->list_changed;
  if (!filter.tools_list_changed && !filter.prompts_list_changed && !filter.resources_list_changed) co_return;
  auto answered = std::make_shared<Completion<bool>>();
  scope_.spawn(follow(session, filter, answered));
  if (!filter.tools_list_changed) co_return;
  (void)co_await as_result(
      with_timeout(answered->wait(), as_duration(runtime_.limits.silent_probe), "no answer about the subscription"));
}

Task<void> Connection::follow(Session session, SubscriptionFilter filter, std::shared_ptr<Completion<bool>> answered) {
  const auto opened = opened_;
  const bool tools = filter.tools_list_changed;
  auto watch = co_await as_result(session.watch(std::move(filter)));
  if (!watch) {
    runtime_.log(LogLevel::info, "not_following", "reason", watch.error().message());
  } else if (opened == opened_) {
    const auto& heard = watch->honoured();
    prompts_.heard = heard.prompts_list_changed;
    resources_.heard = templates_.heard = heard.resources_list_changed;
    // What was listed before may have changed when nobody listened.
    if (tools) on_list_changed(opened, Change::Kind::tools);
    if (prompts_.heard) on_list_changed(opened, Change::Kind::prompts);
    if (resources_.heard) on_list_changed(opened, Change::Kind::resources);
  }
  answered->set(watch.has_value());
}

template <class T>
void Connection::mark_stale(Kept<T>& kept) {
  if (kept.wanted) kept.again.set_stale();
}

void Connection::on_list_changed(std::uint64_t opened, Change::Kind kind) {
  if (opened != opened_ || !parts_.follow_changes || closing_ || fading_) return;
  switch (kind) {
    case Change::Kind::tools:
      tools_again_.set_stale();
      break;
    case Change::Kind::prompts:
      mark_stale(prompts_);
      break;
    case Change::Kind::resources:
      mark_stale(resources_);
      mark_stale(templates_);
      break;
    default:
      break;
  }
}

// What changed while it was connecting, and what somebody wanted before it was lost.
void Connection::relist_after_opening() {
  tools_again_.go_on();
  if (parts_.follow_changes && connected()) for_each_list([](auto& kept) { mark_stale(kept); });
}

void Connection::drop_lists() {
  tools_.clear();
  for_each_list([](auto& kept) {
    kept.list = {};
    kept.wanted = false;
  });
}

Task<void> Connection::list_again() {
  if (open() && state_.reason == ServerReason::tools_fetch_failed) co_await tools_again_.fetched();
  if ((!connected() || state_.unlisted) && state_.error) throw error_of_server(name(), *state_.error);
}

}  // namespace patchbay
