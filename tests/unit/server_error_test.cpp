#include "host/server_error.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

// L5: whose error it is, and of which call, can be read in it.
TEST(ServerError, OfACall_BeginsWithServerAndTool) {
  struct Case {
    Error error;
    const char* message;
  };
  const Case cases[] = {
      {Error::rpc(-32001, "quota", "{\"left\":0}"), "docs/search: the server answered with error -32001: quota"},
      {Error(Errc::protocol, "content: expected an array, found a string"),
       "docs/search: the server broke the protocol: content: expected an array, found a string; report it to the "
       "server's author"},
      {Error(Errc::protocol, "server \"docs\": the answer is not valid JSON-RPC: x"),
       "docs/search: the server broke the protocol: the answer is not valid JSON-RPC: x; report it to the server's "
       "author"},
      {Error(Errc::timeout, "no answer to tools/call within 2 s"), "docs/search: no answer to tools/call within 2 s"},
      {Error(Errc::closed, "server \"docs\" exited with status 9"), "docs/search: the server exited with status 9"},
      {Error(Errc::closed, "server \"docs2\" exited {with} status 9"),
       "docs/search: server \"docs2\" exited {with} status 9"},
      {Error(Errc::http, "https://h/mcp answered 500"), "docs/search: https://h/mcp answered 500"},
      // The caller's own.
      {Error(Errc::invalid_argument, "missing property \"q\""), "missing property \"q\""},
      {Error(Errc::denied, "a rule says no"), "a rule says no"},
      {Error(Errc::cancelled, "cancelled"), "cancelled"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of_call("docs", "search", c.error).message(), c.message);
}

TEST(ServerError, KeepsWhatElseTheErrorCarries) {
  const auto rpc = error_of_call("s", "t", Error::rpc(-32001, "quota", "{\"left\":0}").with_detail("body"));
  EXPECT_EQ(rpc.code(), Errc::rpc);
  EXPECT_EQ(rpc.rpc_code(), -32001);
  EXPECT_EQ(rpc.rpc_data(), "{\"left\":0}");
  EXPECT_EQ(rpc.detail(), "body");
  const auto http = error_of_call("s", "t", Error(Errc::http, "no").with_http_status(503));
  EXPECT_EQ(http.code(), Errc::http);
  EXPECT_EQ(http.http_status(), 503);
}

TEST(ServerError, OfACallThatTookTooLong_SaysWhatWouldHelpAsAValue) {
  EXPECT_EQ(error_of_call("docs", "search", Error(Errc::timeout, "no answer")).remedy(),
            (Remedy{Remedy::Kind::give_more_time, "docs"}));
  EXPECT_EQ(error_of_call("docs", "search", Error(Errc::closed, "gone")).remedy(), std::nullopt);
}

TEST(ServerError, OfAServer_HasItsNameOnce) {
  EXPECT_EQ(error_of_server("docs", Error(Errc::timeout, "no answer")).message(), "server \"docs\": no answer");
  for (const char* named : {"server \"docs\" exited with status 3", "server \"docs\": the variable is not set"}) {
    EXPECT_EQ(error_of_server("docs", Error(Errc::closed, named)).message(), named);
  }
  EXPECT_EQ(without_name("docs", "server \"docs\" exited with status 3"), "it exited with status 3");
  EXPECT_EQ(without_name("docs", "server \"docs\": the variable is not set"), "the variable is not set");
  EXPECT_EQ(without_name("docs", "server \"docs\" is not approved"), "it is not approved");
  EXPECT_EQ(without_name("docs", "no answer"), "no answer");
}

TEST(ServerError, ChangedTools_NamesWhatIsNewAndWhatIsGone) {
  using Names = std::set<std::string>;
  const Names many{"a", "b", "c", "d", "e", "f", "g"};
  struct Case {
    Names before, now;
    std::string text;
  };
  const Case cases[] = {
      {{"a", "b"}, {"a", "c"}, "the tools of \"docs\" have changed; new: c; gone: b"},
      {{"a"}, {}, "the tools of \"docs\" have changed; gone: a"},
      {{}, many, "the tools of \"docs\" have changed; new: a, b, c, d, e and 2 more"},
      {{std::string(1000, 'x')}, {}, "the tools of \"docs\" have changed; gone: " + std::string(64, 'x')},
  };
  for (const auto& c : cases) EXPECT_EQ(changed_tools("docs", c.before, c.now), c.text);
}

}  // namespace
}  // namespace patchbay
