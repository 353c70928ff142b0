// A host that knows the tools of an earlier run, with a server that is a real process. W5, L3
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/blocking.h>
#include <patchbay/host.h>

#include "support/host_parts.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

class WarmStart : public testing::Test {
 protected:
  WarmStart() { write_program("# the first"); }

  void write_program(const std::string& comment) const {
    tree.file("serve.sh", "#!/bin/sh\n" + comment + "\nexec '" + built("mode-server") + "' good\n");
  }
  ServerConfig entry() const {
    auto config = named("s");
    config.command = "/bin/sh";
    config.args = {(tree.path() / "serve.sh").string()};
    config.env = {{"MODE_SERVER_LOG", (tree.path() / "asked").string()}};
    return config;
  }
  HostOptions options() const {
    auto options = empty_options();
    options.config->cwd = tree.path().string();
    options.config->servers = {entry()};
    options.state_directory = (tree.path() / "state").string();
    return options;
  }
  std::size_t started() const {
    std::ifstream file(tree.path() / "asked");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) count += line == "initialize" ? 1 : 0;
    return count;
  }

  TempTree tree;
};

TEST_F(WarmStart, ToolsOfAnEarlierRunAreThereAndTheFirstCallStartsTheServer) {
  run_task([&]() -> Task<void> {
    std::size_t tools = 0;
    {
      Host host(options());
      co_await host.prepare();
      EXPECT_TRUE(host.catalog()->empty());
      co_await host.start();
      tools = host.catalog()->size();
      EXPECT_GT(tools, 1u);
      co_await host.stop();
    }
    EXPECT_EQ(started(), 1u);
    {
      Host host(options());
      co_await host.prepare();
      EXPECT_EQ(host.catalog()->size(), tools);
      const auto before = host.catalog();
      EXPECT_EQ(started(), 1u) << "nothing was started";
      EXPECT_EQ(text_of(co_await host.call("mcp__s__echo", Json{{"text", "x"}})), "x");
      EXPECT_EQ(started(), 2u);
      EXPECT_EQ(host.catalog(), before);
      co_await host.stop();
    }
    write_program("# another program");
    Host host(options());
    co_await host.prepare();
    EXPECT_TRUE(host.catalog()->empty());
    EXPECT_EQ(started(), 2u);
    co_await host.stop();
  });
}

TEST_F(WarmStart, TheBlockingHostHasThemAsWell) {
  blocking::Options options;
  options.config = this->options().config;
  options.state_directory = this->options().state_directory;
  std::size_t tools = 0;
  {
    blocking::Host host(options);
    host.start();
    tools = host.catalog()->size();
  }
  blocking::Host host(options);
  host.prepare();
  EXPECT_GT(tools, 1u);
  EXPECT_EQ(host.catalog()->size(), tools);
  EXPECT_EQ(started(), 1u);
}

}  // namespace
}  // namespace patchbay::test
