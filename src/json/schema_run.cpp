#include "json/schema_run.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <fmt/format.h>

namespace patchbay::schema {
namespace {

std::string pointer_of(const Path* path) {
  std::vector<const Path*> way;
  for (; path; path = path->parent) way.push_back(path);
  std::string out;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    out += '/';
    if ((*at)->index == Place::no_index) {
      append_pointer_token(out, (*at)->key);
    } else {
      fmt::format_to(std::back_inserter(out), "{}", (*at)->index);
    }
  }
  return out;
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 32) * 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

// Equal values have equal hashes, whatever the order of their members. What lies deeper than
// `levels` is not looked at, but its size is in the cost, since a comparison will.
std::uint64_t hash_of(const Json& value, int levels, std::uint64_t& cost) {
  ++cost;
  switch (value.kind()) {
    case Json::Kind::null:
      return 1;
    case Json::Kind::boolean:
      return *value.to_bool() ? 2 : 3;
    case Json::Kind::string:
      cost += value.text()->size() / 64;
      return std::hash<std::string_view>()(value.as_text());
    case Json::Kind::array: {
      std::uint64_t hash = 5;
      if (levels == 0) {
        cost += weight_of(value);
        return hash;
      }
      for (const Json& item : *value.if_array()) hash = mixed(hash + hash_of(item, levels - 1, cost));
      return hash;
    }
    case Json::Kind::object: {
      std::uint64_t hash = 7;
      if (levels == 0) {
        cost += weight_of(value);
        return hash;
      }
      for (const auto& [key, member] : *value.if_object()) {
        hash += mixed(std::hash<std::string_view>()(key) + mixed(hash_of(member, levels - 1, cost)));
      }
      return hash;
    }
    default:
      if (const auto integer = value.to_int()) return mixed(static_cast<std::uint64_t>(*integer) + 11);
      if (const auto integer = value.to_uint()) return mixed(*integer + 11);
      return mixed(std::bit_cast<std::uint64_t>(*value.to_double()));
  }
}

}  // namespace

void Findings::add(const Node& node, std::string_view keyword, const Path* path, std::string message) {
  Violation violation{
      .instance_path = pointer_of(path), .keyword = std::string(keyword), .message = std::move(message)};
  violation.schema_location = location_of(*node.place);
  if (node.fixed != Node::Fixed::rejects) {
    violation.schema_location += '/';
    append_pointer_token(violation.schema_location, keyword);
  }
  into_->push_back(std::move(violation));
  if (into_->size() >= most_) throw Enough();
}

std::pair<std::size_t, std::size_t> find_duplicate(const Json::Array& array, Steps& steps) {
  steps.charge(array.size());
  const bool scalars =
      std::ranges::none_of(array, [](const Json& item) { return item.is_array() || item.is_object(); });
  if (scalars && array.size() <= 16) {
    for (std::size_t i = 1; i < array.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (equal_values(array[i], array[j])) return {j, i};
      }
    }
    return {0, 0};
  }
  struct Item {
    std::uint64_t hash;
    std::size_t position;
    std::uint64_t cost;
  };
  std::vector<Item> items;
  items.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    Item item{.hash = 0, .position = i, .cost = 0};
    item.hash = hash_of(array[i], 64, item.cost);
    steps.charge(item.cost);
    items.push_back(item);
  }
  std::ranges::sort(
      items, [](const Item& a, const Item& b) { return a.hash != b.hash ? a.hash < b.hash : a.position < b.position; });
  for (std::size_t i = 1; i < items.size(); ++i) {
    for (std::size_t j = i; j > 0 && items[j - 1].hash == items[i].hash; --j) {
      steps.charge(1 + items[i].cost);
      if (equal_values(array[items[i].position], array[items[j - 1].position])) {
        return {items[j - 1].position, items[i].position};
      }
    }
  }
  return {0, 0};
}

}  // namespace patchbay::schema
