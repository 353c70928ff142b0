// Where a server may send us, and where not: every notation of every address that only we can reach. A1 N5.
#include "auth/endpoint_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using enum AddressKind;

struct Address {
  std::string host;
  AddressKind kind;
};
const std::vector<Address>& addresses() {
  static const std::vector<Address> table{
      {"8.8.8.8", common},
      {"172.15.255.255", common},
      {"172.32.0.0", common},
      {"100.63.255.255", common},
      {"100.128.0.0", common},
      {"192.167.255.255", common},
      {"223.255.255.255", common},
      {"2606:4700::1111", common},
      {"[2a00:1450:4001::1]", common},
      {"3ffe::1", common},
      {"127.0.0.1", loopback},
      {"127.255.255.254", loopback},
      {"127.1", loopback},
      {"0x7f.1", loopback},
      {"0X7F000001", loopback},
      {"2130706433", loopback},
      {"017700000001", loopback},
      {"0177.0.0.01", loopback},
      {"%31%32%37.0.0.1", loopback},
      {"0.0.0.0", loopback},
      {"0", loopback},
      {"::1", loopback},
      {"[::1]", loopback},
      {"0:0:0:0:0:0:0:1", loopback},
      {"::", loopback},
      {"::ffff:127.0.0.1", loopback},
      {"[::FFFF:7f00:1]", loopback},
      {"::127.0.0.1", loopback},
      {"::ffff:0:127.0.0.1", loopback},
      {"64:ff9b::127.0.0.1", loopback},
      {"64:ff9b::7f00:1", loopback},
      {"2002:7f00:1::", loopback},
      {"2002:7f00:0001:1234::5", loopback},
      {"2001:0:7f00:1::", loopback},
      {"2001:0:808:808::80ff:fffe", loopback},
      {"169.254.169.254", link_local},
      {"2852039166", link_local},
      {"0xa9fea9fe", link_local},
      {"0251.0376.0251.0376", link_local},
      {"169.254.0.0", link_local},
      {"::ffff:169.254.169.254", link_local},
      {"64:ff9b::a9fe:a9fe", link_local},
      {"2002:a9fe:a9fe::1", link_local},
      {"fe80::1", link_local},
      {"[FEBF::1]", link_local},
      {"10.0.0.1", private_network},
      {"10.255.255.255", private_network},
      {"167772161", private_network},
      {"172.16.0.1", private_network},
      {"172.31.255.255", private_network},
      {"192.168.1.1", private_network},
      {"100.64.0.1", private_network},
      {"100.127.255.255", private_network},
      {"198.18.0.1", private_network},
      {"198.19.255.255", private_network},
      {"fc00::1", private_network},
      {"fdff::1", private_network},
      {"fec0::1", private_network},
      {"::ffff:10.0.0.1", private_network},
      {"64:ff9b::10.0.0.1", private_network},
      {"2002:0a00:1::", private_network},
      {"0.0.0.1", other_special},
      {"0.255.255.255", other_special},
      {"168.63.129.16", other_special},
      {"100.100.100.200", other_special},
      {"192.0.0.170", other_special},
      {"192.0.2.1", other_special},
      {"198.51.100.1", other_special},
      {"203.0.113.1", other_special},
      {"192.88.99.1", other_special},
      {"224.0.0.1", other_special},
      {"239.255.255.255", other_special},
      {"240.0.0.1", other_special},
      {"255.255.255.255", other_special},
      {"ff02::1", other_special},
      {"fd00:ec2::254", other_special},
      {"fd20:ce::254", other_special},
      {"2001:db8::1", other_special},
      {"3fff::1", other_special},
      {"2001:10::1", other_special},
      {"100::1", other_special},
      {"64:ff9b:1::1", other_special},
      {"4000::1", other_special},
      {"fe00::1", other_special},
  };
  return table;
}

bool allowed(AddressKind target, AddressKind server) {
  if (target == common) return true;
  if (target == private_network) return server == private_network || server == loopback;
  return target == server && target != other_special;
}

