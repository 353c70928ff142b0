// Skills: whatever a SKILL.md begins with, its header is an object within bounds or an error, and
// whatever an entry names, its files lie in its directory.
// Input: a URI on a line of its own, a path on the next, then the SKILL.md.
#include "fuzz/fuzz.h"
#include "protocol/skills.h"
#include "protocol/skills_frontmatter.h"

using namespace patchbay;
using fuzz::require;

namespace {

void check_header(std::string_view file) {
  const FrontmatterBounds bounds{.bytes = 4096, .depth = 8};
  const auto header = read_frontmatter(file, bounds);
  if (!header) {
    const auto code = header.error().code();
    require(code == Errc::protocol || code == Errc::limit, "a header was refused in an unknown way");
    return;
  }
  require(header->is_object(), "a header that is no object");
  const auto text = to_text(*header);
  // Only \x01 and the like grow, and folded lines shrink.
  require(text.size() <= 8 * bounds.bytes, "a header grew beyond what was written");
  const auto again = parse_json(text);
  require(again && *again == *header, "a header is not what its JSON says");
  // JSON in one line is YAML, too, as long as no text in it needs more than a line.
  if (text.size() + 8 > bounds.bytes) return;
  const auto flow = read_frontmatter("---\n" + text + "\n---\n", bounds);
  require(!flow || *flow == *header, "a header written as JSON is read differently");
}

}  // namespace

FUZZ_TARGET(skills) {
  const auto uri = fuzz::take_line(input);
  const auto path = fuzz::take_line(input);
  check_header(input);

  const auto root = skill_root(uri);
  if (root.empty()) return;
  require(uri.size() == root.size() + 9 && uri.starts_with(root), "a root is the beginning of its skill");
  Skill skill;
  skill.uri = std::string(uri);
  const auto file = resolve_skill_file(skill, path);
  if (!file) {
    require(file.error().code() == Errc::invalid_argument, "a path was refused in an unknown way");
    return;
  }
  require(lies_below(root, *file), "a path leads out of its skill: " + *file);
  require(file->find("/../") == std::string::npos && !file->ends_with("/.."), "a path with dots in it: " + *file);
  const auto again = resolve_skill_file(skill, *file);
  require(again && *again == *file, "a URI does not lead to itself: " + *file);
}
