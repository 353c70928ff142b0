#include "json/schema_uri.h"

#include <algorithm>

namespace patchbay::schema {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

// RFC 3986, section 5.2.4.
std::string without_dots(std::string_view in) {
  std::string out;
  const auto drop_last = [&out] {
    const auto slash = out.rfind('/');
    out.resize(slash == std::string::npos ? 0 : slash);
  };
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./")) {
      in.remove_prefix(2);
    } else if (in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last();
    } else if (in == "/..") {
      in = "/";
      drop_last();
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      const auto next = in.find('/', 1);
      out += in.substr(0, next);
      in = next == std::string_view::npos ? std::string_view() : in.substr(next);
    }
  }
  return out;
}

std::string merged_path(const UriParts& base, std::string_view path) {
  if (base.authority && base.path.empty()) return "/" + std::string(path);
  const auto slash = base.path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : base.path.substr(0, slash + 1)) +
         std::string(path);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

UriParts split_uri(std::string_view uri) noexcept {
  UriParts parts;
  if (const auto hash = uri.find('#'); hash != std::string_view::npos) {
    parts.fragment = uri.substr(hash + 1);
    uri = uri.substr(0, hash);
  }
  if (const auto mark = uri.find('?'); mark != std::string_view::npos) {
    parts.query = uri.substr(mark + 1);
    uri = uri.substr(0, mark);
  }
  const auto colon = uri.find(':');
  if (colon != std::string_view::npos && is_scheme(uri.substr(0, colon))) {
    parts.scheme = uri.substr(0, colon);
    uri = uri.substr(colon + 1);
  }
  if (uri.starts_with("//")) {
    const auto end = uri.find('/', 2);
    parts.authority = uri.substr(2, end == std::string_view::npos ? end : end - 2);
    uri = end == std::string_view::npos ? std::string_view() : uri.substr(end);
  }
  parts.path = uri;
  return parts;
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const UriParts from = split_uri(base);
  const UriParts to = split_uri(reference);
  UriParts out;
  std::string path;
  if (to.scheme) {
    out = to;
    path = without_dots(to.path);
  } else {
    out.scheme = from.scheme;
    out.query = to.query;
    if (to.authority) {
      out.authority = to.authority;
      path = without_dots(to.path);
    } else {
      out.authority = from.authority;
      if (to.path.empty()) {
        path = std::string(from.path);
        if (!to.query) out.query = from.query;
      } else if (to.path.starts_with('/') || base.empty()) {
        path = without_dots(to.path);
      } else {
        path = without_dots(merged_path(from, to.path));
      }
    }
  }
  std::string text;
  if (out.scheme) text.append(*out.scheme).append(":");
  if (out.authority) text.append("//").append(*out.authority);
  text += path;
  if (out.query) text.append("?").append(*out.query);
  return text;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace patchbay::schema
