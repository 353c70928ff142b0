#include "auth/identity_token.h"

#include <algorithm>

#include <fmt/format.h>

#include "auth/jose.h"

namespace patchbay {
namespace {

using std::chrono::seconds;

constexpr seconds skew{60};  // clocks differ

std::optional<std::chrono::sys_seconds> expiry_of(const Json& claims) {
  const auto number = claims["exp"].to_double();
  // Far enough for everybody, and near enough for every clock.
  if (!number || *number < 0 || *number > 1e11) return std::nullopt;
  return std::chrono::sys_seconds(seconds(static_cast<std::int64_t>(*number)));
}

bool is_for(const Json& claims, const std::string& client_id) {
  const auto& audience = claims["aud"];
  if (const auto* several = audience.if_array()) {
    const bool named = std::ranges::any_of(*several, [&](const Json& one) { return one == Json(client_id); });
    // Of several, the one it was made for says so.
    const auto& party = claims["azp"];
    return named && (several->size() == 1 || party.is_null() || party == Json(client_id));
  }
  return audience == Json(client_id);
}

}  // namespace

Result<IdentityClaims> read_identity_token(const Secret& token, const IdentityExpectation& expected) {
  auto wrong = [](std::string_view why) {
    return fail(Errc::protocol, fmt::format("the identity token that the identity provider gave {}", why));
  };
  const auto found = jwt_payload(token.reveal());
  if (!found) return wrong("is not a JWT");
  const Json& claims = *found;
  if (claims["iss"] != Json(expected.issuer)) return wrong("is of another issuer");
  if (!is_for(claims, expected.client_id)) return wrong("is for another client");
  if (expected.nonce && claims["nonce"] != Json(*expected.nonce)) return wrong("belongs to another sign-in (nonce)");
  const auto expires = expiry_of(claims);
  if (!expires) return wrong("does not say when it expires");
  if (*expires + skew <= expected.now) return wrong("has expired already");
  return IdentityClaims{*expires};
}

bool has_expired(const Secret& token, std::chrono::sys_seconds now) {
  const auto found = jwt_payload(token.reveal());
  if (!found) return false;
  const auto expires = expiry_of(*found);
  return expires && *expires - skew <= now;
}

}  // namespace patchbay
