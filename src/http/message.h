// HTTP messages as values: what the client sends, what the server receives, and the head of
// an answer. Both sides use them; nothing here knows a socket. Names of header fields are
// compared without regard to case, order and repetition are kept. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace patchbay {

class HttpHeaders {
 public:
  struct Field {
    std::string name;
    std::string value;
    bool operator==(const Field&) const = default;
  };

  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  // The value of the first field of that name.
  const std::string* find(std::string_view name) const noexcept {
    for (const auto& field : fields_) {
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
    for (const auto& field : fields_) {
      if (same_name(field.name, name)) values.emplace_back(field.value);
    }
    return values;
  }
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  void add(std::string name, std::string value) { fields_.push_back({std::move(name), std::move(value)}); }
  // One field of that name and no other; it keeps the place of the first.
  void set(std::string name, std::string value) {
    for (auto field = fields_.begin(); field != fields_.end(); ++field) {
      if (!same_name(field->name, name)) continue;
      fields_.erase(std::remove_if(field + 1, fields_.end(), [&](const Field& f) { return same_name(f.name, name); }),
                    fields_.end());
      field->name = std::move(name);
      field->value = std::move(value);
      return;
    }
    add(std::move(name), std::move(value));
  }
  // How many went.
  std::size_t remove(std::string_view name) {
    return std::erase_if(fields_, [&](const Field& field) { return same_name(field.name, name); });
  }

  void reserve(std::size_t fields) { fields_.reserve(fields); }
  auto begin() noexcept { return fields_.begin(); }
  auto end() noexcept { return fields_.end(); }
  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }
  std::size_t size() const noexcept { return fields_.size(); }
  bool empty() const noexcept { return fields_.empty(); }
  void clear() noexcept { fields_.clear(); }

  bool operator==(const HttpHeaders&) const = default;

  static bool same_name(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
  }

 private:
  static constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  std::vector<Field> fields_;
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
