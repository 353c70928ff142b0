// The library without coroutines at both ends: a server whose handlers block, reached over HTTP by a session of the
// same kind, and a host that asks the program before it starts and calls. L9.
#include <atomic>
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

// An older client answers by a message of its own, for which the handler waits in its thread.
TEST(BlockingServer, AQuestionEndsWhenItsCallIsCancelled) {
  blocking::Server server("asker", "1");
  std::promise<Errc> ended;
  std::promise<Errc> asked_again;
  server.add_tool("ask", "Asks", args(), [&](blocking::ToolCall& call) {
    try {
      (void)call.list_roots();
    } catch (const Error& error) {
      EXPECT_TRUE(call.stopped().stop_requested());
      ended.set_value(error.code());
    }
    try {
      (void)call.list_roots();
    } catch (const Error& error) {
      asked_again.set_value(error.code());
    }
    return "over";
  });
  Served served(server);
  blocking::Options options;
  options.protocol = "legacy";
  std::stop_source stop;
  std::promise<void> answer;
  options.callbacks.roots = [&, may_answer = answer.get_future().share()](const CallContext&) {
    stop.request_stop();
    may_answer.wait();
    return std::vector<Root>{};
  };
  auto session = blocking::connect(served.http(), options);
  EXPECT_THROW(session.call_tool("ask", {}, {}, stop.get_token()), Error);
  EXPECT_EQ(ended.get_future().get(), Errc::cancelled);
  EXPECT_EQ(asked_again.get_future().get(), Errc::cancelled);
  answer.set_value();
  session.close();
}

TEST(BlockingServer, AHandlerKnowsItsClientAndMayMakeATaskOfItsCall) {
  ServerOptions made;
  made.info = {.name = "worker", .version = "1"};
  made.instructions = "Works.";
  blocking::Server server(made);
  Tool tool;
  tool.name = "work";
  tool.execution = ToolExecution{.task_support = TaskSupport::optional};
  server.add_tool(
      tool, args(),
      [](blocking::ToolCall& call) {
        const bool is_task = call.start_task();
        call.status("at work");
        return call.client().value_or(Implementation{}).name + (is_task ? " as a task" : " at once") +
               (call.client_capabilities().sampling ? " with a model" : "");
      },
      ToolOptions{.task_start = TaskStart::by_handler});
  Served served(server);
  blocking::Options options;
  options.info = {.name = "tester", .version = "1"};
  auto session = blocking::connect(served.http(), options);
  EXPECT_EQ(session.server().instructions, "Works.");
  std::vector<std::string> states;
  CallOptions call;
  call.on_task = [&](const RemoteTask& task) { states.push_back(task.status_message.value_or("")); };
  EXPECT_EQ(text_of(session.call_tool("work", {}, call)), "tester as a task");
  call.task = TaskUse::avoid;
  EXPECT_EQ(text_of(session.call_tool("work", {}, call)), "tester at once");
  session.close_quickly();
}

// The one that asks waits for an answer that only another thread can give.
TEST(BlockingServer, WhoeverIsAskedMayCallAToolThatAsks) {
  blocking::Server server("asker", "1");
  server.add_tool("ask", "Asks", args(),
                  [](blocking::ToolCall& call) { return std::to_string(call.list_roots().size()); });
  Served served(server);
  for (const auto* protocol : {"auto", "legacy"}) {
    blocking::Options options;
    options.protocol = protocol;
    std::optional<blocking::Session> session;
    std::atomic<int> asked = 0;
    std::string inner;
    options.callbacks.roots = [&](const CallContext&) {
      if (++asked == 1) inner = text_of(session->call_tool("ask", {}));
      return std::vector<Root>(static_cast<std::size_t>(asked.load()));
    };
    session.emplace(blocking::connect(served.http(), options));
    EXPECT_EQ(text_of(session->call_tool("ask", {})), "2") << protocol;
    EXPECT_EQ(inner, "2") << protocol;
    session->close();
  }
}

TEST(BlockingServer, ACallCancelledBeforeAThreadIsFreeIsNotCarriedOut) {
  blocking::Server server("busy", "1");
  const auto threads = std::max<std::size_t>(8, std::thread::hardware_concurrency());
  std::latch all_busy(static_cast<std::ptrdiff_t>(threads));
  std::promise<void> go_on;
  const auto may_go_on = go_on.get_future().share();
  std::atomic<int> removed = 0;
  server.add_tool("wait", "Waits", args(), [&] {
    all_busy.count_down();
    may_go_on.wait();
    return "waited";
  });
  server.add_tool("remove", "Removes", args(), [&] {
    ++removed;
    return "removed";
  });
  Served served(server);
  auto session = blocking::connect(served.http());
  std::vector<std::jthread> calls;
  for (std::size_t i = 0; i < threads; ++i) {
    calls.emplace_back([&] { EXPECT_EQ(text_of(session.call_tool("wait", {})), "waited"); });
  }
  all_busy.wait();
  CallOptions soon_over;
  soon_over.total = std::chrono::milliseconds(50);
  EXPECT_THROW(session.call_tool("remove", {}, soon_over), Error);
  session.ping();  // behind the cancellation
  go_on.set_value();
  calls.clear();
  EXPECT_EQ(text_of(session.call_tool("remove", {})), "removed");
  EXPECT_EQ(removed, 1);
  session.close();
}

