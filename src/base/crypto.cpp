#include "base/crypto.h"

#include <algorithm>
#include <limits>
#include <memory>

// SHA256_Init and its like are called deprecated since OpenSSL 3; sha256() says why they are used.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

namespace patchbay {
namespace {

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

std::string encode(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out.push_back(alphabet[bits >> count & 63]);
    }
  }
  if (count > 0) out.push_back(alphabet[bits << (6 - count) & 63]);
  while (pad && out.size() % 4 != 0) out.push_back('=');
  return out;
}

Result<std::string> decode(std::string_view text, std::string_view alphabet, bool padded) {
  auto bad = [] { return fail(Errc::invalid_argument, "not valid base64"); };
  if (padded) {
    if (text.size() % 4 != 0) return bad();
    if (text.ends_with('=')) text.remove_suffix(1);
    if (text.ends_with('=')) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return bad();
  std::array<std::int8_t, 256> value{};
  value.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    value[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::int8_t>(i);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    auto v = value[static_cast<std::uint8_t>(c)];
    if (v < 0) return bad();
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return out;
}

constexpr std::string_view standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The library counts in int.
constexpr std::size_t most_bytes = std::numeric_limits<int>::max();

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

}  // namespace

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest;
  // Not SHA256(): it looks for a provider first, and that sets up all of OpenSSL, configuration file included. A
  // command that only needs the name of a file takes a quarter longer for it.
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string text;
  for (auto byte : sha256(bytes)) {
    text.push_back(hex[byte >> 4]);
    text.push_back(hex[byte & 15]);
  }
  return text;
}

std::string sha1(std::string_view bytes) {
  std::string digest(SHA_DIGEST_LENGTH, '\0');
  SHA1(bytes_of(bytes), bytes.size(), reinterpret_cast<std::uint8_t*>(digest.data()));
  return digest;
}

std::string base64_encode(std::string_view bytes) { return encode(bytes, standard, true); }
Result<std::string> base64_decode(std::string_view text) { return decode(text, standard, true); }
std::string base64url_encode(std::string_view bytes) { return encode(bytes, url_safe, false); }
Result<std::string> base64url_decode(std::string_view text) { return decode(text, url_safe, false); }

void wipe(std::span<std::uint8_t> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

bool aes_seal(AesKey key, AesNonce nonce, std::string_view plain, std::string_view context,
              std::span<std::uint8_t> out) noexcept {
  if (plain.size() > most_bytes || context.size() > most_bytes || out.size() != plain.size() + aes_tag_size)
    return false;
  CipherContext cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  return cipher && EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1 &&
         EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(context), static_cast<int>(context.size())) == 1 &&
         EVP_EncryptUpdate(cipher.get(), out.data(), &size, bytes_of(plain), static_cast<int>(plain.size())) == 1 &&
         EVP_EncryptFinal_ex(cipher.get(), out.data() + size, &size) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, aes_tag_size, out.data() + plain.size()) == 1;
}

bool aes_open(AesKey key, AesNonce nonce, std::string_view sealed, std::string_view context,
              std::span<std::uint8_t> out) noexcept {
  if (sealed.size() < aes_tag_size || sealed.size() > most_bytes || context.size() > most_bytes ||
      out.size() != sealed.size() - aes_tag_size) {
    return false;
  }
  // The library takes the tag as memory it might change.
  std::array<std::uint8_t, aes_tag_size> tag;
  std::copy_n(bytes_of(sealed.substr(out.size())), tag.size(), tag.begin());
  CipherContext cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  return cipher && EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1 &&
         EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(context), static_cast<int>(context.size())) == 1 &&
         EVP_DecryptUpdate(cipher.get(), out.data(), &size, bytes_of(sealed), static_cast<int>(out.size())) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, aes_tag_size, tag.data()) == 1 &&
         EVP_DecryptFinal_ex(cipher.get(), out.data() + size, &size) == 1;
}

bool scrypt(std::string_view from, std::string_view salt, ScryptCost cost, std::span<std::uint8_t> out) noexcept {
  // The library's own limit is 32 MiB; it needs a little more than the table.
  const std::uint64_t memory = cost.memory() + (std::uint64_t{1} << 20) + std::uint64_t{128} * cost.r * cost.p;
  return cost.log_n < 32 &&
         EVP_PBE_scrypt(from.data(), from.size(), bytes_of(salt), salt.size(), std::uint64_t{1} << cost.log_n, cost.r,
                        cost.p, memory, out.data(), out.size()) == 1;
}

Sealer::Sealer(Random random) : random_(std::move(random)) { random_(key_); }

std::string Sealer::seal(std::string_view plain, std::string_view context) const {
  std::string box(aes_nonce_size + plain.size() + aes_tag_size, '\0');
  const std::span out(reinterpret_cast<std::uint8_t*>(box.data()), box.size());
  random_(out.first<aes_nonce_size>());
  if (!aes_seal(key_, out.first<aes_nonce_size>(), plain, context, out.subspan(aes_nonce_size))) {
    throw Error(Errc::internal, "the state of a request could not be encrypted");
  }
  return base64url_encode(box);
}

Result<std::string> Sealer::open(std::string_view sealed, std::string_view context) const {
  auto refused = [] {
    return fail(
        Errc::invalid_argument,
        "requestState was not issued by this server, or was altered; send the request again without requestState");
  };
  const auto box = base64url_decode(sealed);
  if (!box || box->size() < aes_nonce_size + aes_tag_size) return refused();
  std::string plain(box->size() - aes_nonce_size - aes_tag_size, '\0');
  const std::span out(reinterpret_cast<std::uint8_t*>(plain.data()), plain.size());
  const AesNonce nonce(bytes_of(*box), aes_nonce_size);
  if (!aes_open(key_, nonce, std::string_view(*box).substr(aes_nonce_size), context, out)) return refused();
  return plain;
}

}  // namespace patchbay
