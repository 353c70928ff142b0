// The agent as a script has it, with everything in its place: the program, model APIs over HTTP, servers as processes.
// What the tutorials promise of such an agent is here as they say it: servers load with the first message and a broken
// one stops nothing; a server is connected and its tools are used; plan mode. G1, G2, G4, H1, C10.
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/anthropic_replies.h"
#include "support/household.h"
#include "support/model_api.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Json fake(const std::string& program, std::vector<std::string> words) {
  Json args = Json::array();
  for (auto& word : words) args.push_back(std::move(word));
  return Json{{"command", built(program)}, {"args", std::move(args)}};
}

class AgentUse : public testing::Test {
 protected:
  AgentUse() {
    house.tree.file("docs.json", R"({"tools":[{"name":"search","description":"Search the documents.",
        "inputSchema":{"type":"object","properties":{"query":{"type":"string"}}},"annotations":{"readOnlyHint":true}},
        {"name":"get_version","description":"The version.","inputSchema":{"type":"object"}}]})");
    house.tree.file("deploy.json", R"({"tools":[{"name":"trigger","description":"Deploy a service.",
        "inputSchema":{"type":"object","properties":{"service":{"type":"string"}}},
        "annotations":{"readOnlyHint":false,"destructiveHint":true}}]})");
    servers["docs"] = fake("listing-server", {(house.tree.path() / "docs.json").string()});
    servers["deploy"] = fake("listing-server", {(house.tree.path() / "deploy.json").string()});
  }

  CommandResult play(const std::string& turns, std::vector<std::string> more) {
    house.tree.file("project/s.json", R"({"turns":[)" + turns + "]}");
    more.insert(more.begin(), {"--model", "script:s.json"});
    return house.run(with_servers(std::move(more)));
  }
  std::vector<std::string> with_servers(std::vector<std::string> words) const {
    words.insert(words.begin(), "-p");
    words.insert(words.end(), {"--mcp-config", server_file(servers)});
    return words;
  }
  // The environment in which a model of Anthropic is at this address.
  RunningProgram::Options at(const ModelApi& api) const {
    RunningProgram::Options options{.cwd = house.project(), .env = house.options().env};
    options.env["ANTHROPIC_BASE_URL"] = api.url();
    options.env["ANTHROPIC_API_KEY"] = "sk-test";
    options.env["NO_PROXY"] = "*";
    return options;
  }
  CommandResult ask(const ModelApi& api, std::vector<std::string> words) const {
    auto options = house.options();
    options.env = at(api).env;
    words = with_servers(std::move(words));
    words.insert(words.begin(), built("patchbay"));
    return run_program(words, options);
  }

  Household house;
  Json servers = Json::object();
};

// ---- the prompts that a tutorial lets its readers try

TEST_F(AgentUse, ConnectToTheDocsServerAndSearchForSomething) {
  const auto answered =
      play(R"({"calls":[{"name":"connect_mcp","input":{"name":"docs"}}]},
      {"when":"MCP server 'docs' already connected","calls":[{"name":"mcp__docs__search","input":{"query":"agent"}}]},
      {"text":"Found: ${result}"})",
           {"Connect to the docs MCP server and search for something", "--allowedTools", "mcp__docs"});
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_EQ(answered.out, "Found: called search\n");
}

TEST_F(AgentUse, ConnectToTheDeployServerAndTriggerADeployment) {
  const auto* turns = R"({"calls":[{"name":"connect_mcp","input":{"name":"deploy"}}]},
      {"calls":[{"name":"mcp__deploy__trigger","input":{"service":"web"}}]},{"text":"Then: ${result}"})";
  const std::string words = "Connect to the deploy server and trigger a deployment";
  const auto denied = json_of(play(turns, {words, "--json"}));
  EXPECT_EQ(denied["permission_denials"].items()[0]["tool_name"], Json("mcp__deploy__trigger")) << "nobody allowed it";
  EXPECT_EQ(play(turns, {words, "--allowedTools", "mcp__deploy__trigger"}).out, "Then: called trigger\n");
}

