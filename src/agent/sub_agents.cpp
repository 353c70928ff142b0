#include "agent/sub_agents.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <patchbay/tools.h>

#include "agent/connect_tool.h"
#include "agent/go_on_text.h"
#include "base/as_result.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/strings.h"
#include "base/waiting.h"
#include "host/hooks/agent_hooks.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_turns = 200;  // of one sub-agent
constexpr std::size_t most_named = 60;   // definitions that the model is told of
constexpr std::size_t longest_description = 300;
constexpr std::size_t longest_name = 80;
constexpr std::size_t most_kept = 1'000;  // conversations beside one

Json described(std::string_view description) { return Json{{"type", "string"}, {"description", description}}; }

std::string word_of(const Json& arguments, std::string_view name) {
  const auto text = arguments[name].text();
  if (!text || trim(*text).empty()) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is missing", name));
  return std::string(*text);
}

// "reviewer-2": 2.
std::uint64_t number_of(std::string_view agent) {
  const auto digits = agent.substr(agent.rfind('-') + 1);
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return fault == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

// What was used beyond `before`.
ModelUsage since(const ModelUsage& before, ModelUsage usage) {
  usage.input -= before.input;
  usage.cache_read -= before.cache_read;
  usage.cache_written -= before.cache_written;
  usage.output -= before.output;
  if (usage.cache_miss == before.cache_miss) usage.cache_miss.clear();
  return usage;
}

CallToolResult result_of(const AgentAnswer& answer) {
  const auto said = [&](std::string_view why) {
    return error_text(fmt::format("{} Its last words: {}", why, answer.text.empty() ? "none" : answer.text));
  };
  switch (answer.end) {
    case AgentAnswer::End::refused:
      return said("The agent's model refused to go on.");
    case AgentAnswer::End::max_turns:
      return said(fmt::format("The agent was ended after {} turns.", answer.turns));
    case AgentAnswer::End::interrupted:
      return said("The agent was interrupted.");
    case AgentAnswer::End::deferred:
      return said("The agent was ended: a hook put off one of its calls.");
    case AgentAnswer::End::answered:
      break;
  }
  return text(answer.text.empty() ? "(The agent ended without a word.)" : answer.text);
}

}  // namespace

class SubAgents::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using Self = std::shared_ptr<Impl>;

  // One that is at work.
  struct Run {
    std::string id;
    std::string resumed;  // the conversation that it goes on with
    AgentDefinition definition;
    std::map<std::string, std::string, std::less<>> own;  // its own servers: name in the host → in the definition
    std::shared_ptr<Agent> agent;
    ModelUsage before;  // of its conversation, when it was taken up
    bool anew = false;  // that conversation was not found
  };

  Impl(Host& h, SubAgentsOptions o)
      : host(h), options(std::move(o)), places(std::max<std::size_t>(options.parent.sub_agents_at_once, 1)) {
    const auto general = general_definition();
    if (!find(general.name)) options.definitions.insert(options.definitions.begin(), general);
    // Names are not given twice, in whatever process.
    for (const auto& one : known()) begun = std::max(begun, number_of(one.agent));
  }

  std::vector<SubConversation> known() const {
    return options.known ? options.known() : std::vector<SubConversation>();
  }

  const AgentDefinition* find(std::string_view name) const {
    const auto found = std::ranges::find(options.definitions, name, &AgentDefinition::name);
    return found == options.definitions.end() ? nullptr : &*found;
  }

  static Task<CallToolResult> call(Self self, Json arguments);
  std::shared_ptr<Run> run_of(const Json& arguments);
  static Task<AgentAnswer> work(Self self, std::shared_ptr<Run> run, std::string task);
  static Task<HookVerdict> ask_hooks(Self self, std::shared_ptr<Run> run, HookEvent event, Json facts);
  AgentOptions options_of(const std::shared_ptr<Run>& run) const;
  static Task<void> start_own(Self self, std::shared_ptr<Run> run);
  static Task<void> start_one(Self self, std::shared_ptr<Run> run, std::string server);
  std::string free_name(const std::string& wanted) const;
  void tell(const std::string& id, decltype(AgentEvent::what) what) const {
    if (options.tell) options.tell({.sub_agent = id, .what = std::move(what)});
  }
  bool owns_server(std::string_view server) const {
    return std::ranges::any_of(runs, [&](const auto& run) { return run->own.contains(server); });
  }

  Host& host;
  SubAgentsOptions options;
  Semaphore places;
  std::set<std::shared_ptr<Run>> runs;
  std::uint64_t begun = 0;
  Event run_ended;
};

