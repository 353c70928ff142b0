// The calls of one answer: which run at once, each through its door, and one outcome for each whatever happens.
#include <algorithm>

#include <fmt/format.h>

#include <patchbay/failure.h>
#include <patchbay/tools.h>

#include "agent/agent_impl.h"
#include "hooks/hook_answer.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_broken = 300;  // of what was meant as arguments

// A call of a server, as every agent and model writes it.
constexpr std::string_view server_tool = "mcp__";

struct Counted {
  explicit Counted(std::size_t& c) : count(c) { ++count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count; }
  std::size_t& count;
};

ModelResult failed(std::string text) { return {.blocks = {ModelText{std::move(text)}}, .is_error = true}; }

}  // namespace

// What a call means now. Whether it may be made is not looked at here.
std::shared_ptr<Agent::Impl::ToolRun> Agent::Impl::run_of(const ModelToolUse& use) {
  auto run = std::make_shared<ToolRun>();
  run->use = use;
  for (const auto& own : own_tools_) {
    if (own.tool.name != use.name) continue;
    run->where = ToolRun::Where::own;
    run->own = &own;
    run->only_reads = own.only_reads;
    return run;
  }
  if (options_.resource_tools && model_tools_.has(use.name)) {
    run->where = ToolRun::Where::model_tools;
    run->only_reads = true;
    return run;
  }
  const auto* offered = offer_.find(use.name);
  run->catalog_name = offered && !offered->catalog_name.empty() ? offered->catalog_name : use.name;
  const auto catalog = host_.catalog();
  auto found = catalog->find(run->catalog_name);
  if (const auto* const* entry = std::get_if<const CatalogEntry*>(&found)) {
    if (!sees(**entry)) return run;
    run->catalog_name = (*entry)->name;
    run->server = (*entry)->server;
    run->only_reads = only_reads(*(*entry)->tool);
    run->where = ToolRun::Where::host;
  } else if (offered || (!options_.sees && use.name.starts_with(server_tool))) {
    // Its server is away, or has not come yet: the host knows.
    run->where = ToolRun::Where::host;
  }
  return run;
}

Agent::Impl::ToolRuns Agent::Impl::runs_of(const std::vector<ModelToolUse>& uses) {
  ToolRuns runs;
  for (const auto& use : uses) {
    runs.push_back(run_of(use));
    runs.back()->call = ++next_call_;
  }
  return runs;
}

Task<CallToolResult> Agent::Impl::send_call(Self self, std::shared_ptr<ToolRun> run) {
  CallOptions options;
  options.principal = self->options_.principal;
  options.call_id = run->call;
  options.on_progress = [weak = std::weak_ptr(self), id = run->use.id](const Progress& progress) {
    if (const auto impl = weak.lock()) impl->report_own(AgentToolProgress{id, progress});
  };
  switch (run->where) {
    case ToolRun::Where::own:
      co_return co_await run->own->call(run->use.input, std::move(options));
    case ToolRun::Where::model_tools: {
      auto result = co_await self->model_tools_.call(run->use.name, run->use.input, std::move(options));
      if (!result.structured_content) co_return result;
      // What a search has found. Their names are where the API wants them.
      run->outcome.emplace();
      for (const auto& tool : (*result.structured_content)["tools"].items()) {
        auto name = tool["name"].text() ? tool["name"].text() : tool["function"]["name"].text();
        if (!name || (self->offer_.pool() && self->offer_.pool()->find(*name))) continue;
        self->found_.emplace(*name);
        run->outcome->found.emplace_back(*name);
      }
      co_return result;
    }
    case ToolRun::Where::host:
      co_return co_await self->host_.call(run->catalog_name, Payload(run->use.input), std::move(options));
    case ToolRun::Where::nowhere:
      break;
  }
  throw Error(Errc::invalid_argument, fmt::format("unknown tool '{}'", clean_excerpt(run->use.name, 80)))
      .with_carried_out(CarriedOut::no);
}

