#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/redirect.h"

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;

HttpHead answer(int status, std::string location) {
  HttpHead head;
  head.status = status;
  if (!location.empty()) head.headers.add("Location", std::move(location));
  return head;
}

HttpRequest request(std::string method, std::string url) {
  HttpRequest made;
  made.method = std::move(method);
  made.url = std::move(url);
  made.body = "body";
  return made;
}

// L7: a server must not be able to have us ask other addresses, not even without saying anything.
TEST(HttpRedirect, ATrailOfOneOriginLeavesItWithNoMethod) {
  for (const char* method : {"GET", "HEAD", "POST"}) {
    RedirectTrail trail{.same_origin = true};
    const auto other = redirected(request(method, "https://h/a"), answer(307, "https://10.0.0.1/b"), trail);
    ASSERT_FALSE(other) << method;
    EXPECT_EQ(other.error().code(), method == std::string_view("POST") ? Errc::http : Errc::protocol);
    EXPECT_THAT(other.error().message(), HasSubstr("redirects to another server (https://10.0.0.1), and nothing"));
    const auto same = redirected(request(method, "https://h/a"), answer(307, "/b"), trail);
    ASSERT_TRUE(same && *same) << method;
    EXPECT_EQ((*same)->url, "https://h/b");
  }
}

TEST(HttpRedirect, Statuses_DecideWhetherAndHowItGoesOn) {
  struct Case {
    const char* method;
    const char* url;
    int status;
    const char* location;
    const char* expected;  // the next URL, "" when the answer is final, "! part of the reason"
  };
  const Case cases[] = {
      {"GET", "https://h/a", 200, "/b", ""},
      {"GET", "https://h/a", 300, "/b", ""},
      {"GET", "https://h/a", 304, "/b", ""},
      {"GET", "https://h/a", 302, "", ""},
      {"GET", "https://h/a", 301, "/b", "https://h/b"},
      {"GET", "https://h/a", 302, "b?c#d", "https://h/b?c"},
      {"GET", "https://h/a", 303, "https://other/b", "https://other/b"},
      {"HEAD", "https://h/a", 302, "/b", "https://h/b"},
      {"GET", "http://h/a", 307, "https://h/a", "https://h/a"},
      {"POST", "https://h/a", 307, "/b", "https://h/b"},
      {"DELETE", "https://h/a", 308, "/b", "https://h/b"},
      {"POST", "https://h/a", 301, "/b", "! without a body"},
      {"POST", "https://h/a", 302, "/b", "! without a body"},
      {"POST", "https://h/a", 303, "/b", "! without a body"},
      {"DELETE", "https://h/a", 302, "/b", "! without a body"},
      {"POST", "https://h/a", 307, "https://other/b", "! redirects to another server (https://other), and nothing"},
      {"POST", "https://h/a", 308, "https://h:444/a", "! redirects to another server (https://h:444), and nothing"},
      {"POST", "https://h/a", 307, "//u:s3cret@other/s3cret?token=s3cret", "! another server (https://other), and"},
      {"POST", "https://h/a", 307, "https://h.other/a", "! use its own url"},
      {"PUT", "https://h/a", 307, "https://other/b", "! another server"},
      {"DELETE", "https://h/a", 308, "https://other/b", "! another server"},
      {"POST", "https://h/a", 307, "http://h/a", "! not encrypted"},
      {"POST", "http://h/a", 308, "https://h/b", "! redirects to another server (https://h), and nothing"},
      {"POST", "http://h/a", 307, "https://h/a", "! use its own url"},
      {"DELETE", "http://h/a", 308, "https://h/a", "! another server (https://h)"},
      {"POST", "http://h/a", 308, "https://other/a", "! another server"},
      {"POST", "http://h/a", 308, "https://h:8443/a", "! another server"},
      {"POST", "http://h:8080/a", 308, "https://h/a", "! another server"},
      {"GET", "https://h/a", 302, "http://h/a", "! not encrypted"},
      {"GET", "https://h/a", 302, "file:///etc/passwd", "! not a URL"},
      {"GET", "https://h/a", 302, "ftp://h/a", "! neither http nor https"},
      {"GET", "https://h/a", 302, "https://h:x/", "! not a URL"},
      {"GET", "https://h/a", 302, "\\\\evil", "! not a URL"},
      {"GET", "https://h/a", 302, "/a", "! loop"},
      {"GET", "https://h/a", 302, "#x", "! loop"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.method) + " " + std::to_string(c.status) + " " + c.location);
    RedirectTrail trail;
    const auto sent = request(c.method, c.url);
    const auto next = redirected(sent, answer(c.status, c.location), trail);
    const std::string_view expected = c.expected;
    if (expected.starts_with("! ")) {
      ASSERT_FALSE(next);
      EXPECT_THAT(next.error().message(), HasSubstr(std::string(expected.substr(2))));
      EXPECT_THAT(next.error().message(), HasSubstr(c.url));
      EXPECT_THAT(next.error().message(), Not(HasSubstr("s3cret")));
    } else if (expected.empty()) {
      ASSERT_TRUE(next) << next.error().message();
      EXPECT_FALSE(*next);
    } else {
      ASSERT_TRUE(next) << next.error().message();
      ASSERT_TRUE(*next);
      auto same = sent;
      same.url = expected;
      EXPECT_EQ(**next, same);
    }
  }
}