TEST_F(AgentUse, ConnectBothServersAndSeeWhatThereIs) {
  ModelApi api({anthropic_reply({.uses = {{.id = "a", .name = "connect_mcp", .input = Json{{"name", "docs"}}},
                                          {.id = "b", .name = "connect_mcp", .input = Json{{"name", "nobody"}}}}}),
                anthropic_reply({.text = "These."})});
  const auto answered = ask(api, {"Connect both servers. What tools are now available?"});
  EXPECT_EQ(answered.out, "These.\n") << answered.err;
  std::vector<std::string> names;
  const auto first = api.requests().at(0).json();
  for (const auto& tool : first["tools"].items()) {
    const std::string name(tool["name"].as_text()), description(tool["description"].as_text());
    if (!name.starts_with("mcp__")) continue;
    names.push_back(name);
    if (name == "mcp__docs__search") EXPECT_EQ(description, "Search the documents. (readOnly)");
    if (name == "mcp__deploy__trigger") EXPECT_EQ(description, "Deploy a service. (destructive)");
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("mcp__docs__search", "mcp__docs__get_version", "mcp__deploy__trigger"));
  const auto outcomes = api.requests().at(1).body;
  EXPECT_THAT(outcomes, HasSubstr("MCP server 'docs' already connected"));
  EXPECT_THAT(outcomes, AllOf(HasSubstr("Unknown server 'nobody'. Available: "), HasSubstr("docs")));
}

TEST_F(AgentUse, ABrokenServerStopsNothing) {
  servers["broken"] = fake("mode-server", {"exits-at-once"});
  servers["missing"] = Json{{"command", "/nowhere/at/all"}};
  house.tree.file("project/a.txt", "water the plants");
  const auto answered = play(R"({"calls":[{"name":"mcp__broken__x"},{"name":"mcp__docs__search"},
      {"name":"read_file","input":{"path":"a.txt"}}]},{"when":"water the plants","text":"It works."})",
                             {"go", "--allowedTools", "mcp__docs", "mcp__broken"});
  EXPECT_EQ(answered.code, 0);
  EXPECT_EQ(answered.out, "It works.\n") << answered.err;
  EXPECT_THAT(answered.err, AllOf(HasSubstr("[mcp] Failed to connect to \"broken\""), HasSubstr("set API_KEY"),
                                  HasSubstr("[mcp] Failed to connect to \"missing\"")));
}

// An answer that needs no tool is not held up by a server that never gets ready.
TEST_F(AgentUse, AServerThatNeverAnswersHoldsNothingUp) {
  servers["silent"] = fake("mode-server", {"never-answers"});
  auto options = house.options();
  options.env["MCP_CONNECT_TIMEOUT_MS"] = "100";
  house.tree.file("project/s.json", R"({"turns":[{"text":"Hello."}]})");
  auto words = with_servers({"hi", "--model", "script:s.json"});
  words.insert(words.begin(), built("patchbay"));
  const auto answered = run_program(words, options);
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_EQ(answered.out, "Hello.\n");
}

// Whoever says so waits for nobody, however long -p would. compat: B6.7
TEST_F(AgentUse, NobodyIsWaitedForWhereTheVariableSaysSo) {
  servers["silent"] = fake("mode-server", {"never-answers"});
  auto options = house.options();
  options.env["MCP_CONNECT_TIMEOUT_MS"] = "3600000";
  options.env["MCP_CONNECTION_NONBLOCKING"] = "1";
  house.tree.file("project/s.json", R"({"turns":[{"text":"Hello."}]})");
  auto words = with_servers({"hi", "--model", "script:s.json"});
  words.insert(words.begin(), built("patchbay"));
  EXPECT_EQ(run_program(words, options).out, "Hello.\n");
}

TEST_F(AgentUse, PlanModeSearchesAndDeploysNothing) {
  const auto planned = json_of(play(R"({"calls":[{"name":"mcp__docs__search"},{"name":"mcp__deploy__trigger"}]},
      {"text":"The plan."})",
                                    {"plan it", "--plan", "--json", "--dangerously-skip-permissions"}));
  EXPECT_EQ(planned["result"], Json("The plan."));
  ASSERT_EQ(planned["permission_denials"].size(), 1u) << to_text(planned);
  EXPECT_EQ(planned["permission_denials"].items()[0]["tool_name"], Json("mcp__deploy__trigger"));
}

