// What a model gets beside the tools of servers, with real servers in both eras: searching for tools, resources of all
// servers, what a person mentions, prompts as commands, skills with approval. R1, R2, R3, R4, W6
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/model_tools.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "protocol/methods.h"
#include "protocol/skills.h"
#include "protocol/wire.h"
#include "support/fails_with.h"
#include "support/fixture_server.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/sample_server.h"
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

std::vector<std::string> names_of(const std::vector<Tool>& tools) {
  std::vector<std::string> names;
  for (const auto& tool : tools) names.push_back(tool.name);
  return names;
}

Json json_of_result(const CallToolResult& result) {
  auto value = parse_json(text_of(result));
  EXPECT_TRUE(value) << text_of(result);
  return value ? *value : Json();
}

// A host whose server "fixture" has one of everything, and counts how often a resource of it is read.
class ModelToolsScenario : public testing::TestWithParam<Era> {
 protected:
  ModelToolsScenario() : host_(options()) {
    server_->add_resource({.uri = "mem://counted", .name = "counted"},
                          [this](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
                            std::vector<ResourceContents> contents;
                            contents.push_back({.uri = std::move(uri), .text = fmt::format("read {}", ++reads_)});
                            read_.notify_all();
                            co_return contents;
                          });
    Prompt review{.name = "code review"};
    review.arguments.push_back({.name = "file", .required = true});
    review.arguments.push_back({.name = "style"});
    server_->add_prompt(std::move(review),
                        [](RequestContext&, std::map<std::string, std::string> arguments) -> Task<GetPromptResult> {
                          GetPromptResult result;
                          std::string text;
                          for (const auto& [name, value] : arguments) text += name + "=" + value + ";";
                          result.messages.push_back({.content = TextContent{.text = std::move(text)}});
                          co_return result;
                        });
    add("fixture", server_);
  }

  HostOptions options() {
    auto options = empty_options();
    options.keep_connected = false;
    options.on_event = [this](const HostEvent& event) {
      if (own_) own_->heard(event);
      happened_.notify_all();
    };
    return options;
  }
  void add(const std::string& name, std::shared_ptr<Server> server) {
    auto config = named(name);
    config.protocol = GetParam() == Era::modern ? std::string(modern_versions().front()) : "legacy";
    host_.add_server(config, memory_transport(std::move(server)));
  }

  void run(std::function<Task<void>()> body, ModelToolsOptions options = {}) {
    own_.emplace(host_, std::move(options));
    run_task([&]() -> Task<void> {
      co_await own_->begin();
      auto outcome = co_await as_result(body());
      co_await own_->stop();
      co_await host_.stop();
      value_or_throw(std::move(outcome));
    });
  }
  Task<CallToolResult> call(std::string tool, Json arguments) {
    auto result = co_await own_->call(std::move(tool), std::move(arguments));
    EXPECT_FALSE(result.is_error) << text_of(result);
    co_return result;
  }
  Task<void> touch(std::string uri) { (void)co_await host_.call("fixture/touch", Payload(Json{{"uri", uri}})); }

  int reads_ = 0;
  Event read_;
  Event happened_;
  std::shared_ptr<Server> server_ = make_fixture_server();
  std::optional<ModelTools> own_;
  Host host_;
};

INSTANTIATE_TEST_SUITE_P(Eras, ModelToolsScenario, testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return std::string(to_string(era.param)); });

TEST_P(ModelToolsScenario, ToolsAreThereWhileAServerHasWhatTheyAreFor) {
  run([&]() -> Task<void> {
    EXPECT_THAT(own_->tools(), IsEmpty()) << "nothing is started for it";
    co_await host_.start();
    EXPECT_THAT(names_of(own_->tools()),
                ElementsAre("ListMcpResourcesTool", "ReadMcpResourceTool", "ListMcpSkillsTool", "ReadMcpSkillTool"));
    EXPECT_EQ(own_->loaded(), host_.catalog()) << "few tools need no search";
    EXPECT_TRUE(own_->has("ReadMcpResource"));
    EXPECT_FALSE(own_->has("fixture/echo"));
    const auto refused = co_await own_->call("nobody", {});
    EXPECT_TRUE(refused.is_error);
  });
}

