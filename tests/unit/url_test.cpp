#include "http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

TEST(Url, Parsing_NormalisesOrSaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* expected;  // the URL written out again, or "! part of the reason"
  };
  const Case cases[] = {
      {"https://example.com", "https://example.com/"},
      {"HTTPS://Example.COM:443/Path", "https://example.com/Path"},
      {"http://example.com:80", "http://example.com/"},
      {"http://example.com:443/", "http://example.com:443/"},
      {"https://example.com?x=1", "https://example.com/?x=1"},
      {"https://example.com#top", "https://example.com/#top"},
      {"https://u:p@example.com:8443/a?b#c", "https://u:p@example.com:8443/a?b#c"},
      {"https://example.com/a/./b/../c/", "https://example.com/a/c/"},
      {"https://example.com/a/%2E%2e/../..", "https://example.com/"},
      {"https://example.com/a//b", "https://example.com/a//b"},
      {"http://[::1]:8080/mcp", "http://[::1]:8080/mcp"},
      {"http://[FE80::1]/", "http://[fe80::1]/"},
      {"http://[0:0::1]/", "http://[::1]/"},
      {"http://[::ffff:127.0.0.1]:80/", "http://127.0.0.1/"},
      {"http://0x7f.1:81/", "http://127.0.0.1:81/"},
      {"http://2130706433/", "http://127.0.0.1/"},
      {"http://017700000001/", "http://127.0.0.1/"},
      {"http://Example.COM./", "http://example.com./"},
      {"http://1.2.3.4.5/", "http://1.2.3.4.5/"},
      {"http://[fe80::1%25EN0]/", "http://[fe80::1%25en0]/"},
      {"https://Ã¤.example/", "https://Ã¤.example/"},
      {"ws://localhost:80/", "ws://localhost/"},
      {"wss://h:443/x", "wss://h/x"},
      {"https://example.com/\xC3\xA4?q=\xC3\xA4", "https://example.com/%C3%A4?q=%C3%A4"},
      {"https://example.com/{a}", "https://example.com/%7Ba%7D"},
      {"https://example.com/%41", "https://example.com/%41"},
      {"https://example.com:", "https://example.com/"},
      {"", "! scheme"},
      {"example.com/mcp", "! scheme"},
      {"localhost:3000", "! \"//\" is missing"},
      {"mailto:a@b", "! \"//\" is missing"},
      {"https:///path", "! has no host"},
      {"https://:80/", "! has no host"},
      {"https://h:0/", "! port"},
      {"https://h:65536/", "! port"},
      {"https://h:8o/", "! port"},
      {"https://h:1:2/", "! port"},
      {"https://a b/", "! blank"},
      {"https://h/a\nb", "! control character"},
      {"https://h\\@evil/", "! backslash"},
      {"https://a@b@c/", "! '@'"},
      {"https://[::1/", "! bracket"},
      {"https://[example]/", "! IPv6"},
      {"https://[::1]x/", "! the closing bracket of its address"},
      {"https://exa%41mple/", "! host name"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto url = parse_url(c.text);
    const std::string_view expected = c.expected;
    if (expected.starts_with("! ")) {
      ASSERT_FALSE(url) << url->text();
      EXPECT_EQ(url.error().code(), Errc::invalid_argument);
      EXPECT_NE(url.error().message().find(expected.substr(2)), std::string::npos) << url.error().message();
    } else {
      ASSERT_TRUE(url) << url.error().message();
      EXPECT_EQ(url->text(), expected);
      EXPECT_EQ(*parse_url(url->text()), *url);
    }
  }
}

TEST(Url, References_ResolveAsRfc3986Says) {
  struct Case {
    const char* reference;
    const char* expected;
  };
  // The examples of section 5.4, as far as they have a host.
  const Case cases[] = {
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"https://other:8443/x", "https://other:8443/x"},
      {"messages?sessionId=1:2", "http://a/b/c/messages?sessionId=1:2"},
  };
  const auto base = parse_url("http://a/b/c/d;p?q");
  ASSERT_TRUE(base);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.reference);
    const auto url = resolve_url(*base, c.reference);
    ASSERT_TRUE(url) << url.error().message();
    EXPECT_EQ(url->text(), c.expected);
  }
  EXPECT_FALSE(resolve_url(*base, "\\\\evil"));
  EXPECT_FALSE(resolve_url(*base, "javascript:alert(1)"));
}

TEST(Url, SameOrigin_ComparesSchemeHostAndPortInUse) {
  struct Case {
    const char* a;
    const char* b;
    bool same;
  };
  const Case cases[] = {
      {"https://h/", "https://H:443/x?y", true},    {"https://h/", "http://h/", false},
      {"https://h/", "https://h:444/", false},      {"https://h/", "https://h.evil/", false},
      {"https://h/", "https://h./", false},         {"https://u:p@h/", "https://h/", true},
      {"http://127.1/", "http://127.0.0.1/", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.a) + " " + c.b);
    EXPECT_EQ(same_origin(*parse_url(c.a), *parse_url(c.b)), c.same);
  }
  EXPECT_EQ(parse_url("https://u@h:8443/a?b")->origin(), "https://h:8443");
  EXPECT_EQ(parse_url("http://[::1]:80/a?b")->origin(), "http://[::1]");
  EXPECT_EQ(parse_url("https://h/a?b#c")->target(), "/a?b");
  EXPECT_EQ(parse_url("https://h/")->effective_port(), 443);
}

TEST(Url, Redaction_HidesWhatMayBeSecret) {
  struct Case {
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"https://u:p@h/x", "https://h/x"},
      {"https://h/x?a=1&access_token=abc&b=2", "https://h/x?a=1&access_token=***&b=2"},
      {"https://h/cb?code=abc&state=xyz", "https://h/cb?code=***&state=***"},
      {"https://h/x?api_key=abc", "https://h/x?api_key=***"},
      {"https://h/x?X-Amz-Signature=abc&sig=d", "https://h/x?X-Amz-Signature=***&sig=***"},
      {"https://h/x#access_token=abc", "https://h/x"},
      {"https://h/@scope/x", "https://h/@scope/x"},
      {"https://u:p@h/@scope/x", "https://h/@scope/x"},
      {"https://u:p@h/?to=@x", "https://h/?to=@x"},
      {"https:/u:p@h/x", "https:/h/x"},
      {"https:/a:b@/u:p@h/x", "https://h/x"},
      {"u:p@h//x", "h//x"},
      {"x@https://u:p@h/x", "https://h/x"},
      {"u:p@h", "h"},
      {"https://u:p@h:nonsense", "https://h:nonsense"},
      {"not a url\n", "not a url?"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(redacted_url(c.text), c.expected);
    if (const auto url = parse_url(c.text)) {
      EXPECT_EQ(url->redacted(), c.expected);
    }
  }
  EXPECT_LT(redacted_url("https://h/" + std::string(100'000, 'x')).size(), 400u);
  // What is no URL is shown without its secrets as well.
  EXPECT_THAT(parse_url("https://u:secret@h:99999/"), test::FailsSaying(testing::Not(testing::HasSubstr("secret"))));
}

}  // namespace
}  // namespace patchbay