// ---- model APIs over HTTP

TEST_F(AgentUse, AsksEachProviderWhereTheEnvironmentSaysItIs) {
  struct Case {
    const char* words;
    std::string variable;
    std::string below;
    std::string path;
  };
  const Case cases[] = {
      {"anthropic:claude-sonnet-5", "ANTHROPIC_BASE_URL", "", "/v1/messages"},
      {"openai:gpt-5.5", "OPENAI_BASE_URL", "/v1", "/v1/responses"},
      {"openai-chat:local", "OPENAI_BASE_URL", "/v1", "/v1/chat/completions"},
      {"gemini:gemini-3.5-flash", "GOOGLE_GEMINI_BASE_URL", "",
       "/v1beta/models/gemini-3.5-flash:streamGenerateContent"},
      {"ollama:qwen3", "OLLAMA_HOST", "", "/api/chat"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.words);
    ModelApi api(
        {{.status = 418, .headers = {{"Content-Type", "application/json"}}, .chunks = {"{}"}, .repeat = true}});
    auto options = house.options();
    options.env[c.variable] = api.url() + c.below;
    options.env["NO_PROXY"] = "*";
    auto words = with_servers({"hi", "--model", c.words, "--json"});
    words.insert(words.begin(), built("patchbay"));
    const auto ended = run_program(words, options);
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_EQ(json_of(ended)["is_error"], Json(true));
    ASSERT_THAT(api.requests(), SizeIs(1));
    const auto path = api.requests()[0].path;
    EXPECT_EQ(path.substr(0, path.find('?')), c.path);
    EXPECT_THAT(api.requests()[0].body, HasSubstr("mcp__docs__search"));
  }
}

// Whatever the process was doing: what was said is there, every call has its outcome, and it goes on.
TEST_F(AgentUse, GoesOnAfterItWasKilled) {
  servers = Json{{"mute", fake("mode-server", {"silent-on-call"})}};
  const auto call = anthropic_reply({.text = "I call.", .uses = {{.id = "call-1", .name = "mcp__mute__echo"}}});
  for (const auto* moment : {"the model answers", "a tool is called"}) {
    SCOPED_TRACE(moment);
    const Household fresh;
    const bool in_call = std::string_view(moment) == "a tool is called";
    ModelApi api({in_call ? call : ModelApiReply{.hang = true}, anthropic_reply({.text = "Here I am."})});
    auto options = at(api);
    options.cwd = fresh.project();
    for (const auto& [name, value] : fresh.options().env) options.env[name] = value;
    auto words = with_servers({"the first words", "--output-format", "stream-json", "--allowedTools", "mcp__mute"});
    words.insert(words.begin(), built("patchbay"));
    {
      RunningProgram program(words, options);
      if (in_call) {
        program.wait_for("\"tool_use\"");
      } else {
        while (api.requests().empty()) std::this_thread::yield();
      }
      EXPECT_EQ(program.end(SIGKILL), 128 + SIGKILL);
    }
    CommandOptions again{.cwd = options.cwd, .input = {}, .env = options.env};
    words = with_servers({"--continue", "go on"});
    words.insert(words.begin(), built("patchbay"));
    const auto resumed = run_program(words, again);
    EXPECT_EQ(resumed.out, "Here I am.\n") << resumed.err;
    ASSERT_THAT(api.requests(), SizeIs(2));
    const auto messages = api.requests()[1].json()["messages"];
    const auto text = to_text(messages);
    EXPECT_THAT(text, AllOf(HasSubstr("the first words"), HasSubstr("go on")));
    if (!in_call) continue;
    ASSERT_EQ(messages.size(), 3u) << text;
    const auto& outcome = messages.items()[2]["content"].items()[0];
    EXPECT_EQ(outcome["type"], Json("tool_result")) << text;
    EXPECT_EQ(outcome["tool_use_id"], Json("call-1"));
  }
}

