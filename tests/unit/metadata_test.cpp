// Finding out who signs people in: which addresses, in which order, and what the documents may say. A1.
#include "auth/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Url url(std::string_view text) { return parse_url(text).value(); }

TEST(ResourceMetadataUrls, ThePathComesFirst) {
  struct Case {
    std::string server;
    std::vector<std::string> expected;
  };
  for (const auto& [server, expected] : std::vector<Case>{
           {"https://h.example/mcp",
            {"https://h.example/.well-known/oauth-protected-resource/mcp",
             "https://h.example/.well-known/oauth-protected-resource"}},
           {"https://h.example", {"https://h.example/.well-known/oauth-protected-resource"}},
           {"https://h.example:8443/a/b",
            {"https://h.example:8443/.well-known/oauth-protected-resource/a/b",
             "https://h.example:8443/.well-known/oauth-protected-resource"}},
           {"https://h.example/mcp/",
            {"https://h.example/.well-known/oauth-protected-resource/mcp/",
             "https://h.example/.well-known/oauth-protected-resource/mcp",
             "https://h.example/.well-known/oauth-protected-resource"}},
           {"https://h.example/mcp?tenant=1",
            {"https://h.example/.well-known/oauth-protected-resource/mcp?tenant=1",
             "https://h.example/.well-known/oauth-protected-resource"}},
           {"https://user:word@h.example/mcp#x",
            {"https://h.example/.well-known/oauth-protected-resource/mcp",
             "https://h.example/.well-known/oauth-protected-resource"}},
       }) {
    EXPECT_EQ(resource_metadata_urls(url(server), std::nullopt), expected);
    // What the challenge named is all there is.
    EXPECT_THAT(resource_metadata_urls(url(server), "https://h.example/named"), ElementsAre("https://h.example/named"));
  }
}

TEST(IssuerMetadataUrls, ThePathIsNeverLeftOut) {
  EXPECT_THAT(issuer_metadata_urls(url("https://as.example")),
              ElementsAre("https://as.example/.well-known/oauth-authorization-server",
                          "https://as.example/.well-known/openid-configuration"));
  EXPECT_EQ(issuer_metadata_urls(url("https://as.example/")), issuer_metadata_urls(url("https://as.example")));
  const auto tenant = ElementsAre("https://as.example/.well-known/oauth-authorization-server/t/1",
                                  "https://as.example/.well-known/openid-configuration/t/1",
                                  "https://as.example/t/1/.well-known/openid-configuration");
  EXPECT_THAT(issuer_metadata_urls(url("https://as.example/t/1")), tenant);
  EXPECT_THAT(issuer_metadata_urls(url("https://as.example/t/1/")), tenant);
}

TEST(ResourceMetadata, IsReadWhole) {
  const auto read = read_resource_metadata(R"({
    "resource": "https://h.example/mcp", "authorization_servers": ["https://as.example", "https://b.example/"],
    "scopes_supported": ["a", "b", "a", "no good", "", "q\"uote", "é"], "dpop_bound_access_tokens_required": true,
    "bearer_methods_supported": {"any": "thing"}, "jwks_uri": null})");
  EXPECT_EQ(read.value(), (ResourceMetadata{.resource = "https://h.example/mcp",
                                            .authorization_servers = {"https://as.example", "https://b.example/"},
                                            .scopes_supported = Scopes{"a", "b"},
                                            .dpop_required = true}));
  EXPECT_EQ(read_resource_metadata(R"({"resource":"r","authorization_servers":["a"],"scopes_supported":null})").value(),
            (ResourceMetadata{.resource = "r", .authorization_servers = {"a"}}));
}

TEST(ResourceMetadata, WhatIsWrong_IsNamed) {
  const std::string good = R"("resource":"r","authorization_servers":["a"])";
  std::string many = R"({"resource":"r","authorization_servers":["a")";
  for (int i = 0; i < 1000; ++i) many += R"(,"a")";
  struct Case {
    std::string document;
    std::string says;
  };
  for (const auto& [document, says] : std::vector<Case>{
           {"", "is not JSON"},
           {"<html>", "is not JSON"},
           {"[]", "must be an object, found an array"},
           {"{}", "\"resource\" is missing"},
           {R"({"resource":"r"})", "\"authorization_servers\" names none"},
           {R"({"resource":"r","authorization_servers":[]})", "\"authorization_servers\" names none"},
           {R"({"resource":1,"authorization_servers":["a"]})", "\"resource\" must be a string, found a number"},
           {R"({"resource":"r","authorization_servers":"a"})",
            "\"authorization_servers\" must be an array, found a string"},
           {R"({"resource":"r","authorization_servers":[{}]})",
            "\"authorization_servers\" must be a string, found an object"},
           {"{" + good + R"(,"scopes_supported":"a b"})", "\"scopes_supported\" must be an array, found a string"},
           {"{" + good + R"(,"dpop_bound_access_tokens_required":"yes"})", "must be a boolean, found a string"},
           {many + "]}", "\"authorization_servers\" has 1001 items; 1000 are allowed"},
           {R"({"authorization_servers":["a"],"resource":")" + std::string(9000, 'r') + "\"}",
            "\"resource\" is longer than 8 KiB"},
           {"{" + good + R"(,"x":")" + std::string(1u << 20, 'x') + "\"}", "is larger than 1 MiB"},
           {"{" + good + R"(,"x":)" + std::string(40, '[') + std::string(40, ']') + "}", "is not JSON"},
       }) {
    EXPECT_THAT(read_resource_metadata(document), FailsWith(Errc::protocol, HasSubstr(says)))
        << document.substr(0, 200);
  }
}

