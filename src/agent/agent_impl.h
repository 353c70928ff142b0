// What an Agent consists of. agent.cpp is its face: begin, stop, one thing at a time; turn_loop.cpp asks the model
// until it is content; tool_runs.cpp calls what it wants; shorten.cpp makes a conversation shorter; own_hooks.cpp asks
// hooks about all of it. Included by these alone; loop thread only. Coroutines keep it alive.
//
// A turn is a coroutine in a scope of ours that nobody cancels. What it waits for (the model, a tool, servers) runs
// apart and is ended from outside, so whoever ends a turn (the person, a caller who has gone, stop()) finds it at the
// same place: it gives every call its outcome, keeps it, and returns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/agent.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/repair.h"
#include "agent/sub_agents.h"
#include "agent/tool_offer.h"
#include "agent/turn.h"
#include "base/apart.h"
#include "base/as_result.h"
#include "base/close_once.h"
#include "base/loop_clock.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "hooks/hook_answer.h"

namespace patchbay {

class Agent::Impl : public std::enable_shared_from_this<Agent::Impl> {
 public:
  using Self = std::shared_ptr<Impl>;

  Impl(Host& host, std::shared_ptr<Model> model, AgentOptions options);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { *self_ = nullptr; }

  void heard(const HostEvent& event);
  static Task<void> begin(Self self);
  static Task<void> stop(Self self);
  void abandon();  // where nobody can wait for stop()

  static Task<AgentAnswer> send(Self self, AgentInput input);
  static Task<void> compact(Self self);
  void interrupt();
  void interrupt_turn();
  void tell(std::string text);
  static Task<void> told(Self self);

  AgentContext context();
  void set_mode(AgentMode mode);
  void set_model(std::shared_ptr<Model> model);

  bool busy() const noexcept { return busy_; }
  const std::string& id() const noexcept;
  const ModelMessages& messages() const noexcept;
  const ModelUsage& usage() const noexcept;
  AgentMode mode() const noexcept { return options_.mode; }
  const Model& model() const noexcept { return *model_; }
  ModelTools& model_tools() noexcept { return model_tools_; }

 private:
  // Why what is under way ends before its time.
  enum class Ending : std::uint8_t { none, interrupted, cancelled, stopped };

  // What one send() is about.
  struct Turn {
    AgentAnswer answer;
    TurnCounts counts;
    std::string so_far;   // of the answer that is being written
    std::string cut_off;  // an answer that the next one goes on
    int shortened = 0;    // times, since the model last answered
  };

  // One call that the model wants.
  struct ToolRun {
    enum class Where : std::uint8_t { nowhere, own, model_tools, host };
    ModelToolUse use;
    Where where = Where::nowhere;
    const AgentTool* own = nullptr;
    std::string catalog_name;
    std::string server;
    bool only_reads = false;
    std::uint64_t call = 0;
    std::optional<ModelToolOutcome> outcome;
    bool deferred = false;  // a hook wants it to be made later
  };
  using ToolRuns = std::vector<std::shared_ptr<ToolRun>>;
  struct Called;

  // agent.cpp
  template <class T>
  static Task<T> alone(Self self, Task<T> work);
  template <class T>
  static Task<Result<T>> under_way(Self self, Task<T> work);
  void end_turn(Ending why);
  Error why_ended() const;
  void report(AgentEvent event) const noexcept;
  template <class T>
  void report_own(T what) const noexcept {
    report(AgentEvent{.sub_agent = {}, .what = std::move(what)});
  }
  void notice(std::string text) const noexcept { report_own(AgentNotice{std::move(text)}); }
  static Task<bool> wait_for_message(Self self, std::chrono::milliseconds time);
  // Messages of channels, for as long as there is an agent.
  static Task<void> listen(Self self);
  bool has_told_enough() const noexcept;

  static Task<void> add_tools(Self self);
  // The file that the conversation is kept in now; empty: none.
  const std::string& transcript() const noexcept;
  void lost_file(std::string why);
  bool sees_server(const std::string& server) const;
  ModelToolsOptions visible(ModelToolsOptions options);
  bool sees(const CatalogEntry& entry) const {
    return sees_server(entry.server) && (!options_.sees || options_.sees(entry));
  }

  // Without a search, what has to be searched for could never be called.
  ToolGrowth growth() const noexcept {
    const auto usual = growth_of(model_->info());
    return usual == ToolGrowth::by_search && !options_.resource_tools ? ToolGrowth::at_end : usual;
  }

  // turn_loop.cpp
  static Task<AgentAnswer> turn(Self self, AgentInput input);
  static Task<void> hold(Self self, AgentInput input, std::shared_ptr<Turn> turn);
  static Task<void> go_on(Self self, std::shared_ptr<Turn> turn);
  static Task<Result<ModelAnswer>> ask(Self self, std::shared_ptr<Turn> turn);
  ModelRequest request() const;
  void heard_model(const ModelEvent& event, Turn& turn) const;
  void freeze();
  const ToolsNow& tools_now();
  std::vector<ServerInstructions> instructions_now() const;
  void take_told(std::vector<ModelPart>& parts);
  void take_news(std::vector<ModelPart>& parts);
  void add_line_about_subs(std::string& text);
  static Task<void> append(Self self, Role role, std::vector<ModelPart> parts, ModelUsage usage = {});

