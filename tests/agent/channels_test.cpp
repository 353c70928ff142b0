// Servers that push messages into a Host: which may, in which revision they are spoken to, what is delivered, kept and
// refused; and questions of permission that are answered through one. H1, H2. compat: B9.1, B9.2
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "settings/settings_layers.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/script_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr auto pushes = R"({"tools":{},"experimental":{"claude/channel":{}}})";
constexpr auto relays = R"({"tools":{},"experimental":{"claude/channel":{},"claude/channel/permission":{}}})";
constexpr auto message_method = "notifications/claude/channel";
constexpr auto question_method = "notifications/claude/channel/permission_request";
constexpr auto verdict_method = "notifications/claude/channel/permission";

constexpr auto tools =
    R"({"tools":[{"name":"send","inputSchema":{"type":"object"}},)"
    R"({"name":"vote","inputSchema":{"type":"object"},"_meta":{"anthropic/requiresUserInteraction":true}}]})";

std::unique_ptr<ScriptServer> channel_server(const char* capabilities = pushes) {
  auto server = ScriptServer::legacy(capabilities);
  server->on("tools/list", tools);
  server->on("tools/call", R"({"content":[{"type":"text","text":"done"}]})");
  return server;
}

void push(ScriptServer& server, std::string content) {
  server.notify(message_method, Json{{"content", std::move(content)}});
}

std::vector<std::string> texts_of(const std::vector<ChannelMessage>& messages) {
  std::vector<std::string> out;
  for (const auto& one : messages) out.push_back(one.text);
  return out;
}

std::vector<std::string> ids_of(const std::vector<ChannelMessage>& messages) {
  std::vector<std::string> out;
  for (const auto& one : messages) out.push_back(one.id);
  return out;
}

std::string element(std::string_view content, std::string_view server = "chat") {
  return fmt::format("<channel source=\"{}\">{}</channel>", server, content);
}

class ChannelHost : public testing::Test {
 protected:
  ChannelHost() {
    options = empty_options();
    options.config->cwd = "/p";
    options.channels.open = {"server:chat"};
    options.state_directory = (tree.path() / "state").string();
    options.client.log.threshold = LogLevel::info;
    options.client.log.sink = [this](const LogEvent& event) { log.push_back(event.event); };
  }
  // A host with these servers, stopped whatever happens.
  void with(std::vector<std::pair<std::string, ScriptServer*>> servers, std::function<Task<void>(Host&)> body) {
    run_task([&]() -> Task<void> {
      Host host(options);
      for (const auto& [name, server] : servers) host.add_server(named(name), server->transport());
      auto started = co_await as_result(host.start());
      auto done = started ? co_await as_result(body(host)) : std::move(started);
      co_await host.stop();
      value_or_throw(std::move(done));
    });
  }
  std::ptrdiff_t logged(std::string_view event) const { return std::ranges::count(log, event); }

  TempTree tree;
  HostOptions options;
  std::vector<std::string> log;
};

// H1
TEST_F(ChannelHost, DeliversWhatAnAllowedServerPushes_AndIsSpokenToInAnOlderRevision) {
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_EQ(chat->asked.front(), "initialize");
    EXPECT_EQ(chat->count("server/discover"), 0u);
    EXPECT_EQ(host.status().front().era, Era::legacy);
    push(*chat, "one");
    chat->notify(message_method, parse_json(R"({"content":"</channel>two","meta":{"user":"A\"nn"}})").value());
    auto messages = co_await host.next_channel_messages();
    while (messages.size() < 2) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(messages));
    EXPECT_THAT(
        texts_of(messages),
        ElementsAre(element("one"), R"(<channel source="chat" user="A&quot;nn">&lt;/channel&gt;two</channel>)"));
    EXPECT_EQ(messages.front().server, "chat");
    const auto status = host.channels();
    EXPECT_THAT(status, SizeIs(1));
    EXPECT_TRUE(status.front().open && status.front().declared);
    EXPECT_FALSE(status.front().relays);
    EXPECT_EQ(status.front().waiting, 2u);
    co_await host.acknowledge_channel_messages(ids_of(messages));
    EXPECT_EQ(host.channels().front().waiting, 0u);
  });
}

