// Reader and Writer: the two directions of a field description. fields.h names each
// member once with one of these verbs; the verb says what absence, null and a wrong type
// mean when reading and when the member is left out when writing.
//
//   verb             absent or null      wrong type          written
//   required         error (1)           error               always
//   defaulted        keeps the default   error               always
//   lenient          keeps the default   default + extra     always
//   optional         absent              absent + extra      when present
//   strict           absent              error               when present
//   any              absent / null kept  (none is wrong)     when present
//   list_or          error               error               always (a word stands for no list)
//   capability       absent              `true` is {}, as optional otherwise
//   (1) null is an empty list where a list is required: what some servers write for one.
//
// The reader moves values out of the JSON it is given. Used by codec.cpp alone.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "protocol/handshake.h"
#include "protocol/names.h"

namespace patchbay {

// T as V's descriptions take it: the reader's to fill, the writer's to look at.
template <class V, class T>
using As = typename V::template As<T>;

// Where in the document we are; a string only once something is wrong.
struct JsonPath {
  const JsonPath* parent = nullptr;
  std::string_view key;
  std::optional<std::size_t> index;

  std::string text() const {
    std::string out = parent != nullptr ? parent->text() : std::string();
    if (index) return out + fmt::format("[{}]", *index);
    if (!out.empty() && !key.empty()) out += '.';
    return out + std::string(key);
  }
};

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

// Reading such a value either succeeds or leaves the JSON untouched.
template <class T>
inline constexpr bool is_scalar =
    std::same_as<T, std::string> || std::same_as<T, Json> || std::is_arithmetic_v<T> || std::is_enum_v<T>;

// Blocks choose their alternative by `type`. Reading one never fails: what cannot be read
// is kept whole as UnknownContent.
void read_content(Json& from, Content& out, const JsonPath& path);
Json write_content(const Content& content);

class Reader;

// Fills `out` from `from`; false with `problem` set when it cannot.
template <class T>
bool read(Json& from, T& out, const JsonPath& path, DecodeProblem& problem);

class Reader {
 public:
  template <class T>
  using As = T;

  Reader(Json::Object& in, const JsonPath& path, DecodeProblem& problem) : in_(in), path_(path), problem_(problem) {}

  bool ok() const noexcept { return ok_; }

  template <class T>
  void required(std::string_view key, T& out) {
    if (!ok_) return;
    Json* member = in_.find(key);
    if (member == nullptr) return missing(key, expected_kind<T>());
    if (is_vector<T> && member->is_null()) return consume(key);
    take(key, *member, out);
  }

  template <class T>
  void defaulted(std::string_view key, T& out) {
    strict(key, out);
  }

  template <class T>
  void lenient(std::string_view key, T& out) {
    optional(key, out);
  }

  template <class T>
  void optional(std::string_view key, T& out) {
    Json* member = present(key);
    if (member == nullptr) return;
    T value{};
    DecodeProblem ignored;
    const JsonPath here{&path_, key, {}};
    // A failed attempt must leave the original for `extra`.
    if constexpr (is_scalar<T> || (is_optional<T> && is_scalar<typename OptionalValue<T>::type>)) {
      if (!read(*member, value, here, ignored)) return;
    } else {
      Json copy = *member;
      if (!read(copy, value, here, ignored)) return;
    }
    out = std::move(value);
    consume(key);
  }

  template <class T>
  void strict(std::string_view key, T& out) {
    if (Json* member = present(key)) take(key, *member, out);
  }

  // Null is a value here.
  void any(std::string_view key, std::optional<Json>& out) {
    Json* member = ok_ ? in_.find(key) : nullptr;
    if (member == nullptr) return;
    out = std::move(*member);
    consume(key);
  }

  // An object; absent or null keeps the default.
  void object(std::string_view key, Json& out) {
    if (Json* member = present(key)) take_object(key, *member, out);
  }
  void optional_object(std::string_view key, Json& out) { object(key, out); }
  void required_object(std::string_view key, Json& out) {
    if (!ok_) return;
    Json* member = in_.find(key);
    if (member == nullptr) return missing(key, "an object");
    take_object(key, *member, out);
  }

  // `true` in place of an object declares the capability as well.
  template <class T>
  void capability(std::string_view key, std::optional<T>& out) {
    Json* member = present(key);
    if (member == nullptr) return;
    if (const auto flag = member->to_bool(); flag && *flag) *member = Json::object();
    if (member->is_object()) optional(key, out);
  }

