// N5: which hosts a server may reach whose sandbox lists domains: what is written, what two lists have in common, names
// and the addresses they come to. Everything is decided here; the proxy carries it out.
#include "sandbox/domain_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DomainAccess access_to(const std::vector<std::string>& domains) {
  DomainAccess out{.server = "notes", .rules = {}, .setting = "\"sandbox.network\" of its entry"};
  for (const auto& domain : domains) out.rules.push_back(read_domain_rule(domain).value());
  return out;
}

TEST(DomainRuleTest, IsWrittenInManyWaysAndReadInOne) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"api.example.com", "api.example.com"},
      {"API.Example.COM", "api.example.com"},
      {"api.example.com.", "api.example.com"},
      {"*.example.com", "*.example.com"},
      {"*.Example.com.:443", "*.example.com:443"},
      {"api.example.com:8443", "api.example.com:8443"},
      {"api.example.com:*", "api.example.com:*"},
      {"localhost:3000", "localhost:3000"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"127.0.0.1", "127.0.0.1"},
      {"0x7f.1:80", "127.0.0.1:80"},
      {"2130706433", "127.0.0.1"},
      {"::1", "[::1]"},
      {"[::1]:80", "[::1]:80"},
      {"[0:0:0:0:0:0:0:1]", "[::1]"},
      {"::ffff:10.0.0.1", "10.0.0.1"},
  };
  for (const auto& [written, expected] : cases) {
    const auto rule = read_domain_rule(written);
    ASSERT_TRUE(rule) << written << ": " << rule.error();
    EXPECT_EQ(to_text(*rule), expected) << written;
    EXPECT_EQ(read_domain_rule(expected), rule) << written;
  }
}

TEST(DomainRuleTest, WhatCanBeReadInTwoWaysIsRefused) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "is not a domain"},
      {"*", "is not a domain"},
      {"*.", "is not a domain"},
      {"a.*.example.com", "is not a domain"},
      {"*example.com", "is not a domain"},
      {"a b", "is not a domain"},
      {".example.com", "is not a domain"},
      {"a..b", "is not a domain"},
      {"ex%61mple.com", "is not a domain"},
      {"1.2.3.4.5", "is not a domain"},
      {"127.0.0.1.", "is not a domain"},
      {"https://example.com", "write the name alone"},
      {"user@example.com", "write the name alone"},
      {"example.com/path", "write the name alone"},
      {"b\xC3\xBC"
       "cher.example",
       "xn--"},
      {"example.com:0", "port"},
      {"example.com:65536", "port"},
      {"example.com:http", "port"},
      {"example.com:", "port"},
      {"*.0.0.1", "* in an address"},
      {"*.[::1]", "* in an address"},
  };
  for (const auto& [written, why] : cases) {
    const auto rule = read_domain_rule(written);
    ASSERT_FALSE(rule) << written << " is " << to_text(*rule);
    EXPECT_THAT(rule.error(), HasSubstr(why)) << written;
  }
}

TEST(DomainRuleTest, TwoListsHaveInCommonWhatBothAllow) {
  struct Case {
    std::string_view one, other, both;  // empty: nothing
  };
  const Case cases[] = {
      {"a.example", "a.example", "a.example"},
      {"a.example", "b.example", ""},
      {"*.example", "a.example", "a.example"},
      {"*.example", "example", ""},
      {"*.example", "*.b.example", "*.b.example"},
      {"*.b.example", "b.example", ""},
      {"*.example", "badexample", ""},
      {"a.example", "a.example:443", "a.example:443"},
      {"a.example", "a.example:8443", ""},
      {"a.example:*", "a.example", "a.example"},
      {"a.example:*", "a.example:8443", "a.example:8443"},
      {"a.example:80", "a.example:443", ""},
      {"*.example:443", "a.example", "a.example:443"},
      {"*.example:8443", "a.example:*", "a.example:8443"},
      {"127.0.0.1", "0x7f.1", "127.0.0.1"},
  };
  for (const auto& one : cases) {
    const auto a = read_domain_rule(one.one).value(), b = read_domain_rule(one.other).value();
    const auto both = common(a, b);
    EXPECT_EQ(both ? to_text(*both) : "", one.both) << one.one << " and " << one.other;
    EXPECT_EQ(common(b, a), both) << one.other << " and " << one.one;
  }
}

