#include "auth/authorization.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "auth/endpoint_rule.h"
#include "auth/scopes.h"
#include "base/limit_text.h"
#include "base/strings.h"
#include "http/form.h"
#include "http/url.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_query = 32u << 10;
constexpr std::size_t shown_words = 300;

std::string excerpt(std::string_view text) { return clean_excerpt(text, shown_words); }

// What was in the address before, without what is ours to say.
std::string kept_query(const Url& endpoint, const FormMembers& ours) {
  std::string query;
  for (const auto member : split(endpoint.query.value_or(""), '&')) {
    if (member.empty()) continue;
    const auto read = read_form(member);
    const bool replaced = read && std::ranges::any_of(ours, [&](const auto& one) {
                            return !read->empty() && one.first == read->front().first;
                          });
    if (replaced) continue;
    if (!query.empty()) query += '&';
    query += member;
  }
  return query;
}

// The two names that a browser may come back to.
std::string_view other_host(const std::string& redirect_uri) {
  const auto url = parse_url(redirect_uri);
  return url && url->host == "localhost" ? "127.0.0.1" : "localhost";
}

std::string with_host(const std::string& redirect_uri, std::string_view host) {
  auto url = parse_url(redirect_uri);
  if (!url) return redirect_uri;
  url->host = host;
  return url->text();
}

std::string setting_of_host(std::string_view host, std::string_view server) {
  if (server.empty()) return fmt::format("set MCP_OAUTH_CALLBACK_HOST={}", host);
  return fmt::format(R"(write "oauth": {{"callbackHost": "{}"}} into the entry of "{}")", host, clean_line(server));
}

// "redirect_uri_mismatch", "The redirect URI is not registered": there is no code for it that all use.
bool names_redirect(std::string_view words) {
  const auto lower = to_lower_ascii(words);
  return std::ranges::any_of(std::array{"redirect_uri", "redirect uri", "redirect url", "callback url"},
                             [&](const char* one) { return lower.contains(one); });
}

std::unexpected<Error> not_ours(std::string_view why) {
  return fail(Errc::protocol, fmt::format("the answer that came to the sign-in is not for it: {}", why));
}

}  // namespace

Result<void> check_pkce(const IssuerMetadata& issuer) {
  const auto name = clean_line(redacted_url(issuer.issuer));
  if (issuer.authorization_endpoint.empty()) {
    return fail(Errc::protocol, fmt::format("{} does not say where to sign in (authorization_endpoint)", name));
  }
  if (issuer.guessed) return {};
  if (!issuer.code_challenge_methods) {
    return fail(
        Errc::unsupported,
        fmt::format("{} does not say that it protects sign-ins with PKCE (code_challenge_methods_supported)", name));
  }
  if (std::ranges::find(*issuer.code_challenge_methods, "S256") == issuer.code_challenge_methods->end()) {
    return fail(Errc::unsupported, fmt::format("{} does not protect sign-ins with PKCE and S256", name));
  }
  return {};
}

Result<std::string> authorization_url(const AuthorizationAttempt& attempt) {
  if (auto good = check_pkce(attempt.issuer); !good) return std::unexpected(std::move(good).error());
  auto url = check_browser_url(attempt.issuer.authorization_endpoint);
  if (!url) return std::unexpected(url.error().within("the authorization endpoint"));
  FormMembers ours{
      {"response_type", "code"}, {"client_id", attempt.client.id},           {"redirect_uri", attempt.redirect_uri},
      {"state", attempt.state},  {"code_challenge", attempt.pkce.challenge}, {"code_challenge_method", "S256"}};
  if (!attempt.resource.empty()) ours.emplace_back("resource", attempt.resource);
  if (!attempt.scopes.empty()) ours.emplace_back("scope", join_scopes(attempt.scopes));
  if (!attempt.nonce.empty()) ours.emplace_back("nonce", attempt.nonce);
  if (std::ranges::find(attempt.scopes, "offline_access") != attempt.scopes.end()) {
    ours.emplace_back("prompt", "consent");
  }
  auto query = kept_query(*url, ours);
  for (const auto& [name, value] : ours) append_form(query, name, value);
  url->query = std::move(query);
  url->fragment.reset();
  return url->text();
}

