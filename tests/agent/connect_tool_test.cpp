// connect_mcp: declared servers by name; commands and URLs of a model always ask the person. C10.
#include "agent/connect_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server.h>
#include <patchbay/tools.h>

#include "support/host_parts.h"
#include "support/loop.h"
#include "support/places.h"

namespace patchbay {
namespace {

using test::empty_options;
using test::run_task;
using testing::HasSubstr;
using testing::SizeIs;

std::string words_of(const CallToolResult& result) {
  std::string all;
  for (const auto& block : result.content) {
    if (const auto* said = std::get_if<TextContent>(&block)) all += said->text;
  }
  return (result.is_error ? "error: " : "") + all;
}

std::shared_ptr<Server> docs() {
  auto server = std::make_shared<Server>("docs", "1");
  server->add_tool("search", "finds pages", args(arg<std::string>("q", "words")), [](std::string q) { return q; });
  server->add_tool("get_version", "", args(), [] { return std::string("1"); });
  return server;
}

// What the tool answers, or the error it throws.
Task<std::string> asked(const AgentTool& tool, Json arguments) {
  try {
    co_return words_of(co_await tool.call(std::move(arguments), {}));
  } catch (const Error& error) {
    co_return std::string(to_string(error.code())) + ": " + error.message();
  }
}

ServerConfig declared(std::string name, ConfigTrust trust = ConfigTrust::trusted) {
  ServerConfig config;
  config.name = std::move(name);
  config.command = test::built("mode-server");
  config.args = {"ok"};
  config.origin.trust = trust;
  config.origin.scope = trust == ConfigTrust::trusted ? ConfigScope::user : ConfigScope::project;
  return config;
}

TEST(ConnectTool, SaysWhatTheTextsOfTheTutorialSay) {
  EXPECT_EQ(connected_text("docs", {"mcp__docs__search", "mcp__docs__get_version"}),
            "Connected to 'docs'. Discovered: mcp__docs__search, mcp__docs__get_version");
  EXPECT_EQ(already_connected_text("docs"), "MCP server 'docs' already connected");
  EXPECT_EQ(unknown_server_text("dox", {"deploy", "docs"}), "Unknown server 'dox'. Available: deploy, docs");
  EXPECT_THAT(connected_text("many", std::vector<std::string>(150, "t")), HasSubstr(", and 50 more"));
}

TEST(ConnectTool, ConnectsADeclaredServer) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    host.add_server(declared("fake"));
    host.add_server(declared("other"));
    const auto tool = connect_tool(host, {});
    EXPECT_FALSE(tool.only_reads);
    EXPECT_EQ(co_await asked(tool, Json{{"name", "nobody"}}), "error: Unknown server 'nobody'. Available: fake, other");
    EXPECT_THAT(co_await asked(tool, Json{{"name", "fake"}}),
                HasSubstr("Connected to 'fake'. Discovered: mcp__fake__"));
    EXPECT_FALSE(host.catalog()->tools().empty());
    EXPECT_EQ(co_await asked(tool, Json{{"name", "fake"}}), "MCP server 'fake' already connected");
    for (const auto& status : host.status()) {
      EXPECT_EQ(status.state == ServerState::connected, status.name == "fake") << status.name;
    }
    EXPECT_THAT(co_await asked(tool, Json::object()), HasSubstr("\"name\" is missing"));
    co_await host.stop();
  });
}

TEST(ConnectTool, HasTheHostAskAboutAServerOfARepository) {
  run_task([]() -> Task<void> {
    auto options = empty_options();
    std::vector<std::string> questions;
    bool answer = false;
    options.approve = [&](ApprovalQuestion question) -> Task<bool> {
      questions.push_back(question.server.name + " for " + question.context.principal);
      co_return answer;
    };
    Host host(std::move(options));
    host.add_server(declared("project", ConfigTrust::needs_approval));
    const auto tool = connect_tool(host, {});
    CallOptions call;
    call.principal = "me";
    try {
      const auto said = words_of(co_await tool.call(Json{{"name", "project"}}, call));
      EXPECT_THAT(said, HasSubstr("approv"));
      EXPECT_THAT(said, testing::StartsWith("error: "));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::denied) << error.message();
    }
    answer = true;
    EXPECT_THAT(words_of(co_await tool.call(Json{{"name", "project"}}, call)), HasSubstr("Connected to 'project'"));
    EXPECT_THAT(questions, testing::ElementsAre("project for me", "project for me"));
    co_await host.stop();
  });
}

