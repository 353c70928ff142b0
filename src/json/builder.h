// Makes values of what the scanner meets. Used by the scanner alone, which calls it in the order of the text. Pure.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "json/block.h"
#include "json/number.h"
#include "json/scanner.h"

namespace patchbay {

// Values wait on one pile until what holds them ends; then they move into a block of just that size.
class JsonBuilder {
 public:
  explicit JsonBuilder(const char* end) : end_(end) { pile_.reserve(32); }
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;
  ~JsonBuilder() {
    for (auto& cell : pile_) {
      if (Json::owns(cell)) Json::release(cell);
    }
    for (const auto& open : open_) delete open.index;
  }

  Json take() {
    Json value(pile_.back());
    pile_.pop_back();
    return value;
  }

  void begin_object() { open_.push_back({pile_.size(), nullptr}); }
  void begin_array() { begin_object(); }
  void end(bool object) {
    const auto [first, index] = open_.back();
    const std::size_t count = pile_.size() - first;
    Json::Block* block = nullptr;
    if (count != 0) {
      block = Json::Block::make(count);
      std::memcpy(static_cast<void*>(block->cells()), pile_.data() + first, count * sizeof(Cell));
      block->size = static_cast<std::uint32_t>(count);
      block->index = index;
      pile_.resize(first);
    }
    open_.pop_back();
    pile_.push_back(Json::block_cell(object ? Json::Kind::object : Json::Kind::array, block));
  }
  bool key(StringToken token) {
    add_text(Json::Kind::string, token);
    const Cell* const cells = pile_.data() + open_.back().first;
    const Cell& name = pile_.back();
    const auto members = static_cast<std::size_t>(&name - cells) / 2;  // before this one
    if (members >= Json::Block::indexed_above) return indexed_key(open_.back(), members);
    if (name.form <= Json::longest_inside) {
      for (const Cell* cell = cells; cell != &name; cell += 2) {
        if (std::memcmp(cell, &name, sizeof name) == 0) return false;
      }
    } else {
      for (const Cell* cell = cells; cell != &name; cell += 2) {
        if (Json::same_text(*cell, name)) return false;
      }
    }
    return true;
  }
  void string(StringToken token) { add_text(Json::Kind::string, token); }
  void number(NumberToken token) {
    const Number number = convert_number(token.text, token.integral);
    if (const auto* small = std::get_if<std::int64_t>(&number)) {
      integer(*small);
    } else if (const auto* fraction = std::get_if<double>(&number)) {
      real(*fraction);
    } else if (const auto* large = std::get_if<std::uint64_t>(&number)) {
      add(Json(*large));
    } else {
      pile_.push_back(Json::text_cell(Json::Kind::big_number, token.text));
    }
  }
  void integer(std::int64_t value) { pile_.push_back(Json::cell_of(Json::Kind::integer, value)); }
  void real(double value) { pile_.push_back(Json::cell_of(Json::Kind::real, value)); }
  void boolean(bool value) { pile_.push_back(Json::cell_of(Json::Kind::boolean, value)); }
  void null() { pile_.emplace_back(); }
  std::string duplicate() const {
    return fmt::format("duplicate key \"{}\"", Json::text_of(pile_.back()).substr(0, 64));
  }

 private:
  using Cell = Json::Cell;
  struct Open {
    std::size_t first;          // where its values begin
    Json::Block::Index* index;  // of its names, when there are many
  };

  // The newest key is not one of those before it; it is in the index then.
  [[gnu::noinline]] bool indexed_key(Open& open, std::size_t members) {
    const Json* const cells = as_values(pile_.data() + open.first);
    const auto name = Json::text_of(pile_.back());
    if (open.index == nullptr) open.index = Json::Block::Index::make(cells, members);
    if (open.index->find(cells, name) != Json::Block::absent) return false;
    if (open.index->full(members + 1)) {
      delete std::exchange(open.index, nullptr);
      open.index = Json::Block::Index::make(cells, members + 1);
    } else {
      open.index->insert(name, members);
    }
    return true;
  }
  static const Json* as_values(const Cell* cells) noexcept { return reinterpret_cast<const Json*>(cells); }
  void add(Json&& value) { pile_.push_back(std::exchange(value.cell_, Cell())); }
  void add_text(Json::Kind kind, StringToken token) {
    if (!token.escaped && short_and_inside(token.raw)) {
      pile_.push_back(short_cell(kind, token.raw));
    } else {
      add_other_text(kind, token);
    }
  }
  [[gnu::noinline]] void add_other_text(Json::Kind kind, StringToken token) {
    if (!token.escaped) {
      pile_.push_back(Json::text_cell(kind, token.raw));
      return;
    }
    std::string text;
    append_unescaped(text, token);
    add(Json(std::move(text)));
  }
  // Whether a whole cell can be read where the text begins.
  bool short_and_inside(std::string_view text) const noexcept {
    return text.size() <= Json::longest_inside && static_cast<std::size_t>(end_ - text.data()) >= sizeof(Cell);
  }
  static Cell short_cell(Json::Kind kind, std::string_view text) noexcept {
    static constexpr auto kept = [] {
      std::array<unsigned char, 2 * sizeof(Cell)> mask{};
      for (std::size_t i = 0; i < sizeof(Cell); ++i) mask[i] = 0xFF;
      return mask;
    }();
    std::uint64_t words[2];
    std::uint64_t mask[2];
    std::memcpy(words, text.data(), sizeof words);
    std::memcpy(mask, kept.data() + sizeof(Cell) - text.size(), sizeof mask);
    words[0] &= mask[0];
    words[1] &= mask[1];
    Cell cell;
    std::memcpy(cell.bytes, words, sizeof cell.bytes);
    cell.form = static_cast<std::uint8_t>(text.size());
    cell.kind = kind;
    return cell;
  }

  const char* end_;
  std::vector<Cell> pile_;
  std::vector<Open> open_;
};

}  // namespace patchbay
