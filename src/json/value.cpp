#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "json/number.h"

namespace patchbay {
namespace {

constexpr std::size_t indexed_above = 16;
constexpr std::size_t absent = static_cast<std::size_t>(-1);

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
        return *left.if_bool() == *right.if_bool();
      case Kind::integer:
        return left.to_int() == right.to_int();
      case Kind::unsigned_integer:
        return left.to_uint() == right.to_uint();
      case Kind::real:
        return left.to_double() == right.to_double();
      case Kind::big_number:
        return left.number_text() == right.number_text();
      case Kind::string:
        return *left.if_string() == *right.if_string();
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

}  // namespace

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

// Open addressing over positions in members_ (0 = free, else position + 1). Positions, not
// views of the keys: short strings live inside the members and move when the vector grows.
struct Json::Object::Index {
  std::vector<std::uint32_t> slots;

  void insert(std::uint64_t hash, std::size_t position) noexcept {
    const std::size_t mask = slots.size() - 1;
    std::size_t slot = hash & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = static_cast<std::uint32_t>(position + 1);
  }
};

Json::Object::Object() = default;
Json::Object::Object(const Object& other)
    : members_(other.members_), index_(other.index_ ? std::make_unique<Index>(*other.index_) : nullptr) {}
Json::Object::Object(Object&&) noexcept = default;
Json::Object& Json::Object::operator=(const Object& other) {
  Object copy(other);
  *this = std::move(copy);
  return *this;
}
Json::Object& Json::Object::operator=(Object&& other) noexcept {
  // Through a temporary: `other` may live inside one of our own members.
  Object taken(std::move(other));
  members_.swap(taken.members_);
  index_.swap(taken.index_);
  return *this;
}
Json::Object::~Object() = default;

std::size_t Json::Object::locate(std::string_view key) const noexcept {
  if (!index_) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].first == key) return i;
    }
    return absent;
  }
  const std::size_t mask = index_->slots.size() - 1;
  for (std::size_t slot = hash_key(key) & mask; index_->slots[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t position = index_->slots[slot] - 1;
    if (members_[position].first == key) return position;
  }
  return absent;
}

void Json::Object::rebuild_index() {
  if (members_.size() <= indexed_above) {
    index_.reset();
    return;
  }
  if (members_.size() >= UINT32_MAX / 4) throw Error(Errc::limit, "a JSON object has too many members");
  auto index = std::make_unique<Index>();
  index->slots.assign(std::bit_ceil(members_.size() * 3), 0);
  for (std::size_t i = 0; i < members_.size(); ++i) index->insert(hash_key(members_[i].first), i);
  index_ = std::move(index);
}

void Json::Object::index_new_member() {
  if (members_.size() <= indexed_above) return;
  if (!index_ || members_.size() * 4 > index_->slots.size() * 3) {
    rebuild_index();
  } else {
    index_->insert(hash_key(members_.back().first), members_.size() - 1);
  }
}

const Json* Json::Object::find(std::string_view key) const noexcept {
  const auto position = locate(key);
  return position == absent ? nullptr : &members_[position].second;
}

Json* Json::Object::find(std::string_view key) noexcept {
  const auto position = locate(key);
  return position == absent ? nullptr : &members_[position].second;
}

Json& Json::Object::operator[](std::string_view key) {
  if (Json* found = find(key)) return *found;
  return append_null(std::string(key));
}

void Json::Object::set(std::string_view key, Json value) {
  if (Json* found = find(key)) {
    *found = std::move(value);
  } else {
    append(std::string(key), std::move(value));
  }
}

bool Json::Object::erase(std::string_view key) {
  const auto position = locate(key);
  if (position == absent) return false;
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(position));
  if (index_) rebuild_index();
  return true;
}

Json& Json::Object::append(std::string key, Json value) { return append_null(std::move(key)) = std::move(value); }

Json& Json::Object::append_null(std::string key) {
  if (members_.capacity() == 0) members_.reserve(3);  // most objects hold two or three
  members_.emplace_back(std::piecewise_construct, std::forward_as_tuple(std::move(key)), std::tuple<>());
  index_new_member();
  return members_.back().second;
}

bool Json::Object::operator==(const Object& other) const {
  if (size() != other.size()) return false;
  for (const auto& [key, value] : members_) {
    const Json* theirs = other.find(key);
    if (!theirs || !(value == *theirs)) return false;
  }
  return true;
}

Json::Json(std::initializer_list<Member> members) : data_(Object{}) {
  auto& object = std::get<Object>(data_);
  object.members_.reserve(members.size());
  for (const auto& [key, value] : members) object.set(key, value);
}

