#include "auth/jose.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "http/url.h"

namespace patchbay {
namespace {

constexpr std::size_t largest_pem = 64u << 10;
constexpr std::size_t largest_jws = 1u << 20;
constexpr int least_rsa_bits = 2048;
constexpr int most_rsa_bits = 16384;

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    free(it);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_clear_free>>;
using Buffer = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;
using Group = std::unique_ptr<EC_GROUP, Freed<EC_GROUP_free>>;
using Point = std::unique_ptr<EC_POINT, Freed<EC_POINT_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }
std::uint8_t* bytes_of(std::string& text) { return reinterpret_cast<std::uint8_t*>(text.data()); }

[[noreturn]] void broken(std::string_view what) {
  ERR_clear_error();
  throw Error(Errc::internal, fmt::format("{} failed in the cryptographic library", what));
}

enum class Kind : std::uint8_t { p256, p384, rsa, ed25519 };

struct Curve {
  Kind kind;
  std::string_view name;  // in a JWK
  const char* group;      // to OpenSSL
  int bytes;
};
constexpr std::array curves{Curve{Kind::p256, "P-256", "prime256v1", 32}, Curve{Kind::p384, "P-384", "secp384r1", 48}};

const Curve* curve_of(Kind kind) {
  const auto found = std::ranges::find(curves, kind, &Curve::kind);
  return found == curves.end() ? nullptr : &*found;
}

struct Algorithm {
  std::string_view name;
  Kind kind;
  const EVP_MD* (*digest)();
  bool pss = false;
};
const EVP_MD* no_digest() { return nullptr; }
constexpr std::array algorithms{
    Algorithm{"ES256", Kind::p256, EVP_sha256},   Algorithm{"ES384", Kind::p384, EVP_sha384},
    Algorithm{"RS256", Kind::rsa, EVP_sha256},    Algorithm{"RS384", Kind::rsa, EVP_sha384},
    Algorithm{"RS512", Kind::rsa, EVP_sha512},    Algorithm{"PS256", Kind::rsa, EVP_sha256, true},
    Algorithm{"EdDSA", Kind::ed25519, no_digest},
};

const Algorithm* algorithm_for(Kind kind, std::string_view name) {
  const auto found =
      std::ranges::find_if(algorithms, [&](const auto& one) { return one.name == name && one.kind == kind; });
  return found == algorithms.end() ? nullptr : &*found;
}

std::string number_bytes(const BIGNUM* number, int size) {
  std::string out(static_cast<std::size_t>(size), '\0');
  if (BN_bn2binpad(number, bytes_of(out), size) != size) broken("writing a number");
  return out;
}

Number number_in(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) broken("reading a key");
  return Number(number);
}

// OpenSSL signs with ECDSA in DER; JOSE wants the two numbers one behind the other (RFC 7518, 3.4).
std::string raw_from_der(const std::string& der, int bytes) {
  const auto* at = bytes_of(std::string_view(der));
  const EcdsaSignature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) broken("signing");
  return number_bytes(ECDSA_SIG_get0_r(signature.get()), bytes) +
         number_bytes(ECDSA_SIG_get0_s(signature.get()), bytes);
}

std::optional<std::string> der_from_raw(std::string_view raw, int bytes) {
  if (raw.size() != static_cast<std::size_t>(2 * bytes)) return std::nullopt;
  const EcdsaSignature signature(ECDSA_SIG_new());
  Number r(BN_bin2bn(bytes_of(raw), bytes, nullptr));
  Number s(BN_bin2bn(bytes_of(raw) + bytes, bytes, nullptr));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return std::nullopt;
  (void)r.release();
  (void)s.release();
  std::uint8_t* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool use_pss(EVP_PKEY_CTX* context) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

std::string sign_bytes(EVP_PKEY* key, const Algorithm& algorithm, std::string_view bytes) {
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* key_context = nullptr;
  if (!context || EVP_DigestSignInit(context.get(), &key_context, algorithm.digest(), nullptr, key) != 1 ||
      (algorithm.pss && !use_pss(key_context))) {
    broken("signing");
  }
  std::size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, bytes_of(bytes), bytes.size()) != 1) broken("signing");
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), bytes_of(signature), &size, bytes_of(bytes), bytes.size()) != 1) broken("signing");
  signature.resize(size);
  const auto* curve = curve_of(algorithm.kind);
  return curve ? raw_from_der(signature, curve->bytes) : signature;
}

// With values that the caller keeps until it is made.
KeyPtr key_from(const char* type, OSSL_PARAM_BLD* builder, int selection) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, selection, params.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return KeyPtr(key);
}

std::string decoded_member(const Json& jwk, std::string_view name) {
  const auto text = jwk[name].text();
  return text && text->size() <= largest_jws ? base64url_decode(*text).value_or("") : std::string();
}