// What its definition leaves of what its parent sees.
AgentOptions SubAgents::Impl::options_of(const std::shared_ptr<Run>& run) const {
  const auto& parent = options.parent;
  const auto& definition = run->definition;
  AgentOptions out;
  out.directory = parent.directory;
  out.instructions = definition.instructions;
  out.more_instructions = parent.more_instructions;
  out.mode = options.mode ? options.mode() : parent.mode;
  out.max_turns = most_turns;
  out.sub_agents = false;
  out.connect_tool = parent.connect_tool && asks_for(definition, "connect_mcp");
  out.approve_server = parent.approve_server;
  out.start_servers = false;
  // What they show is of all servers, so it is for one that may see them all.
  out.resource_tools = parent.resource_tools && !definition.servers && run->own.empty() && !definition.tools;
  out.principal = parent.principal.empty() ? run->id : parent.principal + "/" + run->id;
  out.model_tools = parent.model_tools;
  out.tools_at_once = parent.tools_at_once;
  for (const auto& tool : parent.tools) {
    if (definition.tools && !asks_for(definition, tool.tool.name)) continue;
    if (std::ranges::find(definition.disallowed_tools, tool.tool.name) != definition.disallowed_tools.end()) continue;
    out.tools.push_back(tool);
  }
  const std::weak_ptr<const Impl> weak = weak_from_this();
  out.sees_server = [weak, run = std::weak_ptr(run), theirs = parent.sees_server](const std::string& server) {
    const auto self = weak.lock();
    const auto mine = run.lock();
    if (!self || !mine) return false;
    if (mine->own.contains(server)) return true;
    return !self->owns_server(server) && (!theirs || theirs(server));
  };
  out.sees = [run = std::weak_ptr(run), theirs = parent.sees](const CatalogEntry& entry) {
    const auto mine = run.lock();
    if (!mine) return false;
    const auto own = mine->own.find(entry.server);
    if (own != mine->own.end()) return allows_own(mine->definition, entry, own->second);
    return (!theirs || theirs(entry)) && allows(mine->definition, entry);
  };
  out.on_event = [weak, id = run->id](const AgentEvent& event) {
    if (const auto self = weak.lock()) self->tell(id, event.what);
  };
  return out;
}

