// Json: a small JSON value. Integers stay exact (int64, uint64), doubles round-trip,
// numbers beyond all three keep their text; objects keep the order of their keys.
// How a value is stored is not promised: texts are read as views, arrays and objects as ranges
// (docs/adr/0015). Under PATCHBAY_INSIDE the library itself reaches further.
// Payload: a JSON text that is parsed only when someone looks inside, and forwarded
// byte for byte when nobody changed it.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, unsigned_integer, real, big_number, string, array, object };
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;

  // Members in the order they were added. Lookup is linear up to 16 keys, indexed above.
  class Object {
   public:
    Object();
    Object(const Object&);
    Object(Object&&) noexcept;
    Object& operator=(const Object&);
    Object& operator=(Object&&) noexcept;
    ~Object();

    std::size_t size() const noexcept { return members_.size(); }
    bool empty() const noexcept { return members_.empty(); }
    auto begin() const noexcept { return members_.begin(); }
    auto end() const noexcept { return members_.end(); }

    const Json* find(std::string_view key) const noexcept;
    Json* find(std::string_view key) noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
    Json& operator[](std::string_view key);      // adds null when absent
    void set(std::string_view key, Json value);  // adds or replaces in place
    bool erase(std::string_view key);            // keeps the order of the others
    // Adds a member known to be new; the reader uses it after its own duplicate check.
    Json& append(std::string key, Json value);

    // Same members whatever their order.
    bool operator==(const Object& other) const;

   private:
    friend class Json;
    friend class JsonBuilder;
    struct Index;
    Json& append_null(std::string key);
    std::size_t locate(std::string_view key) const noexcept;
    void index_new_member();
    void rebuild_index();

    std::vector<Member> members_;
    std::unique_ptr<Index> index_;
  };

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  // Exactly bool: a pointer must not become true by accident, nor a char a number.
  template <std::same_as<bool> T>
  Json(T value) noexcept : data_(value) {}
  Json(char) = delete;
  template <class T>
    requires(std::integral<T> && std::is_signed_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
  Json(T value) noexcept : data_(static_cast<std::int64_t>(value)) {}
  template <class T>
    requires(std::integral<T> && std::is_unsigned_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
  Json(T value) noexcept;  // an int64 when it fits, so that equal numbers are equal values
  Json(double value) noexcept : data_(value) {}
  Json(std::string value) noexcept : data_(std::move(value)) {}
  Json(std::string_view value) : data_(std::string(value)) {}
  Json(const char* value) : data_(std::string(value)) {}
  Json(Array value) noexcept : data_(std::move(value)) {}
  Json(Object value) noexcept : data_(std::move(value)) {}
  // {{"key", value}, ...} is an object; arrays are written Json::array({...}).
  Json(std::initializer_list<Member> members);

  // Copying, comparing and destroying do not recurse: deep values need no deep stack.
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> items = {});
  static Json object() { return Json(Object{}); }
  // A number from its JSON text: an integer or real where one holds it, else the text is
  // kept. Throws Error{invalid_argument} when `text` is not a JSON number.
  static Json number(std::string text);

  Kind kind() const noexcept { return static_cast<Kind>(data_.index()); }
  bool is_null() const noexcept { return kind() == Kind::null; }
  bool is_bool() const noexcept { return kind() == Kind::boolean; }
  bool is_number() const noexcept { return kind() >= Kind::integer && kind() <= Kind::big_number; }
  bool is_integer() const noexcept { return kind() == Kind::integer || kind() == Kind::unsigned_integer; }
  bool is_string() const noexcept { return kind() == Kind::string; }
  bool is_array() const noexcept { return kind() == Kind::array; }
  bool is_object() const noexcept { return kind() == Kind::object; }

  // The text of a string, else nothing. This and the two ranges are good until the value changes.
  std::optional<std::string_view> text() const noexcept {
    const auto* found = std::get_if<std::string>(&data_);
    return found ? std::optional<std::string_view>(*found) : std::nullopt;
  }
  template <class Stored, class Item>
  class Range;
  struct NamedItem {
    std::string_view name;
    const Json& value;
  };
  using Items = Range<Json, const Json&>;
  using Members = Range<Member, NamedItem>;
  // The values of an array, in order; none when this is not one.
  Items items() const noexcept;
  // The members of an object, in order; none when this is not one:
  //   for (auto [name, value] : json.members())
  Members members() const noexcept;
  // Takes a member out, if this is an object that has it.
  bool erase(std::string_view key);

#ifdef PATCHBAY_INSIDE
  // Pointers are null when the kind differs.
  const bool* if_bool() const noexcept { return std::get_if<bool>(&data_); }
  const std::string* if_string() const noexcept { return std::get_if<std::string>(&data_); }
  const Array* if_array() const noexcept { return std::get_if<Array>(&data_); }
  const Object* if_object() const noexcept { return std::get_if<Object>(&data_); }
  std::string* if_string() noexcept { return std::get_if<std::string>(&data_); }
  Array* if_array() noexcept { return std::get_if<Array>(&data_); }
  Object* if_object() noexcept { return std::get_if<Object>(&data_); }
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();
#endif
  // Also from a real without a fraction (2.0) and from unsigned values that fit.
  std::optional<std::int64_t> to_int() const noexcept;
  std::optional<std::uint64_t> to_uint() const noexcept;
  std::optional<double> to_double() const noexcept;  // any number, rounded
  // The text of a big_number, else empty.
  std::string_view number_text() const noexcept;

  // Throw Error{invalid_argument} naming the kind that was found.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
#ifdef PATCHBAY_INSIDE
  const std::string& as_string() const;
#endif
  std::string_view as_text() const;

  // Null when this is not an object, or has no such member.
  const Json* find(std::string_view key) const noexcept;
  Json* find(std::string_view key) noexcept;
  // The member; null value (a shared one) when absent or not an object.
  const Json& operator[](std::string_view key) const noexcept;
  // Turns null into an object; adds the member when absent; throws on other kinds.
  Json& operator[](std::string_view key);
  // Turns null into an array; throws on other kinds.
  void push_back(Json value);
  std::size_t size() const noexcept;  // of an array or object, else 0

  // Numbers compare by value across integer, unsigned, and real.
  bool operator==(const Json& other) const;

 private:
  friend class JsonBuilder;  // the reader fills values in place
  bool has_nested() const noexcept;
  static bool equal(const Json& left, const Json& right);

  struct BigNumber {
    std::string text;
    bool operator==(const BigNumber&) const = default;
  };
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, BigNumber, std::string, Array, Object> data_;
};

