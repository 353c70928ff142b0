#include "support/fake_issuer.h"

#include <algorithm>

#include <fmt/format.h>

#include "auth/jose.h"
#include "http/form.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

HttpAnswer json_answer(int status, std::string body) {
  HttpAnswer answer;
  answer.head.status = status;
  answer.head.headers.set("Content-Type", "application/json");
  answer.body = std::move(body);
  return answer;
}

class FakeVisit final : public AuthorizationVisit {
 public:
  FakeVisit(FakeIssuer& issuer, const VisitWish& wish)
      : issuer_(issuer),
        redirect_uri_(fmt::format("http://{}:{}/callback", wish.host,
                                  wish.port.value_or(wish.preferred_port != 0 ? wish.preferred_port : 49152))) {
    issuer_.most_windows = std::max(issuer_.most_windows, ++issuer_.windows);
  }
  ~FakeVisit() override { --issuer_.windows; }
  const std::string& redirect_uri() const noexcept override { return redirect_uri_; }
  Task<Secret> go(std::string url, Judge judge) override {
    co_await settle();
    const auto parsed = parse_url(url);
    auto asked = form_of(parsed->query.value_or(""));
    issuer_.visits.push_back(asked);
    if (issuer_.nobody_comes) throw Error(Errc::timeout, "nobody signed in within 5 minutes");
    CallbackAnswer answer;
    answer.code = "code-" + asked["code_challenge"];
    answer.state = asked["state"];
    answer.iss = issuer_.issuer;
    if (issuer_.change_answer) issuer_.change_answer(answer);
    auto judged = judge(answer);
    if (!judged) throw judged.error();
    co_return std::move(*judged);
  }
  void finish(const Result<void>& outcome) override { issuer_.pages.push_back(outcome); }

 private:
  FakeIssuer& issuer_;
  std::string redirect_uri_;
};

Task<std::unique_ptr<AuthorizationVisit>> open_visit(FakeIssuer& issuer, VisitWish wish) {
  issuer.wishes.push_back(wish);
  co_return std::make_unique<FakeVisit>(issuer, wish);
}

Task<SignInWay> found_way(SignInWay way) { co_return way; }

}  // namespace

std::map<std::string, std::string> form_of(std::string_view text) {
  std::map<std::string, std::string> out;
  const auto read = read_form(text);
  if (!read) return out;
  for (const auto& [name, value] : *read) out[name] = value;
  return out;
}

void FakeIssuer::add_documents() {
  documents["https://mcp.example/.well-known/oauth-protected-resource/mcp"] =
      fmt::format(R"({{"resource":"{}","authorization_servers":["{}"]}})", resource, issuer);
  documents[issuer + "/.well-known/oauth-authorization-server"] = fmt::format(
      R"({{"issuer":"{0}","authorization_endpoint":"{0}/authorize","token_endpoint":"{0}/token","registration_endpoint":"{0}/register","revocation_endpoint":"{0}/revoke","response_types_supported":["code"],"code_challenge_methods_supported":["S256"],"token_endpoint_auth_methods_supported":["none","client_secret_basic"],"authorization_response_iss_parameter_supported":true}})",
      issuer);
}

AuthFetch FakeIssuer::fetch() {
  return [this](HttpRequest request) { return answer(std::move(request)); };
}

FindWay FakeIssuer::way(ServerNetwork network) {
  return [this, network] { return found_way(SignInWay{fetch(), network}); };
}

OpenVisit FakeIssuer::browser() {
  return [this](VisitWish wish) { return open_visit(*this, std::move(wish)); };
}

Task<HttpAnswer> FakeIssuer::answer(HttpRequest request) {
  asked.push_back(request.url);
  co_await settle();
  if (request.method == "GET") {
    if (instead_of_document) {
      if (auto other = instead_of_document(request)) co_return std::move(*other);
    }
    const auto found = documents.find(request.url);
    co_return found == documents.end() ? json_answer(404, "{}") : json_answer(200, found->second);
  }
  if (request.url == issuer + "/register") {
    if (!refuses_registration.empty()) co_return json_answer(400, refuses_registration);
    ++registrations;
    const auto wish = parse_json(request.body);
    if (confidential) {
      co_return json_answer(
          201, fmt::format(R"({{"client_id":"client-{0}","client_secret":"client-secret-{0}",)"
                           R"("token_endpoint_auth_method":"client_secret_basic","scope":{1},"redirect_uris":{2}}})",
                           registrations, to_text((*wish)["scope"]), to_text((*wish)["redirect_uris"])));
    }
    co_return json_answer(201, fmt::format(R"({{"client_id":"client-{}","redirect_uris":{}}})", registrations,
                                           to_text((*wish)["redirect_uris"])));
  }
  if (request.url == issuer + "/revoke") co_return json_answer(200, "");
  auto form = form_of(request.body);
  token_requests.push_back(form);
  token_headers.push_back(request.headers);
  if (before_token) co_await before_token();
  if (instead) {
    if (auto other = instead(form)) co_return std::move(*other);
  }
  const auto who = std::string(request.headers.get("Authorization"));
  if (confidential && !who.starts_with("Basic ")) co_return json_answer(401, R"({"error":"invalid_client"})");
  if (form["grant_type"] == "refresh_token") {
    ++refreshes;
    const auto& owner = owners_[form["refresh_token"]];
    if (confidential && owner != who) co_return json_answer(401, R"({"error":"invalid_client"})");
    if (confidential) last_refresh = form["refresh_token"];
    if (form["refresh_token"] != last_refresh) co_return json_answer(400, R"({"error":"invalid_grant"})");
  }
  if (form["grant_type"] == "authorization_code" && form["code"] != "code-" + pkce_challenge(form["code_verifier"])) {
    co_return json_answer(400, R"({"error":"invalid_grant"})");
  }
  ++given;
  if (rotates || given == 1) last_refresh = fmt::format("refresh-{}", given);
  owners_[last_refresh] = who;
  co_return json_answer(
      200, fmt::format(R"({{"access_token":"access-{}","token_type":"Bearer","expires_in":{},"refresh_token":"{}"}})",
                       given, lifetime.count(), last_refresh));
}

}  // namespace patchbay::test
