// What one evaluation of a schema carries with it: the steps it has left, the way that led to the present part of
// the value and of the schema, what was looked at, and the violations it found. schema_validate.cpp walks with
// it and coerce.cpp asks about parts; nobody else includes this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/schema_program.h"

namespace patchbay::schema {

// Both end an evaluation from any depth.
struct Exhausted {
  std::string reason;
};
struct Enough {};

class Steps {
 public:
  explicit Steps(std::uint64_t left) : left_(left) {}
  void charge(std::uint64_t steps) {
    if (steps > left_) throw Exhausted{"checking the value against the schema takes more steps than allowed"};
    left_ -= steps;
  }
  std::uint64_t& left() noexcept { return left_; }

 private:
  std::uint64_t left_;
};

// Which resources lead here, innermost first: the dynamic scope of $dynamicRef.
struct Scope {
  const Scope* outer;
  const Resource* resource;
};

// The way from the whole value to the present part.
struct Path {
  const Path* parent;
  std::string_view key;
  std::size_t index;  // Place::no_index when it is a key
};

// The members or items some keyword has looked at, by position.
class Marks {
 public:
  void add(std::size_t position) {
    if (position < 64) {
      first_ |= std::uint64_t{1} << position;
      return;
    }
    const std::size_t word = position / 64 - 1;
    if (word >= more_.size()) more_.resize(word + 1);
    more_[word] |= std::uint64_t{1} << position % 64;
  }
  void add_all() { all_ = true; }
  bool has(std::size_t position) const {
    if (all_) return true;
    if (position < 64) return (first_ >> position & 1) != 0;
    const std::size_t word = position / 64 - 1;
    return word < more_.size() && (more_[word] >> position % 64 & 1) != 0;
  }
  void add(const Marks& others) {
    all_ |= others.all_;
    first_ |= others.first_;
    if (others.more_.size() > more_.size()) more_.resize(others.more_.size());
    for (std::size_t i = 0; i < others.more_.size(); ++i) more_[i] |= others.more_[i];
  }
  std::uint64_t cost() const { return more_.size() / 16; }

 private:
  bool all_ = false;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;
};

// Where violations go; ends the evaluation when there are enough of them.
class Findings {
 public:
  void open(std::vector<Violation>& into, std::size_t most) {
    into_ = &into;
    most_ = most;
  }
  void add(const Node& node, std::string_view keyword, const Path* path, std::string message);

 private:
  std::vector<Violation>* into_ = nullptr;
  std::size_t most_ = 0;
};

inline std::uint64_t code_points(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The bit of the value's type.
inline std::uint8_t type_of(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return type_null;
    case Json::Kind::boolean:
      return type_boolean;
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      return type_integer;
    case Json::Kind::real:
    case Json::Kind::big_number:
      return is_integral(value) ? type_integer : type_number;
    case Json::Kind::string:
      return type_string;
    case Json::Kind::array:
      return type_array;
    case Json::Kind::object:
      return type_object;
  }
  return 0;
}

// Null when the name is not among the known ones.
inline const Property* find_property(const ObjectRules& rules, std::string_view name) {
  if (rules.index) {
    const Json* position = rules.index->find(name);
    return position ? &rules.properties[static_cast<std::size_t>(*position->to_int())] : nullptr;
  }
  for (const Property& property : rules.properties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

// Two positions of an array whose values are equal; equal positions when there are none. What it takes is charged.
std::pair<std::size_t, std::size_t> find_duplicate(const Json::Array& array, Steps& steps);

// Whether one part of a schema accepts the value. Takes what it needs from `steps`; throws Exhausted.
bool accepts_part(const Program& program, const Node& node, const Json& value, Steps& steps, std::uint32_t max_depth);

}  // namespace patchbay::schema
