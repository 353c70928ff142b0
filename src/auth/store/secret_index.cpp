#include "auth/store/secret_index.h"

#include <fmt/format.h>

namespace patchbay {
namespace {

constexpr std::int64_t version = 1;

}  // namespace

std::string_view to_string(SecretPlace place) noexcept { return place == SecretPlace::keyring ? "keyring" : "file"; }

std::optional<SecretPlace> secret_place_called(std::string_view name) noexcept {
  for (const auto place : {SecretPlace::keyring, SecretPlace::file}) {
    if (name == to_string(place)) return place;
  }
  return std::nullopt;
}

Result<SecretIndex> read_index(std::string_view text) {
  SecretIndex index;
  if (text.empty()) return index;
  auto damaged = [] { return fail(Errc::config, "it is damaged"); };
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return damaged();
  const auto found = (*value)["version"].to_int();
  if (!found || *found < 1) return damaged();
  if (*found > version) {
    return fail(Errc::config, fmt::format("it has version {}, but this patchbay knows only version {}; use a newer "
                                          "patchbay",
                                          *found, version));
  }
  const auto* secrets = (*value)["secrets"].if_object();
  if (secrets == nullptr || !(*value)["store"].is_string()) return damaged();
  index.store = (*value)["store"].as_text();
  for (const auto& [name, entry] : *secrets) {
    const auto& place_name = entry["place"];
    const auto place = place_name.is_string() ? secret_place_called(place_name.as_text()) : std::nullopt;
    if (!place) return damaged();
    index.secrets.insert_or_assign(std::string(name), SecretIndex::Entry{*place, entry["note"]});
  }
  return index;
}

std::string write_index(const SecretIndex& index) {
  Json secrets = Json::object();
  for (const auto& [name, entry] : index.secrets) {
    secrets.as_object().set(name, Json{{"place", to_string(entry.place)}, {"note", entry.note}});
  }
  return to_text(Json{{"version", version}, {"store", index.store}, {"secrets", std::move(secrets)}}) + "\n";
}

}  // namespace patchbay