TEST_P(ModelToolsScenario, DeferredToolsAreFoundAndThenLoaded) {
  ModelToolsOptions options;
  options.tool_search = "true";
  run(
      [&]() -> Task<void> {
        co_await host_.start();
        EXPECT_THAT(names_of(own_->tools()), Contains("tool_search"));
        EXPECT_TRUE(own_->loaded()->empty());
        EXPECT_TRUE(own_->is_deferred("mcp__fixture__count_up"));
        const auto answer = json_of_result(co_await call("tool_search", Json{{"query", "count"}, {"max_results", 1}}));
        EXPECT_EQ(answer["tools"].as_array().at(0)["name"], Json("mcp__fixture__count_up"));
        EXPECT_TRUE(answer["tools"].as_array().at(0)["input_schema"].is_object());
        EXPECT_FALSE(own_->is_deferred("mcp__fixture__count_up"));
        const auto loaded = own_->loaded();
        EXPECT_EQ(loaded->size(), 1u);
        EXPECT_EQ(own_->loaded(), loaded) << "the very same while nothing changes";
        (void)co_await call("ToolSearch", Json{{"query", "select:fixture/echo,mcp__fixture__hang"}});
        EXPECT_EQ(own_->loaded()->size(), 3u);
        // Nobody has said that it is an error to ask in an odd way, but it is told.
        const auto odd = co_await own_->call("tool_search", Json{{"query", 7}});
        EXPECT_TRUE(odd.is_error);
        EXPECT_THAT(text_of(odd), HasSubstr("\"query\" is not a text"));
      },
      options);
}

TEST_P(ModelToolsScenario, ToolsThatAskToBeLoadedAlwaysAre) {
  Tool always{.name = "always"};
  always.meta = Json{{"anthropic/alwaysLoad", true}};
  server_->add_tool(std::move(always), [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("x"); });
  ModelToolsOptions options;
  options.tool_search = "auto:0";
  run(
      [&]() -> Task<void> {
        co_await host_.start();
        EXPECT_EQ(own_->loaded()->size(), 1u);
        EXPECT_FALSE(own_->is_deferred("mcp__fixture__always"));
        EXPECT_TRUE(own_->is_deferred("mcp__fixture__echo"));
      },
      options);
}

TEST_P(ModelToolsScenario, ASearchNamesServersThatAreNotReady) {
  auto broken = ScriptServer::legacy(R"({"tools":{}})");
  broken->before_open = []() -> Task<void> {
    throw Error(Errc::connect, "nobody is there");
    co_return;
  };
  host_.add_server(named("broken"), broken->transport());
  run([&]() -> Task<void> {
    co_await host_.start();
    const auto answer = json_of_result(co_await call("tool_search", Json{{"query", "zebra"}}));
    EXPECT_EQ(answer["tools"].size(), 0u);
    EXPECT_EQ(answer["serversNotReady"].as_array().at(0)["name"], Json("broken"));
    EXPECT_EQ(answer["serversNotReady"].as_array().at(0)["state"], Json("failed"));
  });
}

