// What a Host does with the questions of its servers: who is asked, in which order and one at a time, what a call has
// to do with it, and what becomes of a question that nobody answers. Both eras. E1.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/tools.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "host/asking/question_queue.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
#include "support/beside.h"
#include "support/fixture_server.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Action = ElicitResult::Action;

std::string m(std::string_view method) { return std::string(method); }

ElicitResult accepted(std::string name) {
  return {.action = Action::accept, .content = Json{{"name", std::move(name)}}};
}

// A person who answers when the test lets them.
struct Person {
  std::vector<std::string> asked;  // "server: message"
  int at_once = 0;
  int most_at_once = 0;
  std::size_t answers = 0;  // that they may give
  Event changed;

  void answer(std::size_t more = 1) {
    answers += more;
    changed.notify_all();
  }
  Task<void> wait_asked(std::size_t times) {
    while (asked.size() < times) co_await changed.wait();
  }
  std::function<Task<ElicitResult>(ElicitRequest, CallContext)> handler() {
    return [this](ElicitRequest question, CallContext context) {
      return ask(*this, std::move(question), std::move(context));
    };
  }
  static Task<ElicitResult> ask(Person& self, ElicitRequest question, CallContext context) {
    struct Asking {
      Person& person;
      ~Asking() { --person.at_once; }
    } asking{self};
    self.most_at_once = std::max(self.most_at_once, ++self.at_once);
    self.asked.push_back(context.server + ": " + question.message);
    self.changed.notify_all();
    while (self.answers == 0) co_await self.changed.wait();
    --self.answers;
    co_return accepted(context.server);
  }
};

HostOptions options_for(const std::string& protocol) {
  auto options = empty_options();
  options.client.protocol = protocol;
  return options;
}

Task<std::string> asked_by(Host& host, std::string tool) { co_return text_of(co_await host.call(std::move(tool))); }

constexpr auto eras = {"auto", "legacy"};

// E1
TEST(HostAsking, HooksComeBeforeTheProgram_AndTheProgramBeforeThePerson) {
  struct Case {
    const char* before;   // null: none; empty: it has no answer; "!": it fails
    const char* program;  // empty: it says that it cannot
    const char* person;
    const char* after;  // what it makes of the answer
    const char* result;
  };
  const Case cases[] = {
      {"hook", "program", "person", nullptr, R"(accept {"name":"hook","size":7})"},
      {"", "program", "person", nullptr, R"(accept {"name":"program","size":7})"},
      {nullptr, "", "person", nullptr, R"(accept {"name":"person","size":7})"},
      {nullptr, nullptr, "person", nullptr, R"(accept {"name":"person","size":7})"},
      {nullptr, "program", nullptr, nullptr, R"(accept {"name":"program","size":7})"},
      {nullptr, "program", "person", "after", R"(accept {"name":"after","size":7})"},
      {"hook", nullptr, nullptr, "after", R"(accept {"name":"after","size":7})"},
      {"!", "program", "person", nullptr, "decline -"},
      {nullptr, "program", nullptr, "!", "decline -"},
      // Nobody to ask.
      {"", nullptr, nullptr, nullptr, "cancel -"},
      {nullptr, "", nullptr, nullptr, "cancel -"},
  };
  const auto answer_of = [](const char* name) {
    return [name](ElicitRequest, CallContext context) -> Task<ElicitResult> {
      EXPECT_EQ(context.server, "fix");
      EXPECT_EQ(context.tool, "ask_form");
      if (*name == 0) throw Error(Errc::unsupported, "not mine");
      co_return accepted(name);
    };
  };
  for (const std::string era : eras) {
    for (const auto& one : cases) {
      SCOPED_TRACE(era + " " + one.result);
      auto options = options_for(era);
      if (one.program != nullptr) options.client.elicit = answer_of(one.program);
      if (one.person != nullptr) options.asking.person = answer_of(one.person);
      if (one.before != nullptr) {
        options.asking.before = [name = std::string(one.before)](ElicitRequest,
                                                                 CallContext) -> Task<std::optional<ElicitResult>> {
          if (name == "!") throw Error(Errc::denied, "the hook failed");
          co_return name.empty() ? std::nullopt : std::optional(accepted(name));
        };
      }
      if (one.after != nullptr) {
        options.asking.after = [name = std::string(one.after)](ElicitRequest, ElicitResult given,
                                                               CallContext) -> Task<ElicitResult> {
          if (name == "!") throw Error(Errc::denied, "the hook failed");
          EXPECT_EQ(given.action, Action::accept);
          co_return accepted(name);
        };
      }
      run_task([&]() -> Task<void> {
        Host host(options);
        host.add_server("fix", make_fixture_server());
        EXPECT_EQ(co_await asked_by(host, "fix/ask_form"), one.result);
        co_await host.stop();
      });
    }
  }
}

