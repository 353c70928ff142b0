// Keys, signatures and proofs against the examples of their specifications. A1 A5.
#include "auth/jose.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The examples of RFC 7515 (A.2, A.3) and RFC 8037 (A.1), and keys that were made for these tests.
constexpr std::string_view rsa_rfc7515 = R"(-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd/wWJcyQoTbji9k0
l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL+yRT+SFd2lZS+pC
gNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb/7OMg0LOL+bSf63kpaSHSX
ndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD
Zlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxXFvUK+DWNmoudF8NAco9/h9iaGNj8
q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQIDAQABAoIBABKucaRpzQorw35S
bEUAVx8dYXUdZOlJcHtiWQ+dC6V8ljxAHj/PLyzTveyI5QO/xkObCyjIL303l2cf
UhPu2MFaJdjVzqACXuOrLot/eSFvxjvqVidTtAZExqFRJ9mylUVAoLvhowVWmC1O
n95fZCXxTUtxNEG1Xcc7m0rtzJKs45J+N/V9DP1edYH6USyPSWGp6wuA+KgHRnKK
Vf9GRx80JQY7nVNkL17eHoTWEwga+lwi0FEoW9Y7lDtWXYmKBWhUE+U8PGxlJf8f
40493HDw1WRQ/aSLoS4QTp3rn7gYgeHEvfJdkkf0UMhlknlo53M09EFPdadQ4TlU
bjqKc50CgYEA4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH/5IB3jw3bcxGn6QLvnE
tfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw/Py5PJdTJNPY8cQn7ouZ2KKDcmnPG
BY5t7yLc1QlQ5xHdwW1VhvKn+nXqhJTBgIPgtldC+KDV5z+y2XDwGUcCgYEAuQPE
fgmVtjL0Uyyx88GZFF1fOunH3+7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYs
p1ZSe7zFYHj7C6ul7TjeLQeZD/YwD66t62wDmpe/HlB+TnBA+njbglfIsRLtXlnD
zQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdcCgYAHAp9XcCSrn8wVkMVkKdb7
DOX4IKjzdahm+ctDAJN4O/y7OW5FKebvUjdAIt2GuoTZ71iTG+7F0F+lP88jtjP4
U4qe7VHoewl4MKOfXZKTe+YCS1XbNvfgwJ3Ltyl1OH9hWvu2yza7q+d5PCsDzqtm
27kxuvULVeya+TEdAB1ijQKBgQCH/3r6YrVH/uCWGy6bzV1nGNOdjKc9tmkfOJmN
54dxdixdpozCQ6U4OxZrsj3FcOhHBsqAHvX2uuYjagqvo3cOj1TRqNocX40omfCC
Mx3bD1yPPf/6TI2XECva/ggqEY2mYzmIiA5LVVmc5nrybr+lssFKneeyxN2Wq93S
0iJMdQKBgCGHewxzoa1r8ZMD0LETNrToK423K377UCYqXfg5XMclbrjPbEC3YI1Z
NqMtuhdBJqUnBi6tjKMF+34Xf0CUN8ncuXGO2CAYvO8PdyCixHX52ybaDjy1FtCE
6yUXjoKNXKvUm7MWGsAYH6f4IegOetN5NvmUMFStCSkh7ixZLkN1
-----END RSA PRIVATE KEY-----
)";
constexpr std::string_view ec_rfc7515 = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
-----END PRIVATE KEY-----
)";
constexpr std::string_view ec_older_form = R"(-----BEGIN EC PRIVATE KEY-----
MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view ed_rfc8037 = R"(-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
)";
constexpr std::string_view encrypted = R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAjxJumWzHQ0zAIBATAM
BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ2cpZ+2hAc6HYKAPalBU9rgSBkCPl
IszdNRB4DDR2AIuCRDV0x0nD29EgxNr1RI101CysEWBElRmCurt4vDlhyk7ywymm
now2GlPSMvJi2SDZ1YcSoGDJyAXjKpFE46pYyHW22HsuvK7befOxyy7wXVA9JUAb
9ooKpy13yIT7q5gQdiG/j2Jo/4q7RPrqA/w1JtrFzzQUPhJdtz4zdtNSBKic3Q==
-----END ENCRYPTED PRIVATE KEY-----
)";
constexpr std::string_view encrypted_older_form = R"(-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,1F49F0CAA795D04806597453658C225E

