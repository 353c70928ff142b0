#include "auth/store/sealed_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace patchbay {
namespace {

constexpr std::string_view magic = "PBSECRET";
constexpr std::uint8_t version = 1;
constexpr std::size_t salt_size = 16;
constexpr std::size_t check_size = 16;
constexpr std::size_t salt_at = 16;
constexpr std::size_t check_at = salt_at + salt_size;
constexpr std::size_t nonce_at = check_at + check_size;
constexpr std::size_t sealed_at = nonce_at + aes_nonce_size;
constexpr std::size_t key_size = aes_key_size + check_size;

// Whoever can write the file chooses the cost of opening it.
constexpr std::uint64_t most_memory = 512u << 20;
constexpr std::uint8_t most_p = 16;

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

bool is_bearable(ScryptCost cost) {
  return cost.log_n >= 1 && cost.log_n <= 24 && cost.r >= 1 && cost.p >= 1 && cost.p <= most_p &&
         cost.memory() <= most_memory;
}

std::string header_text(const SealedHeader& header) {
  std::string text(magic);
  for (const auto byte : {version, static_cast<std::uint8_t>(header.protection), header.cost.log_n, header.cost.r,
                          header.cost.p, std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}}) {
    text.push_back(static_cast<char>(byte));
  }
  return text + header.salt + header.check;
}

AesKey aes_key(const SealedKey& key) { return key.bytes().first<aes_key_size>(); }

// ---- names and values: for each, its length in four bytes (the most significant first) and its bytes

class Writer {
 public:
  explicit Writer(std::span<std::uint8_t> out) : out_(out) {}
  void add(std::string_view text) {
    for (int shift = 24; shift >= 0; shift -= 8) out_[at_++] = static_cast<std::uint8_t>(text.size() >> shift);
    std::ranges::copy(text, out_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ += text.size();
  }

 private:
  std::span<std::uint8_t> out_;
  std::size_t at_ = 0;
};

std::optional<std::string_view> next_text(std::string_view& rest) {
  if (rest.size() < 4) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8 | byte_at(rest, i);
  rest.remove_prefix(4);
  if (rest.size() < size) return std::nullopt;
  const auto text = rest.substr(0, size);
  rest.remove_prefix(size);
  return text;
}

}  // namespace

Result<SealedHeader> read_sealed_header(std::string_view file) {
  if (!file.starts_with(magic)) return fail(Errc::config, "it is not an encrypted file of secrets");
  if (file.size() <= magic.size()) return fail(Errc::config, "it is cut off");
  // Before its size: what a newer version needs is not known here.
  if (const auto found = byte_at(file, magic.size()); found > version) {
    return fail(Errc::config, fmt::format("it has version {}, but this patchbay knows only version {}; use a newer "
                                          "patchbay",
                                          found, version));
  }
  if (file.size() < sealed_at + aes_tag_size) return fail(Errc::config, "it is cut off");
  const auto protection = byte_at(file, 9);
  SealedHeader header{static_cast<FileProtection>(protection),
                      {byte_at(file, 10), byte_at(file, 11), byte_at(file, 12)},
                      std::string(file.substr(salt_at, salt_size)),
                      std::string(file.substr(check_at, check_size))};
  const bool known = protection == static_cast<std::uint8_t>(FileProtection::key_file) ||
                     protection == static_cast<std::uint8_t>(FileProtection::passphrase);
  if (byte_at(file, magic.size()) != version || !known || file.substr(13, 3) != std::string_view("\0\0\0", 3)) {
    return fail(Errc::config, "it is damaged: its header makes no sense");
  }
  if (!is_bearable(header.cost)) return fail(Errc::config, "it is damaged: opening it would take too much memory");
  return header;
}

Result<SealedKey> derive_sealed_key(std::string_view from, std::string_view salt, ScryptCost cost) {
  SealedKey key(key_size);
  if (!is_bearable(cost) || !scrypt(from, salt, cost, key.bytes())) {
    return fail(Errc::config,
                fmt::format("no key could be derived; that needs {} MiB of memory", (cost.memory() >> 20) + 1));
  }
  return key;
}

bool fits(const SealedKey& key, const SealedHeader& header) {
  if (key.size() != key_size || header.check.size() != check_size) return false;
  const auto check = key.text().substr(aes_key_size);
  unsigned difference = 0;
  for (std::size_t i = 0; i < check_size; ++i) difference |= byte_at(check, i) ^ byte_at(header.check, i);
  return difference == 0;
}

Result<NewSeal> make_seal(FileProtection protection, std::string_view from, ScryptCost cost, const Random& random) {
  std::string salt(salt_size, '\0');
  random({reinterpret_cast<std::uint8_t*>(salt.data()), salt.size()});
  auto key = derive_sealed_key(from, salt, cost);
  if (!key) return std::unexpected(std::move(key).error());
  std::string check(key->text().substr(aes_key_size));
  return NewSeal{{protection, cost, std::move(salt), std::move(check)}, std::move(*key)};
}

const std::string_view* SealedSecrets::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

Result<SealedSecrets> open_sealed(std::string_view file, const SealedKey& key) {
  const auto header = read_sealed_header(file);
  if (!header) return std::unexpected(header.error());
  if (!fits(key, *header)) return fail(Errc::config, "it was encrypted with another key");
  const auto sealed = file.substr(sealed_at);
  const AesNonce nonce(reinterpret_cast<const std::uint8_t*>(file.data()) + nonce_at, aes_nonce_size);
  SealedSecrets secrets;
  secrets.memory_ = KeyMemory(sealed.size() - aes_tag_size);
  if (!aes_open(aes_key(key), nonce, sealed, file.substr(0, nonce_at), secrets.memory_.bytes())) {
    return fail(Errc::config, "it is damaged: its content is not what was written");
  }
  auto rest = secrets.memory_.text();
  while (!rest.empty()) {
    const auto name = next_text(rest);
    const auto value = name ? next_text(rest) : std::nullopt;
    if (!value || !secrets.entries_.emplace(*name, *value).second) {
      return fail(Errc::config, "it is damaged: its content makes no sense");
    }
  }
  return secrets;
}

Result<std::string> seal(const SecretTexts& entries, const SealedHeader& header, const SealedKey& key,
                         const Random& random) {
  if (!fits(key, header)) return fail(Errc::internal, "the key does not belong to the file");
  std::size_t size = 0;
  for (const auto& [name, value] : entries) size += 8 + name.size() + value.size();
  if (size > most_sealed) {
    return fail(Errc::config, fmt::format("the encrypted file would be larger than {} MiB", most_sealed >> 20));
  }
  KeyMemory plain(size);
  Writer writer(plain.bytes());
  for (const auto& [name, value] : entries) {
    writer.add(name);
    writer.add(value);
  }
  auto file = header_text(header);
  const auto context = file;
  file.resize(sealed_at + size + aes_tag_size);
  const std::span out(reinterpret_cast<std::uint8_t*>(file.data()), file.size());
  const auto nonce = out.subspan<nonce_at, aes_nonce_size>();
  random(nonce);
  if (!aes_seal(aes_key(key), nonce, plain.text(), context, out.subspan(sealed_at))) {
    return fail(Errc::internal, "the secrets could not be encrypted");
  }
  return file;
}

}  // namespace patchbay
