#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "json/block.h"
#include "json/number.h"

namespace patchbay {
namespace {

[[noreturn]] void throw_kind(std::string_view wanted, Json::Kind found) {
  throw Error(Errc::invalid_argument, fmt::format("expected {}, found {}", wanted, to_string(found)));
}

// A double is compared with an integer by converting the double, which is exact when it is integral.
std::optional<std::int64_t> integral(double value) noexcept {
  if (!(value >= -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::uint64_t> unsigned_integral(double value) noexcept {
  if (!(value >= 0 && value < 0x1p64) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

bool scalars_equal(const Json& left, const Json& right) noexcept {
  using Kind = Json::Kind;
  if (left.kind() == right.kind()) {
    switch (left.kind()) {
      case Kind::null:
        return true;
      case Kind::boolean:
        return left.as_bool() == right.as_bool();
      case Kind::integer:
        return left.to_int() == right.to_int();
      case Kind::unsigned_integer:
        return left.to_uint() == right.to_uint();
      case Kind::real:
        return left.to_double() == right.to_double();
      case Kind::big_number:
        return left.number_text() == right.number_text();
      case Kind::string:
        return left.as_text() == right.as_text();
      case Kind::array:
      case Kind::object:
        return false;
    }
  }
  if (!left.is_number() || !right.is_number()) return false;
  if (left.kind() == Kind::big_number || right.kind() == Kind::big_number) return false;
  if (auto value = left.to_int()) return value == right.to_int();
  if (auto value = left.to_uint()) return value == right.to_uint();
  return false;  // one is a fraction or beyond 64 bits, the other an integer
}

// Longer texts are kept as std::string, so that they move in and out without a copy.
constexpr std::size_t longest_piece = 4096;

void* allocate(std::size_t size) {
  void* const made = std::malloc(size);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

template <class T>
T* address(const unsigned char* bytes) noexcept {
  T* value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

static_assert(sizeof(Json) == 16 && sizeof(Json::Array) == sizeof(void*) && sizeof(Json::Object) == sizeof(void*));

std::string_view to_string(Json::Kind kind) noexcept {
  switch (kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "a boolean";
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      return "an integer";
    case Json::Kind::real:
    case Json::Kind::big_number:
      return "a number";
    case Json::Kind::string:
      return "a string";
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
  }
  return "a value";
}

Json::Cell Json::long_text_cell(Kind kind, std::string_view text) {
  Cell cell;
  cell.kind = kind;
  if (text.size() > longest_piece) {
    cell.form = in_string;
    const auto* kept = new std::string(text);
    std::memcpy(cell.bytes, &kept, sizeof kept);
    return cell;
  }
  char* const piece = static_cast<char*>(allocate(text.size()));
  std::memcpy(piece, text.data(), text.size());
  const auto length = static_cast<std::uint32_t>(text.size());
  cell.form = in_piece;
  std::memcpy(cell.bytes, &piece, sizeof piece);
  std::memcpy(cell.bytes + sizeof piece, &length, sizeof length);
  return cell;
}

std::string_view Json::long_text_of(const Cell& cell) noexcept {
  if (cell.form == in_string) return *address<std::string>(cell.bytes);
  std::uint32_t length;
  std::memcpy(&length, cell.bytes + sizeof(char*), sizeof length);
  return {address<char>(cell.bytes), length};
}

// The form follows from the length, and a short text ends in zeros: so short ones are compared whole.
bool Json::same_text(const Cell& left, const Cell& right) noexcept {
  if (left.form != right.form) return false;
  if (left.form <= longest_inside) return std::memcmp(left.bytes, right.bytes, sizeof left.bytes) == 0;
  return long_text_of(left) == long_text_of(right);
}

void Json::release(Cell& cell) noexcept {
  if (cell.form == in_block) {
    drop(address<Block>(cell.bytes));
  } else if (cell.form == in_string) {
    delete address<std::string>(cell.bytes);
  } else {
    std::free(address<char>(cell.bytes));
  }
}

// Takes cells off from the back and goes into what it meets; the way back is kept in the blocks themselves, so
// neither stack nor memory is needed.
void Json::destroy(Block* block) noexcept {
  const auto enter = [](Block* child, Block* parent) {
    delete child->index;
    child->parent = parent;
    return child;
  };
  for (Block* at = enter(block, nullptr); at != nullptr;) {
    if (at->size == 0) {
      std::free(std::exchange(at, at->parent));
      continue;
    }
    Cell& cell = at->cells()[--at->size].cell_;
    if (!owns(cell)) continue;
    if (cell.form != in_block) {
      release(cell);
    } else if (Block* const child = address<Block>(cell.bytes)) {
      at = enter(child, at);
    }
  }
}

Json::Cell Json::copied(const Cell& from) {
  if (from.form != in_block) return text_cell(from.kind, text_of(from));
  // What was copied so far belongs to `root`, so that nothing is lost when memory is.
  Json root;
  std::vector<std::pair<const Cell*, Cell*>> pending;
  pending.emplace_back(&from, &root.cell_);
  while (!pending.empty()) {
    const auto [source, target] = pending.back();
    pending.pop_back();
    const Block* const block = address<Block>(source->bytes);
    Block* const copy = block != nullptr ? Block::make(block->size) : nullptr;
    *target = block_cell(source->kind, copy);
    if (copy == nullptr) continue;
    if (block->index != nullptr) copy->index = new Block::Index(*block->index);
    for (std::uint32_t i = 0; i < block->size; ++i) {
      const Cell& cell = block->cells()[i].cell_;
      Cell& made = (new (copy->cells() + i) Json())->cell_;
      ++copy->size;
      if (cell.form == in_block) {
        pending.emplace_back(&cell, &made);
      } else {
        made = owns(cell) ? text_cell(cell.kind, text_of(cell)) : cell;
      }
    }
  }
  return std::exchange(root.cell_, Cell());
}

Json::Array::Array(std::initializer_list<Json> items) {
  reserve(items.size());
  for (const auto& item : items) push_back(item);
}

Json::Array::Array(std::size_t count) {
  reserve(count);
  for (std::size_t i = 0; i < count; ++i) emplace_back();
}

Json::Array::Array(const Array& other) : block_(address<Block>(copied(block_cell(Kind::array, other.block_)).bytes)) {}

Json::Array& Json::Array::operator=(const Array& other) {
  Array copy(other);
  std::swap(block_, copy.block_);
  return *this;
}

Json::Array& Json::Array::operator=(Array&& other) noexcept {
  // Through a temporary: `other` may live inside one of our own values.
  Array taken(std::move(other));
  std::swap(block_, taken.block_);
  return *this;
}

const Json& Json::Array::at(std::size_t position) const {
  if (position < size()) return block_->cells()[position];
  throw Error(Errc::invalid_argument, fmt::format("an array of {} values has none at {}", size(), position));
}

Json& Json::Array::at(std::size_t position) { return const_cast<Json&>(std::as_const(*this).at(position)); }

void Json::Array::reserve(std::size_t count) { Block::reserve(block_, count); }

void Json::Array::push_back(Json value) { emplace_back().cell_ = std::exchange(value.cell_, Cell()); }

Json& Json::Array::emplace_back() {
  if (block_ == nullptr || block_->size == block_->capacity) Block::grow(block_, 4);
  return *new (block_->cells() + block_->size++) Json();
}

void Json::Array::pop_back() noexcept { block_->cells()[--block_->size].~Json(); }

void Json::Array::clear() noexcept { drop(std::exchange(block_, nullptr)); }

Json* Json::Array::erase(const Json* first, const Json* last) noexcept {
  Json* const target = begin() + (first - begin());
  Json* const rest = std::move(begin() + (last - begin()), end(), target);
  while (end() != rest) pop_back();
  return target;
}

bool Json::Array::operator==(const Array& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

Json::Object::Object(const Object& other)
    : block_(address<Block>(copied(block_cell(Kind::object, other.block_)).bytes)) {}

Json::Object& Json::Object::operator=(const Object& other) {
  Object copy(other);
  std::swap(block_, copy.block_);
  return *this;
}

Json::Object& Json::Object::operator=(Object&& other) noexcept {
  // Through a temporary: `other` may live inside one of our own members.
  Object taken(std::move(other));
  std::swap(block_, taken.block_);
  return *this;
}

const Json* Json::Object::find(std::string_view key) const noexcept {
  const auto position = block_ != nullptr ? block_->find(key) : Block::absent;
  return position == Block::absent ? nullptr : block_->cells() + 2 * position + 1;
}

Json* Json::Object::find(std::string_view key) noexcept {
  const auto position = block_ != nullptr ? block_->find(key) : Block::absent;
  return position == Block::absent ? nullptr : block_->cells() + 2 * position + 1;
}

Json& Json::Object::operator[](std::string_view key) {
  if (Json* found = find(key)) return *found;
  return append(key, Json());
}

void Json::Object::set(std::string_view key, Json value) {
  if (Json* found = find(key)) {
    *found = std::move(value);
  } else {
    append(key, std::move(value));
  }
}

bool Json::Object::erase(std::string_view key) {
  const auto position = block_ != nullptr ? block_->find(key) : Block::absent;
  if (position == Block::absent) return false;
  Json* const cells = block_->cells();
  std::move(cells + 2 * (position + 1), cells + block_->size, cells + 2 * position);
  cells[--block_->size].~Json();
  cells[--block_->size].~Json();
  block_->forget_index();  // made again with the next member, or asked without one
  return true;
}

void Json::Object::reserve(std::size_t count) { Block::reserve(block_, 2 * count); }

Json& Json::Object::append(std::string_view key, Json value) {
  Json name(key);  // before the block moves: `key` may lie in it
  if (block_ == nullptr || block_->capacity - block_->size < 2) Block::grow(block_, 6);
  Json* const cells = block_->cells() + block_->size;
  new (cells) Json(std::move(name));
  new (cells + 1) Json(std::move(value));
  block_->size += 2;
  block_->index_newest();
  return cells[1];
}

bool Json::Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const auto& [key, value] : *this) {
    const Json* theirs = other.find(key);
    if (!theirs || !(value == *theirs)) return false;
  }
  return true;
}

Json::Json(std::string value) {
  if (value.size() <= longest_piece) {
    cell_ = text_cell(Kind::string, value);
    return;
  }
  const auto* kept = new std::string(std::move(value));
  cell_.kind = Kind::string;
  cell_.form = in_string;
  std::memcpy(cell_.bytes, &kept, sizeof kept);
}

Json::Json(Array value) noexcept : Json(Kind::array, std::exchange(value.block_, nullptr)) {}
Json::Json(Object value) noexcept : Json(Kind::object, std::exchange(value.block_, nullptr)) {}

Json::Json(std::initializer_list<Member> members) {
  Object object;
  object.reserve(members.size());
  for (const auto& [key, value] : members) object.set(key, value);
  cell_ = block_cell(Kind::object, std::exchange(object.block_, nullptr));
}

Json& Json::operator=(const Json& other) {
  Json copy(other);
  std::swap(cell_, copy.cell_);
  return *this;
}

Json Json::array(std::initializer_list<Json> items) { return Json(Array(items)); }

Json Json::number(std::string_view text) {
  const auto value = read_number(text);
  if (!value) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a JSON number", text));
  return std::visit(
      [&]<class T>(T number) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Json(text_cell(Kind::big_number, text));
        } else {
          return Json(number);
        }
      },
      *value);
}

std::optional<std::int64_t> Json::to_int() const noexcept {
  if (kind() == Kind::integer) return got<std::int64_t>();
  if (kind() == Kind::real) return integral(got<double>());
  return std::nullopt;  // an unsigned_integer is always above the range of int64
}

std::optional<std::uint64_t> Json::to_uint() const noexcept {
  if (kind() == Kind::unsigned_integer) return got<std::uint64_t>();
  if (kind() == Kind::integer) {
    const auto value = got<std::int64_t>();
    return value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(value));
  }
  if (kind() == Kind::real) return unsigned_integral(got<double>());
  return std::nullopt;
}

std::optional<double> Json::to_double() const noexcept {
  switch (kind()) {
    case Kind::integer:
      return static_cast<double>(got<std::int64_t>());
    case Kind::unsigned_integer:
      return static_cast<double>(got<std::uint64_t>());
    case Kind::real:
      return got<double>();
    case Kind::big_number:
      return rounded_number(text_of(cell_));
    default:
      return std::nullopt;
  }
}

std::string_view Json::number_text() const noexcept {
  return kind() == Kind::big_number ? text_of(cell_) : std::string_view();
}

bool Json::as_bool() const {
  if (is_bool()) return got<bool>();
  throw_kind("a boolean", kind());
}

std::int64_t Json::as_int() const {
  if (auto value = to_int()) return *value;
  if (is_number()) throw Error(Errc::invalid_argument, "expected an integer of 64 bits, found another number");
  throw_kind("an integer", kind());
}

double Json::as_double() const {
  if (auto value = to_double()) return *value;
  throw_kind("a number", kind());
}

std::string_view Json::as_text() const& {
  if (is_string()) return text_of(cell_);
  throw_kind("a string", kind());
}

std::string Json::as_text() && {
  if (is_string() && cell_.form == in_string) {
    auto text = std::move(*address<std::string>(cell_.bytes));
    *this = Json("");  // the form of a text follows from its length
    return text;
  }
  return std::string(std::as_const(*this).as_text());
}

Json::Items Json::items() const noexcept { return Items(is_array() ? address<Block>(cell_.bytes) : nullptr); }

Json::Members Json::members() const noexcept { return Members(is_object() ? address<Block>(cell_.bytes) : nullptr); }

bool Json::erase(std::string_view key) {
  auto* object = if_object();
  return object && object->erase(key);
}

const Json::Array& Json::as_array() const {
  if (const auto* value = if_array()) return *value;
  throw_kind("an array", kind());
}

Json::Array& Json::as_array() {
  if (auto* value = if_array()) return *value;
  throw_kind("an array", kind());
}

const Json::Object& Json::as_object() const {
  if (const auto* value = if_object()) return *value;
  throw_kind("an object", kind());
}

Json::Object& Json::as_object() {
  if (auto* value = if_object()) return *value;
  throw_kind("an object", kind());
}

const Json* Json::find(std::string_view key) const noexcept {
  const auto* object = if_object();
  return object ? object->find(key) : nullptr;
}

Json* Json::find(std::string_view key) noexcept {
  auto* object = if_object();
  return object ? object->find(key) : nullptr;
}

const Json& Json::operator[](std::string_view key) const noexcept {
  static const Json null;
  const Json* found = find(key);
  return found ? *found : null;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) cell_ = block_cell(Kind::object, nullptr);
  return as_object()[key];
}

void Json::push_back(Json value) {
  if (is_null()) cell_ = block_cell(Kind::array, nullptr);
  as_array().push_back(std::move(value));
}

std::size_t Json::size() const noexcept {
  if (const auto* array = if_array()) return array->size();
  if (const auto* object = if_object()) return object->size();
  return 0;
}

bool Json::equal(const Json& left, const Json& right) {
  std::vector<std::pair<const Json*, const Json*>> pending;
  const Json* ours = &left;
  const Json* theirs = &right;
  while (true) {
    if (const auto* array = ours->if_array()) {
      const auto* other = theirs->if_array();
      if (!other || other->size() != array->size()) return false;
      for (std::size_t i = 0; i < array->size(); ++i) pending.emplace_back(&(*array)[i], &(*other)[i]);
    } else if (const auto* object = ours->if_object()) {
      const auto* other = theirs->if_object();
      if (!other || other->size() != object->size()) return false;
      for (const auto& [key, value] : *object) {
        const Json* match = other->find(key);
        if (!match) return false;
        pending.emplace_back(&value, match);
      }
    } else if (!scalars_equal(*ours, *theirs)) {
      return false;
    }
    if (pending.empty()) return true;
    std::tie(ours, theirs) = pending.back();
    pending.pop_back();
  }
}

}  // namespace patchbay