Json::Json(const Json& other) {
  std::vector<std::pair<const Json*, Json*>> pending;
  const Json* source = &other;
  Json* target = this;
  const auto fill = [&pending](const Json& from, Json& to) {
    if (from.kind() >= Kind::array) {
      pending.emplace_back(&from, &to);
    } else {
      to.data_ = from.data_;
    }
  };
  while (true) {
    // Children exist before any of them is filled, so the addresses below stay put.
    if (const auto* array = source->if_array()) {
      auto& copy = target->data_.emplace<Array>(array->size());
      for (std::size_t i = 0; i < array->size(); ++i) fill((*array)[i], copy[i]);
    } else if (const auto* object = source->if_object()) {
      auto& copy = target->data_.emplace<Object>();
      copy.members_.reserve(object->size());
      for (const auto& member : *object) copy.members_.emplace_back(member.first, Json());
      if (object->index_) copy.index_ = std::make_unique<Object::Index>(*object->index_);
      for (std::size_t i = 0; i < object->size(); ++i) {
        fill(object->members_[i].second, copy.members_[i].second);
      }
    } else {
      target->data_ = source->data_;
    }
    if (pending.empty()) return;
    std::tie(source, target) = pending.back();
    pending.pop_back();
  }
}

Json::Json(Json&&) noexcept = default;

Json& Json::operator=(const Json& other) {
  Json copy(other);
  data_.swap(copy.data_);
  return *this;
}

Json& Json::operator=(Json&& other) noexcept {
  // Through a temporary: `other` may live inside this value (j = std::move(j["part"])).
  Json taken(std::move(other));
  data_.swap(taken.data_);
  return *this;
}

bool Json::has_nested() const noexcept {
  const auto filled_container = [](const Json& child) { return child.size() != 0; };
  if (const auto* array = if_array()) {
    for (const auto& item : *array) {
      if (filled_container(item)) return true;
    }
  } else if (const auto* object = if_object()) {
    for (const auto& member : *object) {
      if (filled_container(member.second)) return true;
    }
  }
  return false;
}

Json::~Json() {
  if (kind() < Kind::array || !has_nested()) return;
  // Takes children off from the back, keeping only the path to the current one: memory is
  // bounded by depth, stack by two frames.
  std::vector<Json> path;
  path.push_back(std::move(*this));
  const auto drop_back = [&path](auto& items, auto&& child_of) {
    while (!items.empty()) {
      Json& child = child_of(items.back());
      if (child.has_nested()) {
        Json taken(std::move(child));
        items.pop_back();
        path.push_back(std::move(taken));
        return;
      }
      items.pop_back();
    }
    path.pop_back();
  };
  while (!path.empty()) {
    Json& top = path.back();
    if (auto* array = top.if_array()) {
      drop_back(*array, [](Json& item) -> Json& { return item; });
    } else {
      drop_back(top.if_object()->members_, [](Member& member) -> Json& { return member.second; });
    }
  }
}

Json Json::array(std::initializer_list<Json> items) { return Json(Array(items)); }

Json Json::number(std::string text) {
  auto value = read_number(text);
  if (!value) throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a JSON number", text));
  Json result;
  std::visit(
      [&]<class T>(T number) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          result.data_.emplace<BigNumber>(std::move(text));
        } else {
          result.data_ = number;
        }
      },
      *value);
  return result;
}

std::optional<std::int64_t> Json::to_int() const noexcept {
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
  if (const auto* value = std::get_if<double>(&data_)) return integral(*value);
  return std::nullopt;  // an unsigned_integer is always above the range of int64
}

std::optional<std::uint64_t> Json::to_uint() const noexcept {
  if (const auto* value = std::get_if<std::uint64_t>(&data_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&data_)) {
    if (*value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
  }
  if (const auto* value = std::get_if<double>(&data_)) return unsigned_integral(*value);
  return std::nullopt;
}

std::optional<double> Json::to_double() const noexcept {
  switch (kind()) {
    case Kind::integer:
      return static_cast<double>(std::get<std::int64_t>(data_));
    case Kind::unsigned_integer:
      return static_cast<double>(std::get<std::uint64_t>(data_));
    case Kind::real:
      return std::get<double>(data_);
    case Kind::big_number:
      return rounded_number(std::get<BigNumber>(data_).text);
    default:
      return std::nullopt;
  }
}

std::string_view Json::number_text() const noexcept {
  const auto* big = std::get_if<BigNumber>(&data_);
  return big ? std::string_view(big->text) : std::string_view();
}

bool Json::as_bool() const {
  if (const bool* value = if_bool()) return *value;
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

const std::string& Json::as_string() const {
  if (const auto* value = if_string()) return *value;
  throw_kind("a string", kind());
}

std::string_view Json::as_text() const { return as_string(); }

Json::Items Json::items() const noexcept { return Items(if_array()); }

Json::Members Json::members() const noexcept {
  const auto* object = if_object();
  return Members(object ? &object->members_ : nullptr);
}

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
  if (is_null()) data_.emplace<Object>();
  return as_object()[key];
}

void Json::push_back(Json value) {
  if (is_null()) data_.emplace<Array>();
  as_array().push_back(std::move(value));
}

std::size_t Json::size() const noexcept {
  if (const auto* array = if_array()) return array->size();
  if (const auto* object = if_object()) return object->size();
  return 0;
}

bool Json::operator==(const Json& other) const { return equal(*this, other); }

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
