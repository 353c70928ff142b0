#include "auth/store/file_place.h"

#include <utility>

#include <fmt/format.h>

#include "auth/store/kernel_cache.h"
#include "auth/store/key_file.h"
#include "base/whole_file.h"

namespace patchbay {
namespace {

constexpr std::size_t most_bytes = most_sealed + (1u << 10);

// Whoever has lost the key cannot get it back; this is what is left to do.
constexpr std::string_view start_anew = "if it is lost, move the encrypted file away and store the secrets again";

}  // namespace

Result<std::optional<std::string>> FilePlace::text() const { return read_whole_file(options_.file, most_bytes); }

Result<std::optional<FileProtection>> FilePlace::protection() const {
  const auto file = text();
  if (!file) return std::unexpected(file.error());
  if (!*file) return std::nullopt;
  const auto header = read_sealed_header(**file);
  if (!header) return std::unexpected(header.error().within(options_.file));
  return header->protection;
}

// ---- keys

FilePlace::Key FilePlace::key_in_memory(const SealedHeader& header) const {
  const std::scoped_lock lock(mutex_);
  return key_ && fits(*key_, header) ? key_ : nullptr;
}

FilePlace::Key FilePlace::remember(SealedKey key) {
  auto shared = std::make_shared<const SealedKey>(std::move(key));
  const std::scoped_lock lock(mutex_);
  key_ = shared;
  return shared;
}

std::string FilePlace::cache_name(const SealedHeader& header) const {
  return "patchbay:" + sha256_hex(header.salt + header.check).substr(0, 32);
}

Result<FilePlace::Key> FilePlace::key_for(const SealedHeader& header) {
  if (auto key = key_in_memory(header)) return key;
  return header.protection == FileProtection::key_file ? key_from_file(header) : key_from_person(header);
}

Result<FilePlace::Key> FilePlace::key_from_file(const SealedHeader& header) {
  const auto content = read_key_file(options_.key_file);
  if (!content) return std::unexpected(content.error());
  if (!*content) {
    return fail(Errc::connect, fmt::format("{} can only be opened with its key file, and there is no {}; {}",
                                           options_.file, options_.key_file, start_anew));
  }
  auto key = derive_sealed_key((*content)->text(), header.salt, header.cost);
  if (!key) return std::unexpected(key.error().within(options_.file));
  if (!fits(*key, header)) {
    return fail(Errc::connect, fmt::format("the key file {} does not open {}: it was encrypted with another one; {}",
                                           options_.key_file, options_.file, start_anew));
  }
  return remember(std::move(*key));
}

Result<FilePlace::Key> FilePlace::key_from_person(const SealedHeader& header) {
  if (auto cached = kernel_key(cache_name(header)); cached && fits(*cached, header)) {
    return remember(std::move(*cached));
  }
  if (!options_.ask) {
    return fail(Errc::connect,
                fmt::format("{} is protected by a passphrase, and here is nobody to ask for it", options_.file));
  }
  auto use = PassphraseUse::open;
  for (std::size_t tried = 0; tried < options_.passphrase_tries; ++tried, use = PassphraseUse::open_again) {
    const auto passphrase = options_.ask(use);
    if (!passphrase) return fail(Errc::connect, fmt::format("{} stays closed: no passphrase was given", options_.file));
    auto key = derive_sealed_key(passphrase->reveal(), header.salt, header.cost);
    if (!key) return std::unexpected(key.error().within(options_.file));
    if (!fits(*key, header)) continue;
    (void)keep_kernel_key(cache_name(header), *key, options_.cached_key);
    return remember(std::move(*key));
  }
  return fail(Errc::connect, fmt::format("the passphrase does not open {}; {}", options_.file, start_anew));
}

Result<NewSeal> FilePlace::seal_with_key_file() {
  auto content = read_key_file(options_.key_file);
  if (!content) return std::unexpected(content.error());
  if (!*content) {
    if (options_.key_file_name == KeyFileName::given) {
      return fail(Errc::config,
                  fmt::format("PATCHBAY_SECRETS_KEY_FILE names {}, which does not exist", options_.key_file));
    }
    auto made = make_key_file(options_.key_file, options_.random);
    if (!made) return std::unexpected(std::move(made).error());
    *content = std::move(*made);
  }
  const auto cost = cost_for_key_file((*content)->text(), options_.passphrase_cost);
  return make_seal(FileProtection::key_file, (*content)->text(), cost, options_.random);
}

// ---- the file

Result<void> FilePlace::unlock() {
  const auto file = text();
  if (!file) return std::unexpected(file.error());
  if (!*file) return {};
  const auto header = read_sealed_header(**file);
  if (!header) return std::unexpected(header.error().within(options_.file));
  if (auto key = key_for(*header); !key) return std::unexpected(std::move(key).error());
  return {};
}

Result<std::optional<FilePlace::Content>> FilePlace::content() const {
  const auto file = text();
  if (!file) return std::unexpected(file.error());
  if (!*file) return std::nullopt;
  const auto header = read_sealed_header(**file);
  if (!header) return std::unexpected(header.error().within(options_.file));
  Content content{*header, key_in_memory(*header), {}};
  if (!content.key) return content;
  auto secrets = open_sealed(**file, *content.key);
  if (!secrets) return std::unexpected(secrets.error().within(options_.file));
  content.secrets = std::move(*secrets);
  return content;
}

Result<std::optional<Secret>> FilePlace::read(const std::string& name) {
  // Another process may give it another key between the two steps.
  for (int tried = 0; tried < 3; ++tried) {
    if (auto unlocked = unlock(); !unlocked) return std::unexpected(std::move(unlocked).error());
    const auto opened = content();
    if (!opened) return std::unexpected(opened.error());
    if (!*opened) return std::nullopt;
    if (!(*opened)->key) continue;
    const auto* value = (*opened)->secrets.find(name);
    if (value == nullptr) return std::nullopt;
    return Secret(std::string(*value));
  }
  return fail(Errc::timeout, fmt::format("other processes keep changing the protection of {}", options_.file));
}

Result<void> FilePlace::write(const SecretTexts& entries, const SealedHeader& header, const SealedKey& key) {
  const auto sealed = seal(entries, header, key, options_.random);
  if (!sealed) return std::unexpected(sealed.error());
  return replace_file(options_.file, *sealed, Survives::loss_of_power);
}

Result<bool> FilePlace::change(const std::function<void(SecretTexts&)>& edit) {
  const auto opened = content();
  if (!opened) return std::unexpected(opened.error());
  if (*opened && !(*opened)->key) return false;
  SecretTexts entries = *opened ? (*opened)->secrets.entries() : SecretTexts();
  edit(entries);
  if (*opened) {
    auto written = write(entries, (*opened)->header, *(*opened)->key);
    if (!written) return std::unexpected(std::move(written).error());
    return true;
  }
  auto fresh = seal_with_key_file();
  if (!fresh) return std::unexpected(std::move(fresh).error());
  auto written = write(entries, fresh->header, fresh->key);
  if (!written) return std::unexpected(std::move(written).error());
  (void)remember(std::move(fresh->key));
  return true;
}

Result<bool> FilePlace::protect(FileProtection protection, const Secret& passphrase) {
  const auto opened = content();
  if (!opened) return std::unexpected(opened.error());
  if (*opened && !(*opened)->key) return false;
  auto fresh = protection == FileProtection::key_file
                   ? seal_with_key_file()
                   : make_seal(protection, passphrase.reveal(), options_.passphrase_cost, options_.random);
  if (!fresh) return std::unexpected(std::move(fresh).error());
  auto written = write(*opened ? (*opened)->secrets.entries() : SecretTexts(), fresh->header, fresh->key);
  if (!written) return std::unexpected(std::move(written).error());
  if (*opened && (*opened)->header.protection == FileProtection::passphrase) {
    forget_kernel_key(cache_name((*opened)->header));
  }
  if (protection == FileProtection::passphrase) {
    (void)keep_kernel_key(cache_name(fresh->header), fresh->key, options_.cached_key);
  }
  (void)remember(std::move(fresh->key));
  return true;
}

}  // namespace patchbay
