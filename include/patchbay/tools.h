// The arguments of a tool as C++ types, and its result in one word.
//
//   args(arg<double>("a", "the first number"), arg<int>("digits", "after the point", 2))
//
// describes what a tool takes: the JSON Schema is made from it, and the JSON of a call becomes values of
// these types, in this order. An argument is required unless it has a default or is a std::optional, which may
// also be given as null.
// Types: bool, integers, double, std::string, Json, enums with names, and std::vector, std::optional and
// std::map<std::string, …> of these. Used by Server::add_tool. Pure; any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

// What a tool answers: one text; a text that says what went wrong; a value that programs read (structured content).
CallToolResult text(std::string text);
CallToolResult error_text(std::string text);
CallToolResult structured(Json value);

// An enum is passed by names. Declare them beside it:
//   enum class Unit { celsius, fahrenheit };
//   constexpr auto tool_names(Unit) {
//     return std::array{std::pair{Unit::celsius, "celsius"}, std::pair{Unit::fahrenheit, "fahrenheit"}};
//   }
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) { tool_names(value); };

// How one type is described, read and written. Specialise it for a type of your own.
// read() throws Errc::invalid_argument when the value does not fit.
template <class T>
struct ToolType;

template <>
struct ToolType<bool> {
  static Json schema() { return Json{{"type", "boolean"}}; }
  static bool read(const Json& value) { return value.as_bool(); }
  static Json write(bool value) { return value; }
};

namespace detail {
Json integer_schema(std::optional<std::int64_t> least, std::optional<std::int64_t> most);
std::int64_t read_integer(const Json& value, std::int64_t least, std::int64_t most);
std::uint64_t read_unsigned(const Json& value, std::uint64_t most);
Json enum_schema(std::vector<std::string> names);
Error wrong_kind(std::string_view expected, const Json& found);
Error unknown_name(const Json& value, const std::vector<std::string>& names);
Json or_null(Json schema);
// Of a tool's input schema.
Json no_arguments();
void add_argument(Json& schema, const std::string& name, const std::string& description, Json type,
                  std::optional<Json> preset, bool required);
// The value given for this argument; null when there is none, or when it is JSON's null.
const Json* given(const Json& arguments, const std::string& name);
Error missing_argument(const std::string& name);
CallToolResult json_result(Json answer);
Tool named_tool(std::string name, std::string description);
}  // namespace detail

template <class T>
  requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
struct ToolType<T> {
  using Limits = std::numeric_limits<T>;
  static Json schema() {
    // Bounds that JSON readers cannot hold exactly are left to read().
    constexpr bool small = sizeof(T) < sizeof(std::int64_t);
    const auto bound = [](bool known, auto value) {
      return known ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
    };
    return detail::integer_schema(bound(small || std::is_unsigned_v<T>, Limits::min()), bound(small, Limits::max()));
  }
  static T read(const Json& value) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(detail::read_integer(value, Limits::min(), Limits::max()));
    } else {
      return static_cast<T>(detail::read_unsigned(value, Limits::max()));
    }
  }
  static Json write(T value) { return value; }
};

template <std::floating_point T>
struct ToolType<T> {
  static Json schema() { return Json{{"type", "number"}}; }
  static T read(const Json& value) { return static_cast<T>(value.as_double()); }
  static Json write(T value) { return static_cast<double>(value); }
};

template <>
struct ToolType<std::string> {
  static Json schema() { return Json{{"type", "string"}}; }
  static std::string read(const Json& value) { return std::string(value.as_text()); }
  static Json write(const std::string& value) { return value; }
};

// Any value.
template <>
struct ToolType<Json> {
  static Json schema() { return Json::object(); }
  static Json read(const Json& value) { return value; }
  static Json write(const Json& value) { return value; }
};

template <NamedEnum T>
struct ToolType<T> {
  static Json schema() { return detail::enum_schema(names()); }
  static T read(const Json& value) {
    for (const auto& [each, name] : tool_names(T{})) {
      if (value == Json(name)) return each;
    }
    throw detail::unknown_name(value, names());
  }
  static Json write(T value) {
    for (const auto& [each, name] : tool_names(T{})) {
      if (each == value) return name;
    }
    return nullptr;
  }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& [each, name] : tool_names(T{})) all.emplace_back(name);
    return all;
  }
};

