// A conversation with a server is recorded and played again: another client, with other ids, gets the same answers, the
// same progress and the same questions, in both eras. N8.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "client/connect.h"
#include "host/flight/flight_recorder.h"
#include "recording/player.h"
#include "rpc/trace_context.h"
#include "support/fixture_server.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/temp_tree.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using test::empty_options;
using test::make_fixture_server;
using test::named;
using test::run_task;
using test::TempTree;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A server that plays a recording, each time it is opened.
class PlayedTransport final : public Transport {
 public:
  explicit PlayedTransport(std::shared_ptr<Player> player) : player_(std::move(player)) {}
  Kind kind() const noexcept override { return Kind::memory; }
  std::string describe() const override { return "a recording"; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return [](PlayedTransport* self, Limits limits) -> Task<std::unique_ptr<Channel>> {
      auto [near, far] = make_memory_pair(limits, MemoryPayloads::copy);
      Scope(co_await asio::this_coro::executor)
          .spawn_last([](std::shared_ptr<Player> player, std::unique_ptr<Channel> channel) -> Task<void> {
            (void)co_await as_result(Player::serve(player, std::move(channel), PlayedChannel::connection));
          }(self->player_, std::move(far)));
      co_return std::move(near);
    }(this, runtime.limits);
  }

 private:
  std::shared_ptr<Player> player_;
};

std::shared_ptr<Transport> replay(const std::string& text, std::vector<std::string>& said) {
  const auto recording = read_recording(text);
  EXPECT_TRUE(recording.has_value());
  EXPECT_THAT(recording->warnings, IsEmpty());
  auto player =
      std::make_shared<Player>(script_of(*recording), [&said](const std::string& line) { said.push_back(line); });
  return std::make_shared<PlayedTransport>(std::move(player));
}

class Recordings : public testing::TestWithParam<std::string> {
 protected:
  HostOptions options() {
    auto options = empty_options();
    options.state_directory = (tree.path() / "state").string();
    options.client.protocol = GetParam();
    options.client.elicit = [this](ElicitRequest question, CallContext) -> Task<ElicitResult> {
      questions.push_back(question.message);
      return []() -> Task<ElicitResult> {
        ElicitResult answer;
        answer.action = ElicitResult::Action::accept;
        answer.content = Json{{"name", "Ann"}};
        co_return answer;
      }();
    };
    return options;
  }

  TempTree tree;
  std::vector<std::string> questions;
};

struct Heard {
  std::vector<std::string> tools;
  std::string echoed;
  std::string asked;
  std::string failed;
  std::vector<double> progress;
};

std::string told_by(const CallToolResult& result) {
  return to_text(result.structured_content.value_or(Json())) + (result.content.empty() ? "" : "+");
}

Task<Heard> talk(Host& host) {
  Heard heard;
  co_await host.start();
  for (const auto& entry : host.catalog()->tools()) heard.tools.push_back(entry.tool->name);
  heard.echoed = told_by(co_await host.call("mcp__fix__echo", Json{{"text", "hello"}}));
  CallOptions with;
  with.on_progress = [&heard](const Progress& progress) { heard.progress.push_back(progress.progress); };
  (void)co_await host.call("mcp__fix__count_up", Json{{"to", 3}}, with);
  heard.asked = told_by(co_await host.call("mcp__fix__ask_form"));
  auto refused = co_await as_result(host.call("mcp__fix__refuses"));
  heard.failed = refused ? "" : refused.error().message();
  co_return heard;
}

// N8: a bug report is a test.
TEST_P(Recordings, AnotherClientHearsTheSame) {
  std::vector<std::string> said;
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server("fix", make_fixture_server());
    const auto first = co_await talk(host);
    const auto asked_first = std::exchange(questions, {});
    EXPECT_THAT(first.progress, ElementsAre(1, 2, 3));
    EXPECT_THAT(asked_first, SizeIs(1));
    EXPECT_THAT(first.failed, HasSubstr("1234"));
    const auto text = co_await flight_recorder_of(host)->recording_of("fix");
    co_await host.stop();

    auto again = empty_options();
    again = options();
    again.state_directory.clear();
    again.client.info.name = "another";
    Host other(std::move(again));
    other.add_server(named("fix"), replay(text, said));
    const auto second = co_await talk(other);
    EXPECT_EQ(second.tools, first.tools);
    EXPECT_EQ(second.echoed, first.echoed);
    EXPECT_EQ(second.asked, first.asked);
    EXPECT_EQ(second.failed, first.failed);
    EXPECT_EQ(second.progress, first.progress);
    EXPECT_EQ(questions, asked_first);
    // What was not recorded is said so.
    auto unknown = co_await as_result(other.call("mcp__fix__echo", Json{{"text", "something else"}}));
    EXPECT_FALSE(unknown.has_value());
    if (!unknown) EXPECT_THAT(unknown.error().message(), HasSubstr("this is a recording of \"fix\""));
    co_await other.stop();
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("has no tools/call with these params")));
}