  template <class E>
  void unless_default(std::string_view key, E& out) {
    strict(key, out);
  }

  // A list, or the word that says there is none to be had.
  template <class T>
  void list_or(std::string_view word, std::string_view key, std::optional<std::vector<T>>& out) {
    if (!ok_) return;
    const auto expected = fmt::format("an array or \"{}\"", word);
    Json* member = in_.find(key);
    if (member == nullptr) return missing(key, expected);
    const auto text = member->text();
    if (text && *text == word) {
      out.reset();
      return consume(key);
    }
    if (!member->is_array()) return wrong(key, expected, *member);
    take(key, *member, out);
  }

  // One block as an object, or several as an array.
  void one_or_many(std::string_view key, std::vector<Content>& out) {
    if (!ok_) return;
    Json* member = in_.find(key);
    if (member == nullptr) return missing(key, "an object or an array");
    if (member->is_object()) {
      const JsonPath here{&path_, key, {}};
      read(*member, out.emplace_back(), here, problem_);
      return consume(key);
    }
    take(key, *member, out);
  }

  // Members of a nested object that the model keeps in the outer struct.
  template <class F>
  void group(std::string_view key, F describe) {
    if (!ok_) return;
    Json* member = in_.find(key);
    if (member == nullptr) return missing(key, "an object");
    read_group(key, *member, describe);
  }
  template <class F>
  void optional_group(std::string_view key, F describe) {
    if (Json* member = present(key)) read_group(key, *member, describe);
  }

  void meta(Json& out) {
    Json* member = present("_meta");
    if (member == nullptr || !member->is_object()) return;
    out = std::move(*member);
    consume("_meta");
  }

  // Last in every description: whatever nothing above has taken.
  void extra(Json& out) {
    if (!ok_) return;
    Json::Object rest;
    if (taken_count_ < in_.size()) {
      for (const auto& [key, value] : in_) {
        if (!taken(key)) rest.append(key, value);
      }
    }
    for (const auto& [key, value] : group_extra_) rest.append(key, value);
    if (!rest.empty()) out = Json(std::move(rest));
  }

 private:
  template <class T>
  struct OptionalValue {
    using type = void;
  };
  template <class T>
  struct OptionalValue<std::optional<T>> {
    using type = T;
  };

  template <class T>
  static constexpr std::string_view expected_kind() {
    if constexpr (is_optional<T>) {
      return expected_kind<typename OptionalValue<T>::type>();
    } else if constexpr (std::same_as<T, std::string> || std::is_enum_v<T>) {
      return "a string";
    } else if constexpr (std::same_as<T, bool>) {
      return "a boolean";
    } else if constexpr (std::integral<T>) {
      return "an integer";
    } else if constexpr (std::floating_point<T>) {
      return "a number";
    } else if constexpr (is_vector<T>) {
      return "an array";
    } else if constexpr (std::same_as<T, ProgressToken>) {
      return "a string or an integer";
    } else {
      return "an object";
    }
  }

  // The member when there is one and it is not null.
  Json* present(std::string_view key) {
    Json* member = ok_ ? in_.find(key) : nullptr;
    if (member == nullptr) return nullptr;
    if (!member->is_null()) return member;
    consume(key);
    return nullptr;
  }

  template <class T>
  void take(std::string_view key, Json& member, T& out) {
    const JsonPath here{&path_, key, {}};
    ok_ = read(member, out, here, problem_);
    consume(key);
  }

  void take_object(std::string_view key, Json& member, Json& out) {
    if (!member.is_object()) return wrong(key, "an object", member);
    out = std::move(member);
    consume(key);
  }

  template <class F>
  void read_group(std::string_view key, Json& member, F& describe) {
    Json::Object* object = member.if_object();
    if (object == nullptr) return wrong(key, "an object", member);
    const JsonPath here{&path_, key, {}};
    Reader inner(*object, here, problem_);
    describe(inner);
    ok_ = inner.ok();
    Json rest;
    inner.extra(rest);
    if (!rest.is_null()) group_extra_.append(std::string(key), std::move(rest));
    consume(key);
  }

