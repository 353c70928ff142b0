// One spelling for every way to write a host, and what cannot be judged. C7 N5.
#include "http/host_name.h"

#include <gtest/gtest.h>

#include "http/server/tcp_listener.h"

namespace patchbay {
namespace {

TEST(CanonicalHost, EveryNotationOfAnAddressIsOneText) {
  struct Case {
    std::string_view host;
    std::string_view expected;
  };
  for (const auto& [host, expected] : std::vector<Case>{
           {"127.0.0.1", "127.0.0.1"},
           {"127.1", "127.0.0.1"},
           {"127.0.1", "127.0.0.1"},
           {"0x7f.1", "127.0.0.1"},
           {"0X7F.1", "127.0.0.1"},
           {"0x7f000001", "127.0.0.1"},
           {"2130706433", "127.0.0.1"},
           {"017700000001", "127.0.0.1"},
           {"0177.0.0.01", "127.0.0.1"},
           {"0000000000000000000000000000177.1", "127.0.0.1"},
           {"%31%32%37.1", "127.0.0.1"},
           {"0", "0.0.0.0"},
           {"4294967295", "255.255.255.255"},
           {"10.0xffffff", "10.255.255.255"},
           {"::1", "::1"},
           {"[::1]", "::1"},
           {"0:0:0:0:0:0:0:1", "::1"},
           {"[0000:0000::0001]", "::1"},
           {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
           {"::ffff:127.0.0.1", "127.0.0.1"},
           {"[::FFFF:7f00:1]", "127.0.0.1"},
           {"0:0:0:0:0:ffff:a00:1", "10.0.0.1"},
           {"Example.COM", "example.com"},
           {"example.com.", "example.com"},
           {"%65xample.com", "example.com"},
           {"ex%41mple.com", "example.com"},
           {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example"},
           {"my_server-1", "my_server-1"},
           {"127.0.0.1.example.com", "127.0.0.1.example.com"},
           {"0x7f.example", "0x7f.example"},
       }) {
    const auto canonical = canonical_host(host);
    ASSERT_TRUE(canonical) << host;
    EXPECT_EQ(*canonical, expected) << host;
    EXPECT_EQ(canonical_host(*canonical), canonical) << host;
  }
}

TEST(CanonicalHost, WhatReadersTakeDifferentlyCannotBeJudged) {
  using namespace std::string_view_literals;
  for (const auto host :
       {""sv, "."sv, "a..b"sv, ".example.com"sv, "example.com.."sv,
        // Numbers that are not an address.
        "256.1.1.1"sv, "1.2.3.4.5"sv, "4294967296"sv, "99999999999999999999999999"sv, "09"sv, "127.0.0.0x"sv, "0x"sv,
        "example.1"sv, "127.0.0.1."sv,
        // Mapped to something else by some: full-width letters and digits, a soft hyphen, a full-width
        // solidus, an ideographic stop, a letter that folds to two.
        "ｅｖｉｌ.com"sv, "１２７.0.0.1"sv, "ev\u00ADil.com"sv, "evil.com／.example.com"sv, "evil。com"sv,
        "ſtraße.example"sv, "%ef%bd%85vil.com"sv, "ev%00il.com"sv, "ev\0il.com"sv,
        // What no host has.
        "%"sv, "%4"sv, "%zz.com"sv, "a%2fb"sv, "a%2525"sv, "a b"sv, "*.example.com"sv, "a@b"sv, "fe80::1%25eth0"sv,
        "fe80::1%eth0"sv, "[fe80::1"sv, "[example]"sv, "[127.0.0.1]"sv, "::1::"sv, "1:2"sv}) {
    EXPECT_FALSE(canonical_host(host)) << host;
  }
  EXPECT_FALSE(canonical_host(std::string(64, 'a') + ".example"));
  EXPECT_FALSE(canonical_host(std::string(10'000'000, '1')));
  std::string longest;
  while (longest.size() < 250) longest += "a.";
  EXPECT_TRUE(canonical_host(longest + "bcd"));
  EXPECT_FALSE(canonical_host(longest + "bcde"));
}

TEST(CanonicalHost, LoopbackIsAPlaceNotASpelling) {
  for (const char* host : {"localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.8.9.1", "127.1", "0x7f.1",
                           "2130706433", "::1", "[::1]", "0:0::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
    EXPECT_EQ(is_loopback_name(host), std::string_view(host) != "a.localhost") << host;
  }
  for (const char* host : {"127.0.0.1.example.com", "127.evil1", "127.evil.example", "localhost.example.com",
                           "128.0.0.1", "::2", "", "127.0.0.1.", "１２７.0.0.1", "0.0.0.0", "::"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
    EXPECT_FALSE(is_loopback_name(host)) << host;
  }
}

}  // namespace
}  // namespace patchbay
