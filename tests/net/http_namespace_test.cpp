// The HTTP and the WebSocket client where the network itself is broken: names that do not resolve, a resolver that
// never answers, a machine without IPv4, a path that dies without a word. What names mean is said by a resolver of the
// tests' own, and where the machine makes network namespaces once more by the system's, in one of those; what changes
// the network itself is shown there alone.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capability.h"
#include "support/command.h"
#include "support/own_resolver.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

CommandOptions without_proxies() {
  CommandOptions options;
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}) {
    options.env[name] = "";
  }
  return options;
}

// Runs http-probe in a fresh namespace whose loopback is up, with these two files in /etc.
CommandResult probe(const std::string& prepare, const std::string& words, const std::string& hosts = "") {
  TemporaryDirectory directory;
  const auto resolv = directory.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n");
  const auto nsswitch = directory.write("nsswitch.conf", "hosts: files dns\n");
  const auto names = directory.write("hosts", hosts);
  const std::string script = "set -e; ip link set lo up; mount --bind " + resolv + " /etc/resolv.conf; mount --bind " +
                             nsswitch + " /etc/nsswitch.conf; mount --bind " + names + " /etc/hosts; " + prepare +
                             "; exec " + test::built("http-probe") + " " + words;
  std::vector<std::string> command{"/usr/bin/unshare", "--net", "--mount", "/bin/sh", "-c", script};
  // Root needs no user namespace, and gets none inside a chroot.
  if (::geteuid() != 0) command.insert(command.begin() + 1, "--map-root-user");
  return run_program(command, without_proxies());
}

// Runs http-probe with the resolver of the tests, which knows these names.
CommandResult probe_names(std::vector<std::string> words, const std::string& hosts = "") {
  words.insert(words.begin(), test::built("http-probe"));
  auto options = without_proxies();
  for (const auto& [name, value] : own_resolver(hosts)) options.env[name] = value;
  return run_program(words, options);
}

enum class Resolver { own, system };

// By the name of the resolver: what is true of both.
class HttpNames : public testing::TestWithParam<Resolver> {
 protected:
  static CommandResult ask(const std::string& verb, const std::string& url) {
    return GetParam() == Resolver::own ? probe_names({verb, url}) : probe(":", verb + " " + url);
  }
};

#define NEEDS_ITS_RESOLVER() \
  if (GetParam() == Resolver::system) NEEDS(namespaces)

TEST_P(HttpNames, NameThatDoesNotResolve_IsReportedAsSuch) {
  NEEDS_ITS_RESOLVER();
  // Nobody listens at the resolver's port, which answers at once.
  for (const char* url : {"http://server.example/mcp", "ws://server.example/mcp"}) {
    const auto result = ask("get", url);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out,
                AllOf(StartsWith("connect "), HasSubstr(url), HasSubstr("server.example could not be resolved"),
                      HasSubstr("while resolving the host name"), HasSubstr("check its spelling")));
  }
}

// A dead lookup is cancelled at once, and the loop answers a timer meanwhile.
TEST_P(HttpNames, SilentResolver_DoesNotHoldTheLoopOrACancellation) {
  NEEDS_ITS_RESOLVER();
  for (const char* url : {"http://server.example/mcp", "ws://server.example/mcp"}) {
    SCOPED_TRACE(url);
    const auto result = ask("silent-resolver", url);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "cancelled after 5 turns\n");
  }
}

TEST_P(HttpNames, SilentResolver_EndsAtTheConnectLimit) {
  NEEDS_ITS_RESOLVER();
  for (const char* url : {"http://server.example/mcp", "ws://server.example/mcp"}) {
    SCOPED_TRACE(url);
    const auto result = ask("silent-limit", url);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(StartsWith("timeout "), HasSubstr("no connection within 200 ms"),
                                  HasSubstr("while resolving the host name")));
  }
}

INSTANTIATE_TEST_SUITE_P(, HttpNames, testing::Values(Resolver::own, Resolver::system),
                         [](const auto& one) { return one.param == Resolver::own ? "OwnResolver" : "InANamespace"; });

// A1: what a name comes to is judged before anybody connects to it; without the rule the same name serves.
TEST(HttpAddresses, OneThatARuleForbids_IsNotConnectedTo) {
  const std::string hosts =
      "127.0.0.1 inside.example\n::1 six.example\n10.0.0.1 some.example\n127.0.0.1 some.example\n";
  const auto control = probe_names({"serve", "127.0.0.1", "inside.example"}, hosts);
  EXPECT_EQ(control.out, "200 hello\n") << control.err;
  for (const char* name : {"inside.example", "six.example", "some.example"}) {
    SCOPED_TRACE(name);
    const auto result = probe_names({"ruled", "127.0.0.1", name}, hosts);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(StartsWith("denied GET http://"), HasSubstr("the token endpoint is "),
                                  HasSubstr("(while connecting)")));
  }
}

// A name with two addresses, of which one refuses: the other is tried.
TEST(HttpAddresses, OneThatRefuses_LeadsToTheOther) {
  for (const char* scheme : {"http", "ws"}) {
    SCOPED_TRACE(scheme);
    const auto result =
        probe_names({"serve", "127.0.0.1", "both.example", scheme}, "127.0.0.2 both.example\n127.0.0.1 both.example\n");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "200 hello\n");
  }
}

TEST(HttpAddresses, Ipv6_IsReachedByItselfAndByName) {
  NEEDS(ipv6);
  for (const char* host : {"[::1]", "six.example"}) {
    for (const char* scheme : {"http", "ws"}) {
      SCOPED_TRACE(std::string(host) + " " + scheme);
      const auto result = probe_names({"serve", "::1", host, scheme}, "::1 six.example\n");
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.out, "200 hello\n");
    }
  }
}

TEST(HttpNamespace, Ipv6Only_Works) {
  NEEDS(namespaces);
  NEEDS(ipv6);
  for (const char* host : {"[::1]", "six.example", "[::1] ws", "six.example ws"}) {
    SCOPED_TRACE(host);
    const auto result = probe("ip -4 addr flush dev lo", std::string("serve ::1 ") + host, "::1 six.example\n");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "200 hello\n");
  }
}

// A name with an address of either kind, of which only one works: the other is tried.
TEST(HttpNamespace, HalfDeadName_IsReachedByItsOtherAddress) {
  NEEDS(namespaces);
  NEEDS(ipv6);
  struct Case {
    const char* address;
    const char* hosts;
  };
  for (const auto& c : {Case{"127.0.0.1", "127.0.0.1 both.example\nfd00::1 both.example\n"},
                        Case{"::1", "10.255.255.1 both.example\n::1 both.example\n"}}) {
    SCOPED_TRACE(c.address);
    // The dead addresses are on a device that swallows everything.
    for (const char* scheme : {"http", "ws"}) {
      const auto result = probe(
          "ip link add dead type dummy && ip link set dead up && ip addr add 10.255.255.2/24 dev dead && "
          "ip -6 addr add fd00::2/64 dev dead nodad",
          std::string("serve ") + c.address + " both.example " + scheme, c.hosts);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.out, "200 hello\n");
    }
  }
}

// T2: a stream that is silent for hours is in order, and one whose path is dead looks the same.
TEST(HttpNamespace, PathThatDiesWithoutAWord_EndsAStreamThatIsSilent) {
  NEEDS(namespaces);
  const auto result = probe(":", "dead-path 127.0.0.1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("began, then closed "), HasSubstr("while reading the body")));
}

}  // namespace
}  // namespace patchbay::test
