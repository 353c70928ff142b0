// What ModelTools consists of. model_tools.cpp answers the model, resources.cpp reads, keeps and follows resources,
// skills.cpp lists skills and asks about them, typed.cpp does what a person types. Included by these alone; loop
// thread only. Coroutines keep it alive; any wait may end after stop().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/model_tools.h>

#include "base/scope.h"
#include "base/semaphore.h"
#include "catalog/search/deferral.h"
#include "catalog/search/tool_index.h"
#include "host/model/for_model.h"
#include "host/model/own_tools.h"
#include "host/model/resource_cache.h"
#include "host/model/skill_answers.h"

namespace patchbay {

class ModelTools::Impl : public std::enable_shared_from_this<ModelTools::Impl> {
 public:
  using Self = std::shared_ptr<Impl>;

  Impl(Host& host, ModelToolsOptions options);

  void heard(const HostEvent& event);
  void note(const ServerStatus& status);
  void set_model(ModelApi api, std::size_t context_tokens);
  static Task<void> begin(Self self);
  static Task<void> stop(Self self);
  void abandon();  // where nobody can wait for stop()

  std::vector<Tool> tools();
  static Task<CallToolResult> call(Self self, std::string tool, Json arguments, CallOptions options);
  const std::shared_ptr<const Catalog>& loaded();
  bool is_deferred(std::string_view name);

  static Task<ResourceRead> read(Self self, std::string server, std::string uri, CallOptions options);
  static Task<std::vector<MentionedResource>> mentioned(Self self, std::string text, CallOptions options);
  static Task<std::vector<std::string>> complete_mention(Self self, std::string typed);
  static Task<GetPromptResult> prompt(Self self, std::string line, CallOptions options);
  static Task<std::vector<ServerSkill>> skills(Self self, std::string only);
  static Task<ResourceContents> read_skill(Self self, std::string server, std::string name, std::string file,
                                           CallOptions options);
  static Task<void> answer_skill(Self self, std::string server, Skill skill, std::optional<bool> approve);

 private:
  // Answers to the model.
  static Task<CallToolResult> answer(Self self, OwnTool tool, Json arguments, CallOptions options);
  CallToolResult search(const Json& arguments);
  static Task<CallToolResult> list_resources(Self self, Json arguments);
  void load(const std::vector<const CatalogEntry*>& entries);
  Deferral deferral(const ToolIndex& index) const;
  std::set<std::string, std::less<>> always_loading() const;

  // Resources.
  static Task<void> prefetch(Self self, std::string server);
  static Task<ServerResources> lists_of(Self self, std::string server);
  static Task<void> list_into(Self self, std::string server, std::shared_ptr<std::vector<ServerResources>> all,
                              std::size_t at);
  static Task<bool> watch(Self self, Session session, std::string server, std::string uri);
  static Task<void> refresh(Self self, ResourceCache::Key key);
  static Task<void> read_into(Self self, std::shared_ptr<std::vector<MentionedResource>> all, std::size_t at,
                              CallOptions options);
  void unwatch(const std::string& server);
  void let_go(const std::vector<ResourceCache::Key>& keys);
  std::vector<std::string> connected_with(const std::set<std::string>& servers) const;
  bool sees(const std::string& server) const { return !options_.sees_server || options_.sees_server(server); }
  std::vector<ServerStatus> seen_status() const;
  // Errc::invalid_argument, as for a server that is not there.
  void check_seen(const std::string& server) const;

  // Skills.
  struct Listed {
    std::vector<Skill> skills;
  };
  static Task<std::shared_ptr<const Listed>> list_skills(Self self, std::string server, Session session);
  // The skill that has this file; none where it is an ordinary resource.
  static Task<std::optional<Skill>> skill_of(Self self, std::string server, Session session, std::string uri);
  static Task<SkillApproval> approval(Self self, std::string server, Skill skill);
  static Task<void> require_approved(Self self, std::string server, Skill skill);
  static Task<Skill> find_skill(Self self, std::string server, Session session, std::string name);
  std::string key_of(const std::string& server, const Skill& skill) const;
  static Task<void> read_answers(Self self);

  Host& host_;
  ModelToolsOptions options_;
  std::optional<ToolSearchMode> mode_;  // given by the program
  std::optional<Scope> scope_;          // from begin() to stop()
  bool hearing_ = false;                // the program passes on what the host tells
  bool stopped_ = false;

  ToolIndexes indexes_;
  std::vector<std::string> found_;  // by searches, the latest last
  std::shared_ptr<const Catalog> loaded_;
  std::shared_ptr<const Catalog> loaded_of_;  // of which it was made
  std::uint64_t loads_ = 0;                   // counts what changes what is loaded
  std::uint64_t loaded_at_ = 0;

  std::set<std::string> with_resources_;
  std::set<std::string> with_skills_;
  std::set<std::string> empty_;  // of those with resources: they list none
  std::set<std::string> fetched_;
  Semaphore fetching_{4};
  ResourceCache cache_;
  std::map<ResourceCache::Key, Watch> watches_;
  std::set<ResourceCache::Key> watching_;    // about to be watched
  std::set<ResourceCache::Key> refreshing_;  // about to be read again
  std::set<std::string> unwatchable_;        // would not tell of changes on this connection

  std::map<std::string, std::shared_ptr<const Listed>> listed_skills_;
  std::optional<std::map<std::string, SkillAnswer, std::less<>>> answers_;  // of a person, as they were read and given
  std::set<std::string> declined_;                                          // "not now"
  Semaphore asking_{1};
};

}  // namespace patchbay
