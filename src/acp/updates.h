// What an agent does, as updates of a session of the Agent Client Protocol. Pure but for what it remembers of calls
// that run: an editor replaces the whole content of a call, so an edit is shown once more with its result.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <patchbay/agent.h>
#include <patchbay/json.h>

namespace patchbay::acp {

// A call as the person sees it.
struct ShownCall {
  std::string title;               // "read_file a.txt"
  std::string_view kind;           // of the protocol: "read", "edit", "execute"…
  Json content = Json::array();    // an edit as the change it makes
  Json locations = Json::array();  // the files it is about
};
// `catalog_name`: what the host calls, empty for a tool of the program. `directory`: what relative paths are relative
// to.
ShownCall shown_call(const ModelToolUse& use, const std::string& catalog_name, bool only_reads,
                     const std::string& directory);

class Updates {
 public:
  Updates(std::string directory, bool show_notices) : directory_(std::move(directory)), show_notices_(show_notices) {}

  // "update" of a session/update; nothing for what an editor has no place for.
  std::optional<Json> of(const AgentEvent& event);
  // Of a conversation that is taken up, everything that was said and done.
  static std::vector<Json> history(std::span<const std::shared_ptr<const ModelMessage>> messages,
                                   const std::string& directory);

  // The call that a number of the host (CallOptions::call_id) belongs to, as "toolCall" of a question. Where it is not
  // known it is called by that number.
  Json call(std::uint64_t call_id) const;
  std::string id_of(std::uint64_t call_id) const;

 private:
  struct Running {
    std::string id;
    Json content;
    Json shown;  // title, kind, locations, rawInput
  };
  std::string directory_;
  bool show_notices_;
  std::map<std::string, Running> running_;         // by the id of the use
  std::map<std::uint64_t, std::string> numbered_;  // ids of uses
};

// "stopReason" of a prompt.
std::string_view stop_reason(AgentAnswer::End end) noexcept;

}  // namespace patchbay::acp
