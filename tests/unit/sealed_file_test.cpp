// The encrypted file of secrets: what is written is read again, and whatever is not exactly that is refused with the
// reason. A2.
#include "auth/store/sealed_file.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::HasSubstr;

constexpr ScryptCost cheap{4, 8, 1};

// Bytes that are different each time, and the same in every run.
Random counting() {
  return [next = std::uint8_t{1}](std::span<std::uint8_t> out) mutable {
    for (auto& byte : out) byte = next++;
  };
}

NewSeal sealed_with(std::string_view from, ScryptCost cost = cheap) {
  return *make_seal(FileProtection::passphrase, from, cost, counting());
}

std::string sealed(const NewSeal& seal_with, const SecretTexts& entries) {
  return *seal(entries, seal_with.header, seal_with.key, counting());
}

std::map<std::string, std::string> opened(std::string_view file, const SealedKey& key) {
  const auto secrets = open_sealed(file, key);
  if (!secrets) return {{"error", secrets.error().message()}};
  std::map<std::string, std::string> entries;
  for (const auto& [name, value] : secrets->entries()) entries.emplace(name, value);
  return entries;
}

TEST(SealedFile, WhatIsSealed_IsOpenedWithTheSameKey) {
  const std::string large(1u << 20, 'x');
  const std::vector<SecretTexts> cases{
      {},
      {{"a", "1"}},
      {{"a", ""}, {"b", "2"}, {"token https://issuer https://resource", "eyJ…"}},
      {{"binary", std::string_view("\0\xff\n", 3)}},
      {{"large", large}},
  };
  const auto with = sealed_with("passphrase");
  for (const auto& entries : cases) {
    const auto file = sealed(with, entries);
    EXPECT_EQ(opened(file, with.key), (std::map<std::string, std::string>(entries.begin(), entries.end())));
    for (const auto& [name, value] : entries) {
      if (value.size() > 2) {
        EXPECT_EQ(file.find(value), std::string::npos) << name;
      }
    }
  }
}

TEST(SealedFile, KeyOfAFile_ComesFromItsHeaderAlone) {
  for (const ScryptCost cost : {cheap, ScryptCost{10, 1, 1}, ScryptCost{1, 4, 3}}) {
    const auto with = sealed_with("passphrase", cost);
    const auto file = sealed(with, {{"a", "1"}});
    const auto header = read_sealed_header(file);
    ASSERT_TRUE(header);
    EXPECT_EQ(*header, with.header);
    const auto again = derive_sealed_key("passphrase", header->salt, header->cost);
    EXPECT_EQ(opened(file, *again), (std::map<std::string, std::string>{{"a", "1"}}));
    const auto other = derive_sealed_key("Passphrase", header->salt, header->cost);
    EXPECT_FALSE(fits(*other, *header));
    EXPECT_THAT(open_sealed(file, *other), FailsWith(Errc::config, HasSubstr("another key")));
  }
}

TEST(SealedFile, EveryNonce_IsAnotherOne) {
  const auto with = sealed_with("passphrase");
  const auto random = system_random();
  EXPECT_NE(*seal({{"a", "1"}}, with.header, with.key, random), *seal({{"a", "1"}}, with.header, with.key, random));
}

TEST(SealedFile, OneBitAnywhere_IsNoticed) {
  const auto with = sealed_with("passphrase");
  const auto file = sealed(with, {{"name", "value"}});
  for (std::size_t at = 0; at < file.size() * 8; ++at) {
    auto changed = file;
    changed[at / 8] = static_cast<char>(changed[at / 8] ^ (1 << at % 8));
    EXPECT_THAT(open_sealed(changed, with.key), FailsWith(Errc::config)) << "bit " << at;
  }
}

TEST(SealedFile, CutAnywhere_IsNoticed) {
  const auto with = sealed_with("passphrase");
  const auto file = sealed(with, {{"name", "value"}});
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_THAT(open_sealed(file.substr(0, size), with.key), FailsWith(Errc::config)) << size;
  }
  EXPECT_THAT(open_sealed(file + "x", with.key), FailsWith(Errc::config, HasSubstr("damaged")));
}

TEST(SealedFile, WrongHeaders_AreRefusedWithTheReason) {
  const auto with = sealed_with("passphrase");
  const auto file = sealed(with, {{"name", "value"}});
  struct Case {
    std::size_t at;
    int byte;
    const char* reason;
  };
  const Case cases[] = {
      {0, 'X', "not an encrypted file"}, {8, 2, "version 2, but this patchbay knows only version 1"},
      {8, 255, "use a newer patchbay"},  {8, 0, "makes no sense"},
      {9, 0, "makes no sense"},          {9, 3, "makes no sense"},
      {10, 0, "too much memory"},        {10, 63, "too much memory"},
      {10, 20, "too much memory"},  // with r = 8: 1 GiB
      {11, 0, "too much memory"},        {12, 0, "too much memory"},
      {12, 255, "too much memory"},      {15, 1, "makes no sense"},
  };
  for (const auto& [at, byte, reason] : cases) {
    auto changed = file;
    changed[at] = static_cast<char>(byte);
    if (at == 10 && byte == 20) changed[11] = 8;
    EXPECT_THAT(read_sealed_header(changed), FailsWith(Errc::config, HasSubstr(reason))) << at << ": " << byte;
  }
  EXPECT_THAT(read_sealed_header(""), FailsWith(Errc::config, HasSubstr("not an encrypted file")));
  EXPECT_THAT(read_sealed_header("PBSECRET"), FailsWith(Errc::config, HasSubstr("cut off")));
  // A newer one is told as such however it goes on.
  EXPECT_THAT(read_sealed_header("PBSECRET\x02"), FailsWith(Errc::config, HasSubstr("version 2")));
}

TEST(SealedFile, MoreThanFits_IsRefused) {
  const auto with = sealed_with("passphrase");
  const std::string large(most_sealed / 4, 'x');
  EXPECT_THAT(seal({{"a", large}, {"b", large}, {"c", large}, {"d", large}}, with.header, with.key, counting()),
              FailsWith(Errc::config, HasSubstr("larger than 32 MiB")));
}

TEST(SealedFile, Scrypt_GivesWhatTheRfcSays) {
  // RFC 7914, section 12.
  std::array<std::uint8_t, 64> out;
  ASSERT_TRUE(scrypt("password", "NaCl", {10, 8, 16}, out));
  std::string hex;
  for (const auto byte : out) hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex,
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb9"
            "4a83ee6d8360cbdfa2cc0640");
}

}  // namespace
}  // namespace patchbay
