// What the person says, up to the model's last word: asking, calling, telling, and asking again.
#include <algorithm>
#include <iterator>
#include <ranges>

#include <fmt/format.h>

#include "agent/agent_impl.h"
#include "agent/conversation/usage_sum.h"
#include "agent/fit_request.h"
#include "agent/system_text.h"
#include "base/clock.h"
#include "base/strings.h"
#include "host/model/own_tools.h"
#include "json/schema.h"

namespace patchbay {
namespace {

// Of a context, what a conversation may fill before it is made shorter.
constexpr double full_share = 0.8;
constexpr std::size_t most_subs_named = 20;

std::vector<ModelToolUse> uses_of(const ModelMessage& message) {
  std::vector<ModelToolUse> out;
  for (const auto& part : message.parts) {
    if (const auto* use = std::get_if<ModelToolUse>(&part)) out.push_back(*use);
  }
  return out;
}

Task<bool> as_bool(Task<void> work) {
  co_await std::move(work);
  co_return true;
}

// An answer that was cut off may end in a call whose arguments never came. It is not made without them.
void mark_cut_off(ModelMessage& message) {
  if (message.parts.empty()) return;
  auto* use = std::get_if<ModelToolUse>(&message.parts.back());
  if (use != nullptr && use->broken.empty() && use->input.size() == 0) use->broken = "(cut off)";
}

// The JSON of an answer that was asked for with a schema, or what is wrong with it.
Result<Json> structured_of(const std::string& text, const Json& wanted) {
  auto value = parse_json(text);
  if (!value) return fail(Errc::invalid_argument, fmt::format("it is not JSON: {}", value.error().message()));
  const auto schema = Schema::compile(wanted);
  if (!schema) return value;  // the provider's to judge
  const auto problems = schema->validate(*value);
  if (!problems || problems->empty()) return value;
  return fail(Errc::invalid_argument,
              fmt::format("at \"{}\": {}", problems->front().instance_path, problems->front().message));
}

// Servers of the program that are offered under bare names are as good as its own tools: they come first, and what a
// provider keeps of the beginning ends behind them.
void built_in_first(ToolPool& pool, const Catalog& catalog) {
  const auto built_in = [&](const ModelTool& tool) {
    if (tool.catalog_name.empty()) return true;
    const auto* entry = catalog.at(tool.catalog_name);
    return entry != nullptr && entry->prefix == NamePrefix::none;
  };
  const auto by_name = [](const auto& left, const auto& right) { return left.name < right.name; };
  const auto others = std::partition(pool.tools.begin(), pool.tools.end(), built_in);
  std::sort(pool.tools.begin(), others, by_name);
  std::sort(others, pool.tools.end(), by_name);
  pool.own = static_cast<std::size_t>(others - pool.tools.begin());
}

}  // namespace

// ---- what a request consists of

// Of servers that have tools for this agent, or none at all for anybody.
std::vector<ServerInstructions> Agent::Impl::instructions_now() const {
  std::vector<ServerInstructions> out;
  for (const auto& status : host_.status()) {
    if (status.state != ServerState::connected || !status.server || !status.server->instructions) continue;
    if (!sees_server(status.name)) continue;
    const auto offers = [&](const auto& one) { return one.second == status.name; };
    const bool quiet = status.tool_count == 0 && !options_.sees;
    if (quiet || std::ranges::any_of(now_.servers_of, offers))
      out.push_back({status.name, *status.server->instructions});
  }
  return out;
}

const ToolsNow& Agent::Impl::tools_now() {
  const auto all = host_.catalog();
  const bool more = options_.resource_tools;
  const auto loaded = more ? model_tools_.loaded() : all;
  std::vector<Tool> own = more ? model_tools_.tools() : std::vector<Tool>();
  const auto is_search = [](const Tool& tool) { return tool.name == name_of(OwnTool::search); };
  if (growth() == ToolGrowth::by_search && std::ranges::none_of(own, is_search)) {
    own.push_back(describe(OwnTool::search));  // also for what comes later
  }
  for (const auto& tool : own_tools_) own.push_back(tool.tool);
  std::vector<std::string> own_names;
  for (const auto& tool : own) own_names.push_back(tool.name);
  if (all != now_of_) {
    now_.servers_of.clear();
    for (const auto& entry : all->tools()) {
      if (sees(entry)) now_.servers_of.emplace(entry.name, entry.server);
    }
  }
  auto instructions = instructions_now();
  if (all != now_of_ || loaded != now_loaded_ || own_names != now_own_ || instructions != now_instructions_) {
    now_of_ = all;
    now_loaded_ = loaded;
    now_own_ = std::move(own_names);
    now_.pool = make_tool_pool(own, *loaded, instructions, model_->info().api);
    now_instructions_ = std::move(instructions);
    std::erase_if(now_.pool.tools, [&](const ModelTool& tool) {
      return !tool.catalog_name.empty() && !now_.servers_of.contains(tool.catalog_name);
    });
    built_in_first(now_.pool, *loaded);
    now_.searchable = {};
    if (loaded != all) {
      for (const auto& entry : all->tools()) {
        if (loaded->at(entry.name) != nullptr || !now_.servers_of.contains(entry.name)) continue;
        if (auto tool = view_tool(entry, model_->info().api)) now_.searchable.tools.push_back(std::move(*tool));
      }
    }
  }
  now_.servers.clear();
  for (const auto& status : host_.status()) {
    if (!sees_server(status.name)) continue;
    if (auto note = note_of(status)) now_.servers.emplace(status.name, std::move(*note));
  }
  return now_;
}

// The tools and the system text of the conversation from here on. What is not ready is told with the next news.
void Agent::Impl::freeze() {
  if (offer_.is_frozen()) return;
  const auto& now = tools_now();
  news_ = offer_.freeze(now, told_tools(messages()));
  for (const auto& [name, reason] : now.pool.left_out) {
    notice(fmt::format("the model cannot be offered {}: {}", name, reason));
  }
  found_.clear();
  SystemFacts facts;
  facts.instructions = options_.instructions;
  facts.more = options_.more_instructions;
  facts.directory = options_.directory;
  facts.now = std::chrono::floor<std::chrono::seconds>(clock_->wall());
  facts.plan_mode = options_.mode == AgentMode::plan;
  begun_in_plan_ = facts.plan_mode;
  // What a message says of it counts more than the beginning.
  told_plan_ = told_plan_mode(messages()).value_or(facts.plan_mode);
  system_ = system_text(facts, now);
}

void Agent::Impl::take_told(std::vector<ModelPart>& parts) {
  for (auto& one : std::exchange(told_, {})) {
    parts.emplace_back(ModelText{std::move(one.text)});
    if (!one.message.empty()) in_message_.push_back(std::move(one.message));
  }
  told_taken_.notify_all();
}

void Agent::Impl::take_news(std::vector<ModelPart>& parts) {
  const bool begins = !offer_.is_frozen();
  freeze();
  auto news = std::exchange(news_, {});
  if (!begins) {
    auto more = offer_.update(tools_now(), found_);
    found_.clear();
    if (!news.text.empty() && !more.text.empty()) news.text += '\n';
    news.text += more.text;
    // What came back with the beginning may be gone by now.
    std::erase_if(news.added, [&](const ModelTool& tool) { return std::ranges::count(more.removed, tool.name) > 0; });
    std::ranges::move(more.added, std::back_inserter(news.added));
    news.removed = std::move(more.removed);
  }
  if (const bool plan = options_.mode == AgentMode::plan; std::exchange(told_plan_, plan) != plan) {
    if (!news.text.empty()) news.text += '\n';
    news.text += plan_mode_text(plan);
  }
  add_line_about_subs(news.text);
  if (!news.text.empty()) parts.emplace_back(std::move(news));
}

// Once, where a conversation was taken up again: the calls that began them may have been cut off.
void Agent::Impl::add_line_about_subs(std::string& text) {
  if (options_.resume.empty() || !sub_agents_ || std::exchange(told_subs_, true)) return;
  const auto& subs = conversation_->subs();
  if (subs.empty()) return;
  std::vector<std::string> names;
  for (const auto& sub : subs | std::views::reverse | std::views::take(most_subs_named)) names.push_back(sub.agent);
  if (!text.empty()) text += '\n';
  text +=
      fmt::format("Agents of this conversation that can go on (\"resume\" of the tool agent), the newest first: {}{}.",
                  join(names, ", "), names.size() < subs.size() ? " and others" : "");
}

ModelRequest Agent::Impl::request() const {
  ModelRequest out;
  out.system = system_;
  out.tools = offer_.pool();
  out.deferred = offer_.deferred();
  out.messages = messages();
  out.answer_schema = options_.answer_schema;
  out.conversation = id();
  return out;
}

Task<void> Agent::Impl::append(Self self, Role role, std::vector<ModelPart> parts, ModelUsage usage) {
  if (parts.empty()) {
    if (usage != ModelUsage{}) co_await self->conversation_->add_usage(std::move(usage));
    co_return;
  }
  auto message = std::make_shared<ModelMessage>();
  message->role = role;
  message->parts = std::move(parts);
  auto had = std::exchange(self->in_message_, {});
  // So that whoever goes on with it knows where the large ones are.
  ResultHandles handles;
  for (const auto& part : message->parts) {
    const auto* outcome = std::get_if<ModelToolOutcome>(&part);
    if (const auto found = outcome ? self->handles_.find(outcome->id) : self->handles_.end();
        found != self->handles_.end()) {
      handles.insert(*found);
    }
  }
  co_await self->conversation_->append(std::move(message), std::move(usage), std::move(handles));
  // From here on the conversation has these messages of channels, whatever happens to us.
  if (!had.empty()) (void)co_await as_result(self->host_.acknowledge_channel_messages(std::move(had)));
}

void Agent::Impl::heard_model(const ModelEvent& event, Turn& turn) const {
  if (const auto* text = std::get_if<ModelTextDelta>(&event)) {
    turn.so_far += text->text;
    report_own(AgentText{text->text});
  } else if (const auto* thinking = std::get_if<ModelThinkingDelta>(&event)) {
    report_own(AgentThinking{thinking->text});
  } else if (const auto* retry = std::get_if<ModelRetry>(&event)) {
    turn.so_far.clear();
    report_own(AgentRetry{*retry});
  }
}

// ---- asking

Task<Result<ModelAnswer>> Agent::Impl::ask(Self self, std::shared_ptr<Turn> turn) {
  const auto limit = self->model_->info().context_tokens;
  if (static_cast<double>(self->tokens_now()) > full_share * static_cast<double>(limit)) {
    (void)co_await shorten(self, false, Wanted::by_size);
  }
  for (;;) {
    self->freeze();
    turn->so_far.clear();
    const auto model = self->model_;
    auto fitted = fit_request(self->request(), model->info());
    for (auto& note : fitted.notes) self->notice(std::move(note));
    auto hear = [weak = std::weak_ptr(self), turn](const ModelEvent& event) {
      if (const auto impl = weak.lock()) impl->heard_model(event, *turn);
    };
    ++turn->answer.turns;
    auto asked = co_await under_way(self, model->ask(std::move(fitted.request), std::move(hear)));
    const bool full = asked ? asked->stop == ModelStop::context_full && uses_of(asked->message).empty()
                            : asked.error().code() == Errc::limit && self->tokens_now() > limit / 4;
    if (!full) {
      turn->shortened = 0;
      co_return asked;
    }
    // Old results first; where that was not enough, a summary.
    if (turn->shortened == 2) co_return asked;
    if (asked) co_await self->conversation_->add_usage(asked->usage);
    if (!co_await shorten(self, ++turn->shortened == 2, Wanted::by_provider)) co_return asked;
  }
}

// ---- the loop

Task<void> Agent::Impl::go_on(Self self, std::shared_ptr<Turn> turn) {
  using End = AgentAnswer::End;
  auto& answer = turn->answer;
  for (;;) {
    if (self->options_.max_turns > 0 && answer.turns >= self->options_.max_turns) {
      answer.end = End::max_turns;
      co_return;
    }
    auto asked = co_await ask(self, turn);
    if (!asked) {
      // What it had said is not lost for it.
      if (self->ending_ != Ending::none && !turn->so_far.empty()) {
        std::vector<ModelPart> parts;
        parts.emplace_back(ModelText{turn->so_far});
        co_await append(self, Role::assistant, std::move(parts));
      }
      throw std::move(asked).error();
    }
    add(answer.usage, asked->usage);
    self->offer_.leave_out(asked->left_out);
    for (const auto& [name, reason] : asked->left_out) {
      self->notice(fmt::format("the provider refuses {}, so the model goes without it: {}", name, reason));
    }
    for (const auto& warning : asked->warnings) self->notice(warning);
    if (asked->stop == ModelStop::max_tokens) mark_cut_off(asked->message);
    const auto message = std::make_shared<const ModelMessage>(std::move(asked->message));
    const auto uses = uses_of(*message);
    answer.text = std::exchange(turn->cut_off, {}) + text_of(*message);
    // Calls that only read need not wait for the disk; see run_tools().
    const auto keeping = std::make_shared<Scope>(co_await asio::this_coro::executor);
    keeping->start(append(self, Role::assistant, message->parts, asked->usage));
    if (uses.empty()) co_await keeping->join();
    self->last_usage_ = asked->usage;
    self->asked_messages_ = self->messages().size();
    self->report_own(AgentMessage{.message = message, .stop = asked->stop, .usage = asked->usage});

    const auto next = after_answer(asked->stop, !uses.empty(), turn->counts);
    std::vector<ModelPart> parts;
    switch (next) {
      case AfterAnswer::refused:
        co_await keeping->join();
        // Nothing is called any more; append() gives each use its outcome with the next message.
        answer.end = End::refused;
        co_return;
      case AfterAnswer::shorten:
        throw Error(Errc::limit, "the conversation is longer than the model can read, and could not be made shorter");
      case AfterAnswer::end: {
        if (!self->options_.answer_schema) co_return;
        auto value = structured_of(answer.text, *self->options_.answer_schema);
        if (value) {
          answer.structured = std::move(*value);
          co_return;
        }
        if (turn->counts.misshapen++ >= TurnLimits().misshapen) {
          throw Error(Errc::protocol,
                      fmt::format("the model's answer is not what it was asked for: {}", value.error().message()));
        }
        parts.emplace_back(ModelText{
            fmt::format("[Your answer has to be one JSON value of the schema you were given and nothing else: {}]",
                        value.error().message())});
        break;
      }
      case AfterAnswer::ask_again:
        ++turn->counts.pauses;
        continue;
      case AfterAnswer::say_cut_off:
        ++turn->counts.continued;
        turn->cut_off = answer.text;
        parts.emplace_back(ModelText{std::string(note_for(next))});
        break;
      case AfterAnswer::say_malformed:
        ++turn->counts.malformed;
        parts.emplace_back(ModelText{std::string(note_for(next))});
        break;
      case AfterAnswer::run_tools: {
        auto runs = self->runs_of(uses);
        parts = co_await run_tools(self, runs, turn, keeping);
        const bool deferred = std::ranges::any_of(runs, [](const auto& run) { return run->deferred; });
        if (self->ending_ != Ending::none || deferred) {
          co_await append(self, Role::user, std::move(parts));
          if (self->ending_ != Ending::none) throw self->why_ended();
          answer.end = End::deferred;
          co_return;
        }
        break;
      }
    }
    self->take_told(parts);
    self->take_news(parts);
    co_await append(self, Role::user, std::move(parts));
  }
}

Task<void> Agent::Impl::hold(Self self, AgentInput input, std::shared_ptr<Turn> turn) {
  using End = AgentAnswer::End;
  const bool speaks = !input.text.empty() || !input.images.empty();
  co_await begin_session(self);
  std::vector<ModelPart> added;
  if (speaks) added = co_await admit(self, input.text);
  if (!self->servers_begun_) {
    value_or_throw(co_await under_way(self, as_bool(self->host_.begin(self->options_.wait_for_servers))));
    self->servers_begun_ = true;
  }
  std::vector<ModelPart> parts;
  if (const auto later = self->conversation_->deferred(); !later.empty()) {
    // Calls that a hook put off: it is asked again. Whoever goes on after a crash from here on finds none that waits,
    // so that none is made twice.
    auto runs = self->runs_of(later);
    co_await self->conversation_->defer({});
    parts = co_await run_tools(self, runs, turn, nullptr);
    if (std::ranges::any_of(runs, [](const auto& run) { return run->deferred; })) {
      if (!speaks) {
        co_await append(self, Role::user, std::move(parts));
        turn->answer.end = End::deferred;
        co_return;
      }
      // The person goes on without them, and what they say is not lost.
      for (const auto& run : runs) {
        if (run->deferred) parts.emplace_back(std::move(*run->outcome));
      }
    }
  }
  for (auto& context : std::exchange(self->session_context_, {})) parts.emplace_back(ModelText{std::move(context)});
  if (!input.text.empty()) parts.emplace_back(ModelText{std::move(input.text)});
  for (auto& image : input.images) parts.emplace_back(std::move(image));
  std::ranges::move(added, std::back_inserter(parts));
  for (std::size_t times = 0;; ++times) {
    self->take_told(parts);
    self->take_news(parts);
    co_await append(self, Role::user, std::move(parts));
    co_await go_on(self, turn);
    if (turn->answer.end != End::answered) co_return;
    auto reason = co_await reason_to_go_on(self, turn->answer.text, times);
    if (reason.empty()) co_return;
    parts.clear();
    parts.emplace_back(ModelText{std::move(reason)});
  }
}

Task<AgentAnswer> Agent::Impl::turn(Self self, AgentInput input) {
  auto turn = std::make_shared<Turn>();
  auto held = co_await as_result(hold(self, std::move(input), turn));
  if (!held) {
    if (self->ending_ != Ending::interrupted) throw std::move(held).error();
    turn->answer.end = AgentAnswer::End::interrupted;
  }
  co_return std::move(turn->answer);
}

}  // namespace patchbay
