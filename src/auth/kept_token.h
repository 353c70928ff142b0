// What is kept of sign-in from run to run, as texts for the store of secrets, and when a token has to be renewed. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>
#include <patchbay/json.h>

#include "auth/oauth_types.h"

namespace patchbay {

// The names in the store: by issuer and resource, never by directory or server name, so that work trees and servers
// that share a resource share it.
std::string token_name(std::string_view issuer, std::string_view resource);
std::string client_name(std::string_view issuer);

// Errc::unsupported for what a newer version wrote, Errc::config for what cannot be read.
Secret write_token_set(const TokenSet& tokens);
Result<TokenSet> read_token_set(const Secret& text);
Secret write_client(const OAuthClient& client);
Result<OAuthClient> read_client(const Secret& text);
// What may be shown without the secret: issuer, resource, client id, scopes, expiry, times, whether it can be
// refreshed.
Json token_note(const TokenSet& tokens);

enum class TokenAge : std::uint8_t {
  fresh,
  due,  // expires within five minutes, or within a tenth of its life if that is shorter: renewed before it is used
  expired,
};
TokenAge token_age(const TokenSet& tokens, std::chrono::sys_seconds now);

// What a server wants whose resource has a token already.
struct ShareWish {
  std::optional<std::string> client_id;  // that its entry names
  Scopes scopes;                         // that its refusal names
  bool proof = false;                    // it takes bound tokens only
};
// Whether that token will do, so that nobody is asked.
bool can_share(const TokenSet& tokens, const ShareWish& wish, std::chrono::sys_seconds now);

}  // namespace patchbay