// E1: one question at a time, over all servers; the clocks of the calls that wait stand still.
TEST(HostAsking, QuestionsOfTwoServersWaitForEachOther_AndTheirCallsDoNotTimeOut) {
  for (const std::string era : eras) {
    SCOPED_TRACE(era);
    ManualClock clock;
    run_task(clock, [&]() -> Task<void> {
      Person person;
      auto options = options_for(era);
      options.asking.person = person.handler();
      Host host(options);
      host.add_server("one", make_fixture_server());
      host.add_server("two", make_fixture_server());
      co_await host.start();
      Scope scope(co_await asio::this_coro::executor);
      const CallOptions brief{.total = 10s, .idle = {}, .on_progress = {}};
      auto first = beside(scope, host.call("one/ask_form", {}, brief));
      auto second = beside(scope, host.call("two/ask_form", {}, brief));
      co_await person.wait_asked(1);
      co_await clock.advance(2min);
      EXPECT_EQ(person.asked.size(), 1u);
      person.answer();
      co_await person.wait_asked(2);
      co_await clock.advance(2min);
      person.answer();
      co_await scope.join();
      EXPECT_THAT(person.asked, testing::UnorderedElementsAre("one: who are you?", "two: who are you?"));
      EXPECT_EQ(person.most_at_once, 1);
      for (const auto& call : {first, second}) {
        EXPECT_TRUE(call->result && *call->result) << (call->result ? call->result->error().message() : "");
      }
      co_await host.stop();
    });
  }
}

// E1: whoever gives up a call takes its question out of the queue, also one that is being asked.
TEST(HostAsking, AQuestionGoesWithItsCall) {
  for (const std::string era : eras) {
    SCOPED_TRACE(era);
    run_task([&]() -> Task<void> {
      Person person;
      auto options = options_for(era);
      options.asking.person = person.handler();
      Host host(options);
      for (const auto* name : {"one", "two", "three"}) host.add_server(name, make_fixture_server());
      co_await host.start();
      Scope gone(co_await asio::this_coro::executor);
      Scope scope(co_await asio::this_coro::executor);
      auto first = beside(gone, host.call("one/ask_form"));
      co_await person.wait_asked(1);
      auto waiting = beside(gone, host.call("two/ask_form"));
      co_await settle();
      auto third = beside(scope, host.call("three/ask_form"));
      co_await settle();
      EXPECT_EQ(person.asked.size(), 1u);
      gone.cancel();
      co_await gone.join();
      EXPECT_EQ(failure_of(*first), Errc::cancelled);
      EXPECT_EQ(failure_of(*waiting), Errc::cancelled);
      co_await person.wait_asked(2);
      person.answer();
      co_await scope.join();
      EXPECT_THAT(person.asked, ElementsAre("one: who are you?", "three: who are you?"));
      EXPECT_EQ(person.most_at_once, 1);
      co_await host.stop();
    });
  }
}

// E1: a server that does not take its question back when the call is cancelled.
TEST(HostAsking, AQuestionGoesWithItsCall_WhateverTheServerDoes) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  server->on(m(method::list_tools), R"({"tools":[{"name":"t"}]})");
  server->on(m(method::call_tool), [](Request) { return no_answer(); });
  run_task([&]() -> Task<void> {
    Person person;
    auto options = options_for("legacy");
    options.asking.person = person.handler();
    Host host(options);
    host.add_server(named("s"), server->transport());
    co_await host.start();
    Scope gone(co_await asio::this_coro::executor);
    Scope scope(co_await asio::this_coro::executor);
    auto call = beside(gone, host.call("s/t"));
    co_await server->wait_asked(method::call_tool);
    auto answer = beside(scope, server->ask(m(method::elicit),
                                            *Payload::parse(R"({"message":"x","requestedSchema":{"type":"object"}})")));
    co_await person.wait_asked(1);
    gone.cancel();
    co_await gone.join();
    co_await scope.join();
    EXPECT_TRUE(answer->result && *answer->result);
    if (answer->result && *answer->result) EXPECT_EQ((**answer->result).value()["action"], Json("cancel"));
    EXPECT_EQ(person.at_once, 0);
    co_await host.stop();
  });
}

