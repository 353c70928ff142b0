// N5: a server whose sandbox lists domains, with real processes: programs that honour a proxy reach what is listed and
// nothing else, programs that honour none have no network; what a hostile server tries from inside; what is said where
// a network of its own cannot be had; and that nothing is left when the host stops or dies.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "host/start/sandbox_start.h"
#include "process/children.h"
#include "process/process.h"
#include "process/sandbox_probe.h"
#include "process/session_house.h"
#include "support/capability.h"
#include "support/household.h"
#include "support/loop.h"
#include "support/own_resolver.h"
#include "support/places.h"
#include "support/running_program.h"
#include "support/scripted_server.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::CertificateAuthority;
using test::Household;
using test::run_task;
using test::RunningProgram;
using test::ScriptConnection;
using test::ScriptedServer;
using test::server_file;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void answer_everything(ScriptConnection& connection) {
  for (;;) {
    const auto request = connection.read_request();
    // What npm takes for an answer of a registry.
    connection.answer("200 OK", R"({"got": ")" + request.line() + R"(", "for": ")" + request.field("Host") + R"("})",
                      "Content-Type: application/json\r\n");
    if (request.field("Connection") == "close") return connection.finish();
  }
}

// Somebody listens there.
class SocketFile {
 public:
  explicit SocketFile(std::string path)
      : path_(std::move(path)), fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path_;
    EXPECT_EQ(::listen(fd_.get(), 8), 0);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  Fd fd_;
};

class SandboxedDomains : public testing::Test {
 protected:
  SandboxedDomains() {
    // What a server prints is kept beside it, for the test to read.
    house.tree.directory("home/.config/patchbay");
    house.tree.directory("project");
  }
  void SetUp() override {
    NEEDS(landlock);
    NEEDS(bubblewrap);
  }

  Json entry(const std::string& before, const std::vector<std::string>& domains) const {
    Json network = Json::array();
    for (const auto& domain : domains) network.push_back(domain);
    return {
        {"command", "/bin/bash"},
        {"args", Json::array({"-c", before + " exec " + test::built("mode-server") + " good"})},
        {"env", {{"PORT", std::to_string(plain.port())}, {"TLS", std::to_string(secure.port())}, {"CA", ca_file()}}},
        {"sandbox", {{"network", std::move(network)}, {"write", Json::array({"."})}}}};
  }
  void declare(const std::string& before, const std::vector<std::string>& domains,
               const std::string& file = "home/.config/patchbay/config.json") const {
    house.tree.file(file, server_file({{"fake", entry(before, domains)}}));
  }
  test::CommandOptions options() const {
    auto out = house.options();
    for (const auto& [name, value] :
         test::own_resolver("127.0.0.1 api.test\n127.0.0.1 sub.b.test\n127.0.0.1 evil.test\n"
                            "169.254.169.254 meta.test\n")) {
      out.env[name] = value;
    }
    return out;
  }
  test::CommandResult run(std::vector<std::string> words, std::vector<std::string> front = {}) const {
    front.push_back(test::built("patchbay"));
    front.insert(front.end(), words.begin(), words.end());
    return test::run_program(front, options());
  }
  std::string got(const std::string& name) const {
    return house.tree.has("project/" + name) ? house.tree.read("project/" + name) : "(none)";
  }
  std::string at(std::string_view name, const ScriptedServer& server) const {
    return std::string(name) + ":" + std::to_string(server.port());
  }
  // Both servers by a test's name, which comes to this machine: so the list names that as well.
  std::vector<std::string> listed() const {
    return {at("api.test", plain), at("api.test", secure), at("127.0.0.1", plain), at("127.0.0.1", secure)};
  }
  std::string ca_file() const { return ca.root().certificate; }

  Household house;
  test::TemporaryDirectory certificates;
  CertificateAuthority ca{certificates.path()};
  ScriptedServer plain{answer_everything};
  ScriptedServer secure{answer_everything, {.certificate = ca.issue("server", "DNS:api.test,DNS:sub.b.test")}};
};

