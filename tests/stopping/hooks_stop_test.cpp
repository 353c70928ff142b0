// A call with hooks before and behind it, against stop() and against its own cancellation at every point where either
// can be: one outcome, and nothing of a hook is left. P3, L9.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
#include "support/host_parts.h"
#include "support/script_server.h"
#include "support/stop_at_every_step.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

std::string m(std::string_view method) { return std::string(method); }

std::unique_ptr<ScriptServer> scripted(bool legacy) {
  constexpr auto capabilities = R"({"tools":{}})";
  auto server = legacy ? ScriptServer::legacy(capabilities) : ScriptServer::modern(capabilities);
  server->on(m(method::list_tools), R"({"tools":[{"name":"a"}],"resultType":"complete"})");
  server->on(m(method::call_tool), R"({"content":[{"type":"text","text":"{}"}],"resultType":"complete"})");
  return server;
}

constexpr auto by_tool = R"({"type":"mcp_tool","server":"guard","tool":"a"})";
constexpr auto by_command = R"({"type":"command","command":"true","args":[]})";

// A host with the server of the call and one whose tool is a hook.
class HookWorld : public SteppedWorld {
 public:
  HookWorld(bool legacy, const std::string& hook) : called_(scripted(legacy)), guard_(scripted(!legacy)) {
    HostOptions options;
    LoadedConfig config;
    std::string events;
    for (const auto* event : {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied"}) {
      events +=
          fmt::format(R"({}"{}":[{{"matcher":"mcp__s__.*","hooks":[{}]}}])", events.empty() ? "" : ",", event, hook);
    }
    config.settings = settings_layers(
        {parse_settings(fmt::format(R"({{"hooks":{{{}}}}})", events), SettingsSource::user, "/s.json")});
    options.config = std::move(config);
    host_ = std::make_unique<Host>(std::move(options));
    host_->add_server(named("s"), called_->transport());
    host_->add_server(named("guard"), guard_->transport());
  }
  Task<void> prepare() override { co_await host_->start(); }
  Task<void> operate() override {
    auto done = co_await as_result(host_->call("s/a"));
    if (done) co_return;
    if (stopped_) EXPECT_EQ(done.error().code(), Errc::closed) << done.error().message();
    EXPECT_TRUE(done.error().carried_out().has_value());
    never_sent_ = done.error().carried_out() == CarriedOut::no;
    throw std::move(done).error();
  }
  Task<void> stop() override {
    stopped_ = true;
    co_await host_->stop();
    EXPECT_EQ(called_->open_now, 0);
    EXPECT_EQ(guard_->open_now, 0);
  }
  Task<void> finish() override {
    co_await host_->stop();
    if (never_sent_) EXPECT_EQ(called_->count(method::call_tool), 0u);
  }

 private:
  std::unique_ptr<ScriptServer> called_;
  std::unique_ptr<ScriptServer> guard_;
  std::unique_ptr<Host> host_;
  bool stopped_ = false;
  bool never_sent_ = false;
};

TEST(HookStopping, ACallWithHooksHasOneOutcomeWhereverItIsStopped) {
  for (const bool legacy : {false, true}) {
    const auto make = [&](auto) { return std::make_unique<HookWorld>(legacy, by_tool); };
    const auto report = stop_at_every_step(make, {.quiet = 5ms});
    EXPECT_GE(report.runs, 10u);
    EXPECT_EQ(report.runs,
              report.succeeded + (report.failed.contains(Errc::closed) ? report.failed.at(Errc::closed) : 0));
    cancel_at_every_step(make, {.quiet = 5ms});
  }
}

TEST(HookStopping, ACommandEndsWithTheCallAndWithTheHost) {
  const auto make = [](auto) { return std::make_unique<HookWorld>(false, by_command); };
  stop_at_every_step(make, {.stride = 3, .quiet = 50ms});
  cancel_at_every_step(make, {.stride = 3, .quiet = 50ms});
}

}  // namespace
}  // namespace patchbay::test