// compat: C10.c
TEST(ConnectTool, AsksAboutWhatTheModelMadeUp) {
  run_task([]() -> Task<void> {
    auto host_options = empty_options();
    host_options.trust_project = true;  // says nothing about this
    host_options.permission.mode = PermissionMode::bypass;
    Host host(std::move(host_options));
    host.add_server("docs", docs());
    std::vector<ServerConfig> questions;
    bool answer = false;
    const auto tool = connect_tool(host, {.approve = [&](ApprovalQuestion question) -> Task<bool> {
                                     questions.push_back(question.server);
                                     co_return answer;
                                   }});
    const Json entry{{"name", "mine"}, {"command", test::built("mode-server")}, {"args", Json::array({"ok"})}};
    EXPECT_EQ(co_await asked(tool, entry), "denied: the person has said no to this server");
    EXPECT_THAT(questions, SizeIs(1));
    EXPECT_EQ(questions[0].command, test::built("mode-server"));
    EXPECT_EQ(questions[0].origin.scope, ConfigScope::dynamic);
    answer = true;
    EXPECT_THAT(co_await asked(tool, entry), HasSubstr("denied"));  // a no is a no
    EXPECT_THAT(questions, SizeIs(1));
    auto other = entry;
    other["args"] = Json::array({"list-changes"});
    EXPECT_THAT(co_await asked(tool, other), HasSubstr("Connected to 'mine'. Discovered: "));
    EXPECT_THAT(questions, SizeIs(2));
    EXPECT_EQ(co_await asked(tool, Json{{"name", "mine"}}), "MCP server 'mine' already connected");
    // The name of another is not taken over.
    auto same = other;
    same["name"] = "docs";
    EXPECT_THAT(co_await asked(tool, same), HasSubstr("there is a server \"docs\" already"));
    co_await host.stop();
  });
}

TEST(ConnectTool, LeavesNothingOfAServerThatDoesNotStart) {
  run_task([]() -> Task<void> {
    Host host(empty_options());
    const auto tool = connect_tool(host, {.approve = [](ApprovalQuestion) -> Task<bool> { co_return true; }});
    EXPECT_THAT(co_await asked(tool, Json{{"name", "mine"}, {"command", "/nowhere/at/all"}}), HasSubstr("connect"));
    EXPECT_TRUE(host.status().empty());
    EXPECT_THAT(
        co_await asked(tool,
                       Json{{"name", "mine"}, {"command", test::built("mode-server")}, {"args", Json::array({"ok"})}}),
        HasSubstr("Connected to 'mine'"));
    EXPECT_TRUE(host.remove_server("mine"));
    EXPECT_FALSE(host.remove_server("mine"));
    EXPECT_TRUE(host.status().empty());
    EXPECT_TRUE(host.catalog()->tools().empty());
    co_await host.stop();
  });
}

TEST(ConnectTool, RefusesWhatCannotBeAskedAbout) {
  struct Case {
    Json arguments;
    const char* says;
  };
  const Case cases[] = {
      {Json{{"name", "a"}, {"url", "https://x.example/${HOME}"}}, "may not name variables"},
      {Json{{"name", "a"}, {"url", "https://x.example/"}, {"command", "b"}}, "either \"url\" or \"command\""},
      {Json{{"name", "a"}, {"args", Json::array()}}, "\"args\" belong to a \"command\""},
      {Json{{"name", "a"}, {"command", "b"}, {"args", Json::array({1})}}, "list of at most"},
      {Json{{"name", "a=b"}, {"command", "b"}}, "letters, digits"},
      {Json{{"name", "a"}, {"url", "file:///etc/passwd"}}, "begins with https"},
  };
  run_task([&]() -> Task<void> {
    Host host(empty_options());
    int questions = 0;
    const auto tool = connect_tool(host, {.approve = [&](ApprovalQuestion) -> Task<bool> {
                                     ++questions;
                                     co_return true;
                                   }});
    for (const auto& c : cases) EXPECT_THAT(co_await asked(tool, c.arguments), HasSubstr(c.says));
    EXPECT_EQ(questions, 0);
    const auto nobody = connect_tool(host, {});
    EXPECT_THAT(co_await asked(nobody, Json{{"name", "a"}, {"command", "b"}}), HasSubstr("there is nobody to ask"));
    EXPECT_FALSE(nobody.tool.input_schema["properties"].find("command"));
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
