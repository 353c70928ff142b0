#include "recording/redact.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "secrets/names.h"
#include "secrets/redact.h"

namespace patchbay {
namespace {

constexpr auto schema_members = std::to_array<std::string_view>({"inputSchema", "outputSchema", "requestedSchema"});
// Members of a schema whose own members are named by whoever wrote it.
constexpr auto named_parts =
    std::to_array<std::string_view>({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"});
constexpr auto example_members = std::to_array<std::string_view>({"default", "const", "enum", "examples"});

bool is_one_of(std::string_view name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.+/=~").contains(c);
}

// Words in the form of well-known tokens.
std::string without_tokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto begin = static_cast<std::size_t>(std::ranges::find_if(text, is_word) - text.begin());
    out += text.substr(0, begin);
    text.remove_prefix(begin);
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin());
    auto word = text.substr(0, end);
    text.remove_prefix(end);
    // NAME=value
    const auto sign = word.find('=');
    const auto value = sign == word.npos ? std::string_view() : word.substr(sign + 1);
    const bool named = !value.empty() && sign > 0 && is_secret_variable(word.substr(0, sign));
    if (named || looks_like_token(value)) {
      out += word.substr(0, sign + 1);
      out += redaction_mark;
    } else {
      out += looks_like_token(word) ? redaction_mark : word;
    }
  }
  return out;
}

Json plain_text(std::string_view text) {
  // Servers write their values as text as well.
  if (const auto first = text.find_first_not_of(" \t\r\n");
      first != text.npos && std::string_view("{[").contains(text[first])) {
    if (const auto inside = parse_json(text)) {
      auto without = without_secrets(*inside);
      return without == *inside ? Json(text) : Json(to_text(without));
    }
  }
  const Json without = redacted(Json(text));
  return without_tokens(*without.text());
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
  if (value.is_string()) return redaction_mark;
  return value.is_number() ? Json(0) : value;
}

Json in_schema(Json schema, bool of_secret) {
  if (const auto* object = schema.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) {
      if (is_one_of(key, named_parts) && member.is_object()) {
        Json::Object parts;
        for (const auto& [name, part] : *member.if_object()) parts.append(name, in_schema(part, is_secret_name(name)));
        out.append(key, std::move(parts));
      } else if (of_secret && is_one_of(key, example_members)) {
        out.append(key, hidden(member));
      } else {
        out.append(key, in_schema(member, of_secret));
      }
    }
    return out;
  }
  if (auto* array = schema.if_array()) {
    for (auto& item : *array) item = in_schema(std::move(item), of_secret);
    return schema;
  }
  if (const auto text = schema.text()) return plain_text(*text);
  return schema;
}

}  // namespace

Json without_secrets(Json message) {
  if (const auto* object = message.if_object()) {
    Json::Object out;
    for (const auto& [key, member] : *object) {
      if (is_one_of(key, schema_members) && member.is_object()) {
        out.append(key, in_schema(member, false));
      } else {
        out.append(key, is_secret_name(key) ? hidden(member) : without_secrets(member));
      }
    }
    return out;
  }
  if (auto* array = message.if_array()) {
    for (auto& item : *array) item = without_secrets(std::move(item));
    return message;
  }
  if (const auto text = message.text()) return plain_text(*text);
  return message;
}

std::string redacted_frame(std::string_view message, const KnownSecretsOf& known) {
  auto value = parse_json(message);
  if (!value) return to_text(Json(fmt::format("[{} bytes that are not JSON]", message.size())));
  auto without = without_secrets(std::move(*value));
  return to_text(known ? known(std::move(without)) : without);
}

}  // namespace patchbay
