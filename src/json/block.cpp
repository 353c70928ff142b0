#include "json/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>

namespace patchbay {
namespace {

// Keys come from peers, so the hash has a secret: nobody can prepare colliding keys.
std::uint64_t hash_seed() {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32 | device()) | 1;
  }();
  return seed;
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_key(std::string_view key) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
  std::uint64_t hash = hash_seed() ^ (key.size() * odd);
  const char* at = key.data();
  std::size_t left = key.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = fold(hash ^ word, hash_seed() ^ odd);
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = fold(hash ^ word, hash_seed() ^ odd);
  }
  return fold(hash, odd);
}

}  // namespace

Json::Block::Index* Json::Block::Index::make(const Json* cells, std::size_t members) {
  auto index = std::make_unique<Index>();
  index->slots.assign(std::bit_ceil(members * 3), 0);
  for (std::size_t i = 0; i < members; ++i) index->insert(text_of(cells[2 * i].cell_), i);
  return index.release();
}

void Json::Block::Index::insert(std::string_view name, std::size_t position) noexcept {
  const std::size_t mask = slots.size() - 1;
  std::size_t slot = hash_key(name) & mask;
  while (slots[slot] != 0) slot = (slot + 1) & mask;
  slots[slot] = static_cast<std::uint32_t>(position + 1);
}

std::size_t Json::Block::Index::find(const Json* cells, std::string_view name) const noexcept {
  const std::size_t mask = slots.size() - 1;
  for (std::size_t slot = hash_key(name) & mask; slots[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t position = slots[slot] - 1;
    if (text_of(cells[2 * position].cell_) == name) return position;
  }
  return absent;
}

Json::Block* Json::Block::make(std::size_t cells) {
  if (cells > most_cells) throw Error(Errc::limit, "a JSON array or object has too many values");
  auto* const block = static_cast<Block*>(std::malloc(sizeof(Block) + cells * sizeof(Json)));
  if (block == nullptr) throw std::bad_alloc();
  block->size = 0;
  block->capacity = static_cast<std::uint32_t>(cells);
  block->index = nullptr;
  return block;
}

// Cells are moved as bytes: nothing in them points at itself.
void Json::Block::reserve(Block*& block, std::size_t cells) {
  if (block == nullptr) {
    if (cells != 0) block = make(cells);
    return;
  }
  if (cells <= block->capacity) return;
  if (cells > most_cells) throw Error(Errc::limit, "a JSON array or object has too many values");
  void* const larger = std::realloc(static_cast<void*>(block), sizeof(Block) + cells * sizeof(Json));
  if (larger == nullptr) throw std::bad_alloc();
  block = static_cast<Block*>(larger);
  block->capacity = static_cast<std::uint32_t>(cells);
}

void Json::Block::grow(Block*& block, std::size_t first) {
  reserve(block, block == nullptr ? first : std::max<std::size_t>(first, 2 * std::size_t{block->capacity}));
}

std::size_t Json::Block::find(std::string_view name) const noexcept {
  if (index != nullptr) return index->find(cells(), name);
  if (name.size() <= longest_inside) {
    const Cell sought = text_cell(Kind::string, name);
    for (std::uint32_t i = 0; i < size; i += 2) {
      if (std::memcmp(&cells()[i].cell_, &sought, sizeof sought) == 0) return i / 2;
    }
  } else {
    for (std::uint32_t i = 0; i < size; i += 2) {
      if (text_of(cells()[i].cell_) == name) return i / 2;
    }
  }
  return absent;
}

void Json::Block::index_newest() {
  const std::size_t members = size / 2;
  if (members <= indexed_above) return;
  if (index == nullptr || index->full(members)) {
    forget_index();
    index = Index::make(cells(), members);
  } else {
    index->insert(text_of(cells()[size - 2].cell_), members - 1);
  }
}

void Json::Block::forget_index() noexcept { delete std::exchange(index, nullptr); }

}  // namespace patchbay