struct PublicKey {
  KeyPtr key;
  Kind kind;
};

std::optional<PublicKey> ec_public_key(const Json& jwk) {
  const auto name = jwk["crv"].text();
  const auto* curve = std::ranges::find_if(curves, [&](const Curve& one) { return name == one.name; });
  if (curve == curves.end()) return std::nullopt;
  const auto x = decoded_member(jwk, "x");
  const auto y = decoded_member(jwk, "y");
  const auto size = static_cast<std::size_t>(curve->bytes);
  if (x.size() != size || y.size() != size) return std::nullopt;
  const std::string point = "\x04" + x + y;
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return std::nullopt;
  }
  auto key = key_from("EC", builder.get(), EVP_PKEY_PUBLIC_KEY);
  if (!key) return std::nullopt;
  return PublicKey{std::move(key), curve->kind};
}

std::optional<PublicKey> rsa_public_key(const Json& jwk) {
  const auto n = decoded_member(jwk, "n");
  const auto e = decoded_member(jwk, "e");
  if (n.size() < least_rsa_bits / 8 || n.size() > most_rsa_bits / 8 || e.empty() || e.size() > 8) return std::nullopt;
  const Number modulus(BN_bin2bn(bytes_of(std::string_view(n)), static_cast<int>(n.size()), nullptr));
  const Number exponent(BN_bin2bn(bytes_of(std::string_view(e)), static_cast<int>(e.size()), nullptr));
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return std::nullopt;
  }
  auto key = key_from("RSA", builder.get(), EVP_PKEY_PUBLIC_KEY);
  if (!key) return std::nullopt;
  return PublicKey{std::move(key), Kind::rsa};
}

std::optional<PublicKey> public_key(const Json& jwk) {
  const auto type = jwk["kty"].text();
  if (type == "EC") return ec_public_key(jwk);
  if (type == "RSA") return rsa_public_key(jwk);
  if (type != "OKP" || jwk["crv"].text() != "Ed25519") return std::nullopt;
  const auto x = decoded_member(jwk, "x");
  KeyPtr key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(std::string_view(x)), x.size()));
  ERR_clear_error();
  if (!key) return std::nullopt;
  return PublicKey{std::move(key), Kind::ed25519};
}

std::optional<Kind> kind_of(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return Kind::ed25519;
  if (EVP_PKEY_is_a(key, "RSA") == 1) return Kind::rsa;
  if (EVP_PKEY_is_a(key, "EC") != 1) return std::nullopt;
  std::array<char, 64> group{};
  if (EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) != 1) return std::nullopt;
  const auto* curve = std::ranges::find(curves, std::string_view(group.data()), &Curve::group);
  return curve == curves.end() ? std::nullopt : std::optional(curve->kind);
}

std::unexpected<Error> bad_key(std::string_view why) {
  ERR_clear_error();
  return fail(Errc::config, fmt::format("the private key cannot be used: {}", why));
}

// Header, payload and signature of a compact JWS, encoded.
std::optional<std::array<std::string_view, 3>> parts_of(std::string_view compact) {
  if (compact.size() > largest_jws) return std::nullopt;
  const auto parts = split(compact, '.');
  if (parts.size() != 3) return std::nullopt;
  return std::array{parts[0], parts[1], parts[2]};
}

std::optional<Json> object_in(std::string_view encoded) {
  const auto text = base64url_decode(encoded);
  if (!text) return std::nullopt;
  auto json = parse_json(*text);
  return json && json->is_object() ? std::optional(std::move(*json)) : std::nullopt;
}

}  // namespace