std::string in_url(const std::string& host) {
  const bool six = host.contains(':') && !host.starts_with('[');
  return "https://" + (six ? "[" + host + "]" : host) + "/token";
}

TEST(AddressKind, IsTheSameInEveryNotation) {
  for (const auto& [host, kind] : addresses()) {
    const auto found = address_kind(host);
    ASSERT_TRUE(found) << host;
    EXPECT_EQ(int(*found), int(kind)) << host;
    EXPECT_EQ(host_kind(host), kind) << host;
  }
}

TEST(AddressKind, ANameHasNone) {
  for (const char* name : {"example.com", "127.0.0.1.example.com", "localhost", "0x7f.example", "", "1.2.3.4.5",
                           "256.1.1.1", "fe80::1%eth0", "[::1", "127.0.0.1.", "１２７.0.0.1", "127.0.0.1\n"}) {
    EXPECT_EQ(address_kind(name), std::nullopt) << name;
  }
  EXPECT_EQ(host_kind("LocalHost"), loopback);
  EXPECT_EQ(host_kind("foo.localhost"), loopback);
  EXPECT_EQ(host_kind("localhost."), loopback);
  EXPECT_EQ(host_kind("localhost.example.com"), common);
}

// Written as it is, or behind a name: the same answer.
TEST(EndpointRule, AServerMayNameItsOwnKindOfNetwork) {
  for (const auto server : {common, loopback, link_local, private_network, other_special}) {
    for (const auto& [host, kind] : addresses()) {
      SCOPED_TRACE(host + " named by " + std::to_string(int(server)));
      const bool good = allowed(kind, server);
      const auto literal = check_endpoint(in_url(host), "the token endpoint", {server});
      // A URL with such a host is none.
      EXPECT_EQ(literal.has_value(), good && !host.contains('%'));
      const auto resolved = check_address(host, "the token endpoint", {server});
      EXPECT_EQ(resolved.has_value(), good);
      if (!good) EXPECT_THAT(resolved, FailsWith(Errc::denied, testing::StartsWith("the token endpoint is ")));
    }
    for (const char* name : {"localhost", "foo.localhost", "LOCALHOST", "localhost."}) {
      EXPECT_EQ(check_endpoint(in_url(name), "x", {server}).has_value(), server == loopback) << name;
    }
    EXPECT_TRUE(check_endpoint("https://as.example/token", "x", {server}));
  }
}

// Whoever owns the name can have it come to another address at any time: it is no proof of being on this machine.
TEST(EndpointRule, ANameThatComesToThisMachine_NamesNothingNearIt) {
  const ServerNetwork by_name{loopback, true};
  for (const auto& [host, kind] : addresses()) {
    SCOPED_TRACE(host);
    EXPECT_EQ(check_endpoint(in_url(host), "x", by_name).has_value(), kind == common && !host.contains('%'));
    // Its own name comes to this machine, and so may others.
    EXPECT_EQ(check_address(host, "x", by_name).has_value(), kind == common || kind == loopback);
  }
  EXPECT_FALSE(check_endpoint("http://localhost:8080/token", "x", by_name));
  EXPECT_TRUE(check_endpoint("https://dev.example/token", "x", by_name));
  // In a private network names are how machines are called.
  EXPECT_TRUE(check_endpoint("https://10.0.0.5/token", "x", {private_network, true}));
  EXPECT_TRUE(check_address("10.0.0.5", "x", {private_network, true}));
  EXPECT_FALSE(check_address("127.0.0.1", "x", {private_network, true}));
}

