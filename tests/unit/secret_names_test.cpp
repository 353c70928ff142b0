// One table for the one question: is this a secret? (compat: B3.18, B3.24; mission: S5)
#include <string_view>

#include <gtest/gtest.h>

#include "secrets/names.h"

namespace patchbay {
namespace {

struct Case {
  std::string_view name;
  bool anywhere, variable, parameter;
};

constexpr Case cases[] = {
    // Every name that says so, in any spelling.
    {"token", true, true, true},
    {"access_token", true, true, true},
    {"refreshToken", true, true, true},
    {"Authorization", true, true, true},
    {"PROXY-AUTHORIZATION", true, true, true},
    {"password", true, true, true},
    {"db_passwd", true, true, true},
    {"passphrase", true, true, true},
    {"clientSecret", true, true, true},
    {"client_secret", true, true, true},
    {"apiKey", true, true, true},
    {"X-Api-Key", true, true, true},
    {"credentials", true, true, true},
    {"Set-Cookie", true, true, true},
    {"privateKey", true, true, true},
    {"private-key", true, true, true},
    {"AWS_ACCESS_KEY_ID", true, true, true},
    {"GITHUB_TOKEN", true, true, true},
    {"TOKENS", true, true, true},
    // Variables have more words.
    {"GH_PAT", false, true, false},
    {"DB_DSN", false, true, false},
    {"BASIC_AUTH", false, true, false},
    {"STRIPE_KEY", false, true, true},
    {"DATABASE_URL", false, true, false},
    {"redis_url", false, true, false},
    {"MYSQL_PWD", false, true, false},
    {"key", false, true, true},
    {"auth", false, true, true},
    // So have links.
    {"sig", false, false, true},
    {"X-Amz-Signature", false, false, true},
    {"code", false, false, true},
    {"state", false, false, true},
    {"jwt", false, false, true},
    {"pwd", false, false, true},
    {"session", false, false, true},
    {"monkey", false, false, true},  // ends like one; a link shows less rather than more
    // No secret anywhere.
    {"progressToken", false, false, false},
    {"maxTokens", false, false, false},
    {"GIT_CONFIG_KEY_0", false, false, false},
    {"PATH", false, false, false},
    {"PATTERN", false, false, false},
    {"KEYBOARD", false, false, false},
    {"AUTHOR", false, false, false},
    {"HOME", false, false, false},
    {"uri", false, false, false},
    {"tok en", false, false, false},
    {"_", false, false, false},
    {"", false, false, false},
};

TEST(SecretNames, AreTheSameForEverybodyWhoAsks) {
  for (const auto& one : cases) {
    EXPECT_EQ(is_secret_name(one.name), one.anywhere) << one.name;
    EXPECT_EQ(is_secret_variable(one.name), one.variable) << one.name;
    EXPECT_EQ(is_secret_parameter(one.name), one.parameter) << one.name;
  }
}

TEST(SecretNames, FlagsAreOftenWrittenAsOneWord) {
  for (auto flag : {"--token", "--api-key", "--key", "-key", "--authkey", "--masterKey", "--encryptionKey",
                    "--licensekey", "--basicauth", "--auth", "PASSWORD", "--db-password", "--authorization"}) {
    EXPECT_TRUE(is_secret_flag(flag)) << flag;
  }
  for (auto flag : {"--keyboard", "--keyword", "--author", "--path", "--keep", "--port", "--monkey", ""}) {
    EXPECT_FALSE(is_secret_flag(flag)) << flag;
  }
}

TEST(SecretNames, TokensOfKnownServicesAreSeenByTheirBeginning) {
  for (auto text : {"ghp_0123456789abcdef", "sk-ant-api03-abcdef", "xoxb-1234-5678", "eyJhbGciOiJIUzI1NiJ9"}) {
    EXPECT_TRUE(looks_like_token(text)) << text;
  }
  for (auto text : {"", "sk-", "ghp_short", "skill-of-the-day", "npmjs.com/package"}) {
    EXPECT_FALSE(looks_like_token(text)) << text;
  }
}

TEST(SecretNames, TheSchemeOfACredentialIsNotSecret) {
  EXPECT_EQ(credential_scheme("Bearer abc"), "Bearer ");
  EXPECT_EQ(credential_scheme("BASIC abc"), "BASIC ");
  EXPECT_EQ(credential_scheme("token abc"), "token ");
  EXPECT_EQ(credential_scheme("Bearer"), "");
  EXPECT_EQ(credential_scheme("Hello world"), "");
}

}  // namespace
}  // namespace patchbay
