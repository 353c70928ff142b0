// The library without coroutines at both ends: a server whose handlers block, reached over HTTP by a session of the
// same kind, and a host that asks the program before it starts and calls. L9.
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/blocking.h>

#include "support/places.h"

namespace patchbay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A server on a port of this machine, until it goes.
class Served {
 public:
  explicit Served(blocking::Server& server, std::string token = {}) {
    std::promise<std::string> listening;
    auto where = listening.get_future();
    blocking::HttpServing options;
    options.token = std::move(token);
    options.on_listening = [&listening](const std::string& url) { listening.set_value(url); };
    thread_ = std::jthread(
        [&server, options](std::stop_token stop) { EXPECT_NO_THROW(server.serve_http(options, std::move(stop))); });
    url_ = where.get();
  }
  HttpOptions http() const { return {.url = url_, .headers = {}, .proxy = ""}; }

 private:
  std::string url_;
  std::jthread thread_;
};

TEST(BlockingServer, HandlersTakeTypedArgumentsAndMayBlock) {
  blocking::Server server("sums", "1", "Adds.");
  server.add_tool("add", "Adds", args(arg<int>("a"), arg<int>("b", "", 1)),
                  [](int a, int b) { return text(std::to_string(a + b)); });
  // Two calls that wait for each other: handlers run on several threads.
  std::latch both(2);
  server.add_tool("meet", "Waits for another call", args(), [&] {
    both.arrive_and_wait();
    return "met";
  });
  server.add_tool("odd", "Throws", args(), []() -> std::string { throw Error(Errc::invalid_argument, "never"); });
  Resource resource;
  resource.uri = "note://one";
  resource.name = "one";
  server.add_resource(resource, [](std::string uri) {
    ResourceContents contents;
    contents.uri = std::move(uri);
    contents.text = "first";
    return std::vector{contents};
  });
  Prompt prompt;
  prompt.name = "hello";
  server.add_prompt(prompt, [](std::map<std::string, std::string>) {
    GetPromptResult result;
    result.description = "a greeting";
    return result;
  });
  Served served(server);
  auto session = blocking::connect(served.http());
  EXPECT_EQ(session.server().instructions, "Adds.");
  EXPECT_EQ(text_of(session.call_tool("add", {{"a", 2}, {"b", 40}})), "42");
  EXPECT_EQ(text_of(session.call_tool("add", {{"a", 2}})), "3");
  auto other = std::async(std::launch::async, [&] { return text_of(session.call_tool("meet")); });
  EXPECT_EQ(text_of(session.call_tool("meet")), "met");
  EXPECT_EQ(other.get(), "met");
  const auto odd = session.call_tool("odd");
  EXPECT_TRUE(odd.is_error);
  EXPECT_THAT(text_of(odd), HasSubstr("never"));
  EXPECT_EQ(session.read_resource("note://one").contents.at(0).text, "first");
  EXPECT_EQ(session.get_prompt("hello").description, "a greeting");
  EXPECT_TRUE(server.remove_tool("odd"));
  EXPECT_EQ(session.list_tools().items.size(), 2u);
  session.close();
  EXPECT_TRUE(session.closed());
}

TEST(BlockingServer, AHandlerMayAskTheClientInEitherEra) {
  blocking::Server server("asker", "1");
  server.add_tool("book", "Asks", args(arg<std::string>("what")), [](blocking::ToolCall& call, std::string what) {
    call.progress(1, 2, "asking");
    ElicitRequest question;
    question.message = "Book " + what + "?";
    question.requested_schema = Json{{"type", "object"}, {"properties", Json::object()}};
    const auto answer = call.elicit(question);
    call.log(LoggingLevel::info, "answered");
    const auto roots = call.list_roots();
    return std::string(to_string(answer.action)) + " in " + roots.at(0).uri;
  });
  Served served(server);
  for (const auto* protocol : {"auto", "legacy"}) {
    blocking::Options options;
    options.protocol = protocol;
    std::vector<std::string> asked;
    options.callbacks.elicit = [&](const ElicitRequest& request, const CallContext&) {
      asked.push_back(request.message);
      ElicitResult result;
      result.action = ElicitResult::Action::decline;
      return result;
    };
    options.callbacks.roots = [](const CallContext&) {
      Root root;
      root.uri = "file:///here";
      return std::vector{root};
    };
    auto session = blocking::connect(served.http(), options);
    EXPECT_EQ(text_of(session.call_tool("book", {{"what", "a table"}})), "decline in file:///here") << protocol;
    EXPECT_THAT(asked, ElementsAre("Book a table?")) << protocol;
    session.close();
  }
}