Result<CallbackAnswer> read_callback(std::string_view query) {
  if (query.size() > longest_query) {
    return not_ours(fmt::format("it is longer than {}", limit_text(longest_query)));
  }
  if (query.starts_with('?')) query.remove_prefix(1);
  auto members = read_form(query);
  if (!members) return not_ours(members.error().message());
  CallbackAnswer answer;
  const std::array known{std::pair("code", &answer.code), std::pair("state", &answer.state),
                         std::pair("iss", &answer.iss), std::pair("error", &answer.error),
                         std::pair("error_description", &answer.error_description)};
  for (auto& [name, value] : *members) {
    const auto found = std::ranges::find_if(known, [&](const auto& one) { return name == one.first; });
    if (found == known.end()) continue;
    // RFC 6749, 3.1; two readers would take different ones.
    if (*found->second) return not_ours(fmt::format("it says \"{}\" twice", name));
    *found->second = std::move(value);
  }
  return answer;
}

Result<CallbackAnswer> read_pasted_callback(std::string_view text, std::string_view redirect_uri) {
  const auto wanted = fail(
      Errc::invalid_argument,
      fmt::format("paste the whole address at which the browser ended; it begins with {}", redacted_url(redirect_uri)));
  text = trim(text);
  if (text.size() > longest_query) return wanted;
  const auto url = parse_url(text);
  const auto expected = parse_url(redirect_uri);
  if (!url || !expected || !url->query || !same_origin(*url, *expected) || url->path != expected->path) return wanted;
  return read_callback(*url->query);
}

std::string redirect_hint(const std::string& redirect_uri, std::string_view server) {
  const auto other = with_host(redirect_uri, other_host(redirect_uri));
  return fmt::format("enter {} for your client there, or, if {} is entered there, {}", redirect_uri, other,
                     setting_of_host(other_host(redirect_uri), server));
}

Error with_redirect_hint(Error error, const std::string& redirect_uri, std::string_view server) {
  if (error.code() != Errc::timeout && !names_redirect(error.message())) return error;
  return error.with_message(fmt::format("{}; if the page said that the redirect address does not match, {}",
                                        error.message(), redirect_hint(redirect_uri, server)));
}

Error with_other_host(Error error, const std::string& redirect_uri, std::string_view server) {
  if (!names_redirect(error.message())) return error;
  return error.with_message(
      fmt::format("{}; the redirect address was {}; it may take the other name of this machine: {}", error.message(),
                  redirect_uri, setting_of_host(other_host(redirect_uri), server)));
}

Result<Secret> judge_callback(const AuthorizationAttempt& attempt, const CallbackAnswer& answer) {
  // RFC 9207. By the byte, and before anything else of it is believed or shown.
  if (answer.iss ? *answer.iss != attempt.issuer.issuer : attempt.issuer.names_itself_in_answers) {
    return not_ours(answer.iss ? "it is from another authorization server than the one that was asked"
                               : "it does not say from which authorization server it is, and this one always does");
  }
  if (attempt.state.empty() || answer.state != attempt.state) {
    return not_ours("its \"state\" is not the one that was sent");
  }
  if (answer.error) {
    const bool no = *answer.error == "access_denied";
    const auto error = excerpt(*answer.error);
    const auto described = excerpt(answer.error_description.value_or(""));
    return fail(no ? Errc::denied : Errc::unauthorized,
                fmt::format("{}{}{}", no ? "the sign-in was not allowed" : "the sign-in failed: " + error,
                            described.empty() ? "" : ": ", described));
  }
  if (!answer.code || answer.code->empty()) return not_ours("it has neither a code nor an error");
  return Secret(*answer.code);
}

}  // namespace patchbay