// Every use of a tool has exactly one outcome, in the message behind it.
void expect_valid(const Json& messages) {
  std::vector<std::string> open;
  for (const auto& message : messages.items()) {
    std::vector<std::string> uses, outcomes;
    for (const auto& block : message["content"].items()) {
      if (block["type"] == Json("tool_use")) uses.emplace_back(block["id"].as_text());
      if (block["type"] == Json("tool_result")) outcomes.emplace_back(block["tool_use_id"].as_text());
    }
    EXPECT_EQ(outcomes, open) << to_text(messages);
    open = std::move(uses);
  }
  EXPECT_THAT(open, testing::IsEmpty()) << to_text(messages);
}

// The whole program this time, killed behind every line that it tells of its work: the turn goes on, nothing that was
// done is done again, and the model is told of every call.
TEST_F(AgentUse, GoesOnAfterItWasKilledAtEveryEvent) {
  servers = Json{{"fake", fake("mode-server", {"good"})}};
  std::size_t kills = 0;
  for (bool ended = false; !ended; ++kills) {
    SCOPED_TRACE("killed behind line " + std::to_string(kills));
    const Household fresh;
    fresh.tree.file("project/a.txt", "water the plants");
    const auto write = Json{{"command", "sh"}, {"args", Json::array({"-c", "echo x >> made"})}};
    auto last = anthropic_reply({.text = "All done."});
    last.repeat = true;
    ModelApi api({anthropic_reply({.text = "I look.",
                                   .uses = {{.id = "a", .name = "read_file", .input = Json{{"path", "a.txt"}}},
                                            {.id = "b", .name = "mcp__fake__echo", .input = Json{{"text", "hi"}}}}}),
                  anthropic_reply({.uses = {{.id = "c", .name = "run_command", .input = write},
                                            {.id = "d", .name = "mcp__fake__slow"}}}),
                  anthropic_reply({.uses = {{.id = "e", .name = "mcp__fake__fail"}}}), last});
    fresh.tree.file("project/servers.json", server_file(servers));
    auto options = fresh.options();
    for (const auto& [name, value] : at(api).env) {
      if (!options.env.contains(name)) options.env[name] = value;
    }
    options.env["PATCHBAY"] = built("patchbay");
    const std::string words =
        R"( --mcp-config servers.json --allowedTools mcp__fake,mcp__patchbay__run_command < /dev/null )";
    const auto killed = run_program({"/bin/bash", "-c",
                                     fmt::format(R"(mkfifo f
      "$PATCHBAY" -p 'the first words' --output-format stream-json {} > f & exec 3< f
      for n in $(seq {}); do read -r line <&3 || {{ echo ended; break; }}; done
      kill -KILL $!; wait $!)",
                                                 words, kills)},
                                    options);
    ended = killed.out == "ended\n";
    const auto resumed = run_program({"/bin/bash", "-c", R"("$PATCHBAY" -p 'go on' --continue)" + words}, options);
    // Killed before anything was said: there is nothing to go on with.
    if (resumed.code == 2 && kills == 0) continue;
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.out, "All done.\n") << resumed.err;
    for (const auto& request : api.requests()) expect_valid(request.json()["messages"]);
    const auto newest = api.requests().back().body;
    EXPECT_THAT(newest, AllOf(HasSubstr("the first words"), HasSubstr("go on")));
    const auto made = run_program({"/bin/cat", "made"}, options);
    EXPECT_LE(made.out.size(), 2u) << "it was done twice";
  }
  EXPECT_GT(kills, 10u);
}

// ---- channels

TEST_F(AgentUse, AMessageOfAChannelWakesWhoSleeps) {
  servers = Json{{"chat", fake("mode-server", {"pushes"})}};
  const auto* turns = R"({"calls":[{"name":"mcp__chat__echo","input":{"text":"tell me later"}},
      {"name":"sleep","input":{"seconds":3000}}]},{"when":"<channel source=\"chat\">tell me later</channel>","text":"It came."})";
  const auto woken = play(turns, {"wait", "--channels", "server:chat", "--allowedTools", "mcp__chat"});
  EXPECT_EQ(woken.code, 0) << woken.err;
  EXPECT_EQ(woken.out, "It came.\n");
}

}  // namespace
}  // namespace patchbay::test
