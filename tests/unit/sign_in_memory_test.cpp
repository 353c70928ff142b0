// Who refused its credentials is remembered for 15 minutes, for those credentials. L3.
#include "host/kept/sign_in_memory.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/kept_file.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

const sys_seconds noon{std::chrono::seconds(1'800'000'000)};

ServerConfig remote(std::string header) {
  ServerConfig server;
  server.name = "web";
  server.kind = ServerKind::http;
  server.url = "https://mcp.example/mcp";
  server.headers = {{"Authorization", std::move(header)}};
  return server;
}

KeyContext context(const std::string& token) {
  return {[token](std::string_view name) -> std::optional<std::string> {
            return name == "TOKEN" ? std::optional(token) : std::nullopt;
          },
          "/", "/secrets.json"};
}

std::optional<std::string> key_for(const ServerConfig& server, const std::string& token = "t",
                                   std::string stamp = "s") {
  return refusal_key(server, server_key(server, context(token)), stamp);
}

TEST(SignInMemory, ACredentialIsKnownByAHashOfWhatIsSent) {
  const auto key = key_for(remote("Bearer ${TOKEN}"));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->size(), 64u);
  EXPECT_EQ(key_for(remote("Bearer ${TOKEN}")), key);
  EXPECT_NE(key_for(remote("Bearer ${TOKEN}"), "another"), key);
  EXPECT_NE(key_for(remote("Bearer x")), key);
  // A secret from a file: the file was written.
  EXPECT_NE(key_for(remote("Bearer ${TOKEN}"), "t", "written"), key);
}

TEST(SignInMemory, WhatACommandWouldPrintIsNotRemembered) {
  auto helper = remote("x");
  helper.headers_helper = "print-token";
  EXPECT_FALSE(key_for(helper));
  EXPECT_FALSE(key_for(remote("Bearer ${cmd:print-token}")));
  ServerConfig local;
  local.name = "a";
  local.command = "x";
  EXPECT_FALSE(key_for(local));
}

TEST(SignInMemory, ItLastsFifteenMinutes) {
  struct Case {
    sys_seconds now;
    bool fresh;
  };
  for (const auto& [now, fresh] :
       {Case{noon, true}, Case{noon + 899s, true}, Case{noon + 900s, false}, Case{noon - 1s, false}}) {
    EXPECT_EQ(is_fresh({noon, "HTTP 401"}, now), fresh);
  }
  RefusalRecords records;
  const std::string a(64, 'a'), b(64, 'b');
  update_refusals(records, a, KnownRefusal{noon, "HTTP 401"}, noon);
  update_refusals(records, b, KnownRefusal{noon + 1000s, "HTTP 401"}, noon + 1000s);
  EXPECT_EQ(records.size(), 1u);
  EXPECT_EQ(read_refusals(write_refusals(records)), records);
  update_refusals(records, b, std::nullopt, noon + 1000s);
  EXPECT_TRUE(records.empty());
}

TEST(SignInMemory, AReconnectForgets) {
  test::TempTree tree;
  const auto state = tree.path().string();
  const std::string key(64, 'a');
  ASSERT_TRUE(remember_refusal(state, key, KnownRefusal{noon, "HTTP 401"}, noon));
  EXPECT_EQ(recall_refusal(state, key, noon + 10s), (KnownRefusal{noon, "HTTP 401"}));
  EXPECT_FALSE(recall_refusal(state, key, noon + 1h));
  ASSERT_TRUE(remember_refusal(state, key, std::nullopt, noon + 10s));
  EXPECT_FALSE(recall_refusal(state, key, noon + 10s));
}

// N2: what a newer version keeps is not ours to throw away.
TEST(SignInMemory, AFileOfANewerVersionIsLeftAsItIs) {
  test::TempTree tree;
  const auto state = tree.path().string();
  const std::string key(64, 'a');
  const std::string newer = R"({"version":2,"servers":{"other":[1]}})";
  tree.file("sign-in.json", newer);
  const auto kept = remember_refusal(state, key, KnownRefusal{noon, "HTTP 401"}, noon);
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message(), testing::HasSubstr("newer version"));
  EXPECT_EQ(read_kept_file(refusal_file(state), 1000), newer);
  EXPECT_FALSE(recall_refusal(state, key, noon));
}

}  // namespace
}  // namespace patchbay
