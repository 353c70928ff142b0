#include "http/client/proxy_choice.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

Result<ProxyChoice> choose(const char* url, const Variables& variables, std::optional<std::string> configured = {}) {
  return choose_proxy(*parse_url(url), configured, [&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(ProxyChoice, Variables_AreReadInOrder) {
  struct Case {
    const char* url;
    Variables variables;
    ProxyChoice expected;
  };
  const Case cases[] = {
      {"https://h/", {}, {}},
      {"https://h/", {{"HTTPS_PROXY", "http://p:1"}}, {"http://p:1", "HTTPS_PROXY"}},
      {"https://h/", {{"HTTPS_PROXY", "http://p:1"}, {"https_proxy", "http://q:2"}}, {"http://q:2", "https_proxy"}},
      {"https://h/", {{"HTTP_PROXY", "http://p:1"}}, {}},
      {"http://h/", {{"HTTP_PROXY", "http://p:1"}}, {"http://p:1", "HTTP_PROXY"}},
      {"http://h/", {{"HTTP_PROXY", "http://p:1"}, {"REQUEST_METHOD", "GET"}}, {}},
      {"http://h/", {{"http_proxy", "http://p:1"}, {"REQUEST_METHOD", "GET"}}, {"http://p:1", "http_proxy"}},
      {"http://h/", {{"HTTPS_PROXY", "http://p:1"}}, {}},
      {"ws://h/", {{"http_proxy", "http://p:1"}}, {"http://p:1", "http_proxy"}},
      {"wss://h/", {{"HTTPS_PROXY", "http://p:1"}}, {"http://p:1", "HTTPS_PROXY"}},
      {"http://h/", {{"ALL_PROXY", "socks5h://p:1"}}, {"socks5h://p:1", "ALL_PROXY"}},
      {"https://h/", {{"HTTPS_PROXY", ""}, {"all_proxy", "p:1"}}, {"http://p:1", "all_proxy"}},
      {"https://h/", {{"HTTPS_PROXY", "p:1"}, {"NO_PROXY", "h"}}, {}},
      {"https://h/", {{"HTTPS_PROXY", "p:1"}, {"no_proxy", "x"}, {"NO_PROXY", "h"}}, {"http://p:1", "HTTPS_PROXY"}},
      {"http://localhost:3000/", {{"http_proxy", "p:1"}}, {}},
      {"http://127.0.0.1/", {{"ALL_PROXY", "p:1"}}, {}},
      {"http://[::1]/", {{"ALL_PROXY", "p:1"}}, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.url) + " " + testing::PrintToString(c.variables));
    const auto choice = choose(c.url, c.variables);
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(*choice, c.expected);
  }
}

TEST(ProxyChoice, Configuration_OverridesTheEnvironment) {
  const Variables variables{{"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", "*"}};
  EXPECT_EQ(*choose("https://h/", variables, ""), ProxyChoice{});
  EXPECT_EQ(*choose("https://h/", variables, "q:2"), (ProxyChoice{"http://q:2", "the configuration"}));
  EXPECT_EQ(*choose("https://localhost/", variables, "q:2"), (ProxyChoice{"http://q:2", "the configuration"}));
}

TEST(ProxyChoice, BadProxies_AreErrorsThatNameTheVariableAndHideThePassword) {
  for (const char* value : {"gopher://u:s3cret@p", "http://u:s3cret@p:x", "http://"}) {
    SCOPED_TRACE(value);
    const auto choice = choose("https://h/", {{"HTTPS_PROXY", value}});
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code(), Errc::config);
    EXPECT_THAT(choice.error().message(), testing::HasSubstr("HTTPS_PROXY"));
    EXPECT_THAT(choice.error().message(), testing::Not(testing::HasSubstr("s3cret")));
  }
}

TEST(ProxyChoice, NoProxy_CoversNamesAddressesAndNetworks) {
  struct Case {
    const char* url;
    const char* list;
    bool covered;
  };
  const Case cases[] = {
      {"http://a.example/", "", false},
      {"http://a.example/", "*", true},
      {"http://a.example/", "example", true},
      {"http://a.example/", ".example", true},
      {"http://a.example/", "*.example", true},
      {"http://a.example/", "A.EXAMPLE", true},
      {"http://a.example/", "a.example.", true},
      {"http://a.example./", "a.example", true},
      {"http://a.example/", "b.example, a.example", true},
      {"http://a.example/", "b.example a.example", true},
      {"http://a.example/", "ample", false},
      {"http://a.example/", "b.a.example", false},
      {"http://a.example/", "a.example:80", true},
      {"https://a.example/", "a.example:80", false},
      {"http://10.1.2.3/", "10.1.2.3", true},
      {"http://10.1.2.3/", "2.3", false},
      {"http://10.1.2.3/", "10.0.0.0/8", true},
      {"http://11.1.2.3/", "10.0.0.0/8", false},
      {"http://10.1.2.3/", "10.1.2.0/23", true},
      {"http://10.1.2.3/", "10.1.2.3/33", false},
      {"http://10.1.2.3/", "10.0.0.0/x", false},
      {"http://a.example/", "10.0.0.0/8", false},
      {"http://[fd00::1]/", "fd00::/8", true},
      {"http://[fd00::1]/", "fd00::1", true},
      {"http://[fd00::1]:8080/", "[fd00::1]:8080", true},
      {"http://[fd00::1]/", "[fd00::1]:8080", false},
      {"http://[fd00::1]/", "10.0.0.0/8", false},
      {"http://[fd00:0::1]/", "fd00::0001", true},
      {"http://[::ffff:10.1.2.3]/", "10.0.0.0/8", true},
      {"http://[::ffff:10.1.2.3]/", "::ffff:10.1.2.3", true},
      {"http://0xa.1/", "10.0.0.1", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.url) + " " + c.list);
    EXPECT_EQ(bypasses_proxy(*parse_url(c.url), c.list), c.covered);
  }
}

}  // namespace
}  // namespace patchbay