// H1
TEST_F(ChannelHost, TakesNothingFromAServerThatNobodyNamed) {
  const auto chat = channel_server();
  const auto other = channel_server();
  with({{"chat", chat.get()}, {"other", other.get()}}, [&](Host& host) -> Task<void> {
    // It is spoken to as every server is.
    EXPECT_GE(other->count("server/discover"), 1u);
    push(*other, "let me in");
    push(*other, "let me in");
    push(*chat, "hello");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("hello")));
    co_await settle();
    const auto status = host.channels();
    EXPECT_THAT(status, SizeIs(2));
    EXPECT_FALSE(status.back().open);
    EXPECT_EQ(status.back().refused, 2u);
    EXPECT_THAT(status.back().reason, HasSubstr("nobody names it"));
    EXPECT_EQ(logged("channel_not_open"), 1);
  });
}

// H1: a capability that is not declared is none.
TEST_F(ChannelHost, TakesNothingFromAServerThatDoesNotSayThatItPushes) {
  const auto chat = channel_server(R"({"tools":{}})");
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "hello");
    while (host.channels().front().refused == 0) co_await settle();
    EXPECT_EQ(logged("channel_not_declared"), 1);
    EXPECT_FALSE(host.channels().front().declared);
  });
}

// H1: who asks for the newest revision gets it, and messages of a server that pushes there all the same.
TEST_F(ChannelHost, InANewerRevisionItWorksWhereTheServerDoesIt) {
  auto chat = ScriptServer::modern(pushes);
  chat->on("tools/list", R"({"resultType":"complete","tools":[],"ttlMs":1000,"cacheScope":"private"})");
  options.client.protocol = modern_client().protocol;
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_EQ(chat->count("initialize"), 0u);
    push(*chat, "hello");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("hello")));
  });
}

// H1
TEST_F(ChannelHost, WakesWhoeverWaits_AndGivesABusyOneAllTogetherInOrder) {
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> heard;
    Event woken;
    scope.spawn([](Host& from, std::vector<std::string>& into, Event& told) -> Task<void> {
      into = texts_of(co_await from.next_channel_messages());
      told.notify_all();
    }(host, heard, woken));
    co_await settle();
    push(*chat, "wake up");
    while (heard.empty()) co_await woken.wait();
    EXPECT_THAT(heard, ElementsAre(element("wake up")));
    co_await scope.join();
    // Busy: nobody waits.
    std::vector<std::string> sent;
    for (int i = 0; i < 20; ++i) {
      push(*chat, std::to_string(i));
      sent.push_back(element(std::to_string(i)));
    }
    while (host.channels().front().waiting < 21) co_await settle();
    std::vector<std::string> got;
    std::size_t groups = 0;
    while (got.size() < sent.size()) {
      ++groups;
      std::ranges::move(texts_of(co_await host.next_channel_messages()), std::back_inserter(got));
    }
    EXPECT_EQ(got, sent);
    EXPECT_LT(groups, sent.size());
  });
}

// H1
TEST_F(ChannelHost, GivesWhatWasNotAcknowledgedAgain_AndNothingElse) {
  const auto chat = channel_server();
  std::vector<ChannelMessage> first;
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    for (const auto* text : {"one", "two", "three"}) push(*chat, text);
    while (first.size() < 3) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(first));
    co_await host.acknowledge_channel_messages({first[0].id, "unknown"});
    co_await host.acknowledge_channel_messages({first[0].id});
  });
  // Not while the server is no channel, and not lost by that.
  options.channels.open = {};
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_THAT(host.channels(), SizeIs(1));
    EXPECT_FALSE(host.channels().front().open);
    co_return;
  });
  options.channels.open = {"server:chat"};
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    const auto again = co_await host.next_channel_messages();
    EXPECT_EQ(again, (std::vector<ChannelMessage>{first[1], first[2]}));
    co_await host.acknowledge_channel_messages(ids_of(again));
  });
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "four");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("four")));
  });
}

// H1: of another project, nothing.
TEST_F(ChannelHost, KeepsProjectsApart) {
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "one");
    (void)co_await host.next_channel_messages();
  });
  options.config->cwd = "/elsewhere";
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "two");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("two")));
  });
}