XDDXVsBLayGUdw4A6PuO7rxnB1lBgQNopYYsax+dA1AjxcJWctDxC+FFdo4x7C3H
alMl7opc5IDWh3Kq4ej3iAy+TlUcT5Ub2Ls7IxkJmChsXWFpTfn/ClF+OoczxTRq
7ix6TRnePBZtCJZZ0XnHVblV5eZ50MBYYmgU3PJubfQ=
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view public_only = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
-----END PUBLIC KEY-----
)";
constexpr std::string_view p384 = R"(-----BEGIN EC PRIVATE KEY-----
MIGkAgEBBDCUyiMYZ212iXyaFL2MQEaxC0h8G6Vt8W/5XQOuNjOdJWjSbr7pdlWx
AxNcv3S/SamgBwYFK4EEACKhZANiAAQ2LEKuBOyQzXE1XA93OCDiCDuStdZkt1P4
EonZjq74lebIPhz2je9+ElQ8kTC6wFnvgHqge6+LM90Q33pnK8gfb6fmDDZb4yFq
J+TNynva/UZbCk579VdO5iXtbNcImgI=
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view p521 = R"(-----BEGIN EC PRIVATE KEY-----
MIHcAgEBBEIA413UOiK+Dv/EtsX3FpgWkJSg5kcmnSAgfn9SXjOg9NKBTZYT9CMx
Nbm+xXrc7tYw8Q5PCAJ1DpGsgD3Hv83mtTagBwYFK4EEACOhgYkDgYYABAFfH6ou
uE7I4blRffioqSfDNzw6C4BaIJ1Ooki4KJr88V0rmCTHxAGVCIFnxt2EuNlMAZaO
EEvZ2/qvqSPUERuWeQHo1BlduoBaP/hcdnJmm/MDf2gN6orMJj5hCNU8AkulY0T1
fG4L5cGYbg4sCOvjDxWf1QCn0kfHK2JElFEyPrB5WQ==
-----END EC PRIVATE KEY-----
)";
constexpr std::string_view rsa_too_short = R"(-----BEGIN PRIVATE KEY-----
MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBALiaoZO19YE0Bx0z
cf/iqpT9PzB7ljrnX/kr31UDrFdUeUE+GPBfUS4ob91UODtW+xBgp2M9zeKuQR9d
6S/8TO0Yfpsip9/eznCOymtlFntGwPZkEX9qonqAE3OqnMk2r6IYgTZoaGD/QLx0
gWKFjDzA6r9QSY9rJ/a6p/0/g5HTAgMBAAECgYEAqkiRBPUSqoT4jvoWjUhju51D
PZCyylEFmY3bq8sAnWnhk8oZLRlvg9lvHsWCPVKFstzFaujm0tOUZL+2yzm7JmRw
+8wVzbnXy8vwTpOtgsff8mPuJ/X4/iZFCCQNaeueXtLTo1dM/aK/ueO1Vh3bgcob
2NZcadFjT+A06ReLzDkCQQDgVP+U0LPZZAnDoT6RcSOJ/31LhG/Y02eTenyd0J79
OlTNQciuquN0+rIpQ9yyKjNwE0sRRpgrFlFO0Z3Z2X0FAkEA0qntJMVdqWf9QfXl
HueM3CT7pdfxgcW0zYKGDiZ4TKPgoX5sWGVXXHlNfyX0BBEMohggZwywG7WUHKHv
+M7K9wJAEul3hn81uk0BubldQfusyFR+pqAqobfo0nkQCmntDWIehhNWrMsBU/pS
jMII2AhQv9EQkgtGhtNh1Wg8i4IXVQJANCnnksdcXepmB8M/rNthQdHWjkZegufV
0V2UnERiXXfm05ZedbUCYN+YlPds6OTf3/NhcqLtqK7Zsg1XQqDSGQJAPIuDMfIU
IKarL6vmo3hXb5uyUjlsj7k7PU/yIWnrfD7D65BTmiYKGgSKCRcQsgi4eRVnIDfl
lxCGjXL0Vu0qfA==
-----END PRIVATE KEY-----
)";