TEST_F(SandboxedDomains, ProgramsThatHonourAProxyReachWhatIsListedAndNothingElse) {
  house.tree.file("project/client.py", R"(
import os, ssl, sys, urllib.request
context = ssl.create_default_context(cafile=os.environ["CA"])
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, context=context).read().decode())
    except urllib.error.HTTPError as refused:
        print(refused.code, refused.read().decode().strip())
    except Exception as failed:
        print(failed)
)");
  declare(R"(
curl -sS http://api.test:$PORT/by-curl > curl-http 2>&1
curl -sS --cacert "$CA" https://API.test:$TLS/by-curl > curl-https 2>&1
curl -sS http://evil.test:$PORT/ > curl-evil 2>&1
curl -sS --cacert "$CA" https://evil.test:$TLS/ > curl-evil-tls 2>&1
curl -sS -H 'Host: api.test' http://169.254.169.254/latest > curl-metadata 2>&1
curl -sS http://meta.test/ > curl-meta-name 2>&1
python3 client.py http://api.test:$PORT/by-python https://api.test:$TLS/by-python http://evil.test:$PORT/ > python 2>&1
npm_config_cache="$PWD/cache" npm_config_update_notifier=false npm ping --registry=http://api.test:$PORT/ > npm 2>&1 < /dev/null
)",
          [&] {
            auto domains = listed();
            domains.emplace_back("meta.test");
            return domains;
          }());
  const auto result = run({"tools"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(got("curl-http"), AllOf(HasSubstr("GET /by-curl HTTP/1.1"), HasSubstr(at("api.test", plain))));
  EXPECT_THAT(got("curl-https"), HasSubstr("GET /by-curl HTTP/1.1"));
  const auto refused = "the sandbox of \"fake\" does not allow " + at("evil.test", plain) + "; to allow it, add \"" +
                       at("evil.test", plain) + "\" to \"sandbox.network\" of its entry\n";
  EXPECT_EQ(got("curl-evil"), refused);
  EXPECT_THAT(got("curl-evil-tls"), HasSubstr("403"));
  EXPECT_THAT(got("curl-metadata"), HasSubstr("does not allow 169.254.169.254:80"));
  EXPECT_THAT(got("curl-meta-name"), HasSubstr("because it is at 169.254.169.254, a link-local address"));
  EXPECT_THAT(got("python"), AllOf(HasSubstr("GET /by-python HTTP/1.1"), EndsWith("403 " + refused)));
  EXPECT_THAT(got("npm"), HasSubstr("PONG"));
  // Where a person looks.
  const auto log = run({"logs", "fake"}).out;
  EXPECT_THAT(log,
              AllOf(HasSubstr("patchbay sandbox: the sandbox of \"fake\" does not allow " + at("evil.test", plain)),
                    HasSubstr("does not allow 169.254.169.254:80")));
  EXPECT_THAT(log, Not(HasSubstr("allow " + at("api.test", plain))));
}

// Each prints its word when it gets through. Both servers are there, as the run without a sandbox shows.
TEST_F(SandboxedDomains, ProgramsThatHonourNoProxyHaveNoNetwork) {
  const std::string attempts = R"(
{ (exec 3<> /dev/tcp/127.0.0.1/$PORT) 2> /dev/null && echo shell
curl -sS --noproxy '*' http://127.0.0.1:$PORT/ > /dev/null 2>&1 && echo curl
python3 -c 'import socket, os; socket.create_connection(("127.0.0.1", int(os.environ["PORT"])))' 2> /dev/null && echo python
node -e 'require("net").connect(process.env.PORT, "127.0.0.1", () => { console.log("node"); process.exit() }).on("error", () => process.exit(1))'
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)); print("udp")' 2> /dev/null
python3 -c 'import socket; socket.socket(socket.AF_VSOCK); print("vsock")' 2> /dev/null
echo all; } > reached
)";
  declare(attempts, listed());
  EXPECT_EQ(run({"tools"}).code, 0);
  EXPECT_EQ(got("reached"), "all\n");
  // Its own loopback works.
  declare(R"(python3 -c '
import socket
there = socket.create_server(("127.0.0.1", 0))
here = socket.create_connection(there.getsockname())
print("own")' > reached 2>&1;)",
          listed());
  EXPECT_EQ(run({"tools"}).code, 0);
  EXPECT_EQ(got("reached"), "own\n");
  auto open = entry(attempts, {});
  open.erase("sandbox");
  house.tree.file("home/.config/patchbay/config.json", server_file({{"fake", std::move(open)}}));
  EXPECT_EQ(run({"tools"}).code, 0);
  EXPECT_THAT(got("reached"), AllOf(HasSubstr("shell\ncurl\npython\nnode\n"), EndsWith("all\n")));
}