// H1: servers that send again what nobody confirmed to them.
TEST_F(ChannelHost, KnowsAMessageThatComesAgain_AlsoAfterARestart) {
  const auto chat = channel_server();
  const Json once = parse_json(R"({"content":"hi","meta":{"message_id":"7"}})").value();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    chat->notify(message_method, once);
    chat->notify(message_method, once);
    push(*chat, "end");
    std::vector<ChannelMessage> all;
    while (all.size() < 2) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(all));
    EXPECT_THAT(texts_of(all), ElementsAre(HasSubstr("hi"), element("end")));
    co_await host.acknowledge_channel_messages(ids_of(all));
  });
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    // The file has been read when the first message is there.
    push(*chat, "begin");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("begin")));
    chat->notify(message_method, once);
    push(*chat, "end");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("end")));
  });
}

// H1: a flood, huge ones, wrong ones.
TEST_F(ChannelHost, BoundsWhatAServerCanFill_AndSaysSoOnce) {
  const auto chat = channel_server();
  const auto calm = channel_server();
  options.channels.open = {"server:chat", "server:calm"};
  with({{"chat", chat.get()}, {"calm", calm.get()}}, [&](Host& host) -> Task<void> {
    auto of_chat = [&] { return host.channels().back(); };
    for (int i = 0; i < 1000; ++i) push(*chat, std::to_string(i));
    while (of_chat().waiting + of_chat().refused < 1000) co_await settle();
    EXPECT_EQ(of_chat().waiting, 256u);
    EXPECT_EQ(of_chat().refused, 744u);
    EXPECT_EQ(logged("channel_full"), 1);
    // Another server is not held up by it.
    push(*calm, "still here");
    std::vector<ChannelMessage> all;
    while (all.size() < 257) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(all));
    EXPECT_EQ(all.front().text, element("0"));
    EXPECT_THAT(texts_of(all), Contains(element("still here", "calm")));
    co_await host.acknowledge_channel_messages(ids_of(all));
    // There is room again.
    push(*chat, "after the flood");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("after the flood")));
    // By bytes as well; one that is too large for us is not looked at.
    for (int i = 0; i < 40; ++i) push(*chat, std::string(60'000, 'x'));
    push(*chat, std::string(3u << 20, 'y'));
    while (of_chat().waiting + of_chat().refused < 744 + 1 + 41) co_await settle();
    EXPECT_LT(of_chat().waiting, 20u);
    for (const auto* wrong : {R"({"content":7})", R"([])", R"({"content":"x","meta":[]})", R"({})"}) {
      const auto before = of_chat().refused;
      chat->notify(message_method, parse_json(wrong).value());
      while (of_chat().refused == before) co_await settle();
    }
    chat->notify(message_method, {});
  });
}

// H1
TEST_F(ChannelHost, WorksInMemoryWhereTheDiskDoesNotTakeIt_AndWarnsOnce) {
  const auto chat = channel_server();
  tree.file("state/channels", "a file where a folder should be");
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      push(*chat, "hello");
      const auto messages = co_await host.next_channel_messages();
      EXPECT_THAT(texts_of(messages), ElementsAre(element("hello")));
      co_await host.acknowledge_channel_messages(ids_of(messages));
    }
    EXPECT_EQ(logged("channel_messages_not_kept"), 1);
  });
}

TEST_F(ChannelHost, WithoutAStateDirectoryItWorksInMemory) {
  options.state_directory.clear();
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "hello");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("hello")));
    EXPECT_EQ(logged("channel_messages_not_kept"), 0);
  });
}

TEST_F(ChannelHost, WithoutChannelsNothingIsWritten) {
  options.channels.open = {};
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    push(*chat, "hello");
    while (host.channels().front().refused == 0) co_await settle();
  });
  EXPECT_FALSE(tree.has("state/channels"));
}

// H1: the connection comes back, and so do messages.
TEST_F(ChannelHost, GoesOnAfterALostConnection) {
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    co_await chat->die();
    co_await host.reconnect("chat");
    push(*chat, "back");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("back")));
    EXPECT_EQ(chat->count("server/discover"), 0u);
  });
}