constexpr std::string_view rfc7515_payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
constexpr std::string_view rfc7515_rs256 =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZ"
    "cAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--"
    "xi12jzDwusC-e"
    "OkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
constexpr std::string_view rfc7515_es256 =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

SigningKey key_in(std::string_view pem) { return SigningKey::from_pem(Secret(std::string(pem))).value(); }

// 1, 2, 3, … from where it was left.
Random counting() {
  return [next = std::uint8_t{0}](std::span<std::uint8_t> bytes) mutable {
    for (auto& byte : bytes) byte = ++next;
  };
}

Json header_of(std::string_view compact) {
  return parse_json(base64url_decode(compact.substr(0, compact.find('.'))).value()).value();
}

TEST(Pkce, ExampleOfItsSpecification) {
  EXPECT_EQ(pkce_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  // RFC 7636, appendix B: the random bytes behind that verifier.
  const auto pkce = make_pkce([](std::span<std::uint8_t> bytes) {
    constexpr std::array<std::uint8_t, 32> example{116, 24,  223, 180, 151, 153, 224, 37,  79,  250, 96,
                                                   125, 216, 173, 187, 186, 22,  212, 37,  77,  105, 214,
                                                   191, 240, 91,  88,  5,   88,  83,  132, 141, 121};
    ASSERT_EQ(bytes.size(), example.size());
    std::ranges::copy(example, bytes.begin());
  });
  EXPECT_EQ(pkce.verifier.reveal(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
  EXPECT_EQ(pkce.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST(Pkce, TwoAreNeverTheSame) {
  const auto random = system_random();
  EXPECT_NE(make_pkce(random).verifier, make_pkce(random).verifier);
  EXPECT_EQ(random_token(random).size(), 43u);
  EXPECT_EQ(random_token(random, 16).size(), 22u);
}

TEST(Jwk, ThumbprintsOfTheSpecifications) {
  // RFC 7638, 3.1; members that do not belong to the key do not count.
  const Json rsa =
      parse_json(
          R"({"kty": "RSA", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
                            "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"})")
          .value();
  EXPECT_EQ(jwk_thumbprint(rsa), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  // RFC 8037, A.3.
  EXPECT_EQ(key_in(ed_rfc8037).thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  for (const char* other :
       {"{}", R"({"kty": "oct", "k": "AA"})", R"({"kty": "EC", "crv": "P-256", "x": "AA"})", "[]"}) {
    EXPECT_EQ(jwk_thumbprint(parse_json(other).value()), "") << other;
  }
}

TEST(Jwk, PublicHalfHasNothingPrivate) {
  EXPECT_EQ(to_text(key_in(ec_rfc7515).public_jwk()),
            R"({"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
            R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})");
  EXPECT_EQ(to_text(key_in(ed_rfc8037).public_jwk()),
            R"({"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})");
  const auto rsa = key_in(rsa_rfc7515).public_jwk();
  EXPECT_EQ(rsa["e"].text(), "AQAB");
  EXPECT_EQ(rsa.size(), 3u);
}

TEST(SigningKey, EveryFormOfPem_IsRead) {
  struct Case {
    std::string_view pem;
    std::string algorithm;
  };
  for (const auto& [pem, algorithm] : std::vector<Case>{{rsa_rfc7515, "RS256"},
                                                        {ec_rfc7515, "ES256"},
                                                        {ec_older_form, "ES256"},
                                                        {p384, "ES384"},
                                                        {ed_rfc8037, "EdDSA"}}) {
    const auto key = key_in(pem);
    EXPECT_EQ(key.default_algorithm(), algorithm);
    // What is written is PKCS#8, and the same key.
    const auto written = key.pem();
    EXPECT_THAT(std::string(written.reveal()), testing::StartsWith("-----BEGIN PRIVATE KEY-----\n"));
    EXPECT_EQ(key_in(written.reveal()).thumbprint(), key.thumbprint());
  }
  EXPECT_EQ(key_in(ec_older_form).thumbprint(), key_in(ec_rfc7515).thumbprint());
}

TEST(SigningKey, WhatCannotSign_IsAnErrorThatSaysWhy) {
  struct Case {
    std::string pem;
    std::string says;
  };
  for (const auto& [pem, says] : std::vector<Case>{
           {std::string(encrypted), "it is encrypted with a password; write it without one"},
           {std::string(encrypted_older_form), "it is encrypted with a password; write it without one"},
           {std::string(public_only), "the PEM text holds no private key"},
           {std::string(p521), "it must be of EC (P-256 or P-384), RSA or Ed25519"},
           {std::string(rsa_too_short), "an RSA key must have at least 2048 bits"},
           {"", "the text is not a private key in PEM format"},
           {"secret words", "the text is not a private key in PEM format"},
           {std::string(ec_rfc7515.substr(0, 120)), "the text is not a private key in PEM format"},
           {std::string(100'000, 'x'), "it is larger than 64 KiB"},
       }) {
    EXPECT_THAT(SigningKey::from_pem(Secret(pem)), FailsWith(Errc::config, "the private key cannot be used: " + says));
  }
}

TEST(SigningKey, MadeOfRandomBytes_IsTheirKey) {
  const auto key = SigningKey::make_p256(counting());
  EXPECT_EQ(key.thumbprint(), SigningKey::make_p256(counting()).thumbprint());
  EXPECT_EQ(key_in(key.pem().reveal()).thumbprint(), key.thumbprint());
  const auto random = system_random();
  EXPECT_NE(SigningKey::make_p256(random).thumbprint(), SigningKey::make_p256(random).thumbprint());
  // Bytes that are not a key are passed over.
  int asked = 0;
  const auto second = SigningKey::make_p256([&](std::span<std::uint8_t> bytes) {
    std::ranges::fill(bytes, asked++ == 0 ? std::uint8_t{0xFF} : std::uint8_t{7});
  });
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(second.thumbprint().empty());
}

// RFC 7515, A.2: the same bytes and the same key make the same signature.
TEST(Jws, Rs256_IsTheSignatureOfTheSpecification) {
  const auto key = key_in(rsa_rfc7515);
  const auto input = "eyJhbGciOiJSUzI1NiJ9." + std::string(rfc7515_payload);
  EXPECT_EQ(base64url_encode(key.signature(input, "RS256").value()), rfc7515_rs256);
  EXPECT_EQ(to_text(verify_jws(input + "." + std::string(rfc7515_rs256), key.public_jwk()).value()),
            R"({"iss":"joe","exp":1300819380,"http://example.com/is_root":true})");
}

// RFC 7515, A.3: made with other random bytes each time, so it can only be checked.
TEST(Jws, Es256_VerifiesTheSignatureOfTheSpecification) {
  const auto key = key_in(ec_rfc7515);
  const auto input = "eyJhbGciOiJFUzI1NiJ9." + std::string(rfc7515_payload);
  EXPECT_TRUE(verify_jws(input + "." + std::string(rfc7515_es256), key.public_jwk()));
  EXPECT_EQ(key.signature(input, "ES256")->size(), 64u);
}

// RFC 8037, A.4 and A.5: of a text that is not JSON.
TEST(Jws, EdDsa_IsTheSignatureOfTheSpecification) {
  const auto key = key_in(ed_rfc8037);
  const std::string input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  const std::string signature =
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  EXPECT_EQ(base64url_encode(key.signature(input, "EdDSA").value()), signature);
  EXPECT_TRUE(verifies(input, base64url_decode(signature).value(), "EdDSA", key.public_jwk()));
  EXPECT_THAT(verify_jws(input + "." + signature, key.public_jwk()), FailsWith(Errc::protocol));
}

TEST(Jws, EveryAlgorithm_SignsAndVerifies) {
  struct Case {
    std::string_view pem;
    std::string algorithm;
    std::size_t size;
  };
  const Json payload{{"a", 1}};
  for (const auto& [pem, algorithm, size] : std::vector<Case>{{ec_rfc7515, "ES256", 64},
                                                              {p384, "ES384", 96},
                                                              {rsa_rfc7515, "RS256", 256},
                                                              {rsa_rfc7515, "RS384", 256},
                                                              {rsa_rfc7515, "RS512", 256},
                                                              {rsa_rfc7515, "PS256", 256},
                                                              {ed_rfc8037, "EdDSA", 64}}) {
    SCOPED_TRACE(algorithm);
    const auto key = key_in(pem);
    // Often enough for numbers with zeros in front.
    for (int times = 0; times < (size == 64 ? 40 : 2); ++times) {
      const auto compact = key.sign(Json{{"kid", "k"}}, payload, algorithm).value();
      EXPECT_EQ(header_of(compact), (Json{{"kid", "k"}, {"alg", algorithm}}));
      EXPECT_EQ(base64url_decode(compact.substr(compact.rfind('.') + 1))->size(), size);
      EXPECT_EQ(verify_jws(compact, key.public_jwk()).value(), payload);
    }
  }
}

TEST(Jws, AlgorithmOfAnotherKey_IsRefused) {
  for (const auto& [pem, algorithm] : std::vector<std::pair<std::string_view, std::string>>{{ec_rfc7515, "ES384"},
                                                                                            {ec_rfc7515, "RS256"},
                                                                                            {ec_rfc7515, "none"},
                                                                                            {ec_rfc7515, "HS256"},
                                                                                            {ec_rfc7515, ""},
                                                                                            {p384, "ES256"},
                                                                                            {rsa_rfc7515, "EdDSA"},
                                                                                            {ed_rfc8037, "ES256"}}) {
    EXPECT_THAT(key_in(pem).sign({}, {}, algorithm), FailsWith(Errc::config, HasSubstr("cannot sign with")))
        << algorithm;
  }
}

TEST(Jws, WhatWasNotSignedByTheKey_IsRefused) {
  const auto key = key_in(ec_rfc7515);
  const auto jwk = key.public_jwk();
  const auto good = key.sign(Json{{"typ", "JWT"}}, Json{{"sub", "a"}}, "ES256").value();
  const auto parts = split(good, '.');
  const std::string head(parts[0]), payload(parts[1]), signature(parts[2]);
  ASSERT_TRUE(verify_jws(good, jwk));
  auto encoded = [](const char* text) { return base64url_encode(text); };
  struct Case {
    std::string compact;
    Errc code;
  };
  for (const auto& [compact, code] : std::vector<Case>{
           {head + "." + encoded(R"({"sub":"b"})") + "." + signature, Errc::denied},
           {encoded(R"({"alg":"none"})") + "." + payload + ".", Errc::denied},
           {encoded(R"({"alg":"HS256"})") + "." + payload + "." + signature, Errc::denied},
           {encoded("{}") + "." + payload + "." + signature, Errc::denied},
           {head + "." + payload + ".", Errc::denied},
           {head + "." + payload + "." + signature.substr(0, 43), Errc::denied},
           {head + "." + payload + "." + base64url_encode(std::string(64, '\0')), Errc::denied},
           {key.sign(Json{{"crit", Json::array({"b64"})}}, {}, "ES256").value(), Errc::unsupported},
           {key.sign(Json::object(), Json("text"), "ES256").value(), Errc::protocol},
           {head + "." + payload, Errc::protocol},
           {good + ".x", Errc::protocol},
           {"", Errc::protocol},
           {"..", Errc::protocol},
           {"a.b.c", Errc::protocol},
           {head + "." + payload + ".***", Errc::protocol},
       }) {
    EXPECT_THAT(verify_jws(compact, jwk), FailsWith(code)) << compact;
  }
  for (const char* other : {"{}", R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})", R"({"kty":"EC","crv":"P-521"})",
                            R"({"kty":"RSA","n":"AQAB","e":"AQAB"})", R"({"kty":"OKP","crv":"Ed25519","x":"AA"})"}) {
    EXPECT_THAT(verify_jws(good, parse_json(other).value()), FailsWith(Errc::denied)) << other;
  }
  // A point that is not on the curve.
  Json moved = jwk;
  moved["x"] = jwk["y"];
  EXPECT_THAT(verify_jws(good, moved), FailsWith(Errc::denied));
}

TEST(Jwt, PayloadIsReadWithoutItsKey) {
  const auto jwt = "eyJhbGciOiJFUzI1NiJ9." + std::string(rfc7515_payload) + ".AA";
  EXPECT_EQ((*jwt_payload(jwt))["iss"].text(), "joe");
  for (const char* other : {"", "abc", "a.b.c", "eyJhbGciOiJFUzI1NiJ9.RXhhbXBsZQ.AA", "eyJhbGciOiJFUzI1NiJ9.e30"}) {
    EXPECT_EQ(jwt_payload(other), std::nullopt) << other;
  }
}

TEST(Jwt, SignedClaims) {
  const auto key = key_in(ec_rfc7515);
  const std::chrono::sys_seconds now{1'700'000'000s};
  const auto jwt =
      signed_jwt(key, "", {.issuer = "client", .subject = "client", .audience = "https://as.example"}, now, counting())
          .value();
  EXPECT_EQ(header_of(jwt), (Json{{"typ", "JWT"}, {"alg", "ES256"}}));
  EXPECT_EQ(verify_jws(jwt, key.public_jwk()).value(), (Json{{"iss", "client"},
                                                             {"sub", "client"},
                                                             {"aud", "https://as.example"},
                                                             {"iat", 1'700'000'000},
                                                             {"exp", 1'700'000'060},
                                                             {"jti", random_token(counting())}}));
  EXPECT_THAT(signed_jwt(key, "RS256", {}, now, counting()), FailsWith(Errc::config));
}

// RFC 9449, 4.2.
TEST(Dpop, ProofIsForOneRequest) {
  const auto key = key_in(ec_rfc7515);
  const std::chrono::sys_seconds now{1'562'262'616s};
  const auto first =
      dpop_proof(key, {.method = "POST", .url = "https://server.example.com:443/token?a=b#c"}, now, counting()).value();
  EXPECT_EQ(header_of(first), (Json{{"typ", "dpop+jwt"}, {"jwk", key.public_jwk()}, {"alg", "ES256"}}));
  EXPECT_EQ(verify_jws(first, key.public_jwk()).value(), (Json{{"jti", random_token(counting())},
                                                               {"htm", "POST"},
                                                               {"htu", "https://server.example.com/token"},
                                                               {"iat", 1'562'262'616}}));
  // The token of RFC 9449, 7.1, with its hash; and a nonce.
  const auto random = system_random();
  const DpopRequest resource{.method = "GET",
                             .url = "https://resource.example.org/protectedresource",
                             .access_token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU",
                             .nonce = "eyJ7S_zG.eyJH0-Z.HX4w-7v"};
  const auto second = verify_jws(dpop_proof(key, resource, now, random).value(), key.public_jwk()).value();
  EXPECT_EQ(second["ath"].text(), "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
  EXPECT_EQ(second["nonce"].text(), "eyJ7S_zG.eyJH0-Z.HX4w-7v");
  const auto third = verify_jws(dpop_proof(key, resource, now, random).value(), key.public_jwk()).value();
  EXPECT_NE(second["jti"], third["jti"]);
  EXPECT_FALSE(dpop_proof(key, {.method = "GET", .url = "not a url"}, now, random));
}

}  // namespace
}  // namespace patchbay