std::string pkce_challenge(std::string_view verifier) {
  const auto digest = sha256(verifier);
  return base64url_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string random_token(const Random& random, std::size_t bytes) {
  std::string raw(bytes, '\0');
  random({bytes_of(raw), raw.size()});
  return base64url_encode(raw);
}

Pkce make_pkce(const Random& random) {
  auto verifier = random_token(random);
  auto challenge = pkce_challenge(verifier);
  return {.verifier = Secret(std::move(verifier)), .challenge = std::move(challenge)};
}

struct SigningKey::Key {
  KeyPtr key;
  Kind kind;
};

Result<SigningKey> SigningKey::from_pem(const Secret& pem) {
  const auto text = pem.reveal();
  if (text.size() > largest_pem) return bad_key("it is larger than 64 KiB");
  const Buffer buffer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  bool asked = false;
  // Called only for a key that is encrypted; without it the library would ask on the terminal.
  auto password = [](char*, int, int, void* noted) {
    *static_cast<bool*>(noted) = true;
    return -1;
  };
  KeyPtr key(buffer ? PEM_read_bio_PrivateKey(buffer.get(), nullptr, password, &asked) : nullptr);
  if (asked) return bad_key("it is encrypted with a password; write it without one");
  if (!key) {
    if (text.contains("PUBLIC KEY") || text.contains("CERTIFICATE"))
      return bad_key("the PEM text holds no private key");
    return bad_key("the text is not a private key in PEM format");
  }
  const auto kind = kind_of(key.get());
  if (!kind) return bad_key("it must be of EC (P-256 or P-384), RSA or Ed25519");
  if (kind == Kind::rsa && EVP_PKEY_get_bits(key.get()) < least_rsa_bits) {
    return bad_key(fmt::format("an RSA key must have at least {} bits", least_rsa_bits));
  }
  if (kind == Kind::rsa && EVP_PKEY_get_bits(key.get()) > most_rsa_bits) {
    return bad_key(fmt::format("an RSA key may have at most {} bits", most_rsa_bits));
  }
  return SigningKey(std::make_shared<const Key>(std::move(key), *kind));
}

SigningKey SigningKey::make_p256(const Random& random) {
  const auto& curve = curves[0];
  const Group group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const Point point(group ? EC_POINT_new(group.get()) : nullptr);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!group || !point || !builder) broken("making a key");
  // A number below the order of the group, which nearly every one of 256 bits is.
  Number scalar;
  for (int tries = 0; tries < 64 && !scalar; ++tries) {
    std::array<std::uint8_t, 32> bytes{};
    random(bytes);
    Number number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), BN_secure_new()));
    OPENSSL_cleanse(bytes.data(), bytes.size());
    if (number && !BN_is_zero(number.get()) && BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) < 0) {
      scalar = std::move(number);
    }
  }
  std::array<std::uint8_t, 65> encoded{};
  if (!scalar || EC_POINT_mul(group.get(), point.get(), scalar.get(), nullptr, nullptr, nullptr) != 1 ||
      EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, encoded.data(), encoded.size(),
                         nullptr) != encoded.size() ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, encoded.data(), encoded.size()) != 1 ||
      OSSL_PARAM_BLD_push_BN_pad(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar.get(), 32) != 1) {
    broken("making a key");
  }
  auto key = key_from("EC", builder.get(), EVP_PKEY_KEYPAIR);
  if (!key) broken("making a key");
  return SigningKey(std::make_shared<const Key>(std::move(key), curve.kind));
}

