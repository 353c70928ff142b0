// What we sign is accepted by others: npm `jose` verifies our JWTs, DPoP proofs and thumbprints (verify_jwt.mjs). A1
// A5.
// ./test installs the packages and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/jose.h"
#include "base/clock.h"
#include "support/command.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view url = "https://mcp.example/mcp";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

// What jose says to each.
std::vector<Json> verdicts(const std::vector<Json>& questions) {
  CommandOptions options;
  for (const auto& one : questions) options.input += to_text(one) + "\n";
  options.env["PATCHBAY_NPM_DIR"] = variable("PATCHBAY_NPM_DIR");
  const auto asked = run_program({variable("PATCHBAY_NODE"), in_sources("tests/interop/verify_jwt.mjs")}, options);
  EXPECT_EQ(asked.code, 0) << asked.err;
  std::vector<Json> all;
  for (std::size_t begin = 0; begin < asked.out.size();) {
    const auto end = asked.out.find('\n', begin);
    all.push_back(parse_json(asked.out.substr(begin, end - begin)).value_or(Json()));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  EXPECT_EQ(all.size(), questions.size()) << asked.out << asked.err;
  all.resize(questions.size());
  return all;
}

// A key of OpenSSL's own making, as people have it in a file.
SigningKey made_by_openssl(const std::vector<std::string>& words) {
  std::vector<std::string> line{"/usr/bin/openssl", "genpkey"};
  line.insert(line.end(), words.begin(), words.end());
  const auto made = run_program(line);
  EXPECT_EQ(made.code, 0) << made.err;
  return SigningKey::from_pem(Secret(made.out)).value();
}

std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(real_clock().wall()); }

TEST(Jose, AcceptsOurAssertions_WhateverTheKey) {
  const auto p256 = made_by_openssl({"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"});
  const auto p384 = made_by_openssl({"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"});
  const auto rsa = made_by_openssl({"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"});
  const auto ed25519 = made_by_openssl({"-algorithm", "ED25519"});
  const std::vector<std::pair<std::string, SigningKey>> all{{"ES256", p256},   {"ES384", p384}, {"RS256", rsa},
                                                            {"RS384", rsa},    {"RS512", rsa},  {"PS256", rsa},
                                                            {"EdDSA", ed25519}};
  std::vector<Json> questions;
  for (const auto& [algorithm, key] : all) {
    const JwtClaims claims{.issuer = "us", .subject = "us", .audience = "https://issuer.example"};
    const auto token = signed_jwt(key, algorithm, claims, now(), system_random()).value();
    const Json question{{"kind", "jws"},
                        {"token", token},
                        {"key", key.public_jwk()},
                        {"alg", algorithm},
                        {"issuer", "us"},
                        {"subject", "us"},
                        {"audience", "https://issuer.example"}};
    questions.push_back(question);
    questions.push_back(Json{{"kind", "thumbprint"}, {"key", key.public_jwk()}, {"thumbprint", key.thumbprint()}});
  }
  const auto said = verdicts(questions);
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i]["ok"], Json(true)) << i << to_text(said[i]);
}

TEST(Jose, AcceptsOurProofs_AndSeesWhatTheyAreFor) {
  const auto key = SigningKey::make_p256(system_random());
  const DpopRequest at_resource{
      .method = "POST", .url = std::string(url) + "?x=1#y", .access_token = "access", .nonce = "n1"};
  const auto proof = dpop_proof(key, at_resource, now(), system_random()).value();
  Json question{{"kind", "dpop"}, {"token", proof},           {"method", "POST"},
                {"url", url},     {"access_token", "access"}, {"nonce", "n1"}};
  auto other_url = question;
  other_url["url"] = "https://other.example/mcp";
  auto other_token = question;
  other_token["access_token"] = "another";
  auto other_method = question;
  other_method["method"] = "GET";
  auto changed = question;
  changed["token"] = proof.substr(0, proof.size() - 4) + (proof.ends_with("AAAA") ? "BBBB" : "AAAA");
  const auto said = verdicts({question, other_url, other_token, other_method, changed});
  EXPECT_EQ(said[0]["ok"], Json(true)) << to_text(said[0]);
  EXPECT_EQ(said[0]["thumbprint"], Json(key.thumbprint()));
  EXPECT_THAT(said[1]["why"].as_text(), HasSubstr("htu"));
  EXPECT_THAT(said[2]["why"].as_text(), HasSubstr("ath"));
  EXPECT_THAT(said[3]["why"].as_text(), HasSubstr("htm"));
  EXPECT_EQ(said[4]["ok"], Json(false));
}

}  // namespace
}  // namespace patchbay::test