// E1: bad input. A server that asks without end is refused, and others still get their turn.
TEST(HostAsking, AFloodOfQuestionsIsCancelledWithAReason) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  server->on(m(method::list_tools), R"({"tools":[{"name":"t"}]})");
  run_task([&]() -> Task<void> {
    Person person;
    std::vector<std::string> reasons;
    auto options = options_for("legacy");
    options.asking.person = person.handler();
    options.on_event = [&](const HostEvent& event) {
      const auto* log = std::get_if<LogEvent>(&event);
      if (log && log->event == "question_cancelled") reasons.push_back(std::string(log->field("reason")));
    };
    Host host(options);
    host.add_server(named("s"), server->transport());
    host.add_server("fix", make_fixture_server());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    std::vector<decltype(beside(scope, server->ask("", {})))> asked;
    constexpr std::size_t many = 20;
    for (std::size_t i = 0; i < many; ++i) {
      asked.push_back(beside(
          scope,
          server->ask(m(method::elicit),
                      *Payload::parse(fmt::format(R"({{"message":"{}","requestedSchema":{{"type":"object"}}}})", i)))));
    }
    co_await person.wait_asked(1);
    co_await settle();
    const auto other = beside(scope, host.call("fix/ask_form"));
    co_await settle();
    EXPECT_EQ(reasons.size(), many - most_questions_of_one);
    for (const auto& reason : reasons) EXPECT_THAT(reason, HasSubstr("8 of its questions"));
    person.answer(most_questions_of_one + 1);
    co_await scope.join();
    std::size_t cancelled = 0;
    for (const auto& one : asked) cancelled += (**one->result).value()["action"] == Json("cancel");
    EXPECT_EQ(cancelled, many - most_questions_of_one);
    EXPECT_TRUE(other->result && *other->result);
    EXPECT_EQ(person.asked.size(), most_questions_of_one + 1);
    co_await host.stop();
  });
}

