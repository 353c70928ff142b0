// The skills a server offers: whole directories of files in memory, their entries, and the
// directories between them. Owned by the server's core, which makes resources of the files. Loop
// thread only; it neither reads nor watches a disk.
//
// All skills share one tree under skill://. A skill that lies in another one's directory belongs to
// that one, too: its files are in both entries.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/server.h>

#include "server/registry.h"

namespace patchbay {

// Immutable and shared: a request that reads it may outlast its replacement.
struct ServedFile {
  SkillResource listed;
  Resource resource;
  ResourceContents contents;
};
using ServedFiles = std::map<std::string, std::shared_ptr<const ServedFile>, std::less<>>;  // by URI

// What adding or removing a skill did to the files around it.
struct SkillChange {
  ServedFiles before;
  ServedFiles after;
};

class SkillShelf {
 public:
  // Adds or replaces; Errc::invalid_argument with the reason and nothing changed when it cannot.
  Result<SkillChange> add(const std::string& path, std::vector<SkillFile> files);
  // Nothing when there is no such skill.
  std::optional<SkillChange> remove(std::string_view path);

  bool ever_used() const noexcept { return entries_.ever_used(); }

  Result<Page<Skill>> page(const std::optional<std::string>& cursor, std::size_t size) const {
    return entries_.page(cursor, size);
  }
  // Null when no skill has its SKILL.md there.
  std::shared_ptr<const Skill> find(std::string_view uri) const;
  // What lies directly in a directory, by name.
  Result<Page<Resource>> directory(std::string_view uri, const std::optional<std::string>& cursor,
                                   std::size_t size) const;

 private:
  struct Offered {
    Json frontmatter;
    ServedFiles files;
  };
  using OfferedSkills = std::map<std::string, Offered, std::less<>>;  // by the URI of SKILL.md

  // What follows from the skills themselves.
  struct Derived {
    ServedFiles files;
    std::map<std::string, Skill> entries;
  };
  static Result<Derived> derive(const OfferedSkills& offered);
  // Without an offer the skill is taken away.
  Result<SkillChange> replace(const std::string& uri, std::optional<Offered> offer);

  OfferedSkills offered_;
  ServedFiles files_;
  Registry<Skill, std::monostate> entries_{"skills"};
};

}  // namespace patchbay
