#include "auth/kept_token.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "auth/registration.h"
#include "auth/scopes.h"
#include "base/crypto.h"
#include "http/url.h"
#include "json/kept_records.h"

namespace patchbay {
namespace {

constexpr std::int64_t version = 1;
constexpr std::size_t largest_text = 2u << 20;

template <class T>
struct Word {
  std::string_view text;
  T value;
};
constexpr std::array kinds{Word{"Bearer", TokenKind::bearer}, Word{"DPoP", TokenKind::dpop}};
constexpr std::array sources{Word{"configured", OAuthClient::Source::configured},
                             Word{"document", OAuthClient::Source::document},
                             Word{"registered", OAuthClient::Source::registered}};

template <class T, std::size_t N>
std::string_view word_for(const std::array<Word<T>, N>& words, T value) {
  return std::ranges::find(words, value, &Word<T>::value)->text;
}

// Members that say nothing are left out.
void put(Json& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object[name] = Json(text);
}
void put(Json& object, std::string_view name, const Secret& secret) { put(object, name, secret.reveal()); }
void put(Json& object, std::string_view name, const std::vector<std::string>& texts) {
  Json array = Json::array();
  for (const auto& text : texts) array.push_back(Json(text));
  object[name] = std::move(array);
}
void put(Json& object, std::string_view name, std::chrono::sys_seconds time) {
  object[name] = Json(time.time_since_epoch().count());
}
template <class T>
void put(Json& object, std::string_view name, const std::optional<T>& value) {
  if (value) put(object, name, *value);
}

// One text that we wrote; what is not as we write it makes all of it unreadable.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void get(std::string_view name, std::string& into) {
    const auto* value = object_.find(name);
    if (!value) return;
    const auto text = value->text();
    text ? void(into = *text) : void(good_ = false);
  }
  void get(std::string_view name, Secret& into) {
    std::string text;
    get(name, text);
    into = Secret(std::move(text));
  }
  void get(std::string_view name, std::vector<std::string>& into) {
    const auto* value = object_.find(name);
    if (!value) return;
    good_ = good_ && value->is_array();
    for (const auto& item : value->items()) {
      const auto text = item.text();
      good_ = good_ && text;
      into.emplace_back(text.value_or(""));
    }
  }
  void get(std::string_view name, std::chrono::sys_seconds& into) {
    const auto* value = object_.find(name);
    if (!value) return;
    const auto seconds = value->to_int();
    if (!seconds || *seconds < 0 || *seconds > last_second) {
      good_ = false;
    } else {
      into = std::chrono::sys_seconds(std::chrono::seconds(*seconds));
    }
  }
  template <class T>
  void get(std::string_view name, std::optional<T>& into) {
    if (object_.find(name)) get(name, into.emplace());
  }
  template <class T, std::size_t N>
  void get(std::string_view name, const std::array<Word<T>, N>& words, T& into) {
    std::string text;
    get(name, text);
    const auto found = std::ranges::find(words, text, &Word<T>::text);
    found == words.end() ? void(good_ = false) : void(into = found->value);
  }
  void get(std::string_view name, ClientAuthentication& into) {
    if (!object_.find(name)) return;
    std::string text;
    get(name, text);
    const auto found = method_named(text);
    found ? void(into = *found) : void(good_ = false);
  }
  // At the end; `required` are members without which it is nothing.
  bool good(std::initializer_list<const std::string*> required) const {
    return good_ && std::ranges::none_of(required, &std::string::empty);
  }

 private:
  const Json& object_;
  bool good_ = true;
};

std::unexpected<Error> unreadable(std::string_view what) {
  return fail(Errc::config, fmt::format("the kept {} cannot be read", what));
}

Result<Json> read_object(const Secret& text, std::string_view what) {
  if (text.reveal().size() > largest_text) return unreadable(what);
  auto json = parse_json(text.reveal());
  // The reason may quote a token.
  if (!json || !json->is_object()) return unreadable(what);
  const auto found = (*json)["version"].to_int();
  if (found && *found > version) {
    return fail(Errc::unsupported, fmt::format("the kept {} was written by a newer version of Patchbay", what));
  }
  if (found != version) return unreadable(what);
  return std::move(*json);
}

// An issuer may grant thousands; all of them are with the token.
Scopes shown_scopes(const Scopes& scopes) {
  constexpr std::size_t most = 8u << 10;
  Scopes shown;
  for (std::size_t size = 0; const auto& scope : scopes) {
    if ((size += scope.size()) > most) break;
    shown.push_back(scope);
  }
  return shown;
}

// Longer names of a store are cut, and a text in a name would be shown where the secrets are not.
std::string hashed(std::string_view kind, std::string_view first, std::string_view second) {
  return fmt::format("{}-{}", kind, sha256_hex(fmt::format("{}:{}{}", first.size(), first, second)));
}

}  // namespace

std::string token_name(std::string_view issuer, std::string_view resource) { return hashed("token", issuer, resource); }
std::string client_name(std::string_view issuer) { return hashed("client", issuer, {}); }

