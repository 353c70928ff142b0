// A conversation on the terminal: what is typed becomes messages for the agent and commands, what the agent, its
// servers and its rules ask is put to the person, and everything is shown. One for the whole program; loop thread only.
//
// Lines are done one after the other: what is sent while the agent works waits. Commands that only look at things are
// done at once. Ctrl-C interrupts what runs. Without a model there is no agent, and commands do what they can.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <patchbay/agent.h>

#include "agent/grants.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/waiting.h"
#include "cli/agent_host.h"
#include "cli/chat/stage.h"
#include "cli/chat/view.h"
#include "cli/texts/slash_words.h"
#include "cli/waiting.h"

namespace patchbay::cli {

class Chat {
 public:
  // `io` is what everything that talks gets from here on: its texts go to the stage.
  Chat(const Settings& settings, Io& io, Stage& stage, Clock& clock);
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;

  // Before the host is made: who is asked.
  void connect(HostOptions& options);
  // Afterwards. `no_model`: why there is no model, and what to do about it.
  void attach(AgentHost& house, std::shared_ptr<Model> model, std::string no_model);

  // Until the person leaves, or until leave(); returns the exit code. `resume`: the conversation to go on with.
  Task<int> run(std::string first_words, std::string resume);
  void leave(int code);

  // A signal, while the terminal is somebody else's.
  void interrupted();
  Stage& stage() noexcept { return stage_; }

 private:
  // chat.cpp: lines and what becomes of them
  void edited(terminal::EditEvent event);
  void submit(std::string line);
  void enqueue(std::string line);
  void interrupt();
  Task<void> work();
  Task<void> tick();
  Task<void> read_keys();
  Task<void> listen();
  Task<void> do_line(std::string line);
  Task<void> say_to_model(std::string text);
  Task<void> run_shell(std::string command);
  Task<void> at_once(std::string line);
  Task<void> talk(std::string first_words, std::string resume);
  Task<void> begin_agent(std::string resume);
  // Of commands: what is shown while one works, unless it is done beside the agent.
  void busy(std::string what);
  void idle();
  Task<void> end_agent();
  void show_intro(bool resumed);
  void show_transcript();
  void show_error(const Error& error);
  // Without secrets, and with what can be typed here about its failure.
  ServerStatus shown(ServerStatus status) const;
  void show_standing();
  void heard(const HostEvent& event);
  ModelTools& tools();
  std::string model_name() const;
  Task<void> keep_history(std::string line);

  // questions.cpp: what the host asks
  Task<bool> permit(PermissionQuestion question);
  Task<bool> approve(ApprovalQuestion question);
  Task<bool> approve_new(ApprovalQuestion question);
  Task<bool> approve_change(ChangedToolQuestion question);
  Task<ElicitResult> answer(ElicitRequest question, CallContext context);
  Task<bool> approve_sampling(SamplingQuestion question);
  Task<CreateMessageResult> sample(CreateMessageRequest request, CallContext context);
  Task<bool> approve_skill(SkillQuestion question);
  Task<std::string> paste_address(std::function<Task<std::string>(SignInPage)> ask, SignInPage page);

  // commands.cpp
  Task<void> command(Slash command, std::string rest);
  Task<void> mcp(std::string rest);
  Task<void> mcp_server(std::string name);
  Task<void> list_tools(std::string rest);
  Task<void> call_tool(std::string rest);
  Task<void> connect_server(std::string rest);
  Task<void> permissions(std::string rest);
  Task<void> resume(std::string rest);
  Task<void> change_model(std::string rest);
  Task<std::string> choose_conversation();
  void require_server(const std::string& name) const;

  // completion.cpp
  Task<void> complete();
  Task<std::vector<terminal::Candidate>> candidates(Completing what, std::string text);
  Task<std::vector<terminal::Candidate>> prompt_candidates(std::string word);
  Task<std::vector<terminal::Candidate>> prompt_argument_candidates(std::string text, std::string word);

  const Settings settings_;
  Io& io_;
  Stage& stage_;
  Clock& clock_;
  ChatView view_;
  Waiting waiting_;  // never drawn: the stage has a line of its own

  AgentHost* house_ = nullptr;
  std::shared_ptr<Model> model_;
  std::string no_model_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<ModelTools> own_tools_;  // without an agent
  Spawned listening_;

  std::deque<std::string> lines_;  // to be done
  Event lines_changed_;
  bool working_ = false;     // on one of them
  bool aside_ = false;       // at_once() does something
  bool told_waits_ = false;  // something was told to the agent that it is to be sent for
  std::size_t interrupts_ = 0;
  Spawned doing_;                      // what at_once() does
  std::string connecting_;             // the server that /connect waits for
  ModelUsage for_servers_;             // of what the model wrote for servers since the start
  std::string for_model_;              // what the person's own commands printed, for the next message
  std::vector<std::string> kept_ids_;  // of the list that was shown last

  Semaphore turns_{1};  // questions: one after the other
  Grants grants_;
  std::set<std::uint64_t> own_calls_;  // the person's
  std::uint64_t next_call_ = std::uint64_t{1} << 60;

  std::optional<Scope> scope_;
  std::optional<int> code_;
  Event left_;
};

// What was typed in earlier conversations, for going back to it. Blocking.
std::vector<std::string> read_chat_history();

}  // namespace patchbay::cli
