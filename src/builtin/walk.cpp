#include "builtin/walk.h"

#include <algorithm>

namespace patchbay::builtin {

namespace {

// As the paths of what lies in them would compare: "a-b" before what is in "a", as '-' < '/'.
bool before(const DirectoryEntry& a, const DirectoryEntry& b) {
  const auto at = [](const DirectoryEntry& entry, std::size_t i) -> int {
    if (i < entry.name.size()) return static_cast<unsigned char>(entry.name[i]);
    return entry.status.kind == FileKind::directory ? '/' : -1;
  };
  const auto found = std::ranges::mismatch(a.name, b.name);
  const auto i = static_cast<std::size_t>(found.in1 - a.name.begin());
  return at(a, i) < at(b, i);
}

struct Walk {
  const ConfinedRoot& root;
  const GlobPattern& pattern;
  const Stop& stop;
  const std::function<bool(const Visit&)>& visitor;
  WalkLimits left;
  WalkOutcome outcome;

  void enter(DirectoryListing listing, const std::string& prefix, const GlobPattern::State& state) {
    left.visited -= listing.entries.size();
    outcome.incomplete = outcome.incomplete || listing.cut;
    std::ranges::sort(listing.entries, before);
    for (const auto& entry : listing.entries) {
      if (stop.load(std::memory_order_relaxed)) outcome.stopped = true;
      if (outcome.stopped) return;
      const auto step = pattern.step(state, entry.name);
      const bool deeper = entry.status.kind == FileKind::directory && !step.inside.at.empty();
      if (!step.matches && !deeper) continue;
      const std::string path = prefix + entry.name;
      if (step.matches && !visitor({path, entry.status.kind})) {
        outcome.stopped = true;
        return;
      }
      if (!deeper) continue;
      if (left.depth == 0 || left.visited == 0) {
        outcome.incomplete = true;
        continue;
      }
      auto inner = root.list(path, left.visited);
      if (!inner) {
        ++outcome.unreadable;
        continue;
      }
      --left.depth;
      enter(std::move(*inner), path + "/", step.inside);
      ++left.depth;
    }
  }
};

}  // namespace

Result<WalkOutcome> walk(const ConfinedRoot& root, const std::string& base, const GlobPattern& pattern,
                         WalkLimits limits, const Stop& stop, const std::function<bool(const Visit&)>& visitor) {
  auto listing = root.list(base, limits.visited);
  if (!listing) return std::unexpected(std::move(listing).error());
  Walk walk{root, pattern, stop, visitor, limits, {}};
  walk.enter(std::move(*listing), base == "." ? "" : base + "/", pattern.start());
  return walk.outcome;
}

}  // namespace patchbay::builtin
