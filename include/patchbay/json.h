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
#include <cstring>
#include <expected>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <patchbay/error.h>

namespace patchbay {

class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, unsigned_integer, real, big_number, string, array, object };

  // What braces hold: Json{{"name", value}, ...}.
  struct Member;
  struct NamedItem {
    std::string_view name;
    const Json& value;
  };
  // The values of an array or the members of an object: a range with random access. What an iterator consists of
  // is not promised.
  template <class Item>
  class Range;
  using Items = Range<const Json&>;
  using Members = Range<NamedItem>;

 private:
  struct Block;  // what an array or object holds, in one piece of memory

 public:
  class Array {
   public:
    Array() noexcept = default;
    Array(std::initializer_list<Json> items);
    explicit Array(std::size_t count);  // of nulls
    Array(const Array& other);
    Array(Array&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Array& operator=(const Array& other);
    Array& operator=(Array&& other) noexcept;
    ~Array() { drop(block_); }

    std::size_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }
    const Json* begin() const noexcept;
    const Json* end() const noexcept;
    Json* begin() noexcept;
    Json* end() noexcept;
    const Json& operator[](std::size_t at) const noexcept;
    Json& operator[](std::size_t at) noexcept;
    const Json& at(std::size_t position) const;  // throws Error{invalid_argument} when there is none
    Json& at(std::size_t position);
    const Json& front() const noexcept;
    const Json& back() const noexcept;
    Json& back() noexcept;

    void reserve(std::size_t count);
    void push_back(Json value);
    Json& emplace_back();  // a null
    void pop_back() noexcept;
    void clear() noexcept;
    Json* erase(const Json* first, const Json* last) noexcept;

    bool operator==(const Array& other) const;

   private:
    friend class Json;
    friend class JsonBuilder;
    Block* block_ = nullptr;
  };

  // Members in the order they were added. Lookup is linear up to 16 keys, indexed above.
  class Object {
   public:
    Object() noexcept = default;
    Object(const Object& other);
    Object(Object&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Object& operator=(const Object& other);
    Object& operator=(Object&& other) noexcept;
    ~Object() { drop(block_); }

    std::size_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }
    auto begin() const noexcept;
    auto end() const noexcept;

    const Json* find(std::string_view key) const noexcept;
    Json* find(std::string_view key) noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
    Json& operator[](std::string_view key);      // adds null when absent
    void set(std::string_view key, Json value);  // adds or replaces in place
    bool erase(std::string_view key);            // keeps the order of the others
    void reserve(std::size_t count);
    // Adds a member known to be new.
    Json& append(std::string_view key, Json value);

    // Same members whatever their order.
    bool operator==(const Object& other) const;

   private:
    friend class Json;
    friend class JsonBuilder;
    Block* block_ = nullptr;
  };

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  // Exactly bool: a pointer must not become true by accident, nor a char a number.
  template <std::same_as<bool> T>
  Json(T value) noexcept : cell_(cell_of(Kind::boolean, value)) {}
  Json(char) = delete;
  template <class T>
    requires(std::integral<T> && std::is_signed_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
  Json(T value) noexcept : cell_(cell_of(Kind::integer, static_cast<std::int64_t>(value))) {}
  // An int64 when it fits, so that equal numbers are equal values.
  template <class T>
    requires(std::integral<T> && std::is_unsigned_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
  Json(T value) noexcept
      : cell_(cell_of(std::in_range<std::int64_t>(value) ? Kind::integer : Kind::unsigned_integer,
                      static_cast<std::uint64_t>(value))) {}
  Json(double value) noexcept : cell_(cell_of(Kind::real, value)) {}
  Json(std::string value);  // a long text is moved, a short one copied
  Json(std::string_view value) : cell_(text_cell(Kind::string, value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  Json(Array value) noexcept;
  Json(Object value) noexcept;
  // {{"key", value}, ...} is an object; arrays are written Json::array({...}).
  Json(std::initializer_list<Member> members);

  // Copying, comparing and destroying do not recurse: deep values need no deep stack.
  Json(const Json& other) : cell_(other.cell_) {
    if (owns(cell_)) cell_ = copied(cell_);
  }
  Json(Json&& other) noexcept : cell_(std::exchange(other.cell_, Cell())) {}
  Json& operator=(const Json& other);
  // Through a temporary: `other` may live inside this value (j = std::move(j["part"])).
  Json& operator=(Json&& other) noexcept {
    const Json taken(std::exchange(cell_, std::exchange(other.cell_, Cell())));
    return *this;
  }
  ~Json() {
    if (owns(cell_)) release(cell_);
  }

  static Json array(std::initializer_list<Json> items = {});
  static Json object() { return Json(Object{}); }
  // A number from its JSON text: an integer or real where one holds it, else the text is
  // kept. Throws Error{invalid_argument} when `text` is not a JSON number.
  static Json number(std::string_view text);

  Kind kind() const noexcept { return cell_.kind; }
  bool is_null() const noexcept { return kind() == Kind::null; }
  bool is_bool() const noexcept { return kind() == Kind::boolean; }
  bool is_number() const noexcept { return kind() >= Kind::integer && kind() <= Kind::big_number; }
  bool is_integer() const noexcept { return kind() == Kind::integer || kind() == Kind::unsigned_integer; }
  bool is_string() const noexcept { return kind() == Kind::string; }
  bool is_array() const noexcept { return kind() == Kind::array; }
  bool is_object() const noexcept { return kind() == Kind::object; }

  // The text of a string, else nothing. This and the two ranges are good until the value changes or is moved:
  // a short text lies inside the value itself.
  std::optional<std::string_view> text() const& noexcept {
    return is_string() ? std::optional(text_of(cell_)) : std::nullopt;
  }
  std::optional<std::string_view> text() const&& = delete;
  // The values of an array, in order; none when this is not one.
  Items items() const noexcept;
  // The members of an object, in order; none when this is not one:
  //   for (auto [name, value] : json.members())
  Members members() const noexcept;
  // Takes a member out, if this is an object that has it.
  bool erase(std::string_view key);

#ifdef PATCHBAY_INSIDE
  // Pointers are null when the kind differs.
  const Array* if_array() const noexcept { return is_array() ? &stored<Array>() : nullptr; }
  const Object* if_object() const noexcept { return is_object() ? &stored<Object>() : nullptr; }
  Array* if_array() noexcept { return is_array() ? &stored<Array>() : nullptr; }
  Object* if_object() noexcept { return is_object() ? &stored<Object>() : nullptr; }
  const Array& as_array() const;
  Array& as_array();
  const Object& as_object() const;
  Object& as_object();
#endif
  std::optional<bool> to_bool() const noexcept { return is_bool() ? std::optional(got<bool>()) : std::nullopt; }
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
  std::string_view as_text() const&;
  std::string as_text() &&;  // a long text is moved out

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
  bool operator==(const Json& other) const { return equal(*this, other); }

 private:
  friend class JsonBuilder;  // the reader makes cells and blocks by itself

  // A value is 16 bytes: a number, a text of up to 14 bytes, or where the rest of it is.
  struct Cell {
    alignas(8) unsigned char bytes[14] = {};  // a text ends in zeros
    std::uint8_t form = 0;                    // the length of a text in `bytes`, or one of the words below
    Kind kind = Kind::null;
  };
  static constexpr std::size_t longest_inside = sizeof(Cell::bytes);
  static constexpr std::uint8_t in_piece = 0xFD;   // a text in memory of its own: address, and length in 4 bytes
  static constexpr std::uint8_t in_string = 0xFE;  // a long text: the address of a std::string
  static constexpr std::uint8_t in_block = 0xFF;   // an Array or an Object

  explicit Json(const Cell& cell) noexcept : cell_(cell) {}
  Json(Kind kind, Block* block) noexcept : cell_(block_cell(kind, block)) {}

  static bool owns(const Cell& cell) noexcept { return cell.form >= in_piece; }
  static Cell text_cell(Kind kind, std::string_view text) {
    if (text.size() > longest_inside) return long_text_cell(kind, text);
    Cell cell;
    copy_short(cell.bytes, text);
    cell.form = static_cast<std::uint8_t>(text.size());
    cell.kind = kind;
    return cell;
  }
  static Cell long_text_cell(Kind kind, std::string_view text);
  static std::string_view text_of(const Cell& cell) noexcept {
    if (cell.form <= longest_inside) return {reinterpret_cast<const char*>(cell.bytes), cell.form};
    return long_text_of(cell);
  }
  static std::string_view long_text_of(const Cell& cell) noexcept;
  static void copy_short(unsigned char* to, std::string_view text) noexcept {
    // Two overlapping pieces of a fixed size instead of a call.
    const char* const from = text.data();
    const std::size_t size = text.size();
    if (size >= 8) {
      std::memcpy(to, from, 8);
      std::memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
      std::memcpy(to, from, 4);
      std::memcpy(to + size - 4, from + size - 4, 4);
    } else if (size != 0) {
      to[0] = static_cast<unsigned char>(from[0]);
      to[size / 2] = static_cast<unsigned char>(from[size / 2]);
      to[size - 1] = static_cast<unsigned char>(from[size - 1]);
    }
  }
  static Cell block_cell(Kind kind, Block* block) noexcept {
    Cell cell;
    std::memcpy(cell.bytes, &block, sizeof(Block*));
    cell.form = in_block;
    cell.kind = kind;
    return cell;
  }
  // Both are texts.
  static bool same_text(const Cell& left, const Cell& right) noexcept;
  static Cell copied(const Cell& from);
  static void release(Cell& cell) noexcept;
  static void drop(Block* block) noexcept {
    if (block != nullptr) destroy(block);
  }
  static void destroy(Block* block) noexcept;
  static bool equal(const Json& left, const Json& right);

  template <class T>
  static Cell cell_of(Kind kind, T value) noexcept {
    Cell cell;
    std::memcpy(cell.bytes, &value, sizeof value);
    cell.kind = kind;
    return cell;
  }
  template <class T>
  T got() const noexcept {
    T value;
    std::memcpy(&value, cell_.bytes, sizeof value);
    return value;
  }
  // An Array or Object in `bytes`: one address, made and moved as bytes.
  template <class T>
  T& stored() noexcept {
    return *std::launder(reinterpret_cast<T*>(cell_.bytes));
  }
  template <class T>
  const T& stored() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(cell_.bytes));
  }

  Cell cell_;
};

struct Json::Member {
  std::string_view name;
  Json value;
};

// Cells follow: the values of an array, or name and value in turns.
struct Json::Block {
  struct Index;

  std::uint32_t size;      // cells in use
  std::uint32_t capacity;  // cells there is room for
  union {
    Index* index;   // of an object with many members, else null
    Block* parent;  // only while a value is being destroyed
  };

  static constexpr std::size_t indexed_above = 16;  // members
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  static constexpr std::size_t most_cells = UINT32_MAX / 4;
  static Block* make(std::size_t cells);
  static void reserve(Block*& block, std::size_t cells);
  static void grow(Block*& block, std::size_t first);      // by room for one more, at first for `first` cells
  std::size_t find(std::string_view name) const noexcept;  // the position of a member
  void index_newest();                                     // after a member was added
  void forget_index() noexcept;

  Json* cells() noexcept { return reinterpret_cast<Json*>(this + 1); }
  const Json* cells() const noexcept { return reinterpret_cast<const Json*>(this + 1); }
};

std::string_view to_string(Json::Kind kind) noexcept;

template <class Item>
class Json::Range {
  static constexpr bool named = !std::is_reference_v<Item>;
  static constexpr std::ptrdiff_t step = named ? 2 : 1;

 public:
  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::conditional_t<named, std::input_iterator_tag, std::random_access_iterator_tag>;
    using value_type = std::remove_cvref_t<Item>;
    using reference = Item;
    using pointer = void;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    Item operator*() const noexcept { return item(at_); }
    Item operator[](difference_type by) const noexcept { return item(at_ + by * step); }
    iterator& operator+=(difference_type by) noexcept {
      at_ += by * step;
      return *this;
    }
    iterator& operator-=(difference_type by) noexcept { return *this += -by; }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept { return iterator(std::exchange(at_, at_ + step)); }
    iterator operator--(int) noexcept { return iterator(std::exchange(at_, at_ - step)); }
    friend iterator operator+(iterator it, difference_type by) noexcept { return it += by; }
    friend iterator operator+(difference_type by, iterator it) noexcept { return it += by; }
    friend iterator operator-(iterator it, difference_type by) noexcept { return it -= by; }
    friend difference_type operator-(const iterator& a, const iterator& b) noexcept { return (a.at_ - b.at_) / step; }
    bool operator==(const iterator&) const = default;
    auto operator<=>(const iterator&) const = default;

   private:
    friend class Range;
    explicit iterator(const Json* at) noexcept : at_(at) {}
    const Json* at_ = nullptr;
  };
  using const_iterator = iterator;
  using value_type = typename iterator::value_type;

  iterator begin() const noexcept { return iterator(first_); }
  iterator end() const noexcept { return iterator(first_ + cells_); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(cells_ / step); }
  bool empty() const noexcept { return cells_ == 0; }
  Item operator[](std::size_t at) const noexcept { return item(first_ + static_cast<std::ptrdiff_t>(at) * step); }

 private:
  friend class Json;
  explicit Range(const Block* from) noexcept
      : first_(from != nullptr ? from->cells() : nullptr), cells_(from != nullptr ? from->size : 0) {}
  static Item item(const Json* cell) noexcept {
    if constexpr (named) {
      return {text_of(cell->cell_), cell[1]};
    } else {
      return *cell;
    }
  }
  const Json* first_;
  std::ptrdiff_t cells_;
};

