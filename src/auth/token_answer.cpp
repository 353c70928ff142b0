#include "auth/token_answer.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "auth/scopes.h"
#include "base/strings.h"
#include "http/form.h"
#include "http/reasons.h"
#include "http/url.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t largest_body = 1u << 20;
constexpr std::size_t longest_token = 256u << 10;
constexpr std::size_t longest_nonce = 2048;
constexpr std::size_t longest_code = 100;
constexpr std::size_t longest_words = 300;
constexpr double longest_life = 10.0 * 365 * 24 * 3600;

struct Code {
  std::string_view name;
  TokenFault fault;
};
// The names of RFC 6749, 8707 and 9449, and what others say instead of them.
constexpr std::array codes{
    Code{"invalid_grant", TokenFault::invalid_grant},
    Code{"invalid_refresh_token", TokenFault::invalid_grant},
    Code{"expired_refresh_token", TokenFault::invalid_grant},
    Code{"refresh_token_expired", TokenFault::invalid_grant},
    Code{"refresh_token_invalid", TokenFault::invalid_grant},
    Code{"refresh_token_revoked", TokenFault::invalid_grant},
    Code{"bad_refresh_token", TokenFault::invalid_grant},
    Code{"bad_verification_code", TokenFault::invalid_grant},
    Code{"token_expired", TokenFault::invalid_grant},
    Code{"token_revoked", TokenFault::invalid_grant},
    Code{"expired_token", TokenFault::invalid_grant},
    Code{"invalid_token", TokenFault::invalid_grant},
    Code{"invalid_code", TokenFault::invalid_grant},
    Code{"code_expired", TokenFault::invalid_grant},
    Code{"code_already_used", TokenFault::invalid_grant},
    Code{"session_expired", TokenFault::invalid_grant},
    Code{"invalid_client", TokenFault::invalid_client},
    Code{"invalid_client_id", TokenFault::invalid_client},
    Code{"invalid_client_secret", TokenFault::invalid_client},
    Code{"bad_client_secret", TokenFault::invalid_client},
    Code{"incorrect_client_credentials", TokenFault::invalid_client},
    Code{"unknown_client", TokenFault::invalid_client},
    Code{"client_not_found", TokenFault::invalid_client},
    Code{"invalid_scope", TokenFault::invalid_scope},
    Code{"insufficient_scope", TokenFault::invalid_scope},
    Code{"invalid_target", TokenFault::invalid_target},
    Code{"invalid_resource", TokenFault::invalid_target},
    Code{"unauthorized_client", TokenFault::unauthorized_client},
    Code{"use_dpop_nonce", TokenFault::use_dpop_nonce},
    Code{"temporarily_unavailable", TokenFault::temporary},
    Code{"server_error", TokenFault::temporary},
    Code{"internal_error", TokenFault::temporary},
    Code{"service_unavailable", TokenFault::temporary},
    Code{"slow_down", TokenFault::temporary},
    Code{"ratelimited", TokenFault::temporary},
    Code{"rate_limited", TokenFault::temporary},
};

const Code* known_code(std::string_view text) {
  const auto lower = to_lower_ascii(trim(text).substr(0, longest_code));
  const auto found = std::ranges::find(codes, lower, &Code::name);
  return found == codes.end() ? nullptr : &*found;
}

// An object, out of JSON or a form; null when it is neither.
Json object_in(const HttpHead& head, std::string_view body) {
  if (body.size() > largest_body) return {};
  if (auto json = parse_json(body, {.max_depth = 32})) return json->is_object() ? std::move(*json) : Json();
  const auto type = media_type(head.headers.get("Content-Type"));
  // GitHub says it is a form; others call it text, or nothing.
  if (type != "application/x-www-form-urlencoded" && type != "text/plain" && !type.empty()) return {};
  const auto form = read_form(trim(body));
  if (!form) return {};
  Json object = Json::object();
  for (const auto& [name, value] : *form) object[name] = Json(value);
  return object.find("access_token") || object.find("error") ? object : Json();
}