  void missing(std::string_view key, std::string_view expected) {
    fail(key, fmt::format("expected {}, found nothing", expected));
  }
  void wrong(std::string_view key, std::string_view expected, const Json& found) {
    fail(key, fmt::format("expected {}, found {}", expected, to_string(found.kind())));
  }
  void fail(std::string_view key, std::string reason) {
    ok_ = false;
    problem_ = DecodeProblem{JsonPath{&path_, key, {}}.text(), std::move(reason)};
  }

  void consume(std::string_view key) {
    if (taken_count_ < taken_.size()) taken_[taken_count_++] = key;
  }
  bool taken(std::string_view key) const {
    for (std::size_t i = 0; i < taken_count_; ++i) {
      if (taken_[i] == key) return true;
    }
    return false;
  }

  Json::Object& in_;
  const JsonPath& path_;
  DecodeProblem& problem_;
  bool ok_ = true;
  std::array<std::string_view, 24> taken_;  // more than any type has members
  std::size_t taken_count_ = 0;
  Json::Object group_extra_;
};

inline bool wrong_kind(std::string_view expected, const Json& found, const JsonPath& path, DecodeProblem& problem) {
  problem = DecodeProblem{path.text(), fmt::format("expected {}, found {}", expected, to_string(found.kind()))};
  return false;
}

template <class E>
bool read_enum(const Json& from, E& out, const JsonPath& path, DecodeProblem& problem) {
  const auto name = from.text();
  if (!name) return wrong_kind("a string", from, path, problem);
  if (auto value = value_named<E>(*name)) {
    out = *value;
    return true;
  }
  std::string names;
  for (std::string_view each : WireNames<E>::table) {
    if (!names.empty()) names += ", ";
    names += each;
  }
  problem = DecodeProblem{path.text(), fmt::format("expected one of {}, found \"{:.40}\"", names, *name)};
  return false;
}

template <class T>
bool read_object(Json& from, T& out, const JsonPath& path, DecodeProblem& problem) {
  Json::Object* object = from.if_object();
  if (object == nullptr) return wrong_kind("an object", from, path, problem);
  Reader reader(*object, path, problem);
  fields(reader, out);
  return reader.ok();
}

template <class T>
bool read(Json& from, T& out, const JsonPath& path, DecodeProblem& problem) {
  if constexpr (is_optional<T>) {
    return read(from, out.emplace(), path, problem);
  } else if constexpr (std::same_as<T, Json>) {
    out = std::move(from);
    return true;
  } else if constexpr (std::same_as<T, std::string>) {
    if (!from.is_string()) return wrong_kind("a string", from, path, problem);
    out = std::move(from).as_text();
    return true;
  } else if constexpr (std::same_as<T, bool>) {
    const auto value = from.to_bool();
    if (!value) return wrong_kind("a boolean", from, path, problem);
    out = *value;
    return true;
  } else if constexpr (std::same_as<T, std::int64_t>) {
    const auto value = from.to_int();
    if (!value) return wrong_kind("an integer", from, path, problem);
    out = *value;
    return true;
  } else if constexpr (std::same_as<T, double>) {
    const auto value = from.to_double();
    if (!value) return wrong_kind("a number", from, path, problem);
    // Infinity could not be written again.
    if (!std::isfinite(*value)) return wrong_kind("a number within the range of a double", from, path, problem);
    out = *value;
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum(from, out, path, problem);
  } else if constexpr (std::same_as<T, ProgressToken>) {
    if (const auto number = from.to_int()) {
      out = *number;
      return true;
    }
    if (const auto text = from.text()) {
      out = std::string(*text);
      return true;
    }
    return wrong_kind("a string or an integer", from, path, problem);
  } else if constexpr (std::same_as<T, Content>) {
    read_content(from, out, path);
    return true;
  } else if constexpr (is_vector<T>) {
    Json::Array* items = from.if_array();
    if (items == nullptr) return wrong_kind("an array", from, path, problem);
    out.clear();
    out.reserve(items->size());
    for (std::size_t i = 0; i < items->size(); ++i) {
      const JsonPath here{&path, {}, i};
      if (!read((*items)[i], out.emplace_back(), here, problem)) return false;
    }
    return true;
  } else if constexpr (is_map<T>) {
    const Json::Object* members = from.if_object();
    if (members == nullptr) return wrong_kind("an object", from, path, problem);
    out.clear();
    for (const auto& [key, value] : *members) {
      const JsonPath here{&path, key, {}};
      Json copy = value;
      if (!read(copy, out[std::string(key)], here, problem)) return false;
    }
    return true;
  } else {
    return read_object(from, out, path, problem);
  }
}

template <class T>
Json write(const T& value);

class Writer {
 public:
  template <class T>
  using As = const T;