TEST_F(ChannelHost, WhoWaitsIsToldThatTheHostStops) {
  const auto chat = channel_server();
  run_task([&]() -> Task<void> {
    Host host(options);
    host.add_server(named("chat"), chat->transport());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> ended;
    scope.spawn([](Host& from, std::optional<Error>& why) -> Task<void> {
      auto waited = co_await as_result(from.next_channel_messages());
      if (!waited) why = waited.error();
    }(host, ended));
    co_await settle();
    co_await host.stop();
    co_await scope.join();
    EXPECT_TRUE(ended);
    if (ended) EXPECT_EQ(ended->code(), Errc::closed);
  });
}

// H1: settings that change open and close channels, in another conversation with the server.
TEST_F(ChannelHost, FollowsSettings) {
  options.channels.open = {};
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_FALSE(host.channels().front().open);
    auto next = host.config();
    next.settings =
        settings_layers({parse_settings(R"({"channels":["server:chat"]})", SettingsSource::user, "/s.json")});
    (void)co_await host.reload(std::move(next));
    (void)co_await host.session("chat");
    EXPECT_TRUE(host.channels().front().open);
    EXPECT_EQ(chat->asked.back() == "server/discover", false);
    push(*chat, "hello");
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(element("hello")));
    auto managed = host.config();
    managed.settings =
        settings_layers({parse_settings(R"({"channels":["server:chat"]})", SettingsSource::user, "/s.json"),
                         parse_settings(R"({"channelsEnabled":false})", SettingsSource::enterprise, "/m")});
    (void)co_await host.reload(std::move(managed));
    EXPECT_FALSE(host.channels().front().open);
    EXPECT_THAT(host.channels().front().reason, HasSubstr("channelsEnabled"));
  });
}

// H1: killed in the middle, by the process itself once it has been given messages.
TEST(ChannelProcess, LosesNothingWhenItIsKilled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempTree tree;
  constexpr auto place = "PATCHBAY_TEST_CHANNEL_STATE";
  // The process that is killed runs this test anew, up to the line below.
  if (std::getenv(place) == nullptr) ::setenv(place, tree.path().c_str(), 1);
  HostOptions options = empty_options();
  options.config->cwd = "/p";
  options.channels.open = {"server:chat"};
  options.state_directory = std::getenv(place);
  const auto chat = channel_server();
  auto until_killed = [&] {
    run_task([&]() -> Task<void> {
      Host host(options);
      host.add_server(named("chat"), chat->transport());
      co_await host.start();
      for (int i = 0; i < 30; ++i) push(*chat, std::to_string(i));
      std::vector<ChannelMessage> got;
      while (got.size() < 20) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(got));
      got.resize(5);
      co_await host.acknowledge_channel_messages(ids_of(got));
      ::raise(SIGKILL);
    });
  };
  EXPECT_EXIT(until_killed(), testing::KilledBySignal(SIGKILL), "");
  run_task([&]() -> Task<void> {
    Host host(options);
    host.add_server(named("chat"), chat->transport());
    co_await host.start();
    std::vector<ChannelMessage> got;
    while (got.size() < 15) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(got));
    for (int i = 5; i < 20; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i) - 5].text, element(std::to_string(i)));
    co_await host.stop();
  });
  ::unsetenv(place);
}

// H1: a server that is a process, declared as others are.
TEST_F(ChannelHost, OverAPipeItIsTheSame) {
  tree.file("chat.sh", R"sh(
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -nE 's/.*"id":([0-9]+).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"chat","version":"1"},"capabilities":{"tools":{},"experimental":{"claude/channel":{}}}}}\n' "$id" ;;
    *notifications/initialized*)
      for n in 1 2 3; do
        printf '{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{"content":"number %s","meta":{"n":"%s"}}}\n' $n $n
      done ;;
    *'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
)sh");
  ServerConfig config = named("chat");
  config.command = "sh";
  config.args = {(tree.path() / "chat.sh").string()};
  config.origin.scope = ConfigScope::user;
  options.config->servers.push_back(config);
  with({}, [&](Host& host) -> Task<void> {
    EXPECT_EQ(host.status().front().era, Era::legacy);
    std::vector<ChannelMessage> all;
    while (all.size() < 3) std::ranges::move(co_await host.next_channel_messages(), std::back_inserter(all));
    EXPECT_EQ(all.back().text, R"(<channel source="chat" n="3">number 3</channel>)");
  });
}

