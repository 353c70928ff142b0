// Rows of docs/requirements.md: C3, C6, C11.
#include "entries/signature.h"

#include <set>

#include <gtest/gtest.h>

#include "entries/parse.h"

namespace patchbay {
namespace {

ServerConfig entry(std::string_view json, std::string_view name = "s", ConfigScope scope = ConfigScope::project,
                   std::string_view file = "f") {
  auto parsed = parse_servers(R"({"mcpServers":{")" + std::string(name) + R"(":)" + std::string(json) + "}}",
                              {std::string(file), 0, scope, trust_of(scope), 0});
  return parsed.servers.at(0);
}

TEST(EntryHash, IsTheSameForOneEntryHoweverItIsWritten) {
  const auto hash = entry_hash(entry(R"({"type":"http","url":"https://h","headers":{"A":"1","B":"2"}})"));
  EXPECT_TRUE(hash.starts_with("sha256:"));
  EXPECT_EQ(hash.size(), 7 + 64u);
  for (std::string_view same : {
           R"({"transport":"http","url":"https://h","headers":{"A":"1","B":"2"}})",
           R"({"type":"streamable-http","url":"https://h","headers":{"A":"1","B":"2"}})",
           R"({"headers":{"B":"2","A":"1"},"url":"https://h","type":"http"})",
           R"({"type":"http","url":"https://h","headers":{"A":"1","B":"2"},"disabled":false,"protocol":"auto"})",
           // A switch is not part of what was agreed to.
           R"({"type":"http","url":"https://h","headers":{"A":"1","B":"2"},"disabled":true})",
       }) {
    EXPECT_EQ(entry_hash(entry(same)), hash) << same;
  }
  auto elsewhere =
      entry(R"({"type":"http","url":"https://h","headers":{"A":"1","B":"2"}})", "other", ConfigScope::user, "g");
  EXPECT_EQ(entry_hash(elsewhere), hash);
  // A text people may have stored: it must not change between versions.
  EXPECT_EQ(to_text(canonical_entry(entry(R"({"command":"npx","args":["-y","x"],"env":{"B":"2","A":"1"}})"))),
            R"({"args":["-y","x"],"command":"npx","env":{"A":"1","B":"2"},"type":"stdio"})");
}

TEST(EntryHash, IsAnotherForEveryDifference) {
  std::set<std::string> hashes;
  std::size_t count = 0;
  for (std::string_view json : {
           R"({"command":"x"})",
           R"({"command":"y"})",
           R"({"command":"x","args":["a","b"]})",
           R"({"command":"x","args":["a b"]})",
           R"({"command":"x","args":["b","a"]})",
           R"({"command":"x","env":{"A":"1"}})",
           R"({"command":"x","env":{"A":"2"}})",
           R"({"command":"x","envFile":"e"})",
           R"({"command":"x","cwd":"e"})",
           R"({"command":"x","timeout":2000})",
           R"({"command":"x","request_timeout_ms":2000})",
           R"({"command":"x","required":true})",
           R"({"command":"x","alwaysLoad":true})",
           R"({"command":"x","protocol":"legacy"})",
           R"({"command":"x","enabledTools":[]})",
           R"({"command":"x","disabledTools":["a"]})",
           R"({"command":"x","novel":{"a":1}})",
           R"({"command":"x","novel":{"a":2}})",
           R"({"type":"http","url":"x"})",
           R"({"type":"sse","url":"x"})",
           R"({"type":"ws","url":"x"})",
           R"({"type":"http","url":"x","headers":{"A":"1"}})",
           R"({"type":"http","url":"x","headersHelper":"h"})",
           R"({"type":"http","url":"x","oauth":{}})",
           R"({"type":"http","url":"x","oauth":{"clientId":"c"}})",
           R"({"type":"http","url":"x","oauth":{"callbackPort":1}})",
           R"({"type":"http","url":"x","oauth":{"scopes":"s"}})",
           R"({"type":"http","url":"x","oauth":{"authServerMetadataUrl":"https://m"}})",
           R"({"type":"http","url":"x","oauth":{"xaa":true}})",
           R"({"type":"http","url":"x","oauth":{"novel":true}})",
           R"({"type":"http","url":"x","tls":{"ca":"c"}})",
           R"({"type":"http","url":"x","tls":{"cert":"c"}})",
           R"({"type":"http","url":"x","tls":{"cert":"c","key":"k"}})",
           R"({"type":"http","url":"x","tls":{"cert":"c","key":"k","passphrase":"p"}})",
       }) {
    hashes.insert(entry_hash(entry(json)));
    EXPECT_EQ(hashes.size(), ++count) << json;
  }
}

TEST(ContentSignature, IsWhatIsStartedOrReached) {
  EXPECT_EQ(content_signature(entry(R"({"command":"npx","args":["-y","x y"],"env":{"B":"2","A":"1"},"timeout":5000})")),
            R"(stdio:["npx","-y","x y"]{"A":"1","B":"2"})");
  EXPECT_EQ(content_signature(entry(R"({"command":"npx"})")), R"(stdio:["npx"]{})");
  EXPECT_EQ(content_signature(entry(R"({"type":"http","url":"https://h/mcp","headers":{"A":"1"}})")),
            "url:https://h/mcp");
  EXPECT_EQ(content_signature(entry(R"({"type":"sse","url":"https://h/mcp"})")), "url:https://h/mcp");
  EXPECT_EQ(content_signature(entry(R"({"type":"sse","url":""})")), "");
  // The same command with another environment is another server.
  EXPECT_NE(content_signature(entry(R"({"command":"npx","env":{"A":"1"}})")),
            content_signature(entry(R"({"command":"npx"})")));
  // And so it is with variables from a file, or in another directory.
  for (const auto* other : {R"({"command":"npx","envFile":".env"})", R"({"command":"npx","cwd":"/d"})"}) {
    EXPECT_NE(content_signature(entry(other)), content_signature(entry(R"({"command":"npx"})"))) << other;
  }
}

TEST(ConnectionIdentity, FollowsNameEntryAndValuesButNotTheScope) {
  auto written = entry(R"({"command":"x","env":{"A":"${V}"}})");
  auto expanded = written;
  expanded.env[0].second = "1";
  const auto identity = connection_identity(written, expanded);
  auto elsewhere = written;
  elsewhere.origin = {"g", 7, ConfigScope::user, ConfigTrust::trusted, 0};
  elsewhere.standing = ServerStanding::disabled;
  EXPECT_EQ(connection_identity(elsewhere, expanded), identity);
  auto other_value = expanded;
  other_value.env[0].second = "2";
  EXPECT_NE(connection_identity(written, other_value), identity);
  auto renamed = written;
  renamed.name = "t";
  EXPECT_NE(connection_identity(renamed, expanded), identity);
  // Written out or by a variable: another entry, though it starts the same.
  EXPECT_NE(connection_identity(expanded, expanded), identity);
}

}  // namespace
}  // namespace patchbay
