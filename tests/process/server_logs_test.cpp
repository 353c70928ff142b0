// The log of a server that is a real process: nothing that it writes is lost, no secret is in it, and it ends with how
// the server ended. L5
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "host/kept/server_log.h"
#include "process/children.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class ServerLogs : public testing::Test {
 protected:
  ServerConfig shell(const std::string& script) const {
    auto config = named("s");
    config.origin.scope = ConfigScope::user;
    config.command = "/bin/sh";
    config.args = {"-c", script};
    return config;
  }
  HostOptions options() const {
    auto options = empty_options();
    options.state_directory = (tree.path() / "state").string();
    return options;
  }
  std::string log(const ServerConfig& server) const {
    const std::filesystem::path path = server_log_path((tree.path() / "state").string(), server, {});
    return tree.read(path.lexically_relative(tree.path()).string());
  }

  TempTree tree;
};

TEST_F(ServerLogs, HaveTheLastLinesAndWhoEndedTheServer) {
  const auto server =
      shell(program("mode-server") + " good; echo 'last line' >&2; printf 'and half of one' >&2; exit 3");
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server(server);
    co_await host.start();
    co_await host.stop();
  });
  EXPECT_THAT(log(server), AllOf(HasSubstr(" event connected: "), HasSubstr(" stderr last line\n"),
                                 HasSubstr(" stderr and half of one\n"),
                                 EndsWith(" event ended by Patchbay (stdin closed): exited with status 3\n")));
}

TEST_F(ServerLogs, SayThatAServerEndedByItself) {
  const auto server = shell("echo 'no API key' >&2; exit 7");
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server(server);
    co_await host.start();
    co_await host.stop();
  });
  EXPECT_THAT(log(server), AllOf(HasSubstr(" stderr no API key\n"), HasSubstr(" event failed (connect failed)"),
                                 HasSubstr(" event ended by itself: exited with status 7\n")));
}

TEST_F(ServerLogs, HaveNoSecretThatWasRenewedWhileTheHostRuns) {
  tree.file("token", "first-value-of-it");
  auto server = shell("echo \"got $GIVEN and $PRINTED\" >&2; exec " + program("mode-server") + " good");
  const auto file = (tree.path() / "token").string();
  server.env = {{"GIVEN", "${file:" + file + "}"}, {"PRINTED", "${cmd:cat " + file + "}"}};
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server(server);
    co_await host.start();
    tree.file("token", "second-value-of-it");
    co_await host.reconnect("s");
    co_await host.stop();
  });
  const auto text = log(server);
  EXPECT_THAT(text, Not(HasSubstr("-value-of-it")));
  const std::string line = "stderr got [redacted] and [redacted]\n";
  EXPECT_NE(text.find(line), text.rfind(line)) << text;
}

}  // namespace
}  // namespace patchbay::test
