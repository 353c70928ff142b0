// What a token endpoint says: a token fits into a header, words are bounded and clean, and one is never both.
// Input: a status, a line break, a content type, a line break, the body.
#include <algorithm>
#include <array>
#include <charconv>

#include "auth/registration.h"
#include "auth/token_answer.h"
#include "fuzz/fuzz.h"
#include "text/clean_text.h"

using namespace patchbay;
using fuzz::require;

namespace {

bool fits_header(const Secret& token) {
  return std::ranges::all_of(token.reveal(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

FUZZ_TARGET(token_answer) {
  HttpHead head;
  const auto status = fuzz::take_line(input);
  std::from_chars(status.data(), status.data() + status.size(), head.status);
  const auto type = fuzz::take_line(input);
  head.headers.add("Content-Type", std::string(type));
  head.headers.add("DPoP-Nonce", std::string(type));
  const auto answer = read_token_answer(head, input, TokenKind::dpop, std::array{Secret("abcdef")});
  if (const auto* given = std::get_if<GivenTokens>(&answer)) {
    require(head.status / 100 == 2, "a token out of a refusal");
    require(!given->access.empty() && fits_header(given->access) && fits_header(given->refresh), "an unfit token");
    require(!given->lifetime ||
                (*given->lifetime >= std::chrono::seconds(1) && *given->lifetime < std::chrono::hours(24 * 3651)),
            "a life without bound");
    require(!given->scope || !given->scope->empty(), "scopes that say nothing");
  } else {
    auto refusal = std::get<TokenRefusal>(answer);
    require(refusal.error.size() <= 300 && refusal.description.size() <= 900, "words without bound");
    require(clean_line(refusal.error) == refusal.error && clean_line(refusal.description) == refusal.description,
            "unclean");
    require(refusal.status == head.status, "another status");
    require(!refusal.description.contains("abcdef"), "what was sent is shown");
    const auto error = token_error(refusal, "https://as.example");
    require(error.http_status() == head.status && error.message().contains("as.example"), "nobody knows who said it");
  }
  IssuerMetadata issuer;
  issuer.issuer = "https://as.example";
  if (const auto client = read_registration(head.status, input, issuer, {})) {
    require(!client->id.empty() && client->issuer == issuer.issuer, "a client of nobody");
    require(!client->secret.empty() || client->authentication == ClientAuthentication::none,
            "a proof without a secret");
  }
}
