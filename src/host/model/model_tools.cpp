#include <algorithm>

#include <fmt/format.h>

#include <patchbay/failure.h>
#include <patchbay/model_tools.h>
#include <patchbay/tools.h>

#include "base/as_result.h"
#include "catalog/search/tool_query.h"
#include "host/model/model_tools_impl.h"
#include "protocol/skills.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_found = 256;  // tools that searches have loaded

std::string text_argument(const Json& arguments, std::string_view name, bool required) {
  const auto* value = arguments.find(name);
  if (!value || value->is_null()) {
    if (required) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is missing", name));
    return {};
  }
  if (!value->is_string()) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a text", name));
  return std::string(value->as_text());
}

std::size_t count_argument(const Json& arguments, std::string_view name, std::size_t preset) {
  const auto* value = arguments.find(name);
  if (!value || value->is_null()) return preset;
  const auto count = value->to_uint();
  if (!count) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a whole number from 0 on", name));
  return static_cast<std::size_t>(*count);
}

// A short text of a model's is allowed to be no object at all.
Json object_of(Json arguments) {
  if (arguments.is_null()) return Json::object();
  if (!arguments.is_object()) throw Error(Errc::invalid_argument, "the arguments are not an object");
  return arguments;
}

}  // namespace

ModelTools::Impl::Impl(Host& host, ModelToolsOptions options)
    : host_(host), options_(std::move(options)), cache_(options_.cache_bytes, options_.cache_entries) {
  if (options_.tool_search) mode_ = value_or_throw(parse_tool_search_mode(*options_.tool_search));
}

void ModelTools::Impl::note(const ServerStatus& status) {
  if (status.state == ServerState::disabled) {
    with_resources_.erase(status.name);
    with_skills_.erase(status.name);
  } else if (status.server) {
    const auto& capabilities = status.server->capabilities;
    const auto set = [&](std::set<std::string>& of, bool has) {
      has ? (void)of.insert(status.name) : (void)of.erase(status.name);
    };
    set(with_resources_, capabilities.resources.has_value());
    set(with_skills_, declares_skills(capabilities));
  }
  if (status.state != ServerState::connected) {
    unwatch(status.name);
    fetched_.erase(status.name);
    listed_skills_.erase(status.name);
  } else if (options_.prefetch && scope_ && with_resources_.contains(status.name) && sees(status.name) &&
             fetched_.insert(status.name).second) {
    scope_->spawn(prefetch(shared_from_this(), status.name));
  }
}

void ModelTools::Impl::heard(const HostEvent& event) {
  if (stopped_) return;
  hearing_ = true;
  if (const auto* status = std::get_if<ServerStatus>(&event)) {
    note(*status);
  } else if (const auto* change = std::get_if<ServerChange>(&event)) {
    const auto& server = change->context.server;
    if (change->change.kind == Change::Kind::resources) listed_skills_.erase(server);
    if (change->change.kind != Change::Kind::resource_updated) return;
    for (const auto& key : cache_.set_stale(server, change->change.uri)) {
      if (!scope_ || !refreshing_.insert(key).second) continue;
      scope_->spawn(refresh(shared_from_this(), key));
    }
  } else if (const auto* list = std::get_if<ListChange>(&event)) {
    if (list->kind == ListKind::prompts || !scope_ || !options_.prefetch || !sees(list->server)) return;
    scope_->spawn(prefetch(shared_from_this(), list->server));
  } else if (std::holds_alternative<ConfigChange>(event)) {
    // Other rules, other servers of the same names: nothing of before is sure to be allowed still.
    cache_.clear();
    watches_.clear();
    listed_skills_.clear();
    with_resources_.clear();
    with_skills_.clear();
    empty_.clear();
    ++loads_;
  }
}

Task<void> ModelTools::Impl::begin(Self self) {
  co_await self->host_.prepare();
  if (self->stopped_ || self->scope_) co_return;
  self->scope_.emplace(co_await asio::this_coro::executor);
  for (const auto& status : self->host_.status()) self->note(status);
}

Task<void> ModelTools::Impl::stop(Self self) {
  self->stopped_ = true;
  if (!self->scope_) co_return;
  self->scope_->cancel();
  co_await self->scope_->join();
  self->watches_.clear();
}

void ModelTools::Impl::abandon() {
  stopped_ = true;
  if (scope_) scope_->cancel();
}

void ModelTools::Impl::set_model(ModelApi api, std::size_t context_tokens) {
  options_.api = api;
  options_.context_tokens = context_tokens;
  ++loads_;  // how much is loaded depends on the context
}

std::set<std::string, std::less<>> ModelTools::Impl::always_loading() const {
  std::set<std::string, std::less<>> out;
  for (const auto& server : host_.config().servers) {
    if (server.always_load) out.insert(server.name);
  }
  return out;
}

