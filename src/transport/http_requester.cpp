#include "transport/http_requester.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "http/challenge.h"
#include "http/reasons.h"
#include "http/url.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t explanation_limit = 64u << 10;
constexpr auto explanation_wait = 5s;
constexpr std::size_t excerpt_limit = 200;

std::string remedy_for(const HttpHead& head) {
  switch (head.status) {
    case 404:
    case 405:
      return "check the path of its url";
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: {
      // Seconds; the other form, a date, is rare and says less to a person.
      const auto wait = trim(head.headers.get("Retry-After"));
      const bool seconds =
          !wait.empty() && wait.size() < 7 && std::ranges::all_of(wait, [](char c) { return c >= '0' && c <= '9'; });
      if (seconds) return fmt::format("try again in {} s", wait);
      // The others may come after the request was carried out.
      return head.status == 429 || head.status == 503 ? "try again later" : "look at the log of the server";
    }
    case 413:
    case 431:
      return "the request is too large for the server; send less at a time";
    case 426:
      return "if it is a WebSocket server, write \"type\": \"ws\" and a url that begins with ws:// or wss://";
    default:
      return {};
  }
}

}  // namespace

HttpClientOptions http_client_options(const HttpTarget& options, const Runtime& runtime) {
  HttpClientOptions result;
  result.ca_file = options.ca_file;
  result.client_certificate = options.client_certificate;
  result.client_key = options.client_key;
  result.client_key_password = Secret(options.client_key_password);
  result.proxy = options.proxy;
  result.entry_url = options.url;
  result.shown = options.shown;
  result.log = runtime.log;
  if (options.variables) result.environment = options.variables;
  return result;
}

std::string shown_type(const HttpHead& head) {
  auto type = media_type(head.headers.get("Content-Type"));
  return type.empty() ? "no content type" : type;
}

std::string excerpt(std::string_view body) { return clean_excerpt(body, excerpt_limit); }

std::string explanation(std::string_view body) {
  const auto json = parse_json(body, {.max_depth = 32});
  if (!json || !json->is_object()) return excerpt(body);
  const Json& whole = *json;
  for (const Json* object : {&whole, &whole["error"]}) {
    for (const std::string_view name : {"error_description", "message", "detail", "error"}) {
      if (const auto text = (*object)[name].text(); text && !text->empty()) return excerpt(*text);
    }
  }
  return excerpt(body);
}

Task<std::string> explaining_body(HttpExchange& exchange) {
  std::string body;
  auto read = [](HttpExchange& from, std::string& into) -> Task<void> {
    while (into.size() < explanation_limit) {
      auto piece = co_await from.read();
      if (piece.empty()) co_return;
      into += piece;
    }
  };
  (void)co_await as_result(with_timeout(read(exchange, body), explanation_wait, "the body did not end"));
  co_return body;
}

HttpRequester::HttpRequester(asio::any_io_executor executor, const HttpTarget& options, std::shared_ptr<HttpAuth> auth,
                             const Runtime& runtime)
    : options_(options),
      auth_(std::move(auth)),
      shown_(options.shown.empty() ? redacted_url(options.url) : options.shown),
      connect_limit_(as_duration(runtime.limits.connect) / 3 * 2),
      client_(std::move(executor), http_client_options(options, runtime)) {}

Task<std::unique_ptr<HttpExchange>> HttpRequester::send(std::string method, std::string url, HttpHeaders own,
                                                        std::string body, HttpRequestLimits limits) {
  if (!is_ours(url)) {
    throw Error(Errc::internal,
                fmt::format("data for {1} would have been sent to another server ({0}); nothing was sent",
                            redacted_url(url), shown_));
  }
  limits.connect = std::min(limits.connect, connect_limit_);
  limits.same_origin = true;
  HttpRequest request{.method = std::move(method), .url = std::move(url), .headers = {}, .body = std::move(body)};
  if (options_.headers.empty()) {
    request.headers = std::move(own);
  } else if (own.is_copy_of(last_own_)) {
    request.headers = last_headers_;
  } else {
    request.headers.reserve(options_.headers.size() + own.size() + 2);
    for (const auto& [name, value] : options_.headers) request.headers.add(name, value);
    for (const auto& field : std::as_const(own)) request.headers.set(field.name, field.value);
    last_own_ = std::move(own);
    last_headers_ = request.headers;
  }
  if (auth_) return send_signed_in(std::move(request), limits);
  const bool had_credentials = request.headers.contains("Authorization");
  return send_plainly(client_.send(std::move(request), limits), had_credentials);
}

