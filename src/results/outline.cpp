#include "results/outline.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "protocol/codec.h"
#include "results/result_value.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 40;

struct Shape;
struct Member {
  std::string name;
  std::size_t seen = 0;
  std::unique_ptr<Shape> shape;
};
struct Shape {
  std::vector<std::string_view> types;  // of plain values, in the order they came
  std::size_t objects = 0;              // how many were put together
  std::vector<Member> members;
  bool more_members = false;
  std::unique_ptr<Shape> items;  // of arrays
  bool arrays = false;
  bool deeper = false;  // there is more than is told
};

std::string_view type_of(const Json& value) noexcept {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  return value.is_null() ? "null" : "number";
}

class Outline {
 public:
  explicit Outline(const OutlineLimits& limits) : limits_(limits), nodes_(limits.nodes) {}

  void add(Shape& shape, const Json& value, std::size_t depth) {
    if (nodes_ == 0) {
      shape.deeper = true;
      return;
    }
    --nodes_;
    if (value.is_array()) {
      shape.arrays = true;
      if (value.size() == 0) return;
      if (!shape.items) shape.items = std::make_unique<Shape>();
      if (depth == 0) {
        shape.items->deeper = true;
        return;
      }
      const auto items = value.items();
      for (std::size_t i = 0; i < std::min(items.size(), limits_.items); ++i) add(*shape.items, items[i], depth - 1);
    } else if (value.is_object()) {
      ++shape.objects;
      if (depth == 0) {
        shape.deeper = value.size() > 0;
        return;
      }
      std::size_t looked_at = 0;
      for (const auto& [name, member] : value.members()) {
        // Beyond these the object is a map, or cut.
        if (++looked_at > limits_.members * 2) {
          shape.more_members = true;
          break;
        }
        auto known = std::ranges::find(shape.members, name, &Member::name);
        if (known == shape.members.end()) {
          if (shape.members.size() >= limits_.members * 2) {
            shape.more_members = true;
            continue;
          }
          shape.members.push_back({std::string(name), 0, std::make_unique<Shape>()});
          known = std::prev(shape.members.end());
        }
        ++known->seen;
        add(*known->shape, member, depth - 1);
      }
    } else if (const auto type = type_of(value); std::ranges::find(shape.types, type) == shape.types.end()) {
      shape.types.push_back(type);
    }
  }

  std::string text(const Shape& shape) {
    std::vector<std::string> options;
    for (const auto type : shape.types) options.emplace_back(type);
    if (shape.objects > 0) options.push_back(object_text(shape));
    if (shape.arrays) {
      auto inside = shape.items ? text(*shape.items) : std::string();
      options.push_back("[" + inside + "]");
    }
    if (options.empty()) return "…";
    return join(options, "|");
  }

 private:
  static std::string name_text(std::string_view name) {
    const bool plain = !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
             c == '$';
    });
    if (plain) return std::string(name);
    const auto cut = cut_utf8(name, longest_name);
    return to_text(Json(clean_line(cut) + (cut.size() < name.size() ? "…" : "")));
  }

  std::string object_text(const Shape& shape) {
    if (shape.members.empty()) return shape.deeper ? "{…}" : "{}";
    if (shape.members.size() > limits_.members || shape.more_members) {
      if (auto map = map_text(shape); !map.empty()) return map;
    }
    std::string out = "{";
    std::size_t count = 0;
    for (const auto& [name, seen, inside] : shape.members) {
      if (count > 0) out += ',';
      if (count++ == limits_.members || written_ > limits_.bytes) {
        out += "…";
        break;
      }
      auto head = name_text(name) + (seen < shape.objects ? "?:" : ":");
      written_ += head.size() + 8;
      out += head + text(*inside);
    }
    return out + "}";
  }

  // Members that all look alike have names that are data.
  std::string map_text(const Shape& shape) {
    const auto before = written_;
    const auto first = text(*shape.members.front().shape);
    for (const auto& member : shape.members) {
      written_ = before;
      if (text(*member.shape) != first) return {};
    }
    return "{[name]:" + first + "}";
  }

  OutlineLimits limits_;
  std::size_t nodes_;
  std::size_t written_ = 0;
};

}  // namespace

std::string outline_of(const Json& value, const OutlineLimits& limits) {
  Outline outline(limits);
  Shape shape;
  outline.add(shape, value, limits.depth);
  auto text = outline.text(shape);
  // Whatever the parts come to: one line of about this length.
  if (const auto cut = cut_utf8(text, limits.bytes * 2); cut.size() < text.size()) text = std::string(cut) + "…";
  return text;
}

std::string outline_of(const CallToolResult& result, const OutlineLimits& limits) {
  const auto& structured = result.structured_content;
  if (structured && !structured->is_null())
    return structured->is_string() ? std::string() : outline_of(*structured, limits);
  std::size_t texts = 0;
  std::string_view text;  // all of them
  std::string joined;
  for (const auto& block : result.content) {
    const auto* one = std::get_if<TextContent>(&block);
    if (one == nullptr) continue;
    if (texts++ > 0) {
      if (texts == 2) joined = text;
      joined += '\n';
      joined += one->text;
    }
    text = texts == 1 ? std::string_view(one->text) : joined;
  }
  if (texts == 0) return outline_of(encode(result), limits);
  const auto value = structured_text(text);
  return value ? outline_of(*value, limits) : std::string();
}

}  // namespace patchbay