// Visible ASCII, which is what fits into a header.
Secret token_in(const Json& value) {
  const auto text = value.text();
  if (!text || text->size() > longest_token) return {};
  if (!std::ranges::all_of(*text, [](char c) { return c > ' ' && c < 0x7F; })) return {};
  return Secret(std::string(*text));
}

// A number or a text of one. None or less than a second means "no idea", not "over already": a token that is over at
// once would be renewed for ever.
std::optional<std::chrono::seconds> lifetime_in(const Json& value) {
  auto seconds = value.to_double();
  if (const auto text = value.text(); text && text->size() < 32) {
    if (const auto number = parse_json(trim(*text))) seconds = number->to_double();
  }
  if (!seconds || !(*seconds >= 1)) return std::nullopt;
  return std::chrono::seconds(static_cast<std::int64_t>(std::min(*seconds, longest_life)));
}

std::optional<Scopes> scope_in(const Json& value) {
  Scopes scopes;
  if (const auto text = value.text()) scopes = split_scopes(*text);
  for (const auto& item : value.items()) {
    if (const auto text = item.text()) scopes = scope_union(std::move(scopes), split_scopes(*text));
  }
  return scopes.empty() ? std::nullopt : std::optional(std::move(scopes));
}

TokenKind kind_in(const Json& value, TokenKind expected) {
  const auto text = value.text();
  if (!text || trim(*text).empty()) return expected;
  // "user", "bot", "N_A": everything else is sent as Bearer.
  return to_lower_ascii(trim(*text)) == "dpop" ? TokenKind::dpop : TokenKind::bearer;
}

std::string_view first_text(const Json& object, std::span<const std::string_view> names) {
  for (const auto name : names) {
    if (const auto text = object[name].text(); text && !text->empty()) return *text;
  }
  return {};
}

struct Complaint {
  std::string_view code;
  std::string_view words;
};

// {"error": "code"}, {"error": {"code": …, "message": …}}, {"errors": [{…}]}.
Complaint complaint_in(const Json& object) {
  static constexpr std::array<std::string_view, 5> words{"error_description", "message", "error_message", "detail",
                                                         "title"};
  static constexpr std::array<std::string_view, 4> inner_codes{"error", "code", "type", "status"};
  static constexpr std::array<std::string_view, 2> outer_codes{"error_code", "errorCode"};
  const Json* error = &object["error"];
  if (error->is_null() && !object["errors"].items().empty()) error = &object["errors"].items()[0];
  Complaint found;
  if (const auto text = error->text()) {
    found.code = *text;
  } else {
    found.code = first_text(*error, inner_codes);
    found.words = first_text(*error, words);
  }
  if (found.code.empty()) found.code = first_text(object, outer_codes);
  if (found.words.empty()) found.words = first_text(object, words);
  return found;
}

TokenFault fault_of(int status, std::string_view code, bool said) {
  if (const auto* known = known_code(code)) return known->fault;
  if (status / 100 == 5 || status == 429 || status == 408) return TokenFault::temporary;
  return said || status >= 400 ? TokenFault::refused : TokenFault::not_understood;
}

std::string nonce_in(const HttpHead& head) {
  const auto nonce = head.headers.get("DPoP-Nonce");
  const bool good =
      nonce.size() <= longest_nonce && std::ranges::all_of(nonce, [](char c) { return c > ' ' && c < 0x7F; });
  return good ? std::string(nonce) : std::string();
}

void replace_all(std::string& text, std::string_view what) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += 3) text.replace(at, what.size(), "***");
}

// What was sent is taken out before anything is cut off: half of a secret would not be found any more.
std::string without(std::span<const Secret> sent, std::string_view text) {
  std::string out(cut_utf8(text, largest_body));
  for (const auto& secret : sent) {
    // Shorter ones are in ordinary words as well.
    if (secret.reveal().size() >= 6) replace_all(out, secret.reveal());
  }
  return out;
}

}  // namespace