Deferral ModelTools::Impl::deferral(const ToolIndex& index) const {
  DeferralOptions options;
  options.context_tokens = options_.context_tokens;
  options.always_load = always_loading();
  if (mode_) {
    options.mode = *mode_;
  } else if (const auto said = variables_of(host_.config(), process_environment())("ENABLE_TOOL_SEARCH")) {
    // One that cannot be understood is as if it were not there.
    if (const auto mode = parse_tool_search_mode(*said)) options.mode = *mode;
  }
  return decide_deferral(index, options);
}

const std::shared_ptr<const Catalog>& ModelTools::Impl::loaded() {
  const auto all = host_.catalog();
  if (loaded_ && loaded_of_ == all && loaded_at_ == loads_) return loaded_;
  loaded_of_ = all;
  loaded_at_ = loads_;
  const auto& index = indexes_.of(all);
  if (!deferral(index).searching) return loaded_ = all;
  const auto always = always_loading();
  const std::set<std::string_view> found(found_.begin(), found_.end());
  Catalog::Fragments fragments;
  for (const auto& fragment : all->fragments()) {
    auto left = std::make_shared<CatalogFragment>(*fragment);
    std::erase_if(left->entries, [&](const CatalogEntry& entry) {
      return may_be_deferred(entry, always) && !found.contains(entry.name);
    });
    fragments.push_back(std::move(left));
  }
  return loaded_ = std::make_shared<const Catalog>(std::move(fragments));
}

bool ModelTools::Impl::is_deferred(std::string_view name) {
  return host_.catalog()->at(name) != nullptr && loaded()->at(name) == nullptr;
}

void ModelTools::Impl::load(const std::vector<const CatalogEntry*>& entries) {
  for (const auto* entry : entries) {
    if (std::ranges::find(found_, entry->name) != found_.end()) continue;
    found_.push_back(entry->name);
    ++loads_;
  }
  if (found_.size() > most_found) {
    found_.erase(found_.begin(), found_.end() - static_cast<std::ptrdiff_t>(most_found));
  }
}

std::vector<ServerStatus> ModelTools::Impl::seen_status() const {
  auto all = host_.status();
  std::erase_if(all, [&](const ServerStatus& status) { return !sees(status.name); });
  return all;
}

void ModelTools::Impl::check_seen(const std::string& server) const {
  if (sees(server)) return;
  throw Error(Errc::invalid_argument, fmt::format("there is no server \"{}\"", clean_excerpt(server, 80)));
}

std::vector<Tool> ModelTools::Impl::tools() {
  // Of servers that nobody has told of.
  for (const auto& status : host_.status()) note(status);
  std::vector<Tool> out;
  if (deferral(indexes_.of(host_.catalog())).searching) out.push_back(describe(OwnTool::search));
  const auto offers = [&](const std::string& server) { return !empty_.contains(server) && sees(server); };
  if (std::ranges::any_of(with_resources_, offers)) {
    out.push_back(describe(OwnTool::list_resources));
    out.push_back(describe(OwnTool::read_resource));
  }
  if (std::ranges::any_of(with_skills_, [&](const auto& server) { return sees(server); })) {
    out.push_back(describe(OwnTool::list_skills));
    out.push_back(describe(OwnTool::read_skill));
  }
  return out;
}

CallToolResult ModelTools::Impl::search(const Json& arguments) {
  const auto query = text_argument(arguments, "query", true);
  const auto most = count_argument(arguments, "max_results", usual_results);
  const auto catalog = host_.catalog();
  auto matches = match_tools(*catalog, indexes_.of(catalog), query, most, options_.sees_server);
  auto answer = found_tools(matches, seen_status(), options_.api);
  load(matches.tools);
  return answer;
}

Task<CallToolResult> ModelTools::Impl::list_resources(Self self, Json arguments) {
  const auto only = text_argument(arguments, "server", false);
  const auto offset = count_argument(arguments, "offset", 0);
  auto statuses = self->seen_status();
  for (const auto& status : statuses) self->note(status);
  std::vector<std::string> servers;
  if (!only.empty()) {
    self->check_seen(only);
    servers.push_back(only);
    std::erase_if(statuses, [&](const ServerStatus& status) { return status.name != only; });
  } else {
    servers = self->connected_with(self->with_resources_);
  }
  auto all = std::make_shared<std::vector<ServerResources>>(servers.size());
  Scope scope(co_await asio::this_coro::executor);
  for (std::size_t i = 0; i < servers.size(); ++i) scope.spawn(list_into(self, servers[i], all, i));
  co_await scope.finish();
  co_return listed_resources(*all, statuses, offset);
}