  Json take() && { return Json(std::move(out_)); }
  bool empty() const noexcept { return out_.empty(); }
  void put(std::string_view key, Json value) { out_.append(std::string(key), std::move(value)); }

  template <class T>
  void required(std::string_view key, const T& value) {
    put(key, write(value));
  }
  template <class T>
  void required(std::string_view key, const std::optional<T>& value) {
    if (value) put(key, write(*value));
  }
  template <class T>
  void defaulted(std::string_view key, const T& value) {
    put(key, write(value));
  }
  template <class T>
  void lenient(std::string_view key, const T& value) {
    put(key, write(value));
  }

  template <class T>
  void optional(std::string_view key, const std::optional<T>& value) {
    if (value) put(key, write(*value));
  }
  template <class T>
    requires(is_vector<T> || is_map<T>)
  void optional(std::string_view key, const T& value) {
    if (!value.empty()) put(key, write(value));
  }
  void optional(std::string_view key, const bool& value) {
    if (value) put(key, true);
  }
  template <class T>
  void strict(std::string_view key, const T& value) {
    optional(key, value);
  }
  void any(std::string_view key, const std::optional<Json>& value) { optional(key, value); }

  void object(std::string_view key, const Json& value) { put(key, value); }
  void optional_object(std::string_view key, const Json& value) {
    if (!value.is_null()) put(key, value);
  }
  void required_object(std::string_view key, const Json& value) { put(key, value); }

  template <class T>
  void capability(std::string_view key, const std::optional<T>& value) {
    optional(key, value);
  }
  template <class E>
  void unless_default(std::string_view key, const E& value) {
    if (value != E{}) put(key, write(value));
  }

  template <class T>
  void list_or(std::string_view word, std::string_view key, const std::optional<std::vector<T>>& value) {
    put(key, value ? write(*value) : Json(word));
  }

  // Revisions before tools in sampling know a single block only.
  void one_or_many(std::string_view key, const std::vector<Content>& blocks) {
    put(key, blocks.size() == 1 ? write(blocks.front()) : write(blocks));
  }

  template <class F>
  void group(std::string_view key, F describe) {
    Writer inner;
    describe(inner);
    put(key, std::move(inner).take());
  }
  template <class F>
  void optional_group(std::string_view key, F describe) {
    Writer inner;
    describe(inner);
    if (!inner.empty()) put(key, std::move(inner).take());
  }

  void meta(const Json& value) { optional_object("_meta", value); }

  // What the description knows wins over what was once kept aside.
  void extra(const Json& value) { merge(out_, value); }

 private:
  static void merge(Json::Object& into, const Json& rest) {
    const Json::Object* members = rest.if_object();
    if (members == nullptr) return;
    for (const auto& [key, member] : *members) {
      Json* known = into.find(key);
      if (known == nullptr) {
        into.append(key, member);
      } else if (known->is_object()) {
        merge(*known->if_object(), member);
      }
    }
  }

  Json::Object out_;
};

template <class T>
Json write_object(const T& value) {
  Writer writer;
  fields(writer, value);
  return std::move(writer).take();
}

template <class T>
Json write(const T& value) {
  if constexpr (std::same_as<T, Json>) {
    return value;
  } else if constexpr (std::same_as<T, std::string> || std::is_arithmetic_v<T>) {
    return Json(value);
  } else if constexpr (std::is_enum_v<T>) {
    return Json(name_of(value));
  } else if constexpr (std::same_as<T, ProgressToken>) {
    return std::visit([](const auto& id) { return Json(id); }, value);
  } else if constexpr (std::same_as<T, Content>) {
    return write_content(value);
  } else if constexpr (is_vector<T>) {
    Json::Array items;
    items.reserve(value.size());
    for (const auto& item : value) items.push_back(write(item));
    return Json(std::move(items));
  } else if constexpr (is_map<T>) {
    Json::Object members;
    for (const auto& [key, member] : value) members.append(key, write(member));
    return Json(std::move(members));
  } else {
    return write_object(value);
  }
}

}  // namespace patchbay