// The blocks of a page, in order: what they are, and what is in them.
std::vector<std::pair<std::string, std::string>> blocks_of(const std::string& page) {
  std::ifstream file(std::filesystem::path(in_sources()) / "docs" / page);
  std::vector<std::pair<std::string, std::string>> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      if (!std::exchange(inside, !inside)) out.emplace_back(line.substr(3), "");
    } else if (inside) {
      out.back().second += line + "\n";
    }
  }
  return out;
}

// H1: docs/channels.md
TEST_F(ChannelHost, TheExampleOfTheDocumentIsAsItSays) {
  std::vector<std::string> json;
  std::string shown;
  for (const auto& [kind, text] : blocks_of("channels.md")) {
    if (kind == "json") json.push_back(text);
    if (kind == "xml") shown = text.substr(0, text.find('\n'));
  }
  ASSERT_GE(json.size(), 2u);
  options.channels.open = {};
  options.config->settings = settings_layers({parse_settings(json[0], SettingsSource::user, "/s.json")});
  const auto sent = parse_json(json[1]).value();
  const auto chat = channel_server();
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    chat->notify(sent["method"].as_text(), sent["params"]);
    EXPECT_THAT(texts_of(co_await host.next_channel_messages()), ElementsAre(shown));
  });
}

class ChannelRelay : public ChannelHost {
 protected:
  ChannelRelay() {
    options.permission.ask = [this](PermissionQuestion) -> Task<bool> {
      ++asked;
      const Over one(over);
      while (!answer) co_await answered.wait();
      co_return *answer;
    };
  }
  struct Over {
    explicit Over(int& c) : count(c) {}
    Over(const Over&) = delete;
    Over& operator=(const Over&) = delete;
    ~Over() { ++count; }
    int& count;
  };
  // The questions that this server was sent.
  static std::vector<Json> questions(const ScriptServer& server) {
    std::vector<Json> out;
    for (std::size_t i = 0; i < server.told.size(); ++i) {
      if (server.told[i] == question_method) out.push_back(server.told_with[i].value());
    }
    return out;
  }
  static void verdict(ScriptServer& server, const Json& id, std::string behavior) {
    server.notify(verdict_method, Json{{"request_id", id}, {"behavior", std::move(behavior)}});
  }
  // A call that is under way while `meanwhile` runs.
  static Task<Result<CallToolResult>> call(Host& host, std::string tool, std::function<Task<void>()> meanwhile) {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Result<CallToolResult>> result;
    scope.spawn([](Host& on, std::string name, std::optional<Result<CallToolResult>>& into) -> Task<void> {
      into = co_await as_result(on.call(std::move(name), Json{{"to", "ann"}, {"password", "hunter2"}}));
    }(host, std::move(tool), result));
    auto done = co_await as_result(meanwhile());
    if (!done) scope.cancel();
    co_await scope.join();
    value_or_throw(std::move(done));
    co_return std::move(*result);
  }

  std::unique_ptr<ScriptServer> chat = channel_server(relays);
  int asked = 0;
  int over = 0;  // questions that were answered or taken back
  std::optional<bool> answer;
  Event answered;
};

// H2
TEST_F(ChannelRelay, AnAnswerThroughTheChannelCounts_AndThePersonIsNotAskedAnyMore) {
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_TRUE(host.channels().front().relays);
    for (const bool allow : {true, false}) {
      const auto before = questions(*chat).size();
      auto result = co_await call(host, "chat/send", [&]() -> Task<void> {
        co_await chat->wait_told(question_method, before + 1);
        while (asked <= over) co_await settle();
        verdict(*chat, questions(*chat).back()["request_id"], allow ? "allow" : "deny");
      });
      EXPECT_EQ(result.has_value(), allow);
      if (!allow) EXPECT_THAT(result, FailsWith(Errc::denied));
      while (over < asked) co_await settle();
    }
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(chat->count("tools/call"), 1u);
    const auto sent = questions(*chat).front();
    EXPECT_EQ(sent["tool_name"], Json("mcp__chat__send"));
    EXPECT_THAT(std::string(sent["input_preview"].as_text()), AllOf(HasSubstr("ann"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(std::string(sent["request_id"].as_text()),
                testing::MatchesRegex("[a-km-z][a-km-z][a-km-z][a-km-z][a-km-z]"));
    EXPECT_EQ(logged("channel_answer"), 2);
  });
}

// H2: where somebody chose a newer revision, and the server does it there as well.
TEST_F(ChannelRelay, InANewerRevisionAnAnswerCountsAsWell) {
  chat = ScriptServer::modern(relays);
  chat->on("tools/list",
           R"({"resultType":"complete","tools":[{"name":"send","inputSchema":{"type":"object"}}],"ttlMs":1000,)"
           R"("cacheScope":"private"})");
  chat->on("tools/call", R"({"resultType":"complete","content":[{"type":"text","text":"done"}]})");
  options.client.protocol = modern_client().protocol;
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_EQ(chat->count("initialize"), 0u);
    auto result = co_await call(host, "chat/send", [&]() -> Task<void> {
      co_await chat->wait_told(question_method);
      verdict(*chat, questions(*chat).back()["request_id"], "allow");
    });
    EXPECT_TRUE(result);
    while (over < asked) co_await settle();
    EXPECT_EQ(chat->count("tools/call"), 1u);
  });
}