std::string SubAgents::Impl::free_name(const std::string& wanted) const {
  std::set<std::string> taken;
  for (const auto& status : host.status()) taken.insert(status.name);
  std::string name = wanted;
  for (int i = 2; taken.contains(name); ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

Task<void> SubAgents::Impl::start_one(Self self, std::shared_ptr<Run> run, std::string server) {
  CallContext context;
  context.server = server;
  context.principal = run->id;
  const auto made = co_await as_result(self->host.session(server, std::move(context)));
  if (made) co_return;
  self->tell(run->id, AgentNotice{clean_line(fmt::format("its server \"{}\" could not be used: {}", run->own[server],
                                                         made.error().message()))});
}

Task<void> SubAgents::Impl::start_own(Self self, std::shared_ptr<Run> run) {
  co_await self->host.prepare();
  Scope scope(co_await asio::this_coro::executor);
  for (auto server : run->definition.own_servers) {
    const auto declared = std::exchange(server.name, self->free_name(server.name));
    run->own.emplace(server.name, declared);
    const auto name = server.name;
    self->host.add_server(std::move(server));
    scope.spawn(start_one(self, run, name));
  }
  co_await scope.finish();
}

Task<AgentAnswer> SubAgents::Impl::work(Self self, std::shared_ptr<Run> run, std::string task) {
  if (!run->definition.own_servers.empty()) co_await start_own(self, run);
  std::shared_ptr<Model> model;
  if (!run->definition.model.empty() && self->options.parent.other_model) {
    model = self->options.parent.other_model(run->definition.model);
  }
  if (!model) model = self->options.model();
  auto options = self->options_of(run);
  bool is_new = run->resumed.empty();
  if (self->options.folder && (!is_new || self->known().size() < most_kept)) {
    options.kept_in = co_await self->options.folder();
    if (!options.kept_in.empty()) options.state_directory = self->options.parent.state_directory;
    options.resume = run->resumed;
  }
  const bool is_kept = !options.state_directory.empty();
  run->agent = std::make_shared<Agent>(self->host, model, options);
  auto begun = co_await as_result(run->agent->begin());
  // It was named before it had said anything, and then the process ended: there is no file.
  if (!begun && !is_new && is_kept && begun.error().code() == Errc::invalid_argument) {
    co_await run->agent->stop();
    options.resume.clear();
    run->agent = std::make_shared<Agent>(self->host, std::move(model), std::move(options));
    begun = co_await as_result(run->agent->begin());
    is_new = run->anew = true;
  }
  value_or_throw(std::move(begun));
  run->before = run->agent->usage();
  // Before it does anything, so that what it did can be found whatever happens.
  if (is_new && is_kept) {
    co_await self->options.keep({.id = run->agent->id(), .agent = run->id, .definition = run->definition.name});
  }
  auto before = co_await ask_hooks(self, run, HookEvent::subagent_start, Json::object());
  for (const auto& context : before.context) task += "\n\n" + context;
  for (std::size_t times = 0;; ++times) {
    auto answer = co_await run->agent->send({.text = std::move(task)});
    if (answer.end != AgentAnswer::End::answered) co_return answer;
    auto verdict = co_await ask_hooks(self, run, HookEvent::subagent_stop,
                                      Json{{"stop_hook_active", times > 0}, {"last_assistant_message", answer.text}});
    if (!wants_more(verdict)) co_return answer;
    if (times >= most_times_on) {
      self->tell(run->id, AgentNotice{given_up_text(verdict)});
      co_return answer;
    }
    task = go_on_text(verdict);
  }
}

Task<HookVerdict> SubAgents::Impl::ask_hooks(Self self, std::shared_ptr<Run> run, HookEvent event, Json facts) {
  facts["agent_id"] = run->id;
  facts["agent_type"] = run->definition.name;
  auto verdict = co_await ask_agent_hooks(self->host, event, run->definition.name, std::move(facts));
  for (auto& text : verdict.notices) self->tell(run->id, AgentNotice{std::move(text)});
  co_return verdict;
}

// Which one the model means: a new one, or one that has ended.
std::shared_ptr<SubAgents::Impl::Run> SubAgents::Impl::run_of(const Json& arguments) {
  auto run = std::make_shared<Run>();
  auto name = std::string(arguments["subagent_type"].text().value_or(general_definition().name));
  if (const auto again = arguments["resume"].text(); again && !trim(*again).empty()) {
    const auto all = known();
    const auto before = std::ranges::find(all, trim(*again), &SubConversation::agent);
    if (before == all.end()) {
      throw Error(Errc::invalid_argument,
                  fmt::format("no agent '{}' of this conversation is kept", clean_excerpt(*again, longest_name)));
    }
    run->id = before->agent;
    run->resumed = before->id;
    name = before->definition;
    if (std::ranges::any_of(runs, [&](const auto& one) { return one->id == run->id; })) {
      throw Error(Errc::invalid_argument, fmt::format("the agent '{}' is still at work", run->id));
    }
  }
  const auto* definition = find(name);
  if (!definition) {
    throw Error(Errc::invalid_argument, fmt::format("there is no agent '{}'", clean_excerpt(name, longest_name)));
  }
  if (run->id.empty()) run->id = fmt::format("{}-{}", definition->name, ++begun);
  run->definition = *definition;
  return run;
}

Task<CallToolResult> SubAgents::Impl::call(Self self, Json arguments) {
  const auto task = word_of(arguments, "prompt");
  const auto place = co_await self->places.acquire();
  auto run = self->run_of(arguments);
  const auto* definition = &run->definition;
  self->runs.insert(run);
  self->tell(run->id, SubAgentBegun{.name = definition->name, .task = task});
  auto done = co_await as_result(work(self, run, task));
  // However it ended, nothing of it is left.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  if (run->agent) {
    co_await run->agent->stop();
    auto used = since(run->before, run->agent->usage());
    if (self->options.add_usage) (void)co_await as_result(self->options.add_usage(std::move(used)));
  }
  for (const auto& [server, declared] : run->own) (void)self->host.remove_server(server);
  self->runs.erase(run);
  self->tell(run->id, SubAgentEnded{.failed = !done || done->end != AgentAnswer::End::answered});
  self->run_ended.notify_all();
  co_await asio::this_coro::throw_if_cancelled(throws);
  auto result = result_of(value_or_throw(std::move(done)));
  if (run->anew) {
    result.content.emplace_back(TextContent{
        .text = fmt::format("[The conversation of agent {} was not found: it began anew and knew nothing.]", run->id),
        .annotations = {},
        .meta = {},
        .extra = {}});
  }
  if (std::ranges::any_of(self->known(), [&](const auto& one) { return one.agent == run->id; })) {
    result.content.emplace_back(
        TextContent{.text = fmt::format("[This was agent {0}; \"resume\": \"{0}\" goes on with it.]", run->id),
                    .annotations = {},
                    .meta = {},
                    .extra = {}});
  }
  co_return result;
}

SubAgents::SubAgents(Host& host, SubAgentsOptions options) : impl_(std::make_shared<Impl>(host, std::move(options))) {}
SubAgents::~SubAgents() = default;

void SubAgents::heard(const HostEvent& event) {
  const auto runs = impl_->runs;
  for (const auto& run : runs) {
    if (run->agent) run->agent->heard(event);
  }
}

void SubAgents::set_mode(AgentMode mode) {
  for (const auto& run : impl_->runs) {
    if (run->agent) run->agent->set_mode(mode);
  }
}

bool SubAgents::owns_server(const std::string& server) const { return impl_->owns_server(server); }

Task<void> SubAgents::ended() {
  const auto self = impl_;
  while (!self->runs.empty()) co_await self->run_ended.wait();
}

AgentTool SubAgents::tool() const {
  std::string about =
      "Gives a task to another agent, which works on it by itself with a conversation of its own and answers with a "
      "report. It sees nothing of this conversation, so the prompt has to say everything. Several can work at once. "
      "There are:";
  auto names = Json::array();
  for (const auto& definition : impl_->options.definitions) {
    if (names.size() == most_named) break;
    names.push_back(definition.name);
    about += fmt::format("\n- {}: {}", definition.name, clean_excerpt(definition.description, longest_description));
  }
  Tool tool{.name = "agent", .description = std::move(about)};
  tool.input_schema = Json{
      {"type", "object"},
      {"properties",
       Json{{"description", described("three to five words for the person who watches")},
            {"prompt", described("the task")},
            {"subagent_type", Json{{"type", "string"}, {"enum", std::move(names)}, {"description", "which agent"}}}}},
      {"required", Json::array({"prompt"})},
      {"additionalProperties", false}};
  if (impl_->options.known) {
    tool.input_schema["properties"]["resume"] = described(
        "an agent of this conversation that has ended, such as reviewer-1: it goes on with all it knows, and "
        "the prompt is what it is told");
  }
  auto call = [self = impl_](Json arguments, CallOptions) { return Impl::call(self, std::move(arguments)); };
  // What it changes, its own calls are asked about; the mode of its parent is its own.
  return {.tool = std::move(tool), .only_reads = true, .call = std::move(call)};
}

}  // namespace patchbay