TEST_P(ModelToolsScenario, ResourcesOfAllServersAreListedAndRead) {
  add("other", sample_server());
  run([&]() -> Task<void> {
    co_await host_.start();
    const auto all = json_of_result(co_await call("ListMcpResourcesTool", Json::object()));
    std::set<std::string> servers;
    for (const auto& one : all["resources"].items()) servers.emplace(one["server"].as_text());
    EXPECT_THAT(servers, ElementsAre("fixture", "other"));
    EXPECT_THAT(to_text(all["resourceTemplates"]), AllOf(HasSubstr("note:///{name}"), HasSubstr("mem://item/{id}")));
    const auto one = json_of_result(co_await call("ListMcpResources", Json{{"server", "other"}}));
    EXPECT_EQ(to_text(one["resources"]), R"([{"server":"other","uri":"mem://a","name":"a"}])");

    EXPECT_EQ(text_of(co_await call("ReadMcpResourceTool", Json{{"server", "other"}, {"uri", "mem://a"}})), "alpha");
    EXPECT_EQ(text_of(co_await call("ReadMcpResource", Json{{"server", "fixture"}, {"uri", "note:///x%20y"}})),
              "note x y")
        << "what a template makes";
    EXPECT_THAT(text_of(co_await call("ReadMcpResourceTool", Json{{"server", "fixture"}, {"uri", "file:///b"}})),
                HasSubstr("not text"));
    const auto exact = co_await own_->read("fixture", "file:///b");
    EXPECT_EQ(exact.result->contents.at(0).blob, "aGk=") << "for a program as it was sent";
    for (const auto& arguments : {Json{{"server", "fixture"}, {"uri", "mem://nothing"}},
                                  Json{{"server", "nobody"}, {"uri", "mem://a"}}, Json{{"server", "fixture"}}}) {
      const auto failed = co_await own_->call("ReadMcpResourceTool", arguments);
      EXPECT_TRUE(failed.is_error) << to_text(arguments);
    }
  });
}

TEST_P(ModelToolsScenario, AResourceIsReadOnceUntilItsServerSaysThatItChanged) {
  run([&]() -> Task<void> {
    co_await host_.start();
    const auto first = co_await own_->read("fixture", "mem://counted");
    EXPECT_EQ(first.result->contents.at(0).text, "read 1");
    for (int i = 0; i < 5; ++i) (void)co_await own_->read("fixture", "mem://counted");
    EXPECT_EQ(reads_, 1);
    co_await touch("mem://counted");
    // It is read again before anybody asks.
    while (reads_ < 2) co_await read_.wait();
    const auto again = co_await own_->read("fixture", "mem://counted");
    EXPECT_EQ(again.result->contents.at(0).text, fmt::format("read {}", reads_));
    EXPECT_FALSE(again.from_before);
  });
}

TEST_P(ModelToolsScenario, WithoutNewsOfChangesAResourceIsReadEachTime) {
  run([&]() -> Task<void> {
    co_await host_.start();
    ModelTools deaf(host_, {});
    (void)co_await deaf.read("fixture", "mem://counted");
    (void)co_await deaf.read("fixture", "mem://counted");
    EXPECT_EQ(reads_, 2);
    co_await deaf.stop();
  });
}

TEST_P(ModelToolsScenario, ListsAreFetchedAheadOnceAServerIsConnected) {
  auto counted = GetParam() == Era::modern ? ScriptServer::modern(R"({"resources":{},"tools":{}})")
                                           : ScriptServer::legacy(R"({"resources":{},"tools":{}})");
  auto without = ScriptServer::legacy(R"({"tools":{}})");
  const auto answer = [](std::string key) {
    return fmt::format(R"({{"resultType":"complete","ttlMs":0,"cacheScope":"private","{}":[]}})", key);
  };
  for (auto* server : {counted.get(), without.get()}) {
    server->on(std::string(method::list_tools), answer("tools"));
    server->on(std::string(method::list_resources), answer("resources"));
    server->on(std::string(method::list_resource_templates), answer("resourceTemplates"));
  }
  auto config = named("counted");
  config.protocol = GetParam() == Era::modern ? std::string(modern_versions().front()) : "legacy";
  host_.add_server(config, counted->transport());
  config.name = "without";
  config.protocol = "legacy";
  host_.add_server(config, without->transport());
  run([&]() -> Task<void> {
    co_await host_.start();
    co_await counted->wait_asked(method::list_resource_templates);
    co_await settle();
    EXPECT_EQ(counted->count(method::list_resources), 1u);
    EXPECT_EQ(counted->count(method::read_resource), 0u) << "reading may cost something";
    EXPECT_EQ(without->count(method::list_resources), 0u) << "it has not declared any";
  });
}

TEST_P(ModelToolsScenario, WhileItsServerIsAwayAResourceIsWhatItWas) {
  auto away = GetParam() == Era::modern ? ScriptServer::modern(R"({"resources":{}})")
                                        : ScriptServer::legacy(R"({"resources":{}})");
  away->on(std::string(method::read_resource),
           R"({"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"x:y","text":"before"}]})");
  auto config = named("away");
  config.protocol = GetParam() == Era::modern ? std::string(modern_versions().front()) : "legacy";
  host_.add_server(config, away->transport());
  run([&]() -> Task<void> {
    EXPECT_FALSE((co_await own_->read("away", "x:y")).from_before);
    away->before_open = []() -> Task<void> {
      throw Error(Errc::connect, "nobody is there");
      co_return;
    };
    co_await away->die();
    while (host_.status().front().state == ServerState::connected) co_await happened_.wait();
    const auto kept = co_await own_->read("away", "x:y");
    EXPECT_TRUE(kept.from_before);
    EXPECT_EQ(kept.result->contents.at(0).text, "before");
    const auto told = co_await call("ReadMcpResourceTool", Json{{"server", "away"}, {"uri", "x:y"}});
    EXPECT_THAT(text_of(told), HasSubstr("the server is away"));
    EXPECT_FALSE(co_await as_result(own_->read("away", "x:other")));
  });
}