// H2
TEST_F(ChannelRelay, ThePersonMayBeFaster_AndEverythingElseIsIgnored) {
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    Json id;
    auto result = co_await call(host, "chat/send", [&]() -> Task<void> {
      co_await chat->wait_told(question_method);
      id = questions(*chat).back()["request_id"];
      verdict(*chat, "zzzzz", "allow");
      verdict(*chat, id, "maybe");
      verdict(*chat, Json(), "allow");
      chat->notify(verdict_method, {});
      while (logged("channel_answer_dropped") < 4) co_await settle();
      while (asked == 0) co_await settle();
      EXPECT_EQ(chat->count("tools/call"), 0u);
      answer = false;
      answered.notify_all();
    });
    EXPECT_THAT(result, FailsWith(Errc::denied));
    verdict(*chat, id, "allow");
    while (logged("channel_answer_dropped") < 5) co_await settle();
    EXPECT_EQ(chat->count("tools/call"), 0u);
    EXPECT_EQ(logged("channel_answer"), 0);
  });
}

// H2
TEST_F(ChannelRelay, NeverForAToolThatMustHaveThePerson) {
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    auto result = co_await call(host, "chat/vote", [&]() -> Task<void> {
      while (asked == 0) co_await settle();
      answer = true;
      answered.notify_all();
    });
    EXPECT_TRUE(result.has_value());
    EXPECT_THAT(questions(*chat), IsEmpty());
  });
}

// H2
TEST_F(ChannelRelay, GoesToEveryOpenChannelThatCan_AndToNoOther) {
  const auto second = channel_server(relays);
  const auto messages_only = channel_server(pushes);
  const auto closed = channel_server(relays);
  options.channels.open = {"server:chat", "server:second", "server:messages"};
  with({{"chat", chat.get()}, {"second", second.get()}, {"messages", messages_only.get()}, {"closed", closed.get()}},
       [&](Host& host) -> Task<void> {
         auto result = co_await call(host, "chat/send", [&]() -> Task<void> {
           co_await chat->wait_told(question_method);
           co_await second->wait_told(question_method);
           const auto id = questions(*chat).back()["request_id"];
           // Who was not asked cannot answer.
           verdict(*closed, id, "allow");
           verdict(*messages_only, id, "allow");
           co_await settle();
           EXPECT_EQ(chat->count("tools/call"), 0u);
           verdict(*second, id, "allow");
           verdict(*chat, id, "deny");
         });
         EXPECT_TRUE(result.has_value());
         EXPECT_THAT(questions(*closed), IsEmpty());
         EXPECT_THAT(questions(*messages_only), IsEmpty());
       });
}

// H2: where nobody is asked there is nothing to send.
TEST_F(ChannelRelay, ACallThatARuleDecidesIsNotSent) {
  options.permission.allowed_tools = {"mcp__chat__send"};
  with({{"chat", chat.get()}}, [&](Host& host) -> Task<void> {
    EXPECT_TRUE((co_await as_result(host.call("chat/send", Json::object()))).has_value());
    EXPECT_THAT(questions(*chat), IsEmpty());
    EXPECT_EQ(asked, 0);
  });
}

}  // namespace
}  // namespace patchbay::test
