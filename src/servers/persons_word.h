// What the person said about servers, in our own file and in that of the other program: which of the project's
// they approved or refused, and which are switched on or off. load asks it for every entry and hands the rest to
// approval.h and merge.h. It looks at the file system to find out for which place an answer is meant, and
// writes nothing. Blocking; lives as long as one load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <patchbay/config.h>

#include "servers/answer_place.h"
#include "servers/approval.h"
#include "settings/claude_file.h"
#include "settings/own_file.h"
#include "settings/settings_file.h"
#include "settings/sources.h"

namespace patchbay {

class PersonsWord {
 public:
  // All of these outlive it, and `own` and `claude` may be filled in later.
  PersonsWord(const OwnFile& own, const ClaudeFile& claude, const ConfigPaths& paths, const VariableLookup& variables)
      : own_(own), claude_(claude), paths_(paths), variables_(variables) {}

  // Fills in what becomes of an entry that needs approval. Adds a layer that says what lets it pass whether or not
  // the person answered to this very entry.
  void decide(ServerConfig& server, std::vector<SettingsLayer>& layers, bool trust_project) const;

  // Why it is switched off by name; nothing when it is not.
  std::optional<std::string> switched_off(const ServerConfig& server) const;
  // Whether it is switched on whatever its entry says.
  bool switched_on(const ServerConfig& server) const { return own_word(server).value_or(false); }

 private:
  bool approved_by_name(const ServerConfig& server) const;
  ApprovalMemory answers(const AnswerPlace& place, const std::string& name, const std::string& now) const;
  void note_approval(std::vector<SettingsLayer>& layers, const std::string& name, const std::string& by) const;
  std::optional<bool> own_word(const ServerConfig& server, bool* for_project = nullptr) const;

  const OwnFile& own_;
  const ClaudeFile& claude_;
  const ConfigPaths& paths_;
  const VariableLookup& variables_;
};

}  // namespace patchbay
