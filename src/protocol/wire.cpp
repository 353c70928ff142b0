// What both eras share: finding the wire of a revision and writing params.
#include "protocol/wire.h"

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
  append_text(out, Json(key));
  out.push_back(':');
  out += value_text;
}

Payload params_text(const Members& members, std::string_view meta_text) {
  auto block = std::make_shared<std::string>("{");
  std::size_t size = meta_text.size() + 16;
  for (const auto& [key, value] : members) size += key.size() + value.text().size() + 4;
  block->reserve(size);
  for (const auto& [key, value] : members) append_member(*block, key, value.text());
  if (!meta_text.empty()) append_member(*block, "_meta", meta_text);
  block->push_back('}');
  std::string_view text = *block;
  return Payload::from_validated(std::move(block), text);
}

Json token_json(const ProgressToken& token) {
  return std::visit([](const auto& value) { return Json(value); }, token);
}

}  // namespace patchbay