HttpRequester::Sending HttpRequester::send_plainly(Sending sending, bool had_credentials) {
  auto exchange = co_await std::move(sending);
  const auto status = exchange->head().status;
  if (status == 401 || status == 403) {
    throw refusal(exchange->head(), had_credentials, co_await explaining_body(*exchange), {});
  }
  co_return exchange;
}

HttpRequester::Sending HttpRequester::send_signed_in(HttpRequest request, HttpRequestLimits limits) {
  bool again = false, with_nonce = false;
  for (;;) {
    auto sending = request;
    auto sent = co_await auth_->authorize(sending);
    const bool had_credentials = !sent.token.empty() || request.headers.contains("Authorization");
    auto exchange = co_await client_.send(sending, limits);
    const auto& head = exchange->head();
    if (head.status != 401 && head.status != 403) {
      auth_->on_answer(sending, head);
      co_return exchange;
    }
    auto& done = sign_in_challenge(head.headers).error == "use_dpop_nonce" ? with_nonce : again;
    if (!std::exchange(done, true) && co_await auth_->on_challenge(std::move(sent), std::move(sending), head)) continue;
    throw refusal(head, had_credentials, co_await explaining_body(*exchange), auth_->remedy());
  }
}

bool HttpRequester::is_ours(const std::string& url) const {
  if (url == options_.url) return true;
  const auto ours = parse_url(options_.url);
  const auto theirs = parse_url(url);
  return ours && theirs && same_origin(*ours, *theirs);
}

std::optional<Error> HttpRequester::led_away(const HttpHead& head) const {
  if (head.url.empty() || is_ours(head.url)) return std::nullopt;
  const auto there = parse_url(head.url);
  return Error(Errc::protocol, fmt::format("{} redirects to another server ({}), and nothing is sent there; if that is "
                                           "the server you mean, use its own url",
                                           shown_, there ? there->origin() : redacted_url(head.url)))
      .with_http_status(head.status);
}

Error HttpRequester::refusal(const HttpHead& head, bool had_credentials, std::string_view body,
                             const std::string& remedy) const {
  if (const auto away = led_away(head)) {
    return Error(head.status == 401 ? Errc::unauthorized : Errc::forbidden,
                 fmt::format("{}. It answered {}", away->message(), head.status))
        .with_http_status(head.status);
  }
  const auto challenge = sign_in_challenge(head.headers);
  // RFC 6750, 3.1: the server looked at what the token may do and at nothing else.
  const bool more_scope = challenge.error == "insufficient_scope";
  auto error = auth_ && auth_->signs_in() ? sign_in_error(head.status, had_credentials, challenge, body)
                                          : access_error(shown_, head.status, had_credentials, body, remedy);
  if (more_scope) error = std::move(error).with_carried_out(CarriedOut::no);
  // A 403 to somebody who is signed in is the server's last word, unless it says what is missing.
  if (!auth_ || !auth_->signs_in() || (head.status == 403 && had_credentials && !more_scope)) return error;
  return std::move(error).with_sign_in({.resource_metadata = challenge.resource_metadata.value_or(""),
                                        .scope = challenge.scope.value_or(""),
                                        .more_scope = more_scope,
                                        .proof = challenge.dpop});
}

