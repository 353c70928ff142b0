// Resources: fetched ahead, read, kept and followed.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "host/model/model_tools_impl.h"
#include "host/server_error.h"
#include "protocol/skills.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_watches = 32;  // of one server: each may be a stream
constexpr std::size_t most_watches_all = 256;
constexpr auto watch_limit = 3s;        // a server that takes longer to agree is asked each time
constexpr auto before_refresh = 100ms;  // gathers what changes within a moment

// The server could not be asked, so what it said before is worth something.
bool is_absence(Errc code) noexcept {
  return code == Errc::connect || code == Errc::closed || code == Errc::timeout || code == Errc::unauthorized;
}

bool tells_of_resources(const Session& session) {
  const auto capabilities = session.server().capabilities;
  return capabilities.resources && capabilities.resources->subscribe;
}

}  // namespace

std::vector<std::string> ModelTools::Impl::connected_with(const std::set<std::string>& servers) const {
  std::vector<std::string> out;
  for (const auto& status : host_.status()) {
    if (status.state != ServerState::connected || !servers.contains(status.name) || !sees(status.name)) continue;
    out.push_back(status.name);
  }
  return out;
}

Task<ServerResources> ModelTools::Impl::lists_of(Self self, std::string server) {
  ServerResources out;
  out.server = server;
  auto resources = co_await as_result(self->host_.resources(server));
  if (!resources) {
    if (resources.error().code() == Errc::cancelled) throw std::move(resources).error();
    out.problem = resources.error().message();
  } else {
    out.resources = *resources->items;
    if (resources->error) out.problem = resources->error->message();
  }
  auto templates = co_await as_result(self->host_.resource_templates(server));
  if (templates) {
    out.templates = *templates->items;
  } else if (templates.error().code() == Errc::cancelled) {
    throw std::move(templates).error();
  }
  if (out.problem.empty() && out.resources.empty() && out.templates.empty()) {
    self->empty_.insert(server);
  } else if (out.problem.empty()) {
    self->empty_.erase(server);
  }
  co_return out;
}

Task<void> ModelTools::Impl::list_into(Self self, std::string server, std::shared_ptr<std::vector<ServerResources>> all,
                                       std::size_t at) {
  auto listed = co_await as_result(lists_of(self, server));
  if (listed) (*all)[at] = std::move(*listed);
}

Task<void> ModelTools::Impl::prefetch(Self self, std::string server) {
  auto turn = co_await as_result(self->fetching_.acquire());
  if (!turn) co_return;
  // Who wants them and cannot get them is told then.
  (void)co_await as_result(lists_of(self, server));
}

void ModelTools::Impl::unwatch(const std::string& server) {
  cache_.unwatch(server);
  std::erase_if(watches_, [&](const auto& one) { return one.first.first == server; });
  unwatchable_.erase(server);
}

void ModelTools::Impl::let_go(const std::vector<ResourceCache::Key>& keys) {
  for (const auto& key : keys) {
    const auto found = watches_.find(key);
    if (found == watches_.end()) continue;
    if (scope_ && !stopped_) {
      scope_->spawn(
          [](Watch watch) -> Task<void> { (void)co_await as_result(watch.stop()); }(std::move(found->second)));
    }
    watches_.erase(found);
  }
}

// Whether the server tells when this resource changes. Asked before it is read, so that no change is missed.
Task<bool> ModelTools::Impl::watch(Self self, Session session, std::string server, std::string uri) {
  if (!self->hearing_ || self->options_.cache_entries == 0 || !tells_of_resources(session)) co_return false;
  const ResourceCache::Key key{server, uri};
  if (self->watches_.contains(key)) co_return true;
  const auto of_server = std::ranges::count(self->watches_, server, [](const auto& one) { return one.first.first; });
  if (static_cast<std::size_t>(of_server) >= most_watches || self->watches_.size() >= most_watches_all ||
      self->unwatchable_.contains(server) || !self->watching_.insert(key).second) {
    co_return false;
  }
  SubscriptionFilter filter;
  filter.resource_subscriptions.push_back(uri);
  auto watched = co_await as_result(
      with_timeout(session.watch(std::move(filter)), watch_limit, "no answer about the subscription"));
  self->watching_.erase(key);
  if (!watched && watched.error().code() == Errc::cancelled) throw std::move(watched).error();
  if (self->stopped_ || session.closed()) co_return false;
  if (!watched || std::ranges::find(watched->honoured().resource_subscriptions, uri) ==
                      watched->honoured().resource_subscriptions.end()) {
    // A refusal is about this resource; whoever says nothing is not asked again.
    if (!watched && watched.error().code() == Errc::timeout) self->unwatchable_.insert(server);
    co_return false;
  }
  self->watches_.insert_or_assign(key, std::move(*watched));
  co_return true;
}

Task<ResourceRead> ModelTools::Impl::read(Self self, std::string server, std::string uri, CallOptions options) {
  if (const auto* kept = self->cache_.find(server, uri); kept && kept->usable()) co_return ResourceRead{kept->result};
  // What there is of before, where the server cannot be asked.
  const auto or_before = [&](Error error) -> ResourceRead {
    const auto* kept = self->cache_.find(server, uri);
    if (kept && is_absence(error.code())) return {kept->result, true};
    if (kept && error.code() != Errc::cancelled) {
      self->cache_.drop(server, uri);
      self->let_go({{server, uri}});
    }
    throw error_of_call(server, uri, error);
  };
  auto session = co_await as_result(self->host_.session(server));
  if (!session) co_return or_before(std::move(session).error());
  if (declares_skills(session->server().capabilities)) {
    if (auto skill = co_await skill_of(self, server, *session, uri)) {
      co_await require_approved(self, server, *skill);
      auto contents = co_await session->read_skill(std::move(*skill), uri, std::move(options));
      ReadResourceResult result;
      result.contents.push_back(std::move(contents));
      co_return ResourceRead{std::make_shared<const ReadResourceResult>(std::move(result))};
    }
  }
  const bool watched = co_await watch(self, *session, server, uri);
  const auto generation = self->cache_.generation();
  auto read = co_await as_result(session->read_resource(uri, std::move(options)));
  if (!read) co_return or_before(std::move(read).error());
  auto result = std::make_shared<const ReadResourceResult>(std::move(*read));
  if (!self->stopped_) {
    const bool still = watched && self->watches_.contains({server, uri});
    self->let_go(self->cache_.store(server, uri, result, still, generation));
  }
  co_return ResourceRead{std::move(result)};
}

Task<void> ModelTools::Impl::refresh(Self self, ResourceCache::Key key) {
  (void)co_await as_result(sleep_for(before_refresh));
  if (auto turn = co_await as_result(self->fetching_.acquire()); turn && !self->stopped_) {
    (void)co_await as_result(read(self, key.first, key.second, {}));
  }
  self->refreshing_.erase(key);
}

}  // namespace patchbay
