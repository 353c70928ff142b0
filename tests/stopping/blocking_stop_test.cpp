// The blocking face: a host that is stopped by one thread while others use it. Where exactly the stop falls is up to
// the threads; that everybody returns, and with what, is not. L9.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <patchbay/blocking.h>

namespace patchbay::test {
namespace {

using Use = void (*)(blocking::Host&);

TEST(BlockingStopping, WhoeverWaitsReturns) {
  const std::vector<std::pair<const char*, Use>> uses{
      {"start", [](blocking::Host& host) { host.start(); }},
      {"call", [](blocking::Host& host) { (void)host.call("s/x"); }},
      {"call by a bare name", [](blocking::Host& host) { (void)host.call("x"); }},
      {"session", [](blocking::Host& host) { (void)host.session("s"); }},
      {"status", [](blocking::Host& host) { (void)host.status(); }},
      {"catalog", [](blocking::Host& host) { (void)host.catalog(); }},
      {"stop", [](blocking::Host& host) { host.stop(); }},
  };
  for (const auto& [name, use] : uses) {
    SCOPED_TRACE(name);
    for (int round = 0; round < 3; ++round) {
      blocking::Options options;
      options.config.emplace();
      ServerConfig config;
      config.name = "s";
      config.command = "cat";  // reads, and answers nothing that is an answer
      options.config->servers = {config};
      blocking::Host host(std::move(options));
      std::atomic<bool> begun = false;
      std::optional<Error> error;
      std::thread user([&] {
        begun = true;
        begun.notify_all();
        try {
          use(host);
        } catch (const Error& e) {
          error = e;
        }
      });
      begun.wait(false);
      for (int turn = 0; turn < round; ++turn) (void)host.status();
      host.stop();
      user.join();
      if (error) EXPECT_EQ(error->code(), Errc::closed) << error->message();
      try {
        host.start();
        ADD_FAILURE() << "it was stopped";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::closed);
      }
    }
  }
}

}  // namespace
}  // namespace patchbay::test
