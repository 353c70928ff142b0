// Skills, as the extension io.modelcontextprotocol/skills has them: what an entry must be like,
// where the files of a skill may lie, and whether what was read is what the entry promised. The
// client calls it for what servers say, the server for what its program offers. Pure: values in,
// values out. It fetches nothing, and a digest that matches says nothing about whom to trust.
#pragma once

#include <string>
#include <string_view>

#include <patchbay/types.h>

#include "base/limits.h"

namespace patchbay {

inline constexpr std::string_view skills_extension = "io.modelcontextprotocol/skills";
inline constexpr std::string_view skill_file_name = "SKILL.md";
inline constexpr std::string_view directory_mime_type = "inode/directory";

bool declares_skills(const ServerCapabilities& server);
// Whether its directories can be read, which is a setting of the extension.
bool declares_directories(const ServerCapabilities& server);
// The settings our server declares.
Json skills_settings();

// 1 to 64 small letters, digits and single hyphens between them.
bool is_skill_name(std::string_view name) noexcept;

// The directory of a skill, without a slash at its end: "skill://a/b" of "skill://a/b/SKILL.md".
// Empty when no URI of a SKILL.md was given.
std::string_view skill_root(std::string_view skill_uri);
// Whether a URI names something below a directory: no query or fragment, and no segment that is
// empty, a dot or two, or holds a slash in disguise.
bool lies_below(std::string_view directory, std::string_view uri);
// The same, and directly below it.
bool is_child_of(std::string_view directory, std::string_view uri);

// "sha256:" and the digits.
std::string digest_of(std::string_view bytes);

// Whether the entry keeps the rules: Errc::protocol with the reason, or Errc::limit.
Result<void> check_skill(const Skill& skill, const Limits& limits);

// The URI of a file that is named by its URI or by its path in the skill's directory, as a link in
// SKILL.md names it. Errc::invalid_argument when it leads out of the skill, Errc::protocol when the
// entry does not list it.
Result<std::string> resolve_skill_file(const Skill& skill, std::string_view file);

// The one content that was asked for, when it is what the entry says: size, digest and, of
// SKILL.md, the header. Errc::protocol with what differs, or Errc::limit. `skill` passed
// check_skill() and `uri` came from resolve_skill_file().
Result<ResourceContents> verify_skill_file(const Skill& skill, std::string_view uri, ReadResourceResult read,
                                           const Limits& limits);

}  // namespace patchbay