TEST(BlockingServer, OnlyCallersWithTheTokenAreLetIn) {
  blocking::Server server("closed", "1");
  server.add_tool("x", "", args(), [] { return "in"; });
  Served served(server, "t0ken");
  try {
    blocking::connect(served.http());
    ADD_FAILURE() << "it let us in";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unauthorized) << error.message();
  }
  auto http = served.http();
  http.headers = {{"Authorization", "Bearer t0ken"}};
  auto session = blocking::connect(http);
  EXPECT_EQ(text_of(session.call_tool("x")), "in");
}

TEST(BlockingHost, TheProgramIsAskedAndHearsWhatHappens) {
  blocking::Options options;
  ServerConfig entry;
  entry.name = "one";
  entry.command = test::built("mode-server");
  entry.args = {"good"};
  entry.standing = ServerStanding::awaiting_approval;
  entry.origin.trust = ConfigTrust::needs_approval;
  entry.origin.scope = ConfigScope::project;
  options.config.emplace().servers.push_back(entry);
  options.disallowed_tools = {"mcp__one__add"};
  std::vector<std::string> asked;
  options.approve = [&](const ApprovalQuestion& question) {
    asked.push_back("start " + question.server.name);
    return true;
  };
  options.permit = [&](const PermissionQuestion& question) {
    asked.push_back("call " + question.tool.name);
    return question.arguments.text().find("no") == std::string_view::npos;
  };
  std::mutex mutex;
  std::condition_variable changed;
  bool connected = false;
  options.on_event = [&](const HostEvent& event) {
    const auto* status = std::get_if<ServerStatus>(&event);
    std::lock_guard lock(mutex);
    connected = connected || (status && status->state == ServerState::connected);
    changed.notify_all();
  };
  blocking::Host host(std::move(options));
  EXPECT_EQ(text_of(host.call("one/echo", {{"text", "yes"}})), "yes");
  EXPECT_THAT(asked, ElementsAre("start one", "call mcp__one__echo"));
  try {
    host.call("one/echo", {{"text", "no"}});
    ADD_FAILURE() << "it was called";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::denied);
  }
  EXPECT_EQ(host.decide("one/add").outcome, PermissionOutcome::deny);
  EXPECT_EQ(host.find_tool("one/add").name, "mcp__one__add");
  EXPECT_EQ(host.config().servers.size(), 1u);
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return connected; });
  }
  ServerConfig second = entry;
  second.name = "two";
  second.standing = ServerStanding::active;
  second.origin.trust = ConfigTrust::trusted;
  host.add_server(second);
  host.start({"two"});
  EXPECT_EQ(text_of(host.session("two").call_tool("echo", {{"text", "x"}})), "x");
  host.stop();
}

TEST(BlockingSession, TasksAndSubscriptionsWorkAsWithCoroutines) {
  auto session = blocking::connect(StdioOptions{.command = test::built("scenario-server")});
  // Answered as a task, whose result is fetched by its id.
  const auto started = session.start_tool("task_is_error");
  const auto* task = std::get_if<RemoteTask>(&started);
  ASSERT_NE(task, nullptr);
  EXPECT_TRUE(session.await_task(task->id).is_error);
  EXPECT_TRUE(is_final(session.get_task(task->id).status));
  EXPECT_FALSE(session.closed());
  EXPECT_EQ(session.diagnostics(), "");
  const auto watched = session.watch({.tools_list_changed = true});
  EXPECT_TRUE(watched.tools_list_changed);
  session.close();
}

}  // namespace
}  // namespace patchbay