// N8: secrets of the frames stay here.
TEST_P(Recordings, HaveNoSecretsByNameAndAreStillFound) {
  std::vector<std::string> said;
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server("fix", make_fixture_server());
    const Json arguments{{"password", "hunter2-of-ann"}, {"text", "Bearer abcdefghijkl"}};
    (void)co_await host.call("mcp__fix__echo", arguments);
    const auto text = co_await flight_recorder_of(host)->recording_of("fix");
    co_await host.stop();
    EXPECT_THAT(text, Not(HasSubstr("hunter2-of-ann")));
    EXPECT_THAT(text, Not(HasSubstr("abcdefghijkl")));
    EXPECT_THAT(text, HasSubstr("[redacted]"));

    auto again = options();
    again.state_directory.clear();
    Host other(std::move(again));
    other.add_server(named("fix"), replay(text, said));
    const auto result = co_await other.call("mcp__fix__echo", arguments);
    EXPECT_THAT(told_by(result), HasSubstr("[redacted]"));
    co_await other.stop();
  });
  EXPECT_THAT(said, IsEmpty());
}

// N8: where the server is silent, so is the recording; the caller's limit ends it then as it did.
TEST_P(Recordings, ACallThatWasNeverAnsweredIsNotAnswered) {
  std::vector<std::string> said;
  run_task([&]() -> Task<void> {
    Host host(options());
    host.add_server("fix", make_fixture_server());
    CallOptions brief;
    brief.total = std::chrono::milliseconds(50);
    co_await host.start();
    auto first = co_await as_result(host.call("mcp__fix__hang", {}, brief));
    EXPECT_FALSE(first.has_value());
    const auto text = co_await flight_recorder_of(host)->recording_of("fix");
    co_await host.stop();
    auto again = options();
    again.state_directory.clear();
    Host other(std::move(again));
    other.add_server(named("fix"), replay(text, said));
    co_await other.start();
    auto second = co_await as_result(other.call("mcp__fix__hang", {}, brief));
    EXPECT_FALSE(second.has_value());
    if (!first && !second) EXPECT_EQ(first.error().code(), second.error().code());
    co_await other.stop();
  });
  EXPECT_THAT(said, ElementsAre(HasSubstr("was not answered when this was recorded")));
}

// N8: one trace for each request, in the requests to every server, and none that a server sent.
TEST_P(Recordings, RequestsHaveATraceContextWhenAskedFor) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  run_task([&]() -> Task<void> {
    auto with = options();
    with.load.emplace().variables = [&](std::string_view name) -> std::optional<std::string> {
      if (name == "TRACEPARENT") return "00-" + trace + "-b7ad6b7169203331-01";
      return std::nullopt;
    };
    Host host(std::move(with));
    host.add_server("fix", make_fixture_server());
    host.add_server("fox", make_fixture_server());
    (void)co_await host.call("mcp__fix__echo", Json{{"text", "1"}});
    (void)co_await host.call("mcp__fox__echo", Json{{"text", "1"}});
    std::set<std::string> spans;
    for (const std::string server : {"fix", "fox"}) {
      const auto recording = read_recording(co_await flight_recorder_of(host)->recording_of(server));
      EXPECT_TRUE(recording.has_value());
      for (const auto& frame : recording->frames) {
        if (frame.kind != RecordedFrame::Kind::sent) continue;
        const auto message = parse_json(frame.text);
        if (!message || !message->find("id") || !message->find("method")) continue;
        const auto parent = std::as_const(*message)["params"]["_meta"]["traceparent"].text();
        EXPECT_TRUE(parent.has_value()) << frame.text;
        if (!parent) continue;
        EXPECT_THAT(std::string(*parent), HasSubstr(trace));
        EXPECT_TRUE(spans.insert(std::string(*parent)).second) << "one span for each request";
      }
    }
    EXPECT_GE(spans.size(), 4u);
    co_await host.stop();
  });
}

INSTANTIATE_TEST_SUITE_P(BothEras, Recordings, testing::Values("auto", "legacy"));

// N8: "recorder": "off" keeps nothing.
TEST(RecorderSetting, OffKeepsNothing) {
  const TempTree tree;
  tree.file("home/.config/patchbay/config.json", R"({"settings": {"recorder": "off"}})");
  run_task([&]() -> Task<void> {
    HostOptions options;
    options.load.emplace();
    options.load->cwd = tree.path().string();
    options.load->home = (tree.path() / "home").string();
    options.load->config_dir = (tree.path() / "home/.config/patchbay").string();
    options.state_directory = (tree.path() / "state").string();
    Host host(std::move(options));
    host.add_server("fix", make_fixture_server());
    (void)co_await host.call("mcp__fix__echo", Json{{"text", "1"}});
    EXPECT_THAT(flight_recorder_of(host)->servers(), IsEmpty());
    co_await host.stop();
  });
}

TEST(RecorderSetting, WithoutAStateDirectoryThereIsNoRecorder) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    EXPECT_EQ(flight_recorder_of(host), nullptr);
    co_return;
  });
}

}  // namespace
}  // namespace patchbay
