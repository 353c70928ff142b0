#include "server/request_state.h"

#include <algorithm>

namespace patchbay {
namespace {

// The same value has one text, whatever order a client writes its keys in.
Json in_key_order(const Json& value) {
  if (const auto* array = value.if_array()) {
    Json::Array items;
    items.reserve(array->size());
    for (const auto& item : *array) items.push_back(in_key_order(item));
    return Json(std::move(items));
  }
  if (const auto* object = value.if_object()) {
    std::vector<std::pair<std::string_view, const Json*>> members;
    for (const auto& [name, member] : *object) members.emplace_back(name, &member);
    std::ranges::sort(members, {}, &std::pair<std::string_view, const Json*>::first);
    Json::Object sorted;
    for (const auto& [name, member] : members) sorted.append(name, in_key_order(*member));
    return Json(std::move(sorted));
  }
  return value;
}

std::string binding(const StateOwner& owner) {
  return std::string(owner.method) + '\n' + sha256_hex(to_text(in_key_order(owner.params))) + '\n' +
         sha256_hex(owner.principal);
}

}  // namespace

std::string seal_state(const Sealer& sealer, const RequestState& state, const StateOwner& owner) {
  Json::Object answers;
  for (const auto& [key, answer] : state.answers) answers.set(key, answer);
  const Json plain{{"expires", state.expires_ms}, {"answers", std::move(answers)}};
  return sealer.seal(to_text(plain), binding(owner));
}

Result<RequestState> open_state(const Sealer& sealer, std::string_view sealed, const StateOwner& owner,
                                std::int64_t now_ms) {
  auto plain = sealer.open(sealed, binding(owner));
  if (!plain) return std::unexpected(std::move(plain).error());
  auto value = parse_json(*plain);
  if (!value) return std::unexpected(std::move(value).error());
  RequestState state;
  state.expires_ms = (*value)["expires"].as_int();
  if (now_ms >= state.expires_ms)
    return fail(Errc::invalid_argument, "requestState has expired; send the request again without requestState");
  for (const auto& [key, answer] : (*value)["answers"].as_object()) state.answers.emplace_back(key, answer);
  return state;
}

}  // namespace patchbay
