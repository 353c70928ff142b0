#include "catalog/fragment.h"

#include <algorithm>
#include <numeric>

#include "catalog/naming.h"

namespace patchbay {
namespace {

// One sorted sequence of names that is being merged with others.
struct Cursor {
  const CatalogFragment* of = nullptr;
  std::size_t fragment = 0;
  bool contested = false;  // its contested names instead of its entries
  std::size_t at = 0;

  std::string_view name(std::size_t i) const noexcept {
    return contested ? std::string_view(of->contested[i]) : std::string_view(of->entries[i].name);
  }
  std::string_view head() const noexcept { return name(at); }
  std::size_t size() const noexcept { return contested ? of->contested.size() : of->entries.size(); }
  bool ended() const noexcept { return at == size(); }
};

// Merges sorted sequences by whole runs: names of one server mostly stand together, so a run is mostly all of it.
class Merge {
 public:
  explicit Merge(std::span<const Fragment> fragments, bool with_contested) {
    cursors_.reserve(fragments.size());
    for (std::size_t i = 0; i < fragments.size(); ++i) {
      if (!fragments[i]->entries.empty()) cursors_.push_back({fragments[i].get(), i, false, 0});
      if (with_contested && !fragments[i]->contested.empty()) cursors_.push_back({fragments[i].get(), i, true, 0});
    }
    std::ranges::make_heap(cursors_, after);
  }

  // `run(cursor, end)` gets what comes next, from the cursor to `end`. `same(fragments)` gets the fragments that have
  // the same name, if there is more than one.
  template <class Run, class Same>
  void each(Run run, Same same) {
    std::vector<std::size_t> equal;
    while (!cursors_.empty()) {
      std::ranges::pop_heap(cursors_, after);
      Cursor first = cursors_.back();
      cursors_.pop_back();
      if (cursors_.empty()) return run(first, first.size());
      if (cursors_.front().head() == first.head()) {
        equal.assign(1, first.fragment);
        while (!cursors_.empty() && cursors_.front().head() == first.head()) {
          std::ranges::pop_heap(cursors_, after);
          Cursor other = cursors_.back();
          cursors_.pop_back();
          if (std::ranges::find(equal, other.fragment) == equal.end()) equal.push_back(other.fragment);
          run(other, other.at + 1);
          push(other, other.at + 1);
        }
        if (equal.size() > 1) same(equal);
        run(first, first.at + 1);
        push(first, first.at + 1);
        continue;
      }
      const auto end = end_of_run(first, cursors_.front().head());
      run(first, end);
      push(first, end);
    }
  }

 private:
  static bool after(const Cursor& left, const Cursor& right) noexcept { return left.head() > right.head(); }

  static std::size_t end_of_run(const Cursor& cursor, std::string_view next) noexcept {
    if (cursor.name(cursor.size() - 1) < next) return cursor.size();
    std::size_t low = cursor.at + 1, high = cursor.size() - 1;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      cursor.name(middle) < next ? low = middle + 1 : high = middle;
    }
    return low;
  }

  void push(Cursor cursor, std::size_t at) {
    cursor.at = at;
    if (cursor.ended()) return;
    cursors_.push_back(cursor);
    std::ranges::push_heap(cursors_, after);
  }