TEST(DomainAccessTest, NamesAreComparedAsThePlaceThatIsReached) {
  const auto access = access_to({"api.example.com", "*.b.example", "c.example:8443", "d.example:*", "10.0.0.1"});
  struct Case {
    std::string_view host;
    std::uint16_t port;
    bool listed;
  };
  const Case cases[] = {
      {"api.example.com", 443, true},
      {"api.example.com", 80, true},
      {"API.EXAMPLE.COM", 443, true},
      {"api.example.com.", 443, true},
      {"api.example.com", 22, false},
      {"api.example.com", 8443, false},
      {"example.com", 443, false},
      {"x.api.example.com", 443, false},
      {"api.example.com.evil", 443, false},
      {"evilapi.example.com", 443, false},
      {"a.b.example", 443, true},
      {"a.a.b.example", 80, true},
      {"b.example", 443, false},
      {"ab.example", 443, false},
      {"c.example", 8443, true},
      {"c.example", 443, false},
      {"d.example", 1, true},
      {"d.example", 65535, true},
      {"10.0.0.1", 80, true},
      {"0xa.1", 80, true},
      {"167772161", 80, true},
      {"10.0.0.2", 80, false},
      {"127.0.0.1", 80, false},
      {"169.254.169.254", 80, false},
      {"::ffff:10.0.0.1", 443, true},
      {"8.8.8.8", 443, false},
  };
  for (const auto& one : cases) {
    const auto target = domain_target(one.host, one.port);
    ASSERT_TRUE(target) << one.host;
    EXPECT_EQ(is_listed(access, *target), one.listed) << one.host << ":" << one.port;
  }
  for (const std::string_view host :
       {"",
        "b\xC3\xBC"
        "cher.example",
        "a b", "api.example.com/", "fe80::1%eth0", "1.2.3.4.5", "127.0.0.1.", "*.b.example", "a,b.example"}) {
    EXPECT_FALSE(domain_target(host, 443)) << host;
  }
  EXPECT_FALSE(domain_target("api.example.com", 0));
}

// A name that is listed is worth only as much as the address it comes to.
TEST(DomainAccessTest, AnAddressNearUsIsAllowedOnlyWhereTheListNamesIt) {
  const auto plain = access_to({"api.example", "*.b.example"});
  const auto named = access_to({"api.example", "127.0.0.1", "[fd00::1]:443", "10.0.0.7:8443"});
  const auto localhost = access_to({"localhost", "*.localhost:443", "api.example"});
  struct Case {
    const DomainAccess& access;
    std::string_view host;
    std::uint16_t port;
    std::string_view address;
    bool allowed;
  };
  const Case cases[] = {
      {plain, "api.example", 443, "93.184.216.34", true},
      {plain, "api.example", 443, "2606:4700::1111", true},
      {plain, "other.example", 443, "93.184.216.34", false},
      {plain, "api.example", 443, "127.0.0.1", false},
      {plain, "api.example", 443, "127.8.8.8", false},
      {plain, "api.example", 443, "0.0.0.0", false},
      {plain, "api.example", 443, "::1", false},
      {plain, "api.example", 443, "::ffff:127.0.0.1", false},
      {plain, "api.example", 443, "64:ff9b::7f00:1", false},
      {plain, "api.example", 443, "10.1.2.3", false},
      {plain, "api.example", 443, "172.16.0.1", false},
      {plain, "api.example", 443, "192.168.0.1", false},
      {plain, "api.example", 443, "100.64.0.1", false},
      {plain, "api.example", 443, "fd00::1", false},
      {plain, "api.example", 443, "fe80::1", false},
      {plain, "api.example", 443, "169.254.169.254", false},
      {plain, "api.example", 443, "224.0.0.1", false},
      {plain, "api.example", 443, "fe80::1%2", false},
      {plain, "api.example", 443, "nonsense", false},
      {plain, "a.b.example", 443, "10.1.2.3", false},
      {named, "api.example", 443, "127.0.0.1", true},
      {named, "api.example", 443, "::ffff:127.0.0.1", true},
      {named, "api.example", 443, "127.0.0.2", false},
      {named, "api.example", 443, "fd00::1", true},
      {named, "api.example", 80, "fd00::1", false},
      {named, "api.example", 443, "10.0.0.7", false},
      {named, "127.0.0.1", 80, "127.0.0.1", true},
      {named, "10.0.0.7", 8443, "10.0.0.7", true},
      {localhost, "localhost", 80, "127.0.0.1", true},
      {localhost, "localhost", 80, "::1", true},
      {localhost, "localhost", 80, "10.0.0.1", false},
      {localhost, "a.localhost", 443, "127.0.0.1", true},
      {localhost, "api.example", 443, "127.0.0.1", false},
  };
  for (const auto& one : cases) {
    const auto target = domain_target(one.host, one.port).value();
    EXPECT_EQ(may_connect(one.access, target, one.address), one.allowed) << to_text(target) << " at " << one.address;
  }
}

TEST(DomainAccessTest, ARefusalNamesTheEntryAndWhatWouldAllowIt) {
  const auto access = access_to({"api.example"});
  EXPECT_EQ(not_listed_text(access, {"evil.example", 443}),
            "the sandbox of \"notes\" does not allow evil.example:443; to allow it, add \"evil.example\" to "
            "\"sandbox.network\" of its entry");
  EXPECT_THAT(not_listed_text(access, {"api.example", 22}), HasSubstr("add \"api.example:22\" to"));
  EXPECT_THAT(near_address_text(access, {"api.example", 8080}, "127.0.0.1"),
              AllOf(HasSubstr("api.example:8080, because it is at 127.0.0.1, which is this machine;"),
                    HasSubstr("add \"127.0.0.1:8080\" to")));
  // What it says to add is what allows it.
  for (const auto& target :
       {DomainTarget{"evil.example", 80}, DomainTarget{"a.example", 99}, DomainTarget{"::1", 443}}) {
    const auto text = not_listed_text(access, target);
    const auto begin = text.find("add \"") + 5;
    EXPECT_TRUE(is_listed(access_to({text.substr(begin, text.find('"', begin) - begin)}), target)) << text;
  }
}

}  // namespace
}  // namespace patchbay
