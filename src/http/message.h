// HTTP messages as values: what the client sends, what the server receives, and the head of
// an answer. Both sides use them; nothing here knows a socket. Names of header fields are
// compared without regard to case, order and repetition are kept. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay {

// Copies share their fields until one of them is changed, so that what is the same for many requests is made once.
class HttpHeaders {
 public:
  struct Field {
    std::string name;
    std::string value;
    bool operator==(const Field&) const = default;
  };

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(std::make_shared<std::vector<Field>>(fields)) {}

  // The value of the first field of that name.
  const std::string* find(std::string_view name) const noexcept {
    for (const auto& field : read()) {
      if (same_name(field.name, name)) return &field.value;
    }
    return nullptr;
  }
  // The same, with an empty text for a field that is not there.
  std::string_view get(std::string_view name) const noexcept {
    const auto* value = find(name);
    return value ? std::string_view(*value) : std::string_view();
  }
  std::vector<std::string_view> all(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& field : read()) {
      if (same_name(field.name, name)) values.emplace_back(field.value);
    }
    return values;
  }
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  void add(std::string name, std::string value) { own().push_back({std::move(name), std::move(value)}); }
  // One field of that name and no other; it keeps the place of the first.
  void set(std::string name, std::string value) {
    auto& fields = own();
    for (auto field = fields.begin(); field != fields.end(); ++field) {
      if (!same_name(field->name, name)) continue;
      fields.erase(std::remove_if(field + 1, fields.end(), [&](const Field& f) { return same_name(f.name, name); }),
                   fields.end());
      field->name = std::move(name);
      field->value = std::move(value);
      return;
    }
    fields.push_back({std::move(name), std::move(value)});
  }
  // In place of what is there, with as few allocations as its texts allow: field by field, then how many they are.
  void overwrite(std::size_t place, std::string_view name, std::string_view value) {
    auto& fields = own();
    if (place >= fields.size()) fields.resize(place + 1);
    fields[place].name.assign(name);
    fields[place].value.assign(value);
  }
  void keep_first(std::size_t fields) {
    if (fields < size()) own().resize(fields);
  }
  // How many went.
  std::size_t remove(std::string_view name) {
    if (!contains(name)) return 0;
    return std::erase_if(own(), [&](const Field& field) { return same_name(field.name, name); });
  }

  void reserve(std::size_t fields) { own().reserve(fields); }
  auto begin() { return own().begin(); }
  auto end() { return own().end(); }
  auto begin() const noexcept { return read().begin(); }
  auto end() const noexcept { return read().end(); }
  std::size_t size() const noexcept { return read().size(); }
  bool empty() const noexcept { return read().empty(); }
  void clear() noexcept {
    if (fields_ && fields_.use_count() == 1) {
      fields_->clear();
    } else {
      fields_.reset();
    }
  }

  bool operator==(const HttpHeaders& other) const { return is_copy_of(other) || read() == other.read(); }
  // Whether one was copied from the other, and neither has changed: certainly the same fields.
  bool is_copy_of(const HttpHeaders& other) const noexcept { return fields_ && fields_ == other.fields_; }

  static bool same_name(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
  }

 private:
  static constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  const std::vector<Field>& read() const noexcept {
    static const std::vector<Field> none;
    return fields_ ? *fields_ : none;
  }
  // Ours alone from now on.
  std::vector<Field>& own() {
    if (!fields_) {
      fields_ = std::make_shared<std::vector<Field>>();
    } else if (fields_.use_count() > 1) {
      fields_ = std::make_shared<std::vector<Field>>(*fields_);
    }
    return *fields_;
  }

  std::shared_ptr<std::vector<Field>> fields_;  // null: none
};

struct HttpRequest {
  std::string method = "GET";
  // Absolute in a client; in a server the target of the request line ("/mcp?x=1").
  std::string url;
  HttpHeaders headers;
  std::string body;

  bool operator==(const HttpRequest&) const = default;
};

// What precedes a body. `url` is where the answer came from, after redirects.
struct HttpHead {
  int status = 0;
  HttpHeaders headers;
  std::string url;

  bool operator==(const HttpHead&) const = default;
};

// The media type of a Content-Type value: lower case, without parameters ("text/html").
inline std::string media_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  const auto first = content_type.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  std::string type(content_type.substr(first, content_type.find_last_not_of(" \t") - first + 1));
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

}  // namespace patchbay
