#include "host/model/skill_answers.h"

#include <algorithm>
#include <tuple>

#include "base/crypto.h"
#include "entries/signature.h"
#include "json/kept_records.h"

namespace patchbay {
namespace {

struct AnswerFormat : TimedRecord<SkillAnswer> {
  static constexpr std::size_t largest_file = 4u << 20;
  static constexpr std::size_t most_records = 8192;

  // Until the content changes.
  static bool is_fresh(const SkillAnswer&, std::chrono::sys_seconds) { return true; }
  static std::optional<SkillAnswer> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto digest = entry["digest"].text();
    const auto approved = entry["approved"].to_bool();
    if (!digest || !is_record_key(*digest) || !approved) return std::nullopt;
    return SkillAnswer{time, std::string(*digest), *approved};
  }
  static Json write(const SkillAnswer& answer, std::int64_t seconds) {
    return {{"time", seconds}, {"digest", answer.digest}, {"approved", answer.approved}};
  }
};

}  // namespace

std::string_view to_string(SkillApproval approval) noexcept {
  switch (approval) {
    case SkillApproval::pending:
      return "pending";
    case SkillApproval::changed:
      return "changed";
    case SkillApproval::approved:
      return "approved";
    case SkillApproval::rejected:
      return "rejected";
  }
  return "unknown";
}

std::string skill_key(const std::string& server, const ServerConfig* entry, const std::string& uri) {
  return sha256_hex(to_text(Json::array({server, entry ? entry_hash(*entry) : std::string(), uri})));
}

std::string skill_digest(const Skill& skill) {
  std::vector<std::tuple<std::string, std::string, std::int64_t>> files;
  if (skill.resources) {
    for (const auto& one : *skill.resources) files.emplace_back(one.uri, one.digest, one.size);
  }
  std::ranges::sort(files);
  Json list = Json::array();
  for (const auto& [uri, digest, size] : files) list.push_back(Json::array({uri, digest, size}));
  return sha256_hex(to_text(Json::array({skill.uri, skill.frontmatter, skill.resources.has_value(), std::move(list)})));
}

SkillApproval approval_of(const Skill& skill, const std::optional<SkillAnswer>& answer) {
  if (!answer) return SkillApproval::pending;
  const bool same = answer->digest == skill_digest(skill);
  // A rejection is about what was seen, too: another content may be asked about.
  if (!answer->approved) return same ? SkillApproval::rejected : SkillApproval::pending;
  return same ? SkillApproval::approved : SkillApproval::changed;
}

std::string skill_answers_file(const std::string& state_directory) {
  return state_directory.empty() ? std::string() : state_directory + "/skills.json";
}

std::map<std::string, SkillAnswer, std::less<>> read_skill_answers(const std::string& file) {
  if (file.empty()) return {};
  return read_records<AnswerFormat>(read_kept_file(file, AnswerFormat::largest_file));
}

Result<void> remember_skill_answer(const std::string& file, const std::string& key,
                                   const std::optional<SkillAnswer>& answer, std::chrono::sys_seconds now) {
  return remember_record<AnswerFormat>(file, key, answer, now);
}

}  // namespace patchbay