TEST(IssuerMetadata, IsReadWhole) {
  const std::string document = R"({
    "issuer": "https://as.example", "authorization_endpoint": "https://as.example/a", "token_endpoint": "https://as.example/t",
    "registration_endpoint": "https://as.example/r", "revocation_endpoint": "https://as.example/v",
    "scopes_supported": ["openid", "offline_access"], "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"], "grant_types_supported": ["authorization_code"],
    "authorization_grant_profiles_supported": ["urn:ietf:params:oauth:grant-profile:id-jag"],
    "dpop_signing_alg_values_supported": ["ES256"], "client_id_metadata_document_supported": true,
    "authorization_response_iss_parameter_supported": true, "jwks_uri": 7, "subject_types_supported": null})";
  IssuerMetadata expected;
  expected.issuer = "https://as.example";
  expected.authorization_endpoint = "https://as.example/a";
  expected.token_endpoint = "https://as.example/t";
  expected.registration_endpoint = "https://as.example/r";
  expected.revocation_endpoint = "https://as.example/v";
  expected.scopes_supported = Scopes{"openid", "offline_access"};
  expected.code_challenge_methods = {{"S256"}};
  expected.token_authentications = {{"none", "client_secret_basic"}};
  expected.grant_types = {"authorization_code"};
  expected.grant_profiles = {"urn:ietf:params:oauth:grant-profile:id-jag"};
  expected.dpop_algorithms = {"ES256"};
  expected.takes_client_documents = true;
  expected.names_itself_in_answers = true;
  EXPECT_EQ(read_issuer_metadata(document, "https://as.example").value(), expected);
  EXPECT_EQ(read_issuer_metadata(document, std::nullopt).value(), expected);
  // By the byte.
  for (const char* other :
       {"https://as.example/", "https://AS.example", "https://as.example:443", "https://evil.example", ""}) {
    EXPECT_THAT(read_issuer_metadata(document, other),
                FailsWith(Errc::protocol, HasSubstr("the two must be the same text")))
        << other;
  }
}

TEST(IssuerMetadata, WhatIsWrong_IsNamed) {
  struct Case {
    std::string document;
    std::string says;
  };
  for (const auto& [document, says] : std::vector<Case>{
           {"null", "must be an object, found null"},
           {"{}", "\"issuer\" is missing"},
           {R"({"issuer":["i"]})", "\"issuer\" must be a string, found an array"},
           {R"({"issuer":"i","token_endpoint":{}})", "\"token_endpoint\" must be a string, found an object"},
           {R"({"issuer":"i","code_challenge_methods_supported":"S256"})",
            "\"code_challenge_methods_supported\" must be an array, found a string"},
           {R"({"issuer":"i","grant_types_supported":[1]})",
            "\"grant_types_supported\" must be a string, found a number"},
           {R"({"issuer":"i","client_id_metadata_document_supported":1})", "must be a boolean, found a number"},
       }) {
    EXPECT_THAT(read_issuer_metadata(document, "i"), FailsWith(Errc::protocol, HasSubstr(says))) << document;
  }
  // Nothing but itself: an issuer of machines has no page to sign in at.
  EXPECT_EQ(read_issuer_metadata(R"({"issuer":"i"})", "i").value().token_endpoint, "");
}

