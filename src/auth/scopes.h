// Which scopes to ask for. Never more than a challenge, the server's metadata or the user named. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "auth/oauth_types.h"

namespace patchbay {

Scopes split_scopes(std::string_view text);
std::string join_scopes(const Scopes& scopes);
Scopes scope_union(Scopes first, const Scopes& more);
bool has_scopes(const Scopes& all, const Scopes& wanted);

// In this order: the entry's "oauth.scopes"; the challenge's; all of the resource's scopes_supported; those of a
// metadata document that the entry names; none (the parameter is left out). offline_access is added where the issuer
// lists it.
struct ScopeSources {
  std::optional<std::string> configured;
  std::optional<std::string> challenged;
  std::optional<Scopes> resource;
  std::optional<Scopes> named_document;
  std::optional<Scopes> issuer;  // scopes_supported of the authorization server
};
Scopes wanted_scopes(const ScopeSources& sources);
// After insufficient_scope: what was asked for before, and what the challenge names.
Scopes stepped_up(const Scopes& requested, const std::optional<std::string>& challenged);

}  // namespace patchbay
