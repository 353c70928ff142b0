// The header of a SKILL.md: the YAML between its two lines "---", read as a JSON object. Both
// sides need it: a client to compare it with the entry of the skill, a server to make that entry.
//
// Understood is the part of YAML 1.2 (core schema) that such headers are written in: mappings and
// lists, as blocks and in brackets; plain, quoted, literal and folded texts; comments. Anchors,
// aliases, tags, merge keys, keys that are not texts, a key twice and tabs as indentation are
// errors, so a header is never read as something it may not be. Pure and bounded; the text is a
// stranger's.
#pragma once

#include <cstddef>
#include <string_view>

#include <patchbay/json.h>

namespace patchbay {

struct FrontmatterBounds {
  std::size_t bytes = 64u << 10;
  std::size_t depth = 32;
};

// Errc::protocol with the line of the file ("line 3: ..."), or Errc::limit.
Result<Json> read_frontmatter(std::string_view skill_md, FrontmatterBounds bounds = {});

}  // namespace patchbay