TEST(BlockingServer, WhatACallReportsIsReportedBeforeItReturns) {
  blocking::Server server("worker", "1");
  server.add_tool("work", "Works", args(), [](blocking::ToolCall& call) {
    for (int i = 1; i <= 20; ++i) call.progress(i, 20);
    return "done";
  });
  Served served(server);
  auto session = blocking::connect(served.http());
  for (int i = 0; i < 10; ++i) {
    int seen = 0;
    CallOptions options;
    options.on_progress = [&](const Progress&) { ++seen; };
    EXPECT_EQ(text_of(session.call_tool("work", {}, options)), "done");
    EXPECT_EQ(seen, 20);
  }
  session.close();
}

TEST(BlockingServer, TemplatesSkillsAndCompletionAreOfferedAndTakenBack) {
  blocking::Server server("shelf", "1");
  server.add_tool("x", "", args(), [] { return 1; });
  ResourceTemplate notes;
  notes.uri_template = "note://{name}";
  notes.name = "notes";
  server.add_resource_template(notes, [](std::string uri, std::map<std::string, std::string> variables) {
    return std::vector{ResourceContents{.uri = std::move(uri), .text = "about " + variables.at("name")}};
  });
  server.add_skill("pdf", {{.path = "SKILL.md", .content = "---\nname: pdf\ndescription: reads\n---\nRead.\n"}});
  Resource resource;
  resource.uri = "one://note";
  resource.name = "one";
  server.add_resource(resource, [](std::string) { return std::vector<ResourceContents>{}; });
  Prompt prompt;
  prompt.name = "hello";
  server.add_prompt(prompt, [](std::map<std::string, std::string>) { return GetPromptResult{}; });
  server.set_completion([](CompleteRequest request) {
    CompleteResult result;
    result.values = {request.argument.value + "lice"};
    return result;
  });
  Served served(server);
  auto session = blocking::connect(served.http());
  EXPECT_EQ(session.list_resource_templates().items.size(), 1u);
  EXPECT_EQ(session.read_resource("note://cats").contents.at(0).text, "about cats");
  EXPECT_EQ(session.list_skills().items.size(), 1u);
  CompleteRequest request;
  request.ref = {.kind = CompletionReference::Kind::prompt, .name = "hello"};
  request.argument = {.name = "who", .value = "A"};
  EXPECT_THAT(session.complete(request).values, ElementsAre("Alice"));
  EXPECT_TRUE(server.remove_skill("pdf"));
  EXPECT_FALSE(server.remove_skill("pdf"));
  EXPECT_TRUE(server.remove_resource("one://note"));
  EXPECT_FALSE(server.remove_resource("one://note"));
  EXPECT_TRUE(server.remove_prompt("hello"));
  EXPECT_FALSE(server.remove_prompt("hello"));
  EXPECT_TRUE(session.list_prompts().items.empty());
  EXPECT_TRUE(session.list_skills().items.empty());
  EXPECT_TRUE(session.list_resources().items.empty());
  EXPECT_EQ(session.list_tools_page({}).items.size(), 1u);
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

TEST(BlockingHost, AServerInThisProcessIsOfferedLikeTheOthers) {
  blocking::Options options;
  options.config.emplace();
  std::vector<std::string> principals;
  options.callbacks.roots = [&](const CallContext& context) {
    principals.push_back(context.principal);
    return std::vector<Root>{};
  };
  blocking::Host host(options);
  blocking::Host other(options);
  {
    blocking::Server server("own", "1");
    server.add_tool("count", "Counts folders", args(),
                    [](blocking::ToolCall& call) { return call.list_roots().size(); });
    host.add_server("own", server);
    host.add_server("bare", server, NamePrefix::none);
    CallOptions call;
    call.principal = "ann";
    EXPECT_EQ(text_of(host.call("own/count", {}, call)), "0");
    EXPECT_EQ(text_of(host.call("count", {}, call)), "0");
    EXPECT_THAT(principals, ElementsAre("ann", "ann"));
    // It serves others meanwhile, and gets another tool.
    Served served(server);
    EXPECT_EQ(blocking::connect(served.http()).list_tools().items.size(), 1u);
    server.add_tool("late", "", args(), [] { return "here"; });
    EXPECT_EQ(text_of(host.session("own").call_tool("late")), "here");
    EXPECT_THROW(other.add_server("own", server), Error) << "it runs on the loop of the first host";
  }
  const auto gone = host.session("own").call_tool("count");
  EXPECT_TRUE(gone.is_error) << "its threads went with it";
  host.stop_quickly();
}

TEST(BlockingHost, AServerThatServesAlreadyIsNotTakenIn) {
  blocking::Server server("own", "1");
  Served served(server);
  blocking::Options options;
  options.config.emplace();
  blocking::Host host(options);
  try {
    host.add_server("own", server);
    ADD_FAILURE() << "it was added";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
  }
}

TEST(BlockingHost, AConfigurationCanBeHandedIn) {
  blocking::Options options;
  options.config.emplace();
  blocking::Host host(options);
  EXPECT_TRUE(host.status().empty());
  LoadedConfig next;
  ServerConfig entry;
  entry.name = "one";
  entry.command = test::built("mode-server");
  entry.args = {"good"};
  next.servers.push_back(entry);
  EXPECT_THAT(host.reload(next).added, ElementsAre("one"));
  EXPECT_EQ(text_of(host.call("one/echo", {{"text", "yes"}})), "yes");
  EXPECT_THAT(host.reload(LoadedConfig{}).removed, ElementsAre("one"));
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
