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

void append_member(std::string& out, std::string_view key, std::string_view value_text) {
  if (out.back() != '{') out.push_back(',');
  append_json_string(out, key);
  out.push_back(':');
  out += value_text;
}

constexpr std::string_view meta_key = "_meta";

Json::Object meta_of(const Members& members) {
  for (const auto& [key, value] : members) {
    if (key != meta_key) continue;
    if (const auto* object = value.value().if_object()) return *object;
  }
  return {};
}

Payload params_text(const Members& members, Json::Object meta) {
  const auto meta_text = meta.empty() ? std::string() : to_text(Json(std::move(meta)));
  auto block = std::make_shared<std::string>("{");
  std::size_t size = meta_text.size() + 16;
  for (const auto& [key, value] : members) size += key.size() + value.text().size() + 4;
  block->reserve(size);
  for (const auto& [key, value] : members) {
    if (key != meta_key) append_member(*block, key, value.text());
  }
  if (!meta_text.empty()) append_member(*block, meta_key, meta_text);
  block->push_back('}');
  std::string_view text = *block;
  return Payload::from_validated(std::move(block), text);
}

Json token_json(const ProgressToken& token) {
  return std::visit([](const auto& value) { return Json(value); }, token);
}

}  // namespace patchbay
