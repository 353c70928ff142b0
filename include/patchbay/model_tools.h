// ModelTools: what a program that talks to a model offers it beside the tools of servers: searching for tools that are
// not in every request, and the resources and skills of all servers; and for the person: @server:uri in a text, and
// /mcp__server__prompt. docs/model-tools.md shows one turn. It belongs to one conversation, uses a Host and is no
// other door: tools are called with Host::call, and what rules deny is denied here. What a model is given is cleaned
// and cut; what a program is given is as the server sent it. Loop thread only; the Host outlives it.
//
//   ModelTools own(host, {});
//   co_await own.begin();
//   auto pool = make_tool_pool(own.tools(), *own.loaded(), {}, api);
//   auto answer = own.has(name) ? co_await own.call(name, arguments) : co_await host.call(name, arguments);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/events.h>
#include <patchbay/host.h>
#include <patchbay/model_view.h>
#include <patchbay/types.h>

namespace patchbay {

// Whether a model may follow a skill. Its text is a server's.
struct SkillQuestion {
  std::string server;
  Skill skill;
  bool changed = false;  // another content of it was approved before
};

struct ModelToolsOptions {
  ModelApi api = ModelApi::anthropic;  // for the schemas that a search returns
  std::size_t context_tokens = 200'000;
  // "auto", "auto:N", "true" or "false"; unset: ENABLE_TOOL_SEARCH of settings or the environment, else "auto".
  std::optional<std::string> tool_search = {};
  // Of the contents of resources that are kept.
  std::size_t cache_bytes = 16u << 20;
  std::size_t cache_entries = 256;
  std::size_t longest_text = 100'000;  // bytes of a resource that a model is given at once
  bool prefetch = true;                // lists of resources, as soon as a server is connected
  // Whose resources, skills and tools it may show and read; unset: all servers'. Others are not there for it.
  std::function<bool(const std::string& server)> sees_server = {};
  // Asked before a skill is read that nobody has approved or rejected yet. Unset: it is not read.
  std::function<Task<bool>(SkillQuestion)> approve_skill = {};
  // A folder that keeps answers about skills; HostOptions::state_directory, say. Empty: they are forgotten with this.
  std::string state_directory = {};
};

// What was read of a resource.
struct ResourceRead {
  std::shared_ptr<const ReadResourceResult> result;  // as it was sent; never null
  bool from_before = false;                          // the server is away, and this is what it sent before
};

struct MentionedResource {
  std::string server;
  std::string uri;
  std::size_t begin = 0;  // where it is mentioned in the text, the @ included
  std::size_t end = 0;
  std::optional<ResourceRead> read = {};
  std::optional<Error> error = {};      // why there is none
  std::vector<Content> for_model = {};  // the content or the error
};

enum class SkillApproval : std::uint8_t {
  pending,   // nobody has said anything about it
  changed,   // it was approved, and its content is another one now
  approved,  // as it is now
  rejected,
};
std::string_view to_string(SkillApproval approval) noexcept;

struct ServerSkill {
  std::string server;
  Skill skill;
  SkillApproval approval = SkillApproval::pending;
};

class ModelTools {
 public:
  // Errc::config when `tool_search` is none of its words.
  explicit ModelTools(Host& host, ModelToolsOptions options = {});
  ModelTools(const ModelTools&) = delete;
  ModelTools& operator=(const ModelTools&) = delete;
  ~ModelTools();

  // What the host tells its program (HostOptions::on_event) has to come here as well; without it nothing is fetched
  // ahead, and nothing that was read is used again.
  void heard(const HostEvent& event);
  // Another model reads the answers from here on. What earlier searches found stays found.
  void set_model(ModelApi api, std::size_t context_tokens);
  // Begins to fetch ahead. Reads the configuration if nobody has, and starts no server.
  Task<void> begin();
  // Ends what is under way.
  Task<void> stop();

  // The tools of ours that make sense now. The same list as long as servers do not gain or lose resources and skills.
  std::vector<Tool> tools() const;
  bool has(std::string_view tool) const noexcept;  // short names as well
  // Answers like a tool: what goes wrong is a result with is_error.
  Task<CallToolResult> call(std::string tool, Json arguments, CallOptions options = {});

  // The tools of servers that belong into a request: all of them, or where that is too much, those that are always
  // loaded and those that a search has found. The same object as long as nothing changes.
  std::shared_ptr<const Catalog> loaded() const;
  // This tool is there and has to be found first.
  bool is_deferred(std::string_view name) const;

  // Kept where the server tells of changes, else read each time. Errc::denied also for a file of a skill that is not
  // approved.
  Task<ResourceRead> read(std::string server, std::string uri, CallOptions options = {});
  // Every resource that is mentioned in a text of the person, each read once; the first 16.
  Task<std::vector<MentionedResource>> mentioned(std::string text, CallOptions options = {});
  // What @server:uri may go on as: URIs and templates of the lists, values of a template's variable as its server
  // completes it. At most 50.
  Task<std::vector<std::string>> complete_mention(std::string typed);
  // "/mcp__server__prompt words…": positional, name=value and quoted. Errc::invalid_argument names what is missing.
  Task<GetPromptResult> prompt(std::string line, CallOptions options = {});

  // Of connected servers. Skills that break a rule are left out.
  Task<std::vector<ServerSkill>> skills();
  // A file of a skill, compared with its entry. Errc::denied unless it is approved.
  Task<ResourceContents> read_skill(std::string server, std::string skill, std::string file = "SKILL.md");
  // For good: the answer counts until the content changes.
  Task<void> answer_skill(std::string server, Skill skill, bool approve);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
