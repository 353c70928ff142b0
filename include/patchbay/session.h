// Session: one connected server. Its methods are the protocol's, whatever revision the
// server speaks. A handle: copies refer to the same connection, which is closed by close() or
// when the last handle is destroyed. Use it on the loop
// it was made on; every wait can be cancelled and every call ends.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/call.h>
#include <patchbay/task.h>
#include <patchbay/types.h>

namespace patchbay {

// A wish to hear about changes; they arrive at ClientOptions::on_change.
class Watch {
 public:
  Watch() = default;
  // What the server agreed to.
  const SubscriptionFilter& honoured() const noexcept;
  Task<void> stop();

 private:
  friend class Session;
  friend struct WatchAccess;
  struct State;
  std::shared_ptr<State> state_;
};

class Session {
 public:
  Session() = default;

  // Whether this handle refers to a connection at all; a default-made one does not.
  bool connected() const noexcept { return holder_ != nullptr; }
  // As it described itself last: a session that had to be opened anew has asked again.
  ServerDescription server() const;
  bool is_legacy() const noexcept;  // for display; nothing should depend on it
  bool closed() const noexcept;
  // What the server wrote to stderr lately.
  std::string diagnostics() const;

  // All pages, within one time limit.
  Task<Listing<Tool>> list_tools(CallOptions options = {});
  Task<Listing<Resource>> list_resources(CallOptions options = {});
  Task<Listing<ResourceTemplate>> list_resource_templates(CallOptions options = {});
  Task<Listing<Prompt>> list_prompts(CallOptions options = {});
  // One page, for callers that show pages.
  Task<Page<Tool>> list_tools_page(std::optional<std::string> cursor, CallOptions options = {});

  // `arguments` is an object, or null for none. A payload is sent byte for byte.
  Task<CallToolResult> call_tool(std::string name, Payload arguments, CallOptions options = {});
  // The same, without waiting for what goes on as a task: its id is good for await_task(),
  // here or on a later connection. `options.task` counts as `prefer`.
  Task<StartedTool> start_tool(std::string name, Payload arguments, CallOptions options = {});
  // The result of a task, whose questions are answered meanwhile. Giving up the wait leaves
  // the task running.
  Task<CallToolResult> await_task(std::string id, CallOptions options = {});
  Task<RemoteTask> get_task(std::string id);
  // Those this session began; newer servers do not list them (Errc::unsupported).
  Task<Listing<RemoteTask>> list_tasks(CallOptions options = {});
  Task<void> cancel_task(std::string id);

  Task<ReadResourceResult> read_resource(std::string uri, CallOptions options = {});
  // Skills, of servers that declare that extension (Errc::unsupported otherwise). A listing holds
  // entries and nothing is read with it; it need not name every skill, and get_skill() finds the
  // others by the URI of their SKILL.md, and the current entry of each. Entries that break a rule
  // are among the problems of a listing, and an Errc::protocol or Errc::limit of get_skill().
  Task<Listing<Skill>> list_skills(CallOptions options = {});
  Task<Skill> get_skill(std::string uri, CallOptions options = {});
  // One file of a skill, by its URI or its path in the skill's directory. Errc::protocol when its
  // size or digest is not the entry's, the entry does not list it, or the header of SKILL.md
  // differs from the entry: a skill that changed has a new entry, which needs a new approval.
  Task<ResourceContents> read_skill(Skill skill, std::string file = "SKILL.md", CallOptions options = {});
  // What lies directly in a directory, where the server can tell (Errc::unsupported otherwise).
  // Do not rely on it for a skill's files: those are in its entry.
  Task<Listing<Resource>> read_directory(std::string uri, CallOptions options = {});
  Task<GetPromptResult> get_prompt(std::string name, std::map<std::string, std::string> arguments,
                                   CallOptions options = {});
  Task<CompleteResult> complete(CompleteRequest request, CallOptions options = {});

  // From now on; servers without logging answer Errc::unsupported.
  Task<void> set_log_level(LoggingLevel level);
  // Asks for a sign of life, by the cheapest request the server knows.
  Task<void> ping(CallOptions options = {});
  Task<Watch> watch(SubscriptionFilter filter);
  // Tells servers that care that ClientOptions::roots would answer differently now.
  void roots_changed();

  // Ends the connection in bounded time. Pending calls fail with Errc::closed. Handlers of ClientOptions
  // are cancelled and get a moment to end; one may call this itself.
  Task<void> close();
  Task<void> close_quickly();

 private:
  friend struct SessionAccess;
  struct Holder;
  std::shared_ptr<Holder> holder_;
};

}  // namespace patchbay