TEST_P(ModelToolsScenario, AResourceThatIsGoneIsNotKept) {
  run([&]() -> Task<void> {
    co_await host_.start();
    (void)co_await own_->read("fixture", "mem://counted");
    server_->remove_resource("mem://counted");
    co_await touch("mem://counted");
    co_await settle();
    const auto gone = co_await as_result(own_->read("fixture", "mem://counted"));
    EXPECT_FALSE(gone) << "the server is there, and says that it has none";
  });
}

TEST_P(ModelToolsScenario, WhatAPersonMentionsIsRead) {
  run([&]() -> Task<void> {
    co_await host_.start();
    const auto all = co_await own_->mentioned(
        "compare @fixture:file:///a and @fixture:mem://counted, @fixture:mem://counted with @fixture:mem://none; "
        "not me@fixture:file:///a");
    if (all.size() != 4) co_return ADD_FAILURE() << all.size();
    EXPECT_EQ(text_of(all[0].for_model.at(0)), "text of a");
    EXPECT_EQ(all[1].read->result, all[2].read->result);
    EXPECT_EQ(reads_, 1) << "mentioned twice, read once";
    EXPECT_TRUE(all[3].error);
    EXPECT_THAT(text_of(all[3].for_model.at(0)), HasSubstr("could not be read"));
  });
}

TEST_P(ModelToolsScenario, AMentionIsCompleted) {
  run([&]() -> Task<void> {
    co_await host_.start();
    EXPECT_THAT(co_await own_->complete_mention("@fix"), ElementsAre("@fixture:"));
    EXPECT_THAT(co_await own_->complete_mention("@fixture:file:///a"), ElementsAre("@fixture:file:///a"));
    EXPECT_THAT(co_await own_->complete_mention("@fixture:no"), ElementsAre("@fixture:note:///"));
    EXPECT_THAT(co_await own_->complete_mention("@fixture:note:///x"), Contains(HasSubstr("@fixture:note:///x")));
    EXPECT_THAT(co_await own_->complete_mention("@nobody:x"), IsEmpty());
  });
}

TEST_P(ModelToolsScenario, PromptsAreCommands) {
  run([&]() -> Task<void> {
    const auto said = [&](std::string line) -> Task<std::string> {
      auto result = co_await as_result(own_->prompt(std::move(line)));
      if (!result) co_return "error: " + std::string(result.error().message());
      co_return text_of(result->messages.at(0).content);
    };
    EXPECT_EQ(co_await said("/mcp__fixture__code_review main.cpp"), "file=main.cpp;") << "which starts the server";
    EXPECT_EQ(co_await said("/mcp__fixture__code_review style=short \"a b.cpp\""), "file=a b.cpp;style=short;");
    EXPECT_THAT(co_await said("/mcp__fixture__code_review"), HasSubstr("also needs file"));
    EXPECT_THAT(co_await said("/mcp__fixture__code_revew x"),
                HasSubstr("did you mean \"/mcp__fixture__code_review\"?"));
    EXPECT_THAT(co_await said("/mcp__nobody__x"), HasSubstr("there is no prompt called \"/mcp__nobody__x\""));
  });
}

