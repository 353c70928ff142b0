// What both eras share: finding the wire of a revision and writing params.
#include "protocol/wire.h"

#include "json/writer.h"
#include "protocol/wire_parts.h"

namespace patchbay {

std::string_view to_string(Era era) noexcept { return era == Era::legacy ? "legacy" : "modern"; }

const Wire* find_wire(std::string_view version) noexcept {
  for (const Wire* wire : modern_wires()) {
    if (wire->version() == version) return wire;
  }
  for (const Wire* wire : legacy_wires()) {
    if (wire->version() == version) return wire;
  }
  return nullptr;
}

namespace {

// "key": for an object text that is still open.
void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out.push_back(',');
  append_json_string(out, key);
  out.push_back(':');
}

}  // namespace

constexpr std::string_view meta_key = "_meta";

Json::Object meta_of(const Members& members) {
  for (const auto& [key, value] : members) {
    if (key != meta_key) continue;
    if (const auto* object = value.value().if_object()) return *object;
  }
  return {};
}

Payload params_text(const Members& members, Json::Object meta) {
  std::string text = "{";
  text.reserve(128);
  for (const auto& [key, value] : members) {
    if (key == meta_key) continue;
    append_key(text, key);
    value.append_to(text);
  }
  if (!meta.empty()) {
    append_key(text, meta_key);
    append_text(text, Json(std::move(meta)));
  }
  text += '}';
  return Payload::from_validated(std::move(text));
}

Json token_json(const ProgressToken& token) {
  return std::visit([](const auto& value) { return Json(value); }, token);
}

}  // namespace patchbay