inline std::size_t Json::Array::size() const noexcept { return block_ != nullptr ? block_->size : 0; }
inline const Json* Json::Array::begin() const noexcept { return block_ != nullptr ? block_->cells() : nullptr; }
inline const Json* Json::Array::end() const noexcept { return begin() + size(); }
inline Json* Json::Array::begin() noexcept { return block_ != nullptr ? block_->cells() : nullptr; }
inline Json* Json::Array::end() noexcept { return begin() + size(); }
inline const Json& Json::Array::operator[](std::size_t at) const noexcept { return block_->cells()[at]; }
inline Json& Json::Array::operator[](std::size_t at) noexcept { return block_->cells()[at]; }
inline const Json& Json::Array::front() const noexcept { return *begin(); }
inline const Json& Json::Array::back() const noexcept { return end()[-1]; }
inline Json& Json::Array::back() noexcept { return end()[-1]; }
inline std::size_t Json::Object::size() const noexcept { return block_ != nullptr ? block_->size / 2 : 0; }
inline auto Json::Object::begin() const noexcept { return Members(block_).begin(); }
inline auto Json::Object::end() const noexcept { return Members(block_).end(); }

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
  static Payload from_validated(std::string text);
  // The text at the end of `out`; one that is written for that is not kept.
  void append_to(std::string& out) const;
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