TEST_P(ModelToolsScenario, ASkillIsReadOnceItIsApproved) {
  TempTree tree;
  std::vector<std::string> asked;
  bool answer = false;
  ModelToolsOptions options;
  options.state_directory = tree.path();
  options.approve_skill = [&](SkillQuestion question) -> Task<bool> {
    asked.push_back(fmt::format("{}/{}{}", question.server, question.skill.frontmatter["name"].as_text(),
                                question.changed ? " changed" : ""));
    co_return answer;
  };
  run(
      [&]() -> Task<void> {
        co_await host_.start();
        const auto all = co_await own_->skills();
        EXPECT_THAT(all, SizeIs(3));
        EXPECT_EQ(all.at(0).approval, SkillApproval::pending);
        const Json pdf{{"server", "fixture"}, {"skill", "pdf"}};
        auto refused = co_await own_->call("ReadMcpSkillTool", pdf);
        EXPECT_TRUE(refused.is_error);
        EXPECT_THAT(text_of(refused), HasSubstr("awaits approval"));
        refused = co_await own_->call("ReadMcpSkillTool", pdf);
        EXPECT_THAT(asked, ElementsAre("fixture/pdf")) << "not now is not asked again and again";
        // Nor does it get there as an ordinary resource.
        const Json file{{"server", "fixture"}, {"uri", "skill://office/pdf/references/forms.md"}};
        EXPECT_TRUE((co_await own_->call("ReadMcpResourceTool", file)).is_error);

        answer = true;
        ModelTools later(host_, options);
        EXPECT_THAT(text_of(co_await later.call("ReadMcpSkillTool", pdf)), HasSubstr("name: pdf"));
        EXPECT_THAT(text_of(co_await later.call("ReadMcpResourceTool", file)), Not(IsEmpty()));
        EXPECT_THAT(asked, SizeIs(2));
        EXPECT_EQ((co_await later.skills()).at(0).approval, SkillApproval::approved);

        // Remembered, until the content changes.
        ModelTools next_run(host_, options);
        EXPECT_EQ((co_await next_run.skills()).at(0).approval, SkillApproval::approved);
        (void)co_await host_.call("fixture/change_skill", Payload(Json{{"text", "other forms"}}));
        answer = false;
        EXPECT_EQ((co_await next_run.skills()).at(0).approval, SkillApproval::changed);
        EXPECT_TRUE((co_await next_run.call("ReadMcpSkillTool", pdf)).is_error);
        EXPECT_EQ(asked.back(), "fixture/pdf changed");
        co_await next_run.answer_skill("fixture", all.at(0).skill, false);
        EXPECT_FALSE(co_await as_result(next_run.read_skill("fixture", "pdf")));
      },
      options);
}

TEST_P(ModelToolsScenario, ARejectedSkillIsNotReadAndNotAskedAbout) {
  int asked = 0;
  ModelToolsOptions options;
  options.approve_skill = [&](SkillQuestion) -> Task<bool> {
    ++asked;
    co_return true;
  };
  run(
      [&]() -> Task<void> {
        co_await host_.start();
        const auto all = co_await own_->skills();
        co_await own_->answer_skill("fixture", all.at(0).skill, false);
        EXPECT_THAT(co_await as_result(own_->read_skill("fixture", "pdf")), FailsWith(Errc::denied));
        EXPECT_EQ(asked, 0);
        const auto listed = json_of_result(co_await call("ListMcpSkillsTool", Json::object()));
        EXPECT_EQ(listed["skills"].size(), 2u) << "a model is not told of it";
      },
      options);
}

TEST(ModelTools, AnOddModeIsRefusedAtOnce) {
  Host host(empty_options());
  ModelToolsOptions options;
  options.tool_search = "sometimes";
  EXPECT_THROW(ModelTools(host, options), Error);
}

}  // namespace
}  // namespace patchbay::test
