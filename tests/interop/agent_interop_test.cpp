// The agent with servers from npm, as the tutorials have it: they load with the first message, a broken one stops
// nothing, their tools are called beside those of the program, and large results go on by handle. The model is a
// script. G1 G2 G4. ./test installs the servers and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

class AgentWithRealServers : public testing::Test {
 protected:
  AgentWithRealServers() {
    servers["files"] = npm("@modelcontextprotocol/server-filesystem/dist/index.js", house.project());
    servers["everything"] = npm("@modelcontextprotocol/server-everything/dist/index.js", "stdio");
    servers["broken"] = Json{{"command", "/nowhere/at/all"}};
    house.tree.file("project/notes.txt", "water the plants");
  }
  static Json npm(const std::string& script, const std::string& argument) {
    return {{"command", environment("PATCHBAY_NODE")},
            {"args", Json::array({environment("PATCHBAY_NPM_DIR") + "/node_modules/" + script, argument})}};
  }
  CommandResult play(const std::string& turns, std::vector<std::string> more) const {
    house.tree.file("project/s.json", R"({"turns":[)" + turns + "]}");
    more.insert(more.begin(), {"--model", "script:s.json", "-p"});
    more.insert(more.end(), {"--mcp-config", server_file(servers)});
    auto options = house.options();
    options.env["MCP_CONNECT_TIMEOUT_MS"] = "60000";
    more.insert(more.begin(), built("patchbay"));
    return run_program(more, options);
  }

  Household house;
  Json servers = Json::object();
};

TEST_F(AgentWithRealServers, TheyLoadWithTheFirstMessageAndABrokenOneStopsNothing) {
  const auto answered =
      play(R"({"calls":[
      {"name":"mcp__files__read_text_file","input":{"path":"notes.txt"}},
      {"name":"mcp__everything__echo","input":{"message":"hello"}},
      {"name":"mcp__broken__anything"},{"name":"read_file","input":{"path":"notes.txt"}}]},
      {"when":"Echo: hello","text":"Both answered."})",
           {"go", "--output-format", "stream-json", "--allowedTools", "mcp__files", "mcp__everything"});
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_THAT(answered.out,
              AllOf(HasSubstr("\"name\":\"files\",\"status\":\"connected\""),
                    HasSubstr("\"name\":\"everything\",\"status\":\"connected\""),
                    HasSubstr("\"name\":\"broken\",\"status\":\"failed\""), HasSubstr("\"mcp__everything__echo\""),
                    HasSubstr("water the plants"), HasSubstr("\"result\":\"Both answered.\"")))
      << answered.err;
}

// As the tutorial has them declared: in the user's settings, in those of the project, and in its .mcp.json.
TEST_F(AgentWithRealServers, AreReadWhereTheTutorialDeclaresThem) {
  const auto file = [](const std::string& name, const Json& entry) {
    return to_text(Json{{"mcpServers", Json{{name, entry}}}});
  };
  house.tree.file("home/.claude/settings.json", file("files", servers["files"]));
  house.tree.file("project/.claude/settings.json", file("broken", servers["broken"]));
  house.tree.file("project/.mcp.json", file("everything", servers["everything"]));
  servers = Json::object();
  const auto* turns = R"({"calls":[{"name":"mcp__files__read_text_file","input":{"path":"notes.txt"}},
      {"name":"mcp__everything__echo","input":{"message":"hello"}}]},{"when":"Echo: hello","text":"Both answered."},
      {"text":"One is missing."})";
  const std::vector<std::string> words{"go", "--allowedTools", "mcp__files", "mcp__everything"};
  auto trusting = words;
  trusting.emplace_back("--trust-project");
  EXPECT_EQ(play(turns, trusting).out, "Both answered.\n");
  // Without a yes, those of the project wait for one.
  EXPECT_EQ(play(turns, words).out, "One is missing.\n");
}

// H1: a model that asks for a server by name gets it, and its tools are in the next request.
TEST_F(AgentWithRealServers, AreConnectedByTheModelAndUsed) {
  const auto answered = play(R"({"calls":[{"name":"connect_mcp","input":{"name":"files"}},
                                          {"name":"connect_mcp","input":{"name":"broken"}}]},
      {"calls":[{"name":"mcp__files__write_file","input":{"path":"made.txt","content":"made"}}]},
      {"when":"Successfully wrote","text":"Then: ${result}"})",
                             {"go", "--allowedTools", "mcp__files__write_file"});
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_THAT(answered.out, AllOf(HasSubstr("Successfully wrote"), HasSubstr("made.txt"))) << answered.err;
}

// W5: five megabytes of a file are read from one server and written by the other, and no model reads them.
TEST_F(AgentWithRealServers, FiveMegabytesGoFromOneToTheOtherByHandle) {
  std::string large;
  while (large.size() < 5'000'000) large += "line " + std::to_string(large.size()) + "\n";
  house.tree.file("project/large.txt", large);
  const auto first = play(R"({"calls":[{"name":"mcp__files__read_text_file","input":{"path":"large.txt"}}]},
      {"text":"It is kept: ${result}"})",
                          {"go", "--json", "--allowedTools", "mcp__files"});
  const auto json = json_of(first);
  const std::string said(json["result"].as_text());
  const auto at = said.find("@result:");
  ASSERT_NE(at, std::string::npos) << said.substr(0, 2000);
  EXPECT_LT(said.size(), 200'000u);
  const auto handle = said.substr(at, said.find_first_of(" .", at) - at);
  const auto written =
      play(R"({"calls":[{"name":"mcp__files__write_file","input":{"path":"copy.txt","content":")" + handle +
               R"(#/content"}}]},{"text":"${result}"})",
           {"on", "--resume", std::string(json["session_id"].as_text()), "--allowedTools", "mcp__files__write_file"});
  EXPECT_EQ(written.code, 0) << written.err;
  const auto same = run_program({"/usr/bin/cmp", "large.txt", "copy.txt"}, house.options());
  EXPECT_EQ(same.code, 0) << handle << "\n" << written.out << written.err;
}

}  // namespace
}  // namespace patchbay::test