Secret write_token_set(const TokenSet& tokens) {
  Json object{{"version", version}};
  put(object, "issuer", tokens.issuer);
  put(object, "resource", tokens.resource);
  put(object, "clientId", tokens.client_id);
  put(object, "clientSecret", tokens.client_secret);
  put(object, "tokenEndpoint", tokens.token_endpoint);
  put(object, "revocationEndpoint", tokens.revocation_endpoint);
  put(object, "authentication", method_name(tokens.authentication));
  put(object, "tokenType", word_for(kinds, tokens.kind));
  put(object, "accessToken", tokens.access);
  put(object, "refreshToken", tokens.refresh);
  put(object, "dpopKey", tokens.dpop_key);
  put(object, "expires", tokens.expires);
  put(object, "requested", tokens.requested);
  put(object, "granted", tokens.granted);
  put(object, "obtained", tokens.obtained);
  put(object, "refreshed", tokens.refreshed);
  return Secret(to_text(object));
}

Result<TokenSet> read_token_set(const Secret& text) {
  const auto object = read_object(text, "token");
  if (!object) return std::unexpected(object.error());
  Reader reader(*object);
  TokenSet tokens;
  reader.get("issuer", tokens.issuer);
  reader.get("resource", tokens.resource);
  reader.get("clientId", tokens.client_id);
  reader.get("clientSecret", tokens.client_secret);
  reader.get("tokenEndpoint", tokens.token_endpoint);
  reader.get("revocationEndpoint", tokens.revocation_endpoint);
  reader.get("authentication", tokens.authentication);
  reader.get("tokenType", kinds, tokens.kind);
  reader.get("accessToken", tokens.access);
  reader.get("refreshToken", tokens.refresh);
  reader.get("dpopKey", tokens.dpop_key);
  reader.get("expires", tokens.expires);
  reader.get("requested", tokens.requested);
  reader.get("granted", tokens.granted);
  reader.get("obtained", tokens.obtained);
  reader.get("refreshed", tokens.refreshed);
  if (!reader.good({&tokens.issuer, &tokens.resource}) || tokens.access.empty()) return unreadable("token");
  return tokens;
}

Secret write_client(const OAuthClient& client) {
  Json object{{"version", version}};
  put(object, "source", word_for(sources, client.source));
  put(object, "issuer", client.issuer);
  put(object, "clientId", client.id);
  put(object, "clientSecret", client.secret);
  put(object, "expires", client.expires);
  put(object, "authentication", method_name(client.authentication));
  put(object, "privateKey", client.private_key);
  put(object, "keyAlgorithm", client.key_algorithm);
  put(object, "redirectUris", client.redirect_uris);
  put(object, "scopes", client.scopes);
  return Secret(to_text(object));
}

Result<OAuthClient> read_client(const Secret& text) {
  const auto object = read_object(text, "registration");
  if (!object) return std::unexpected(object.error());
  Reader reader(*object);
  OAuthClient client;
  reader.get("source", sources, client.source);
  reader.get("issuer", client.issuer);
  reader.get("clientId", client.id);
  reader.get("clientSecret", client.secret);
  reader.get("expires", client.expires);
  reader.get("authentication", client.authentication);
  reader.get("privateKey", client.private_key);
  reader.get("keyAlgorithm", client.key_algorithm);
  reader.get("redirectUris", client.redirect_uris);
  reader.get("scopes", client.scopes);
  if (!reader.good({&client.issuer, &client.id})) return unreadable("registration");
  return client;
}

Json token_note(const TokenSet& tokens) {
  Json note = Json::object();
  put(note, "issuer", redacted_url(tokens.issuer));
  put(note, "resource", redacted_url(tokens.resource));
  put(note, "clientId", tokens.client_id);
  put(note, "tokenType", word_for(kinds, tokens.kind));
  put(note, "scopes", shown_scopes(tokens.granted ? *tokens.granted : tokens.requested));
  put(note, "expires", tokens.expires);
  put(note, "obtained", tokens.obtained);
  put(note, "refreshed", tokens.refreshed);
  note["refreshable"] = Json(!tokens.refresh.empty());
  return note;
}

TokenAge token_age(const TokenSet& tokens, std::chrono::sys_seconds now) {
  if (!tokens.expires) return TokenAge::fresh;
  if (now >= *tokens.expires) return TokenAge::expired;
  using namespace std::chrono_literals;
  // A clock that was set back may make it look as if it ended before it began.
  const std::chrono::seconds life = std::max(*tokens.expires - tokens.refreshed.value_or(tokens.obtained), 0s);
  const std::chrono::seconds margin = std::min<std::chrono::seconds>(5min, life / 10);
  return now >= *tokens.expires - margin ? TokenAge::due : TokenAge::fresh;
}

bool can_share(const TokenSet& tokens, const ShareWish& wish, std::chrono::sys_seconds now) {
  if (wish.client_id && *wish.client_id != tokens.client_id) return false;
  if (wish.proof && tokens.kind == TokenKind::bearer) return false;
  if (tokens.refresh.empty() && token_age(tokens, now) == TokenAge::expired) return false;
  return has_scopes(tokens.granted ? *tokens.granted : tokens.requested, wish.scopes);
}

}  // namespace patchbay