TEST(EndpointRule, RefusalsSayWhy) {
  struct Case {
    std::string url;
    AddressKind server;
    Errc code;
    std::string says;
  };
  for (const auto& [url, server, code, says] : std::vector<Case>{
           {"https://169.254.169.254/latest", common, Errc::denied,
            "the token endpoint is at a link-local address (169.254.169.254), and the server that named it is not"},
           {"https://127.1/", common, Errc::denied,
            "the token endpoint is on this machine (127.0.0.1), and the server that named it is not"},
           {"https://10.0.0.1/", common, Errc::denied,
            "the token endpoint is in a private network (10.0.0.1), and the server that named it is not"},
           {"https://224.0.0.1/", loopback, Errc::denied,
            "the token endpoint is at a reserved address (224.0.0.1), and no server may name one"},
           {"http://localhost:3000/token", common, Errc::denied,
            "the token endpoint is on this machine (localhost), and the server that named it is not"},
           {"http://as.example/token", common, Errc::denied,
            "the token endpoint (http://as.example/token) must begin with https://, because it is not on this machine"},
           {"http://10.0.0.1/token", private_network, Errc::denied,
            "the token endpoint (http://10.0.0.1/token) must begin with https://, because it is not on this machine"},
           {"https://user:word@as.example/", common, Errc::denied,
            "the token endpoint (https://as.example/) contains a user name or password"},
           {"https://as.example/#a", common, Errc::denied,
            "the token endpoint (https://as.example/) contains a fragment (#)"},
           {"https://as.example.1/", common, Errc::denied,
            "the token endpoint (https://as.example.1/) has a host that different programs read differently"},
           {"file:///etc/passwd", loopback, Errc::protocol, ""},
           {"file://localhost/etc/passwd", loopback, Errc::denied,
            "the token endpoint (file://localhost/etc/passwd) does not begin with https://"},
           {"ftp://as.example/", common, Errc::denied,
            "the token endpoint (ftp://as.example/) does not begin with https://"},
           {"ws://as.example/", common, Errc::denied,
            "the token endpoint (ws://as.example/) does not begin with https://"},
           {"javascript:alert(1)", loopback, Errc::protocol, ""},
           {"data:text/html,x", loopback, Errc::protocol, ""},
           {"/token", common, Errc::protocol, ""},
           {"", common, Errc::protocol, ""},
           {"https://", common, Errc::protocol, ""},
           {"https://a b/", common, Errc::protocol, ""},
           {"https://as.example\\@evil.example/", common, Errc::protocol, ""},
           {"https://[fe80::1%25eth0]/", common, Errc::denied, ""},
           {"https://as.example/" + std::string(9000, 'a'), common, Errc::protocol, ""},
       }) {
    const auto result = check_endpoint(url, "the token endpoint", {server});
    EXPECT_THAT(result, FailsWith(code, HasSubstr(says))) << url;
    EXPECT_THAT(test::failure_of(result).message(), AllOf(HasSubstr("the token endpoint"), Not(HasSubstr("word@"))))
        << url;
  }
}

TEST(EndpointRule, WhatPassesIsTheUrl) {
  EXPECT_EQ(check_endpoint("HTTPS://AS.example:443/a/../token?x=1", "x", {})->text(), "https://as.example/token?x=1");
  EXPECT_EQ(check_endpoint("http://[::1]:8080/token", "x", {loopback})->text(), "http://[::1]:8080/token");
  EXPECT_TRUE(check_endpoint("http://127.0.0.1/token", "x", {loopback}));
  EXPECT_THAT(check_address("as.example", "x", {loopback}), FailsWith(Errc::denied));
}

TEST(BrowserUrl, OnlyTheWebAndThisMachine) {
  for (const char* good : {"https://as.example/authorize?a=b", "https://10.0.0.1/authorize", "https://localhost/",
                           "http://localhost:3000/a", "http://127.0.0.1/", "http://[::1]/", "https://as.example/#x"}) {
    EXPECT_TRUE(check_browser_url(good)) << good;
  }
  for (const char* bad :
       {"http://as.example/", "http://10.0.0.1/", "javascript:alert(1)", "javascript://as.example/%0aalert(1)",
        "data:text/html,x", "file:///etc/passwd", "file://localhost/etc", "vbscript://x/", "ms-word://x/y",
        "https://a@b.example/", "-flag", "", "https://a b", "https://as.example/\n", "HTTP://169.254.169.254/"}) {
    EXPECT_FALSE(check_browser_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace patchbay