  std::vector<Cursor> cursors_;  // a heap, the smallest name first
};

// Which fragments want the same names: sets of positions, each with two or more.
std::vector<std::vector<std::size_t>> clashes(std::span<const Fragment> fragments, bool with_contested) {
  std::vector<std::size_t> leader;  // union-find; empty while there is no clash
  const auto find = [&](std::size_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  Merge(fragments, with_contested)
      .each([](const Cursor&, std::size_t) {},
            [&](const std::vector<std::size_t>& equal) {
              if (leader.empty()) {
                leader.resize(fragments.size());
                std::iota(leader.begin(), leader.end(), std::size_t{0});
              }
              for (auto i : equal) leader[find(i)] = find(equal.front());
            });
  std::vector<std::vector<std::size_t>> sets(leader.size());
  for (std::size_t i = 0; i < leader.size(); ++i) sets[find(i)].push_back(i);
  std::erase_if(sets, [](const auto& set) { return set.size() < 2; });
  return sets;
}

bool by_name(const CatalogEntry& left, const CatalogEntry& right) { return left.name < right.name; }

// Gives the tools of these fragments other names, as if they were all there is.
void rename(std::vector<Fragment>& fragments, std::span<const std::size_t> which) {
  std::vector<ToolId> ids;
  for (auto i : which) {
    for (const auto& entry : fragments[i]->entries) ids.push_back({entry.server, entry.tool->name, entry.prefix});
  }
  auto names = expose_names(ids);
  std::size_t next = 0;
  for (auto i : which) {
    auto renamed = std::make_shared<CatalogFragment>(*fragments[i]);
    for (auto& entry : renamed->entries) entry.name = std::move(names[next++]);
    std::ranges::sort(renamed->entries, by_name);
    fragments[i] = std::move(renamed);
  }
}

// Each in the full name it would like, the first of those that are listed twice. False when names are taken twice, too
// long or empty, and have to be decided.
bool take_full_names(CatalogFragment& fragment, const ServerTools& server) {
  bool plain = true;
  const auto before = fragment.prefix == NamePrefix::none ? std::string() : normalised_full_name({server.server, ""});
  fragment.entries.reserve(server.tools.size());
  for (const auto& tool : server.tools) {
    std::string name = before;
    append_normalised(name, tool->name);
    plain = plain && !name.empty() && name.size() <= exposed_name_limit;
    fragment.entries.push_back({std::move(name), server.server, tool, server.prefix});
  }
  auto& entries = fragment.entries;
  const auto order = [&](std::size_t left, std::size_t right) {
    const auto names = entries[left].name <=> entries[right].name;
    if (names != 0) return names < 0;
    const auto tools = entries[left].tool->name <=> entries[right].tool->name;
    return tools != 0 ? tools < 0 : left < right;  // the first of two is the one that counts
  };
  std::vector<std::size_t> places(entries.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (!std::ranges::is_sorted(places, order)) {
    std::ranges::sort(places, order);
    std::vector<CatalogEntry> sorted;
    sorted.reserve(entries.size());
    for (auto i : places) sorted.push_back(std::move(entries[i]));
    entries = std::move(sorted);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && entries[kept - 1].name == entries[i].name) {
      if (entries[kept - 1].tool->name == entries[i].tool->name) {
        fragment.repeated.push_back({entries[i].server, entries[i].tool->name, entries[i].prefix});
        continue;
      }
      plain = false;
    }
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
  std::ranges::sort(fragment.repeated);
  return plain;
}

}  // namespace

Fragment name_alone(const ServerTools& server) {
  auto out = std::make_shared<CatalogFragment>();
  out->server = server.server;
  out->prefix = server.prefix;
  if (take_full_names(*out, server)) return out;
  auto& entries = out->entries;
  std::vector<ToolId> ids;
  ids.reserve(entries.size());
  for (const auto& entry : entries) ids.push_back({entry.server, entry.tool->name, entry.prefix});
  auto names = expose_names(ids);
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    const auto& full = entries[i].name;
    if (full != entries[i + 1].name || full.size() > exposed_name_limit || full.empty()) continue;
    if (out->contested.empty() || out->contested.back() != full) out->contested.push_back(full);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].name = std::move(names[i]);
  std::ranges::sort(entries, by_name);
  // Where one of them was in normal form and kept the name, it is among the entries.
  std::erase_if(out->contested, [&](const std::string& name) {
    return std::ranges::binary_search(entries, std::string_view(name), {},
                                      [](const CatalogEntry& entry) { return std::string_view(entry.name); });
  });
  return out;
}

std::vector<Fragment> settle_names(std::vector<Fragment> fragments) {
  const auto sets = clashes(fragments, true);
  if (sets.empty()) return fragments;
  auto settled = fragments;
  for (const auto& set : sets) rename(settled, set);
  if (clashes(settled, false).empty()) return settled;
  // A hash that spells another server's tool: rare enough to decide about all of them at once.
  std::vector<std::size_t> all(fragments.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  rename(fragments, all);
  return fragments;
}

bool same_entries(const CatalogFragment& left, const CatalogFragment& right) {
  return left.prefix == right.prefix && left.server == right.server && left.repeated == right.repeated &&
         std::ranges::equal(left.entries, right.entries, [](const CatalogEntry& a, const CatalogEntry& b) {
           return a.name == b.name && (a.tool == b.tool || *a.tool == *b.tool);
         });
}

std::vector<const CatalogEntry*> merge_entries(std::span<const Fragment> fragments) {
  std::vector<const CatalogEntry*> out;
  std::size_t count = 0;
  for (const auto& fragment : fragments) count += fragment->entries.size();
  out.reserve(count);
  Merge(fragments, false)
      .each(
          [&](const Cursor& cursor, std::size_t end) {
            for (auto i = cursor.at; i < end; ++i) out.push_back(&cursor.of->entries[i]);
          },
          [](const std::vector<std::size_t>&) {});
  return out;
}

}  // namespace patchbay