  // tool_runs.cpp
  ToolRuns runs_of(const std::vector<ModelToolUse>& uses);
  std::shared_ptr<ToolRun> run_of(const ModelToolUse& use);
  static Task<std::vector<ModelPart>> run_tools(Self self, ToolRuns runs, std::shared_ptr<Turn> turn,
                                                std::shared_ptr<Scope> keeping);
  static Task<void> run_one(Self self, std::shared_ptr<ToolRun> run, std::shared_ptr<Turn> turn,
                            std::shared_ptr<Semaphore> places);
  static Task<Called> call(Self self, std::shared_ptr<ToolRun> run);
  static Task<CallToolResult> send_call(Self self, std::shared_ptr<ToolRun> run);

  // shorten.cpp
  enum class Wanted : std::uint8_t {
    by_person,
    by_size,      // it is about to be too long
    by_provider,  // it is
  };
  static Task<bool> shorten(Self self, bool summarise, Wanted wanted);
  std::size_t tokens_now() const;

  // own_hooks.cpp. Only those about making it shorter are asked for a sub-agent.
  static Task<HookVerdict> ask_hooks(Self self, HookEvent event, std::string what, Json facts);
  // With the conversation that they are about: another one may have begun at this Host meanwhile.
  Json of_this_conversation(Json facts) const;
  static Task<void> begin_session(Self self);
  static Task<void> end_session(Self self);
  // What goes with the message. Errc::denied: it is not sent.
  static Task<std::vector<ModelPart>> admit(Self self, std::string text);
  static Task<bool> may_shorten(Self self, Wanted wanted);
  // Tells them that the person is waited for, once that takes long.
  static Task<void> remind_of_idleness(Self self);
  // What the model reads and goes on with; empty: it is done.
  static Task<std::string> reason_to_go_on(Self self, std::string last_words, std::size_t times);

  Host& host_;
  std::shared_ptr<Model> model_;
  AgentOptions options_;
  // What is under way in ModelTools may end later than we do.
  std::shared_ptr<const Impl*> self_ = std::make_shared<const Impl*>(this);
  ModelTools model_tools_;
  std::vector<AgentTool> own_tools_;
  std::unique_ptr<SubAgents> sub_agents_;  // from begin() on, where there may be any

  std::optional<Scope> scope_;  // from begin() on
  std::optional<Apart> apart_;
  Clock* clock_ = nullptr;
  Semaphore beginning_{1};
  bool begun_ = false;
  bool servers_begun_ = false;
  bool stopped_ = false;
  CloseOnce close_;

  bool busy_ = false;
  Event idle_;
  Ending ending_ = Ending::none;
  std::size_t calls_under_way_ = 0;
  bool call_interrupted_ = false;  // of the calls that are made now
  std::uint64_t next_call_ = 0;

  bool session_begun_ = false;                // hooks were told so
  std::vector<std::string> session_context_;  // of theirs, that no message has yet

  std::unique_ptr<Conversation> conversation_;
  std::string file_;  // of it, as long as it is kept
  ModelMessages no_messages_;
  std::string no_id_;
  ModelUsage no_usage_;
  struct Told {
    std::string text;
    std::string message = {};  // the id of a message of a channel
  };
  std::vector<Told> told_;  // and in no request yet
  Event told_event_;
  Event told_taken_;
  std::vector<std::string> in_message_;  // ids of messages of channels that the next message has
  Spawned listening_;

  ToolOffer offer_;
  ModelNews news_;  // that no message has yet
  std::string system_;
  bool begun_in_plan_ = false;                // what system_ says
  bool told_plan_ = false;                    // what the model was told last
  std::set<std::string, std::less<>> found_;  // by searches, since the last news
  // What models before this one were given to begin with. Whoever comes back to one of them begins as before.
  struct Beginning {
    std::string model;  // with its provider
    ToolOffer offer;
    std::string system;
    bool in_plan = false;
  };
  std::vector<Beginning> beginnings_;  // the one that was used last is at the end
  ToolsNow now_;
  std::shared_ptr<const Catalog> now_of_, now_loaded_;  // of which now_ was made
  std::vector<std::string> now_own_;
  std::vector<ServerInstructions> now_instructions_;
  ResultHandles handles_;  // of large results, by the id of the use
  bool told_subs_ = false;
  struct Refused {
    std::size_t tokens = 0;
    std::size_t messages = 0;
  };
  std::optional<Refused> refused_shortening_;  // by a hook, and how long the conversation was then
  Spawned idle_reminder_;
  ModelUsage last_usage_;           // of the newest answer
  std::size_t asked_messages_ = 0;  // how many messages that request and its answer are
};

struct Agent::Impl::Called {
  ModelResult result;
  AgentToolResult::End end = AgentToolResult::End::answered;
  std::string reason = {};
};

template <class T>
Task<Result<T>> Agent::Impl::under_way(Self self, Task<T> work) {
  if (self->ending_ != Ending::none) co_return std::unexpected(self->why_ended());
  auto done = co_await as_result(self->apart_->run(std::move(work)));
  if (!done && self->ending_ != Ending::none) co_return std::unexpected(self->why_ended());
  co_return done;
}

}  // namespace patchbay