// Who listens there acts for whoever asks, in the network of all.
TEST_F(SandboxedDomains, SocketsOfOthersAreHiddenUnlessTheyAreListed) {
  const test::TemporaryDirectory run_folder;
  const SocketFile bus(run_folder.path() + "/bus"), other(run_folder.path() + "/other");
  house.tree.directory("home/.local/state/patchbay/session");
  fs::create_directory(run_folder.path() + "/patchbay");
  fs::permissions(run_folder.path() + "/patchbay", fs::perms::owner_all);
  const SocketFile ours(run_folder.path() + "/patchbay/s.sock");
  const SocketFile kept(house.home() + "/.local/state/patchbay/session/s.sock");
  const std::string attempts = "python3 -c '\nimport socket\nfor path in [\"" + bus.path() + "\", \"" + other.path() +
                               "\", \"" + ours.path() + "\", \"" + kept.path() + R"("]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("through", path)
    except OSError:
        pass
print("all")
' > reached 2>&1;)";
  const auto tries = [&](Json one) {
    one["env"]["XDG_RUNTIME_DIR"] = run_folder.path();
    house.tree.file("home/.config/patchbay/config.json", server_file({{"fake", std::move(one)}}));
    auto with = options();
    with.env["XDG_RUNTIME_DIR"] = run_folder.path();
    const auto result = test::run_program({test::built("patchbay"), "tools"}, with);
    EXPECT_EQ(result.code, 0) << result.err;
    return got("reached");
  };
  auto domains = entry(attempts, listed());
  EXPECT_EQ(tries(domains), "all\n");
  auto none = domains;
  none["sandbox"]["network"] = "none";
  EXPECT_EQ(tries(none), "all\n");
  auto listing = domains;
  listing["sandbox"]["write"] = Json::array({".", other.path()});
  EXPECT_EQ(tries(listing), "through " + other.path() + "\nall\n");
  auto open = domains;
  open.erase("sandbox");
  EXPECT_EQ(tries(open), "through " + bus.path() + "\nthrough " + other.path() + "\nthrough " + ours.path() +
                             "\nthrough " + kept.path() + "\nall\n");
}

TEST_F(SandboxedDomains, AProxyOfTheEntryDoesNotLeadAroundOurs) {
  auto one = entry("env | grep -i _proxy= | sort > variables;", listed());
  one["env"]["HTTPS_PROXY"] = "http://corporate.test:3128";
  one["env"]["no_proxy"] = "*";
  house.tree.file("home/.config/patchbay/config.json", server_file({{"fake", std::move(one)}}));
  EXPECT_EQ(run({"tools"}).code, 0);
  EXPECT_THAT(got("variables"),
              AllOf(HasSubstr("HTTPS_PROXY=http://127.0.0.1:"), HasSubstr("all_proxy=http://127.0.0.1:"),
                    HasSubstr("no_proxy=localhost,::1\n"), Not(HasSubstr("corporate"))));
}