Task<CallToolResult> ModelTools::Impl::answer(Self self, OwnTool tool, Json arguments, CallOptions options) {
  arguments = object_of(std::move(arguments));
  const auto longest = self->options_.longest_text;
  CallToolResult result;
  switch (tool) {
    case OwnTool::search:
      co_return self->search(arguments);
    case OwnTool::list_resources:
      co_return co_await list_resources(self, std::move(arguments));
    case OwnTool::read_resource: {
      const auto server = text_argument(arguments, "server", true);
      const auto uri = text_argument(arguments, "uri", true);
      const auto offset = count_argument(arguments, "offset", 0);
      self->check_seen(server);
      const auto read = co_await Impl::read(self, server, uri, std::move(options));
      result.content = contents_for_model(read.result->contents, offset, longest);
      if (read.from_before) {
        result.content.push_back(TextContent{
            .text = "[the server is away; this is what it sent before]", .annotations = {}, .meta = {}, .extra = {}});
      }
      co_return result;
    }
    case OwnTool::list_skills: {
      const auto only = text_argument(arguments, "server", false);
      if (!only.empty()) self->check_seen(only);
      co_return listed_skills(co_await skills(self, only));
    }
    case OwnTool::read_skill: {
      const auto server = text_argument(arguments, "server", true);
      const auto name = text_argument(arguments, "skill", true);
      self->check_seen(server);
      auto file = text_argument(arguments, "file", false);
      if (file.empty()) file = skill_file_name;
      const auto offset = count_argument(arguments, "offset", 0);
      std::vector<ResourceContents> contents;
      contents.push_back(co_await read_skill(self, server, name, std::move(file), std::move(options)));
      result.content = contents_for_model(contents, offset, longest);
      co_return result;
    }
  }
  co_return result;
}

Task<CallToolResult> ModelTools::Impl::call(Self self, std::string name, Json arguments, CallOptions options) {
  const auto tool = own_tool(name);
  if (!tool) co_return error_text(fmt::format("there is no tool called \"{}\" here", clean_excerpt(name, 80)));
  const auto server = std::string(arguments["server"].text().value_or(""));
  auto answered = co_await as_result(answer(self, *tool, std::move(arguments), std::move(options)));
  if (answered) co_return std::move(*answered);
  if (answered.error().code() == Errc::cancelled) throw std::move(answered).error();
  co_return failure_result(answered.error(), server);
}

ModelTools::ModelTools(Host& host, ModelToolsOptions options)
    : impl_(std::make_shared<Impl>(host, std::move(options))) {}
ModelTools::~ModelTools() { impl_->abandon(); }
void ModelTools::heard(const HostEvent& event) { impl_->heard(event); }
void ModelTools::set_model(ModelApi api, std::size_t context_tokens) { impl_->set_model(api, context_tokens); }
Task<void> ModelTools::begin() { return Impl::begin(impl_); }
Task<void> ModelTools::stop() { return Impl::stop(impl_); }
std::vector<Tool> ModelTools::tools() const { return impl_->tools(); }
bool ModelTools::has(std::string_view tool) const noexcept { return own_tool(tool).has_value(); }
Task<CallToolResult> ModelTools::call(std::string tool, Json arguments, CallOptions options) {
  return Impl::call(impl_, std::move(tool), std::move(arguments), std::move(options));
}
std::shared_ptr<const Catalog> ModelTools::loaded() const { return impl_->loaded(); }
bool ModelTools::is_deferred(std::string_view name) const { return impl_->is_deferred(name); }
Task<ResourceRead> ModelTools::read(std::string server, std::string uri, CallOptions options) {
  return Impl::read(impl_, std::move(server), std::move(uri), std::move(options));
}
Task<std::vector<MentionedResource>> ModelTools::mentioned(std::string text, CallOptions options) {
  return Impl::mentioned(impl_, std::move(text), std::move(options));
}
Task<std::vector<std::string>> ModelTools::complete_mention(std::string typed) {
  return Impl::complete_mention(impl_, std::move(typed));
}
Task<GetPromptResult> ModelTools::prompt(std::string line, CallOptions options) {
  return Impl::prompt(impl_, std::move(line), std::move(options));
}
Task<std::vector<ServerSkill>> ModelTools::skills() { return Impl::skills(impl_, {}); }
Task<ResourceContents> ModelTools::read_skill(std::string server, std::string skill, std::string file) {
  return Impl::read_skill(impl_, std::move(server), std::move(skill), std::move(file), {});
}
Task<void> ModelTools::answer_skill(std::string server, Skill skill, bool approve) {
  return Impl::answer_skill(impl_, std::move(server), std::move(skill), approve);
}

}  // namespace patchbay
