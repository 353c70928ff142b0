// What an array or object of Json holds: room for cells, and for an object with many members an index of its names.
// Used by the value and by the reader, which fills blocks itself. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// Open addressing over the positions of members (0 = free, else position + 1). Positions, not views of the names:
// short ones live inside the cells and move when a block grows.
struct Json::Block::Index {
  std::vector<std::uint32_t> slots;

  // For `members` names, each the first of two cells.
  static Index* make(const Json* cells, std::size_t members);
  bool full(std::size_t members) const noexcept { return members * 4 > slots.size() * 3; }
  void insert(std::string_view name, std::size_t position) noexcept;
  std::size_t find(const Json* cells, std::string_view name) const noexcept;
};

}  // namespace patchbay