Task<Agent::Impl::Called> Agent::Impl::call(Self self, std::shared_ptr<ToolRun> run) {
  using End = AgentToolResult::End;
  if (!run->use.broken.empty()) {
    co_return Called{failed(fmt::format("The arguments are not a JSON object, so nothing was called. They were: {}",
                                        clean_excerpt(run->use.broken, longest_broken))),
                     End::failed};
  }
  if (self->options_.mode == AgentMode::plan && !run->only_reads && run->where != ToolRun::Where::nowhere) {
    co_return Called{failed("Plan mode is on: only tools that only read are called. Nothing was called."), End::denied,
                     "plan mode"};
  }
  auto called = co_await under_way(self, send_call(self, run));
  std::optional<Error> error;
  if (called) {
    const auto end = called->is_error ? End::failed : End::answered;
    const auto& name = run->catalog_name.empty() ? run->use.name : run->catalog_name;
    // Images are made smaller on the way, which takes its time.
    auto given = co_await as_result(
        self->apart_->run(self->host_.for_model(name, std::move(*called), self->options_.principal)));
    if (given) co_return Called{std::move(*given), end};
    error = std::move(given).error();
    if (self->ending_ != Ending::none || self->call_interrupted_) {
      co_return Called{
          failed(fmt::format("This call was carried out, and its result was not read: {}. Do not repeat it "
                             "only to see that.",
                             error->message())),
          End::interrupted};
    }
  } else {
    error = std::move(called).error();
    if (self->ending_ != Ending::none || self->call_interrupted_) {
      co_return Called{
          failed(fmt::format("This call was ended before it was answered: {}. It may have been carried out; "
                             "check that before you repeat it.",
                             error->message())),
          End::interrupted};
    }
  }
  run->deferred = is_deferral(*error);
  const auto text = failure_text(*error, run->server);
  if (run->deferred) co_return Called{failed(text), End::deferred, error->message()};
  const bool denied = error->code() == Errc::denied;
  co_return Called{failed(text), denied ? End::denied : End::failed, denied ? error->message() : std::string()};
}

Task<void> Agent::Impl::run_one(Self self, std::shared_ptr<ToolRun> run, std::shared_ptr<Turn> turn,
                                std::shared_ptr<Semaphore> places) {
  const auto place = co_await places->acquire();
  const auto began = self->clock_->now();
  const bool too_late = self->ending_ != Ending::none || self->call_interrupted_;
  Called called{failed("Not called: the person interrupted."), AgentToolResult::End::interrupted};
  if (!too_late) {
    const Counted counted(self->calls_under_way_);
    self->report_own(
        AgentToolCall{.call = run->where == ToolRun::Where::host ? run->call : 0,
                      .use = run->use,
                      .catalog_name = run->where == ToolRun::Where::host ? run->catalog_name : std::string(),
                      .only_reads = run->only_reads});
    auto done = co_await as_result(call(self, run));
    called =
        done ? std::move(*done) : Called{failed(failure_text(done.error(), run->server)), AgentToolResult::End::failed};
  }
  if (called.end == AgentToolResult::End::denied) turn->answer.denied.push_back({run->use, called.reason});
  if (!called.result.handle.empty()) self->handles_.insert_or_assign(run->use.id, called.result.handle);
  for (const auto& note : called.result.notes) self->notice(note);
  if (!run->outcome) run->outcome.emplace();
  run->outcome->id = run->use.id;
  run->outcome->name = run->use.name;
  run->outcome->blocks = called.result.blocks;
  run->outcome->is_error = called.result.is_error;
  self->report_own(AgentToolResult{
      .id = run->use.id,
      .name = run->use.name,
      .result = std::move(called.result),
      .took = std::chrono::duration_cast<std::chrono::milliseconds>(self->clock_->now() - began),
      .end = called.end,
      .reason = std::move(called.reason),
  });
}

// The outcomes in the order of the calls, but for those that are to be made later.
// `keeping` writes the message with these calls: it is on the disk before anything is done that cannot be done twice,
// so whoever goes on after a crash knows of it.
Task<std::vector<ModelPart>> Agent::Impl::run_tools(Self self, ToolRuns runs, std::shared_ptr<Turn> turn,
                                                    std::shared_ptr<Scope> keeping) {
  self->call_interrupted_ = false;
  std::vector<bool> reads;
  for (const auto& run : runs) reads.push_back(run->only_reads);
  const auto places = std::make_shared<Semaphore>(std::max<std::size_t>(self->options_.tools_at_once, 1));
  for (const auto& batch : batches_of(reads)) {
    if (keeping && !reads[batch.front()]) co_await std::exchange(keeping, nullptr)->join();
    if (batch.size() == 1) {
      (void)co_await as_result(run_one(self, runs[batch.front()], turn, places));
      continue;
    }
    Scope scope(co_await asio::this_coro::executor);
    for (const auto at : batch) scope.start(run_one(self, runs[at], turn, places));
    (void)co_await as_result(scope.join());
  }
  if (keeping) co_await keeping->join();
  self->call_interrupted_ = false;
  std::vector<ModelPart> parts;
  std::vector<std::string> later;
  for (const auto& run : runs) {
    if (run->deferred) {
      later.push_back(run->use.id);
      continue;
    }
    if (!run->outcome || run->outcome->id.empty()) run->outcome = interrupted_outcome(run->use);
    parts.emplace_back(std::move(*run->outcome));
  }
  if (!later.empty()) co_await self->conversation_->defer(std::move(later));
  co_return parts;
}

}  // namespace patchbay