Secret SigningKey::pem() const {
  const Buffer buffer(BIO_new(BIO_s_secmem()));
  if (!buffer ||
      PEM_write_bio_PKCS8PrivateKey(buffer.get(), key_->key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    broken("writing a key");
  char* text = nullptr;
  const long size = BIO_get_mem_data(buffer.get(), &text);
  return Secret(std::string(text, static_cast<std::size_t>(size)));
}

Json SigningKey::public_jwk() const {
  auto* key = key_->key.get();
  switch (key_->kind) {
    case Kind::p256:
    case Kind::p384: {
      const auto& curve = *curve_of(key_->kind);
      const auto x = number_in(key, OSSL_PKEY_PARAM_EC_PUB_X);
      const auto y = number_in(key, OSSL_PKEY_PARAM_EC_PUB_Y);
      return {{"crv", curve.name},
              {"kty", "EC"},
              {"x", base64url_encode(number_bytes(x.get(), curve.bytes))},
              {"y", base64url_encode(number_bytes(y.get(), curve.bytes))}};
    }
    case Kind::rsa: {
      const auto e = number_in(key, OSSL_PKEY_PARAM_RSA_E);
      const auto n = number_in(key, OSSL_PKEY_PARAM_RSA_N);
      return {{"e", base64url_encode(number_bytes(e.get(), BN_num_bytes(e.get())))},
              {"kty", "RSA"},
              {"n", base64url_encode(number_bytes(n.get(), BN_num_bytes(n.get())))}};
    }
    case Kind::ed25519:
      break;
  }
  std::string x(32, '\0');
  std::size_t size = x.size();
  if (EVP_PKEY_get_raw_public_key(key, bytes_of(x), &size) != 1 || size != x.size()) broken("reading a key");
  return {{"crv", "Ed25519"}, {"kty", "OKP"}, {"x", base64url_encode(x)}};
}

std::string SigningKey::thumbprint() const { return jwk_thumbprint(public_jwk()); }

std::string SigningKey::default_algorithm() const {
  return std::string(std::ranges::find(algorithms, key_->kind, &Algorithm::kind)->name);
}

Result<std::string> SigningKey::signature(std::string_view bytes, std::string_view algorithm) const {
  const auto* known = algorithm_for(key_->kind, algorithm);
  if (!known) {
    return fail(Errc::config,
                fmt::format("the private key cannot sign with \"{}\"; it can with {}", algorithm, default_algorithm()));
  }
  return sign_bytes(key_->key.get(), *known, bytes);
}

Result<std::string> SigningKey::sign(const Json& header, const Json& payload, std::string_view algorithm) const {
  Json whole = header;
  whole["alg"] = Json(algorithm);
  auto compact = base64url_encode(to_text(whole)) + "." + base64url_encode(to_text(payload));
  const auto made = signature(compact, algorithm);
  if (!made) return std::unexpected(made.error());
  return compact + "." + base64url_encode(*made);
}

bool verifies(std::string_view bytes, std::string_view signature, std::string_view algorithm, const Json& public_jwk) {
  const auto key = public_key(public_jwk);
  const auto* known = key ? algorithm_for(key->kind, algorithm) : nullptr;
  if (!known) return false;
  std::string sent(signature);
  if (const auto* curve = curve_of(key->kind)) {
    auto der = der_from_raw(signature, curve->bytes);
    if (!der) return false;
    sent = std::move(*der);
  }
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* key_context = nullptr;
  const bool good =
      context && EVP_DigestVerifyInit(context.get(), &key_context, known->digest(), nullptr, key->key.get()) == 1 &&
      (!known->pss || use_pss(key_context)) &&
      EVP_DigestVerify(context.get(), bytes_of(std::string_view(sent)), sent.size(), bytes_of(bytes), bytes.size()) ==
          1;
  ERR_clear_error();
  return good;
}

Result<Json> verify_jws(std::string_view compact, const Json& public_jwk) {
  const auto parts = parts_of(compact);
  const auto header = parts ? object_in((*parts)[0]) : std::nullopt;
  const auto signature = header ? base64url_decode((*parts)[2]) : Result<std::string>(fail(Errc::protocol, ""));
  if (!signature) return fail(Errc::protocol, "it is not a signed statement (JWS)");
  // What must be understood (RFC 7515, 4.1.11), and nothing here is.
  if (header->find("crit")) return fail(Errc::unsupported, "the signed statement (JWS) needs an extension");
  const auto algorithm = (*header)["alg"].text().value_or("");
  const auto signed_part = compact.substr(0, (*parts)[0].size() + 1 + (*parts)[1].size());
  if (!verifies(signed_part, *signature, algorithm, public_jwk)) {
    return fail(Errc::denied, "the signature does not belong to this key");
  }
  auto payload = object_in((*parts)[1]);
  if (!payload) return fail(Errc::protocol, "the signed statement (JWS) is not a JSON object");
  return std::move(*payload);
}

std::string jwk_thumbprint(const Json& jwk) {
  // In the order of their letters, and nothing else.
  static constexpr std::array<std::pair<std::string_view, std::array<std::string_view, 4>>, 3> needed{
      {{"EC", {"crv", "kty", "x", "y"}}, {"RSA", {"e", "kty", "n"}}, {"OKP", {"crv", "kty", "x"}}}};
  for (const auto& [type, names] : needed) {
    if (jwk["kty"].text() != type) continue;
    Json public_half = Json::object();
    for (const auto name : names) {
      if (name.empty()) continue;
      if (!jwk[name].is_string()) return {};
      public_half[name] = jwk[name];
    }
    // The digest of a text, as PKCE has it.
    return pkce_challenge(to_text(public_half));
  }
  return {};
}

std::optional<Json> jwt_payload(std::string_view compact) {
  const auto parts = parts_of(compact);
  if (!parts || !object_in((*parts)[0])) return std::nullopt;
  return object_in((*parts)[1]);
}

Result<std::string> signed_jwt(const SigningKey& key, const std::string& algorithm, const JwtClaims& claims,
                               std::chrono::sys_seconds now, const Random& random) {
  const auto issued = now.time_since_epoch().count();
  return key.sign(Json{{"typ", "JWT"}},
                  Json{{"iss", claims.issuer},
                       {"sub", claims.subject},
                       {"aud", claims.audience},
                       {"iat", issued},
                       {"exp", issued + claims.lifetime.count()},
                       {"jti", random_token(random)}},
                  algorithm.empty() ? key.default_algorithm() : algorithm);
}

Result<std::string> dpop_proof(const SigningKey& key, const DpopRequest& request, std::chrono::sys_seconds now,
                               const Random& random) {
  const auto url = parse_url(request.url);
  if (!url) return std::unexpected(url.error());
  Json payload{{"jti", random_token(random)},
               {"htm", request.method},
               {"htu", url->origin() + url->path},
               {"iat", now.time_since_epoch().count()}};
  if (!request.access_token.empty()) payload["ath"] = pkce_challenge(request.access_token);
  if (!request.nonce.empty()) payload["nonce"] = Json(request.nonce);
  return key.sign(Json{{"typ", "dpop+jwt"}, {"jwk", key.public_jwk()}}, payload, key.default_algorithm());
}

}  // namespace patchbay