Error HttpRequester::sign_in_error(int status, bool signed_in, const SignInChallenge& challenge,
                                   std::string_view body) const {
  const bool more_scope = challenge.error == "insufficient_scope";
  const auto explained = explanation(body);
  const auto because = explained.empty() ? std::string() : fmt::format(": {}", explained);
  if (more_scope) {
    return Error(Errc::forbidden, fmt::format("{} needs more rights than you gave it when you signed in ({} {}){}",
                                              shown_, status, reason_phrase(status), because))
        .with_http_status(status);
  }
  if (status == 403 && signed_in) {
    return Error(Errc::forbidden,
                 fmt::format("{} refuses access to the account that you signed in with (403 Forbidden){}", shown_,
                             because))
        .with_http_status(status);
  }
  // Many servers take a token that never changes, and do not say how one gets it.
  const auto fixed = signed_in || challenge.resource_metadata
                         ? std::string()
                         : std::string(
                               "; if it takes a fixed token, write it as \"headers\": "
                               "{\"Authorization\": \"Bearer …\"} in its entry");
  return Error(Errc::unauthorized,
               fmt::format("{} {} ({} {}){}{}", shown_,
                           signed_in ? "does not accept your sign-in any more" : "needs you to sign in", status,
                           reason_phrase(status), because, fixed))
      .with_http_status(status);
}

Error access_error(std::string_view shown, int status, bool had_credentials, std::string_view body,
                   const std::string& remedy) {
  const auto explained = excerpt(body);
  const auto because = explained.empty() ? std::string() : fmt::format(": {}", explained);
  if (status == 401 && !remedy.empty()) {
    return Error(Errc::unauthorized,
                 fmt::format("{} refuses the credentials (401 Unauthorized){}; {}", shown, because, remedy))
        .with_http_status(status);
  }
  if (status == 401) {
    return Error(Errc::unauthorized,
                 fmt::format("{} {} (401 Unauthorized){}; {} \"headers\": {{\"Authorization\": \"Bearer …\"}} of its "
                             "entry",
                             shown, had_credentials ? "refuses the credentials" : "needs credentials", because,
                             had_credentials ? "check" : "write them as"))
        .with_http_status(status);
  }
  return Error(Errc::forbidden,
               fmt::format("{} refuses access (403 Forbidden){}; {}", shown, because,
                           had_credentials ? "check the rights of the credentials in \"headers\" of its entry"
                                           : "if it needs credentials, write them as \"headers\": {\"Authorization\": "
                                             "\"Bearer …\"} in its entry"))
      .with_http_status(status);
}

Error HttpRequester::status_error(const HttpHead& head, std::string_view body) const {
  return patchbay::status_error(shown_, head, body);
}

Error status_error(std::string_view what, const HttpHead& head, std::string_view body) {
  auto message = fmt::format("{} answered {}", what, head.status);
  if (const auto reason = reason_phrase(head.status); !reason.empty()) message += fmt::format(" {}", reason);
  // A page is no part of a sentence; anything else is, and then not said again below it.
  const auto text = excerpt(body);
  const bool page = media_type(head.headers.get("Content-Type")) == "text/html";
  if (!page && !text.empty() && text != reason_phrase(head.status)) message += fmt::format(": {}", text);
  if (const auto remedy = remedy_for(head); !remedy.empty()) message += fmt::format("; {}", remedy);
  return Error(Errc::http, std::move(message)).with_http_status(head.status).with_detail(page ? text : std::string());
}

Error HttpRequester::content_error(const HttpHead& head, std::string_view body) const {
  if (trim(body).empty() && head.headers.get("Content-Type").empty()) {
    return Error(Errc::protocol,
                 fmt::format(
                     "{} answered {} with an empty body (while reading the body); is it the url of an MCP server?",
                     shown_, head.status))
        .with_http_status(head.status);
  }
  return Error(Errc::protocol, fmt::format("{} answered with {} instead of JSON (while reading the body); is it the "
                                           "url of an MCP server?",
                                           shown_, shown_type(head)))
      .with_http_status(head.status)
      .with_detail(excerpt(body));
}

}  // namespace patchbay