TEST(HttpRedirect, Trail_IsBoundedAndNoticesLoops) {
  RedirectTrail trail;
  auto sent = request("GET", "https://h/0");
  for (int hop = 1; hop <= 5; ++hop) {
    const auto next = redirected(sent, answer(302, "/" + std::to_string(hop)), trail);
    ASSERT_TRUE(next && *next) << hop;
    sent = **next;
  }
  const auto sixth = redirected(sent, answer(302, "/6"), trail);
  ASSERT_FALSE(sixth);
  EXPECT_EQ(sixth.error().code(), Errc::http);
  EXPECT_THAT(sixth.error().message(), HasSubstr("after 5 other redirects"));
  const auto back = redirected(sent, answer(302, "/2"), trail);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message(), HasSubstr("loop"));

  RedirectTrail none;
  none.allowed = 0;
  EXPECT_EQ(*redirected(sent, answer(302, "/6"), none), std::nullopt);
}

// T2: credentials, and whatever else was configured, go to the origin they were meant for.
TEST(HttpRedirect, AnotherOrigin_GetsOnlyWhatDescribesTheMessage) {
  auto sent = request("GET", "https://h/a");
  const HttpHeaders describing{{"Accept", "a"},     {"Content-Type", "b"}, {"MCP-Protocol-Version", "c"},
                               {"Mcp-Method", "d"}, {"Mcp-Name", "e"},     {"Mcp-Param-Region", "f"}};
  sent.headers = describing;
  for (const char* name : {"Authorization", "Cookie", "Mcp-Session-Id", "X-Api-Key", "DPoP", "Last-Event-ID"}) {
    sent.headers.add(name, "s3cret");
  }
  RedirectTrail trail;
  const auto same = redirected(sent, answer(307, "/b"), trail);
  ASSERT_TRUE(same && *same);
  EXPECT_EQ((*same)->headers, sent.headers);
  EXPECT_FALSE(trail.left_origin);
  for (const char* location : {"https://other/a", "https://h:444/a", "https://h.other/a", "//other/a"}) {
    SCOPED_TRACE(location);
    RedirectTrail fresh;
    const auto other = redirected(sent, answer(307, location), fresh);
    ASSERT_TRUE(other && *other);
    EXPECT_EQ((*other)->headers, describing);
    EXPECT_TRUE(fresh.left_origin);
    // And what stayed behind stays there, wherever it goes on.
    ASSERT_TRUE(redirected(**other, answer(307, "https://h/back"), fresh));
    EXPECT_TRUE(fresh.left_origin);
    EXPECT_EQ((*other)->body, "body");
  }
  // Also the user information of a URL is a credential; it neither goes along nor is shown.
  const auto with_user = redirected(request("GET", "https://u:s3cret@h/a"), answer(302, "https://other/"), trail);
  ASSERT_TRUE(with_user && *with_user);
  EXPECT_EQ((*with_user)->url, "https://other/");
  const auto refused = redirected(request("GET", "https://u:s3cret@h/a"), answer(302, "http://x:s3cret@other/"), trail);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), Not(HasSubstr("s3cret")));
}

// An entry with a secret in its path is shown as it was written.
TEST(HttpRedirect, Refusals_ShowTheEntryAsItWasWritten) {
  for (const char* location : {"https://other/a", "file:///x", "http://h/"}) {
    RedirectTrail trail;
    trail.shown = "https://h/${KEY}/mcp";
    const auto refused = redirected(request("POST", "https://h/s3cret/mcp"), answer(307, location), trail);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("POST https://h/${KEY}/mcp: "));
    EXPECT_THAT(refused.error().message(), Not(HasSubstr("s3cret")));
  }
}

}  // namespace
}  // namespace patchbay
