#include "secrets/redact.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "secrets/names.h"

namespace patchbay {
namespace {

constexpr std::string_view mark = "[redacted]";
constexpr std::string_view placeholder = "…";  // of advice: "Bearer …"

// "Bearer abc" keeps its scheme: what kind of credential was there is worth seeing.
void redact_bearer(std::string& text) {
  static constexpr std::string_view scheme = "bearer";
  static constexpr std::string_view blanks = " \t";
  const auto lower = to_lower_ascii(text);
  std::size_t copied = 0;
  std::string out;
  for (auto at = lower.find(scheme); at != std::string::npos; at = lower.find(scheme, at + scheme.size())) {
    const auto after = at + scheme.size();
    const auto begin = std::min(text.find_first_not_of(blanks, after), text.size());
    if (begin == after) continue;  // "bearers"
    const auto end = std::min(text.find_first_of(" \t\r\n\"',;", begin), text.size());
    if (end == begin || at < copied || text.compare(begin, end - begin, placeholder) == 0) continue;
    out.append(text, copied, begin - copied);
    out += mark;
    copied = end;
  }
  if (copied == 0) return;
  out.append(text, copied);
  text = std::move(out);
}

// What is under a secret name is secret however deep it lies.
Json hidden(Json value) {
  if (const auto* object = value.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) out.append(key, hidden(member));
    return out;
  }
  if (auto* array = value.if_array()) {
    for (auto& item : *array) item = hidden(std::move(item));
    return value;
  }
  return value.is_string() || value.is_number() ? Json(mark) : value;
}

}  // namespace

Json redacted(Json value) {
  if (auto* object = value.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) {
      out.append(key, is_secret_name(key) ? hidden(member) : redacted(member));
    }
    return out;
  }
  if (auto* array = value.if_array()) {
    for (auto& item : *array) item = redacted(std::move(item));
    return value;
  }
  if (const auto text = value.text()) {
    std::string copy(*text);
    redact_bearer(copy);
    return copy;
  }
  return value;
}

std::string redacted_text(std::string_view json) {
  auto value = parse_json(json);
  if (!value) return fmt::format("[{} bytes that are not JSON]", json.size());
  return to_text(redacted(std::move(*value)));
}

}  // namespace patchbay
