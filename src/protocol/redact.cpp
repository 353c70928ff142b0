#include "protocol/redact.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::string_view mark = "[redacted]";

// "Bearer abc" keeps its scheme: what kind of credential was there is worth seeing.
void redact_bearer(std::string& text) {
  static constexpr std::string_view scheme = "bearer ";
  const auto lower = to_lower_ascii(text);
  std::size_t from = 0;
  std::string out;
  for (auto at = lower.find(scheme); at != std::string::npos; at = lower.find(scheme, from)) {
    auto begin = at + scheme.size();
    auto end = text.find_first_of(" \t\r\n\"',;", begin);
    if (end == std::string::npos) end = text.size();
    if (end == begin) break;
    out.append(text, from, begin - from);
    out += mark;
    from = end;
  }
  if (from == 0) return;
  out.append(text, from);
  text = std::move(out);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  static constexpr std::array parts{"token",   "secret",  "password",   "passwd", "passphrase",    "apikey",
                                    "api_key", "api-key", "credential", "cookie", "authorization", "privatekey"};
  const auto lower = to_lower_ascii(name);
  // These name a counter or a handle of the protocol, not a secret.
  if (lower == "progresstoken" || lower == "maxtokens") return false;
  for (const auto* part : parts) {
    if (lower.find(part) != std::string::npos) return true;
  }
  return false;
}

Json redacted(Json value) {
  if (auto* object = value.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) {
      const bool secret = is_secret_name(key) && (member.is_string() || member.is_number());
      out.append(key, secret ? Json(mark) : redacted(member));
    }
    return out;
  }
  if (auto* array = value.if_array()) {
    for (auto& item : *array) item = redacted(std::move(item));
    return value;
  }
  if (const auto* text = value.if_string()) {
    auto copy = *text;
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