// E1: bad input.
TEST(HostAsking, AFormThatNobodyCouldFillInIsCancelledAndNobodyIsAsked) {
  Json properties = Json::object();
  for (int i = 0; i < 5'000; ++i) properties["f" + std::to_string(i)] = Json{{"type", "string"}};
  auto server = std::make_shared<Server>("s", "1");
  Tool tool;
  tool.name = "t";
  server->add_tool(tool, [&properties](RequestContext& context, Json) -> Task<CallToolResult> {
    return [](RequestContext& c, Json fields) -> Task<CallToolResult> {
      ElicitRequest question;
      question.message = "everything";
      question.requested_schema = Json{{"type", "object"}, {"properties", std::move(fields)}};
      const auto answer = co_await c.elicit(std::move(question));
      co_return text(std::string(to_string(answer.action)));
    }(context, properties);
  });
  for (const std::string era : eras) {
    SCOPED_TRACE(era);
    run_task([&]() -> Task<void> {
      Person person;
      std::vector<std::string> reasons;
      auto options = options_for(era);
      options.asking.person = person.handler();
      options.on_event = [&](const HostEvent& event) {
        const auto* log = std::get_if<LogEvent>(&event);
        if (log && log->event == "question_cancelled") reasons.push_back(std::string(log->field("reason")));
      };
      Host host(options);
      host.add_server("s", server);
      EXPECT_EQ(co_await asked_by(host, "s/t"), "cancel");
      EXPECT_THAT(person.asked, IsEmpty());
      EXPECT_THAT(reasons, testing::Each(HasSubstr("the form has 5000 fields; the limit is 100")));
      EXPECT_FALSE(reasons.empty());
      co_await host.stop();
    });
  }
}

// E1: a page goes past a program that only takes forms.
TEST(HostAsking, AProgramThatTakesFormsAloneLeavesPagesToThePerson) {
  for (const std::string era : eras) {
    run_task([&]() -> Task<void> {
      auto options = options_for(era);
      options.client.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> { co_return accepted("program"); };
      options.asking.person = [](ElicitRequest question, CallContext) -> Task<ElicitResult> {
        EXPECT_EQ(question.url, "https://example.com/sign-in");
        co_return ElicitResult{.action = Action::accept};
      };
      Host host(options);
      host.add_server("fix", make_fixture_server());
      EXPECT_EQ(co_await asked_by(host, "fix/ask_url"), "accept -");
      EXPECT_THAT(co_await asked_by(host, "fix/ask_form"), HasSubstr("program"));
      co_await host.stop();
    });
  }
}

LoadedConfig with_settings(std::string_view text, SettingsSource source = SettingsSource::own) {
  LoadedConfig config;
  config.cwd = "/work/project";
  config.home = "/home/me";
  config.settings = settings_layers({parse_settings(text, source, "/home/me/.config/patchbay/config.json")});
  return config;
}

// E1: sampling needs a yes of settings or of the person, and a budget.
TEST(HostAsking, AServerGetsTextOfTheModelWhereSomebodyAllowsIt) {
  struct Case {
    const char* settings;
    std::optional<bool> person;  // what they answer; nothing: there is nobody
    bool answered;
    std::size_t asked;
    // A server that gets nothing is not told that there is a model: it may know another way.
    bool told = true;
  };
  const Case cases[] = {
      {"{}", std::nullopt, false, 0, false},
      {"{}", true, true, 1},
      {"{}", false, false, 1},
      {R"({"sampling":{"allow":["fix"]}})", std::nullopt, true, 0},
      {R"({"sampling":{"deny":["fix"]}})", true, false, 0, false},
      {R"({"sampling":{"allow":["fix"],"requestsPerServer":0}})", true, false, 0},
      {R"({"sampling":{"tokensPerCall":9}})", true, false, 0},
  };
  for (const std::string era : eras) {
    for (const auto& one : cases) {
      SCOPED_TRACE(era + " " + one.settings);
      std::size_t asked = 0;
      auto options = options_for(era);
      options.config = with_settings(one.settings);
      options.client.sample = [](CreateMessageRequest, CallContext) -> Task<CreateMessageResult> {
        CreateMessageResult result;
        result.model = "m";
        result.content.push_back(TextContent{.text = "hello"});
        co_return result;
      };
      if (one.person) {
        options.asking.sampling = [&asked, yes = *one.person](SamplingQuestion question) -> Task<bool> {
          ++asked;
          EXPECT_THAT(question.text, HasSubstr("user:\n  | say something\nat most 10 tokens of answer\n"));
          EXPECT_EQ(question.context.server, "fix");
          co_return yes;
        };
      }
      run_task([&]() -> Task<void> {
        Host host(options);
        host.add_server("fix", make_fixture_server());
        auto called = co_await as_result(host.call("fix/ask_sample"));
        EXPECT_EQ(called && !called->is_error, one.answered) << (called ? text_of(*called) : called.error().message());
        if (one.answered && called) EXPECT_EQ(text_of(*called), "m said hello");
        const auto said = called ? text_of(*called) : called.error().message();
        const bool untold = said.contains("does not support") || said.contains("does not have a capability");
        EXPECT_EQ(!untold, one.told) << said;
        EXPECT_EQ(asked, one.asked);
        co_await host.stop();
      });
    }
  }
}

// E1, compat: B7.13. Roots are the folders of the program and those that settings outside the repository add.
TEST(HostAsking, ServersAreToldTheFoldersTheUserWorksIn) {
  for (const std::string era : eras) {
    SCOPED_TRACE(era);
    run_task([&]() -> Task<void> {
      auto options = options_for(era);
      options.config = with_settings(
          R"({"permissions":{"additionalDirectories":["/data/a b","../docs","~/notes","/work/project"]}})");
      options.asking.folders = {"/work/project"};
      Host host(options);
      host.add_server("fix", make_fixture_server());
      EXPECT_EQ(co_await asked_by(host, "fix/ask_roots"),
                "file:///work/project file:///data/a%20b file:///work/docs file:///home/me/notes ");
      host.set_folders({"/other"});
      EXPECT_THAT(co_await asked_by(host, "fix/ask_roots"), testing::StartsWith("file:///other file:///data/a%20b"));
      // A file of the repository adds none.
      co_await host.reload(
          with_settings(R"({"permissions":{"additionalDirectories":["/etc"]}})", SettingsSource::project));
      EXPECT_EQ(co_await asked_by(host, "fix/ask_roots"), "file:///other ");
      co_await host.stop();
    });
  }
}

// E1
TEST(HostAsking, AServerHearsThatTheFoldersAreOthers) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  server->on(m(method::list_tools), R"({"tools":[]})");
  run_task([&]() -> Task<void> {
    auto options = options_for("legacy");
    options.config = with_settings("{}");
    options.asking.folders = {"/one"};
    Host host(options);
    host.add_server(named("s"), server->transport());
    co_await host.start();
    host.set_folders({"/one"});
    co_await settle();
    EXPECT_EQ(std::ranges::count(server->told, m(method::roots_changed)), 0);
    host.set_folders({"/two"});
    co_await server->wait_told(method::roots_changed);
    co_await host.reload(with_settings(R"({"permissions":{"additionalDirectories":["/three"]}})"));
    co_await server->wait_told(method::roots_changed, 2);
    const auto roots = co_await server->ask(m(method::list_roots), *Payload::parse("{}"));
    EXPECT_EQ(to_text(roots.value()["roots"]),
              R"([{"uri":"file:///two","name":"two"},{"uri":"file:///three","name":"three"}])");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