template <class T>
struct ToolType<std::vector<T>> {
  static Json schema() { return Json{{"type", "array"}, {"items", ToolType<T>::schema()}}; }
  static std::vector<T> read(const Json& value) {
    if (!value.is_array()) throw detail::wrong_kind("an array", value);
    std::vector<T> all;
    for (const auto& each : value.items()) all.push_back(ToolType<T>::read(each));
    return all;
  }
  static Json write(const std::vector<T>& value) {
    Json all = Json::array();
    for (const auto& each : value) all.push_back(ToolType<T>::write(each));
    return all;
  }
};

template <class T>
struct ToolType<std::map<std::string, T>> {
  static Json schema() { return Json{{"type", "object"}, {"additionalProperties", ToolType<T>::schema()}}; }
  static std::map<std::string, T> read(const Json& value) {
    if (!value.is_object()) throw detail::wrong_kind("an object", value);
    std::map<std::string, T> all;
    for (const auto& [key, each] : value.members()) all.emplace(key, ToolType<T>::read(each));
    return all;
  }
  static Json write(const std::map<std::string, T>& value) {
    Json all = Json::object();
    for (const auto& [key, each] : value) all[key] = ToolType<T>::write(each);
    return all;
  }
};

template <class T>
struct ToolType<std::optional<T>> {
  static Json schema() { return detail::or_null(ToolType<T>::schema()); }
  static std::optional<T> read(const Json& value) {
    if (value.is_null()) return std::nullopt;
    return ToolType<T>::read(value);
  }
  static Json write(const std::optional<T>& value) { return value ? ToolType<T>::write(*value) : Json(); }
};

namespace detail {
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
}  // namespace detail

// One argument.
template <class T>
struct Arg {
  std::string name;
  std::string description;  // for the model that fills it in
  std::optional<T> preset;  // used when the call does not give it
};

template <class T>
Arg<T> arg(std::string name, std::string description = {}) {
  return {std::move(name), std::move(description), std::nullopt};
}
template <class T>
Arg<T> arg(std::string name, std::string description, T preset) {
  return {std::move(name), std::move(description), std::move(preset)};
}

// All arguments of a tool, in the order in which its handler takes them.
template <class... T>
class Args {
 public:
  using Values = std::tuple<T...>;

  explicit Args(Arg<T>... each) : each_(std::move(each)...) {}

  // Throws Errc::invalid_argument when a name is empty or there twice. Arguments that are not
  // described are refused, so that a model hears of a name it got wrong.
  Json schema() const {
    Json all = detail::no_arguments();
    std::apply([&](const Arg<T>&... each) { (add(all, each), ...); }, each_);
    return all;
  }
  // Throws Errc::invalid_argument, with the name of the argument that does not fit.
  Values read(const Json& arguments) const {
    return std::apply([&](const Arg<T>&... each) { return Values{value_of(each, arguments)...}; }, each_);
  }

 private:
  template <class A>
  static void add(Json& schema, const Arg<A>& each) {
    auto preset = each.preset ? std::optional(ToolType<A>::write(*each.preset)) : std::nullopt;
    const bool required = !each.preset && !detail::is_optional<A>;
    detail::add_argument(schema, each.name, each.description, ToolType<A>::schema(), std::move(preset), required);
  }
  template <class A>
  static A value_of(const Arg<A>& each, const Json& arguments) {
    const Json* found = detail::given(arguments, each.name);
    if (!found && each.preset) return *each.preset;
    if (!found) {
      if constexpr (detail::is_optional<A>) return std::nullopt;
      if constexpr (!std::same_as<A, Json>) throw detail::missing_argument(each.name);
    }
    try {
      return ToolType<A>::read(found ? *found : Json());
    } catch (const Error& error) {
      throw error.within(each.name);
    }
  }

  std::tuple<Arg<T>...> each_;
};

template <class... T>
Args<T...> args(Arg<T>... each) {
  return Args<T...>(std::move(each)...);
}

// What a handler may return: a CallToolResult, a text, or what Json can be made of. A JSON object becomes structured
// content; a string, a number or any other JSON becomes text.
template <class R>
concept ToolAnswer =
    std::convertible_to<R, CallToolResult> || std::convertible_to<R, std::string_view> || std::convertible_to<R, Json>;

template <ToolAnswer R>
CallToolResult to_tool_result(R answer) {
  if constexpr (std::convertible_to<R, CallToolResult>) {
    return answer;
  } else if constexpr (std::convertible_to<R, std::string_view>) {
    return text(std::string(std::string_view(answer)));
  } else {
    return detail::json_result(std::move(answer));
  }
}

}  // namespace patchbay
