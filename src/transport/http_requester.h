// HttpRequester: the requests of one HTTP transport. It adds the configured headers and the
// credentials, answers one sign-in challenge per request, and turns an answer that is none
// into an Error that names the URL and what to do. The HTTP and the SSE channel each own one;
// loop thread only. Knows nothing of JSON-RPC.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "http/auth.h"
#include "http/challenge.h"
#include "http/client/http_client.h"
#include "transport/targets.h"

namespace patchbay {

class HttpRequester {
 public:
  HttpRequester(asio::any_io_executor executor, const HttpTarget& options, std::shared_ptr<HttpAuth> auth,
                const Runtime& runtime);

  // `own` are the headers of the protocol; they win over configured ones. `url` is at the entry's
  // origin: nothing of ours is sent anywhere else. Throws Errc::unauthorized or forbidden when the
  // server refuses us; every other status is returned.
  Task<std::unique_ptr<HttpExchange>> send(std::string method, std::string url, HttpHeaders own, std::string body,
                                           HttpRequestLimits limits);

  // Set when the answer came from another origin than the entry's, after redirects.
  std::optional<Error> led_away(const HttpHead& head) const;
  // What a status means that the protocol gives no meaning; `body` is what came with it.
  Error status_error(const HttpHead& head, std::string_view body) const;
  // An answer with a body that cannot be ours.
  Error content_error(const HttpHead& head, std::string_view body) const;
  // An answer was that of another request: the connection may be out of step by one, and would stay so.
  void use_fresh_connections() { client_.use_fresh_connections(); }
  const std::string& shown() const noexcept { return shown_; }

 private:
  using Sending = Task<std::unique_ptr<HttpExchange>>;
  Sending send_plainly(Sending sending, bool had_credentials);
  Sending send_signed_in(HttpRequest request, HttpRequestLimits limits);
  bool is_ours(const std::string& url) const;
  // Where a person can sign in; what they type for it is the program's to say.
  Error sign_in_error(int status, bool signed_in, const SignInChallenge& challenge, std::string_view body) const;
  Error refusal(const HttpHead& head, bool had_credentials, std::string_view body, const std::string& remedy) const;

  HttpTarget options_;
  std::shared_ptr<HttpAuth> auth_;
  std::string shown_;
  Duration connect_limit_;  // a part of the time for the whole session: what failed shall be told before that is over
  HttpClient client_;
  // What the last request brought along, and what became of it with the configured ones.
  HttpHeaders last_own_;
  HttpHeaders last_headers_;
};

// What the options of a transport mean to whoever connects.
HttpClientOptions http_client_options(const HttpTarget& options, const Runtime& runtime);

// A 401 or 403, told with what to do; `body` is what came with it, `remedy` what sign-in says, if there is one.
Error access_error(std::string_view shown, int status, bool had_credentials, std::string_view body,
                   const std::string& remedy = {});
// Any other status that is no answer of the protocol; `what` answered it.
Error status_error(std::string_view what, const HttpHead& head, std::string_view body);

// The body that explains a refusal: what arrives of it within bounds.
Task<std::string> explaining_body(HttpExchange& exchange);

// "text/html", or "no type"; and the first line of a body, fit for a message.
std::string shown_type(const HttpHead& head);
std::string excerpt(std::string_view body);
// The same for people: of an error in JSON, its words.
std::string explanation(std::string_view body);

}  // namespace patchbay