TEST(Resource, MustBeTheServerOrAboveIt) {
  struct Case {
    std::string resource;
    std::string server;
    bool good;
  };
  for (const auto& [resource, server, good] : std::vector<Case>{
           {"https://h.example/mcp", "https://h.example/mcp", true},
           {"https://h.example", "https://h.example/mcp", true},
           {"https://h.example/", "https://h.example/mcp", true},
           {"https://h.example/a", "https://h.example/a/b", true},
           {"https://h.example/a/", "https://h.example/a/b", true},
           {"https://h.example/mcp/", "https://h.example/mcp", true},
           {"https://H.example:443/mcp", "https://h.example/mcp", true},
           {"https://h.example/mcp", "https://h.example/mcp?x=1", true},
           {"https://h.example/mcp?x=1", "https://h.example/mcp?x=1", true},
           {"https://h.example/mcp?x=2", "https://h.example/mcp?x=1", false},
           {"https://h.example/mc", "https://h.example/mcp", false},
           {"https://h.example/mcp/more", "https://h.example/mcp", false},
           {"https://h.example/other", "https://h.example/mcp", false},
           {"https://h.example/a/../b", "https://h.example/a", false},
           {"http://h.example/mcp", "https://h.example/mcp", false},
           {"https://h.example:8443/mcp", "https://h.example/mcp", false},
           {"https://h.example.evil.example/mcp", "https://h.example/mcp", false},
           {"https://evil.example/mcp", "https://h.example/mcp", false},
           {"https://u@h.example/mcp", "https://h.example/mcp", false},
           {"https://h.example/mcp#x", "https://h.example/mcp", false},
           {"api://h.example/mcp", "https://h.example/mcp", false},
           {"h.example", "https://h.example/mcp", false},
           {"", "https://h.example/mcp", false},
       }) {
    EXPECT_EQ(check_resource(resource, url(server), std::nullopt).has_value(), good) << resource << " of " << server;
  }
  EXPECT_THAT(check_resource("https://evil.example/?token=abc", url("https://h.example/mcp"), std::nullopt),
              FailsWith(Errc::protocol,
                        "the server's metadata is for https://evil.example/?token=***, which is not "
                        "https://h.example/mcp; a token for it would be sent to the wrong server"));
}

TEST(Resource, ThatTheEntryExpects_IsComparedByTheByte) {
  const auto server = url("https://h.example/mcp");
  EXPECT_TRUE(check_resource("api://app-id", server, "api://app-id"));
  EXPECT_THAT(check_resource("api://app-id/", server, "api://app-id"), FailsWith(Errc::protocol));
  EXPECT_THAT(check_resource("https://h.example/mcp", server, "api://app-id"), FailsWith(Errc::protocol));
}

TEST(Resource, OfAServerThatNamesNone) {
  EXPECT_EQ(canonical_resource(url("HTTPS://H.example:443/mcp#x")), "https://h.example/mcp");
  EXPECT_EQ(canonical_resource(url("https://h.example/")), "https://h.example");
  EXPECT_EQ(canonical_resource(url("https://u:p@h.example:8443/mcp/?a=b")), "https://h.example:8443/mcp/?a=b");
}

TEST(UsualIssuer, IsAtTheRootOfTheServer) {
  const auto issuer = usual_issuer(url("https://h.example:8443/a/mcp?x"));
  EXPECT_EQ(issuer.issuer, "https://h.example:8443");
  EXPECT_EQ(issuer.authorization_endpoint, "https://h.example:8443/authorize");
  EXPECT_EQ(issuer.token_endpoint, "https://h.example:8443/token");
  EXPECT_EQ(issuer.registration_endpoint, "https://h.example:8443/register");
  EXPECT_TRUE(issuer.guessed);
}

TEST(Endpoints, EachIsJudged) {
  IssuerMetadata good;
  good.issuer = "https://as.example";
  EXPECT_TRUE(check_endpoints(good, {}));
  good.authorization_endpoint = "https://10.0.0.1/a";  // the browser's network is the user's
  good.token_endpoint = "https://as.example/t";
  good.registration_endpoint = "https://as.example/r";
  good.revocation_endpoint = "https://as.example/v";
  EXPECT_TRUE(check_endpoints(good, {}));
  for (const auto member : {&IssuerMetadata::token_endpoint, &IssuerMetadata::registration_endpoint,
                            &IssuerMetadata::revocation_endpoint}) {
    auto bad = good;
    bad.*member = "https://169.254.169.254/";
    EXPECT_THAT(check_endpoints(bad, {}), FailsWith(Errc::denied, HasSubstr("endpoint is at a link-local address")));
    bad.*member = "http://127.0.0.1:1/x";
    EXPECT_THAT(check_endpoints(bad, {}), FailsWith(Errc::denied));
    EXPECT_TRUE(check_endpoints(bad, {AddressKind::loopback}));
  }
  auto bad = good;
  bad.authorization_endpoint = "javascript://as.example/%0aalert(1)";
  EXPECT_THAT(check_endpoints(bad, {AddressKind::loopback}),
              FailsWith(Errc::denied, HasSubstr("the authorization endpoint: ")));
}

}  // namespace
}  // namespace patchbay
