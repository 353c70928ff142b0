// What the user said about skills of servers. An answer is about one content of one skill of one entry: a skill that
// changed is asked about again, and so is the same skill of a server whose entry changed. What a server makes on
// request cannot be compared with anything, so an approval of it lasts as long as the program runs. The
// file is one of json/kept_records.h, in the folder of what a host keeps; only answers of a person are written there.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include <patchbay/config.h>
#include <patchbay/model_tools.h>
#include <patchbay/types.h>

namespace patchbay {

// By which a skill is known; `entry` is null for a server that no file declares.
std::string skill_key(const std::string& server, const ServerConfig* entry, const std::string& uri);
// SHA-256 over the header, and URI, digest and size of every file.
std::string skill_digest(const Skill& skill);
// Its files can be compared with its entry.
inline bool is_fixed(const Skill& skill) noexcept { return skill.resources.has_value(); }

struct SkillAnswer {
  std::chrono::sys_seconds time;
  std::string digest;
  bool approved = false;
  bool operator==(const SkillAnswer&) const = default;
};

SkillApproval approval_of(const Skill& skill, const std::optional<SkillAnswer>& answer);

std::string skill_answers_file(const std::string& state_directory);
// Blocking; the second one through offload().
std::map<std::string, SkillAnswer, std::less<>> read_skill_answers(const std::string& file);
// No answer: it is forgotten.
Result<void> remember_skill_answer(const std::string& file, const std::string& key,
                                   const std::optional<SkillAnswer>& answer, std::chrono::sys_seconds now);

}  // namespace patchbay