TokenAnswer read_token_answer(const HttpHead& head, std::string_view body, TokenKind expected,
                              std::span<const Secret> sent) {
  const auto object = object_in(head, body);
  if (head.status / 100 == 2) {
    if (auto access = token_in(object["access_token"]); !access.empty()) {
      GivenTokens given;
      given.kind = kind_in(object["token_type"], expected);
      given.access = std::move(access);
      given.refresh = token_in(object["refresh_token"]);
      given.id_token = token_in(object["id_token"]);
      given.issued_token_type = cut_utf8(object["issued_token_type"].text().value_or(""), longest_words);
      given.lifetime = lifetime_in(object["expires_in"]);
      given.scope = scope_in(object["scope"]);
      return given;
    }
  }
  auto [code, words] = complaint_in(object);
  // A text that is nothing but the code.
  if (object.is_null() && known_code(body)) code = trim(body);
  // A page says nothing in one line.
  if (object.is_null() && code.empty() && body.size() <= largest_body && !trim(body).starts_with('<')) words = body;
  const bool said = !code.empty() || object["ok"].to_bool() == false;
  TokenRefusal refusal;
  refusal.fault = fault_of(head.status, code, said);
  refusal.error = clean_excerpt(without(sent, code), longest_code);
  refusal.description = clean_excerpt(without(sent, words), longest_words);
  refusal.status = head.status;
  refusal.dpop_nonce = nonce_in(head);
  return refusal;
}

bool is_over(TokenFault fault) noexcept {
  switch (fault) {
    case TokenFault::invalid_grant:
    case TokenFault::invalid_client:
    case TokenFault::unauthorized_client:
    case TokenFault::invalid_scope:
    case TokenFault::invalid_target:
      return true;
    case TokenFault::use_dpop_nonce:
    case TokenFault::temporary:
    case TokenFault::refused:
    case TokenFault::not_understood:
      return false;
  }
  return false;
}

Error unasked_proof(std::string_view issuer) {
  return Error(Errc::protocol, fmt::format("{} gave a token that needs proofs (DPoP), which nobody asked for",
                                           clean_line(redacted_url(issuer))));
}

Error token_error(const TokenRefusal& refusal, std::string_view issuer) {
  const auto name = clean_line(redacted_url(issuer));
  auto why = refusal.error;
  if (!refusal.description.empty()) why += (why.empty() ? "" : ": ") + refusal.description;
  auto status = std::to_string(refusal.status);
  if (const auto reason = reason_phrase(refusal.status); !reason.empty()) status += fmt::format(" {}", reason);
  std::string message;
  Errc code = Errc::unauthorized;
  switch (refusal.fault) {
    case TokenFault::invalid_grant:
      message = fmt::format("{} does not accept this sign-in any more", name);
      break;
    case TokenFault::invalid_client:
    case TokenFault::unauthorized_client:
      message = fmt::format("{} does not know this client, or does not let it do this", name);
      break;
    case TokenFault::invalid_scope:
      message = fmt::format("{} does not give the scopes that were asked for", name);
      break;
    case TokenFault::invalid_target:
      message = fmt::format("{} gives no tokens for this server", name);
      break;
    case TokenFault::temporary:
      code = Errc::http;
      message = fmt::format("{} cannot answer now", name);
      break;
    case TokenFault::not_understood:
      code = Errc::protocol;
      message = fmt::format("{} answered with neither a token nor an error", name);
      break;
    case TokenFault::use_dpop_nonce:
    case TokenFault::refused:
      message = fmt::format("{} refuses to give a token", name);
      break;
  }
  message += fmt::format(" ({})", status);
  if (!why.empty()) message += ": " + why;
  return Error(code, std::move(message)).with_http_status(refusal.status);
}

}  // namespace patchbay