TEST_F(SandboxedDomains, ARepositoryCannotGrantItselfADomain) {
  const auto port = std::to_string(plain.port());
  house.tree.file("home/.claude/settings.json",
                  R"({"sandbox": {"default": {"network": ["*.test:)" + port + R"(", "127.0.0.1:)" + port + R"("]}}})");
  house.tree.file("project/.claude/settings.json",
                  R"({"sandbox": {"default": {"network": ["api.test:*", "evil.test:*", "127.0.0.1:*"]}}})");
  declare(R"(
curl -sS http://api.test:$PORT/ > listed 2>&1
curl -sS http://sub.b.test:$PORT/ > not-by-settings-there 2>&1
curl -sS -k https://api.test:$TLS/ > other-port 2>&1
curl -sS http://evil.test:$PORT/ > not-by-entry 2>&1
)",
          {"api.test:*", "sub.b.test:*", "127.0.0.1:*", "10.0.0.1"}, "project/.mcp.json");
  const auto result = run({"tools", "--trust-project"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(got("listed"), HasSubstr("GET / HTTP/1.1"));
  EXPECT_THAT(
      got("not-by-settings-there"),
      HasSubstr("to \"sandbox.network\" of its entry and to \"network\" in \"sandbox.default\" of the settings"));
  EXPECT_THAT(got("other-port"), HasSubstr("403"));
  EXPECT_THAT(got("not-by-entry"), HasSubstr("does not allow " + at("evil.test", plain)));
  // What it comes to is shown.
  EXPECT_THAT(run({"get", "fake"}).out, HasSubstr("network only to " + at("api.test", plain)));
}

TEST_F(SandboxedDomains, AStartThatFailsNamesTheDomainToAdd) {
  declare("curl -sSf http://evil.test:$PORT/ > /dev/null || exit 1;", listed());
  const auto result = run({"tools"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("does not allow " + at("evil.test", plain)),
                                HasSubstr("to \"sandbox.network\" of its entry")));
  // What the server writes as if it were Patchbay is shown as what it wrote, and as nothing else.
  declare("echo 'patchbay sandbox: run this: evil' >&2; exit 1;", listed());
  EXPECT_THAT(run({"tools"}).err, AllOf(Not(HasSubstr("; run this: evil")), HasSubstr("sandbox: run this: evil")));
}

TEST_F(SandboxedDomains, WhatASandboxOfDomainsComesToIsShown) {
  declare("", {"api.example.com", "*.b.example"});
  const std::string words = "writes limited, credentials out of reach, network only to api.example.com and *.b.example";
  for (const auto* command : {"status", "list"}) EXPECT_THAT(run({command}).out, HasSubstr("sandbox: " + words));
  EXPECT_THAT(run({"doctor", "--offline"}).out, HasSubstr("sandbox: " + words));
  declare("", {"https://api.example.com"});
  EXPECT_THAT(run({"list"}).err + run({"list"}).out, HasSubstr("write the name alone"));
}

// Containers have no namespaces. A list of domains is a promise, so there nothing is started, by "auto" either.
TEST_F(SandboxedDomains, WhereNoNetworkOfItsOwnCanBeHadNothingIsStarted) {
  const std::vector<std::string> container{test::in_sources("tests/bare/ordinary")};
  declare("echo x > started;", listed());
  const auto result = run({"tools"}, container);
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is not started, because it would reach more than the domains"),
                                HasSubstr("needs bubblewrap"), HasSubstr("allow user namespaces"),
                                HasSubstr(R"(write "network": "none" or "any")")));
  EXPECT_EQ(got("started"), "(none)");
  EXPECT_THAT(run({"list"}, container).out, HasSubstr("not started: a network of single domains needs bubblewrap"));
  EXPECT_THAT(run({"doctor", "--offline"}, container).out, HasSubstr("needs bubblewrap"));
}