std::string_view to_string(Json::Kind kind) noexcept;

// The values of an array or the members of an object: a range with random access. What an iterator consists of
// is not promised.
template <class Stored, class Item>
class Json::Range {
 public:
  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category =
        std::conditional_t<std::is_reference_v<Item>, std::random_access_iterator_tag, std::input_iterator_tag>;
    using value_type = std::remove_cvref_t<Item>;
    using reference = Item;
    using pointer = void;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    Item operator*() const noexcept { return item(*at_); }
    Item operator[](difference_type by) const noexcept { return item(at_[by]); }
    iterator& operator+=(difference_type by) noexcept {
      at_ += by;
      return *this;
    }
    iterator& operator-=(difference_type by) noexcept { return *this += -by; }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept { return iterator(at_++); }
    iterator operator--(int) noexcept { return iterator(at_--); }
    friend iterator operator+(iterator it, difference_type by) noexcept { return it += by; }
    friend iterator operator+(difference_type by, iterator it) noexcept { return it += by; }
    friend iterator operator-(iterator it, difference_type by) noexcept { return it -= by; }
    friend difference_type operator-(const iterator& a, const iterator& b) noexcept { return a.at_ - b.at_; }
    bool operator==(const iterator&) const = default;
    auto operator<=>(const iterator&) const = default;

   private:
    friend class Range;
    explicit iterator(const Stored* at) noexcept : at_(at) {}
    const Stored* at_ = nullptr;
  };
  using const_iterator = iterator;
  using value_type = typename iterator::value_type;

  iterator begin() const noexcept { return iterator(first_); }
  iterator end() const noexcept { return iterator(first_ + size_); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Item operator[](std::size_t at) const noexcept { return item(first_[at]); }

 private:
  friend class Json;
  explicit Range(const std::vector<Stored>* from) noexcept
      : first_(from ? from->data() : nullptr), size_(from ? from->size() : 0) {}
  static Item item(const Stored& stored) noexcept {
    if constexpr (std::is_reference_v<Item>) {
      return stored;
    } else {
      return {stored.first, stored.second};
    }
  }
  const Stored* first_;
  std::size_t size_;
};

template <class T>
  requires(std::integral<T> && std::is_unsigned_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
Json::Json(T value) noexcept {
  if (static_cast<std::uint64_t>(value) <= static_cast<std::uint64_t>(INT64_MAX)) {
    data_ = static_cast<std::int64_t>(value);
  } else {
    data_ = static_cast<std::uint64_t>(value);
  }
}

struct JsonOptions {
  std::size_t max_depth = 128;
};

// Errors are Errc::protocol and say what was expected at which byte offset
// ("expected ',' or '}' at byte 17"). Duplicate keys are an error. A lone surrogate
// escape becomes U+FFFD.
Result<Json> parse_json(std::string_view text, JsonOptions options = {});

// Why and where a text is not JSON, for callers that show line and column.
struct JsonFault {
  std::size_t offset = 0;
  std::string reason;
};
std::expected<Json, JsonFault> parse_json_located(std::string_view text, JsonOptions options = {});

// Compact: no blanks, no newline, UTF-8 as is, the shortest text of a double that reads
// back the same. A double that JSON cannot hold (infinity, NaN) is written as null;
// bytes of a string that are not UTF-8 are written as U+FFFD, so the text is always JSON.
std::string to_text(const Json& value);
void append_text(std::string& out, const Json& value);
// Indented by two blanks, for people.
std::string to_pretty_text(const Json& value);

// Copies share their state. Not for use from several threads at once.
class Payload {
 public:
  Payload() noexcept;  // absent: no bytes, no value
  Payload(Json value);
  // Text that is checked here; Errc::protocol with an offset when it is not JSON.
  static Result<Payload> parse(std::string text, JsonOptions options = {});
#ifdef PATCHBAY_INSIDE
  // Text the caller has already validated, owned by (a part of) a shared block. A slice
  // under a quarter of its block is copied, so that it does not pin the block.
  static Payload from_validated(std::shared_ptr<const std::string> block, std::string_view slice);
#endif

  bool absent() const noexcept { return state_ == nullptr; }
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // The JSON text: as received, or written once from the value. "null" when absent.
  std::string_view text() const;
  // Parsed on first use. Throws Errc::protocol on a duplicate key. A null value when absent.
  const Json& value() const;
  // The value, moved out when nobody else refers to it.
  Json take() &&;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