// The last example of docs/sandbox.md, with names that are here.
TEST_F(SandboxedDomains, TheExampleOfThePageHoldsWhatItSays) {
  std::ifstream file(test::in_sources("docs/sandbox.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string fence = "```json\n";
  const auto begin = page.rfind(fence) + fence.size();
  auto example = parse_json(page.substr(begin, page.find("```", begin) - begin)).value();
  auto& weather = example["mcpServers"]["weather"];
  ASSERT_EQ(weather["sandbox"]["network"],
            Json::array({"api.example.com", "*.maps.example.com", "db.example.com:5432"}));
  weather["command"] = "/bin/bash";
  weather["args"] =
      Json::array({"-c",
                   "for one in http://api.example.com http://a.maps.example.com http://maps.example.com "
                   "http://db.example.com http://db.example.com:5432; do curl -sS $one; done > answers 2>&1; exec " +
                       test::built("mode-server") + " good"});
  weather["sandbox"]["write"] = Json::array({"."});
  house.tree.file("home/.config/patchbay/config.json", to_text(example));
  EXPECT_EQ(run({"tools"}).code, 0);
  const auto answers = got("answers");
  // None of these names is known here: what is listed gets as far as that.
  EXPECT_THAT(answers,
              AllOf(HasSubstr("the address of api.example.com is not known"),
                    HasSubstr("the address of a.maps.example.com is not known"),
                    HasSubstr("does not allow maps.example.com:80"), HasSubstr("does not allow db.example.com:80"),
                    HasSubstr("the address of db.example.com is not known")));
}

// ---- the end of it

const std::string hold_a_tunnel = R"(
import os, socket, sys, time
proxy = ("127.0.0.1", int(os.environ["HTTPS_PROXY"].rsplit(":", 1)[1]))
open_ones = []
for one in range(int(sys.argv[2])):
    there = socket.create_connection(proxy)
    there.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n" % int(sys.argv[1]))
    if one == 0:
        there.sendall(b"\r\n")
        assert there.recv(100).startswith(b"HTTP/1.1 200 ")
    open_ones.append(there)
print("open", flush=True)
time.sleep(1000)
)";

TEST_F(SandboxedDomains, NothingIsLeftWhenItIsStoppedWithConnectionsOpen) {
  test::Signal ended;
  ScriptedServer far([&](ScriptConnection& connection) {
    connection.wait_for_end();
    ended.set();
  });
  const std::string mark = "PATCHBAY_DOMAINS_MARK_" + std::to_string(::getpid());
  const SandboxLevels levels{.entry = read_sandbox(Json{{"network", Json::array({at("127.0.0.1", far)})}}).value(),
                             .entry_is_users = true,
                             .command = "python3"};
  const VariableLookup none = [](std::string_view) { return std::nullopt; };
  const auto plan = plan_sandbox("s", levels, sandbox_places(none, "/tmp", ""), none, "/usr/bin/python3",
                                 look_at_sandbox_machine({}));
  ASSERT_TRUE(plan) << plan.error().message();
  const auto files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  const auto round = [&]() -> Task<void> {
    ProcessSpec spec{.command = "/usr/bin/python3", .args = {"-c", hold_a_tunnel, std::to_string(far.port()), "100"}};
    spec.env = {{mark, "1"}};
    spec.confinement = plan->confinement;
    const auto before = files();
    auto process = co_await Process::start(std::move(spec), Runtime{});
    std::array<char, 16> room;
    EXPECT_EQ(co_await process->read_some(room), 5u) << process->stderr_tail();
    // A hundred were asked for; the rest waits in the kernel and costs us nothing.
    EXPECT_LT(files(), before + 100);
    EXPECT_THAT(test::marked(mark), Not(IsEmpty()));
    co_await process->shutdown({1ms, 1ms, 1ms});
    EXPECT_THAT(test::marked(mark), IsEmpty());
    process.reset();
    co_await test::settle();
  };
  run_task([&]() -> Task<void> {
    // What is opened once stays. The far side's thread may still be closing its own.
    co_await round();
    const auto once = files();
    for (int more = 0; more < 4; ++more) co_await round();
    EXPECT_LE(files(), once + 1);
  });
  EXPECT_TRUE(ended.wait());
}

TEST_F(SandboxedDomains, NothingIsLeftWhenTheHostIsKilled) {
  test::Signal ended;
  test::Signal opened;
  ScriptedServer far([&](ScriptConnection& connection) {
    opened.set();
    connection.wait_for_end();
    ended.set();
  });
  house.tree.file("project/hold.py", hold_a_tunnel);
  const std::string mark = "PATCHBAY_DOMAINS_HOST_" + std::to_string(::getpid());
  declare(fmt::format("python3 hold.py {} 3 > opened 2>&1;", far.port()), {at("127.0.0.1", far)});
  auto environment = options();
  environment.env[mark] = "1";
  {
    RunningProgram host({test::built("patchbay"), "tools"}, {.cwd = environment.cwd, .env = environment.env});
    EXPECT_TRUE(opened.wait());
    EXPECT_EQ(host.end(SIGKILL), 128 + SIGKILL);
  }
  EXPECT_TRUE(ended.wait());
  // The guard process ends last.
  for (const auto pid : test::marked(mark)) EXPECT_TRUE(test::ended(pid)) << pid;
  EXPECT_THAT(test::marked(mark), IsEmpty());
}

}  // namespace
}  // namespace patchbay
