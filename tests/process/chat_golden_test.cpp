// How a conversation looks on a terminal of another make (libvterm): the screen, its colours and what scrolled away,
// compared with tests/golden/chat. Nothing waits for time: each picture is what the screen comes to be. G3 P1 E1.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "base/strings.h"
#include "support/chat_scene.h"
#include "support/command.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

class ChatGolden : public testing::Test {
 protected:
  void SetUp() override {
    if (!VtermScreen::is_there()) GTEST_SKIP() << "libvterm was not installed when the tests were built";
    // What shows a command shows one of the same length everywhere.
    house->tree.link("mode", built("mode-server"));
    house->tree.link("scenario", built("scenario-server"));
  }

  // With a scripted model; `turns` is the inside of its list.
  std::vector<std::string> scripted(const std::string& turns, std::vector<std::string> more = {}) const {
    house->tree.file("project/script.json", "{\"turns\": [" + turns + "]}");
    std::vector<std::string> words{"--model", "script:script.json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string server(const std::string& name, const std::string& program, const std::string& mode = {}) const {
    Json args = Json::array();
    if (!mode.empty()) args.push_back(mode);
    const auto command = (house->tree.path() / program).string();
    return to_text(Json{{"mcpServers", {{name, {{"command", command}, {"args", std::move(args)}}}}}});
  }

  const std::unique_ptr<Household> house = household_in_tmp();
};

TEST_F(ChatGolden, TheFirstStart) {
  ChatScene scene(*house, "first-start", scripted(R"({"text": "Hello. What is there to do?"})"), 80, 24);
  ASSERT_TRUE(scene.begins());
  scene.picture("it has begun");
  scene.enter("hello");
  ASSERT_TRUE(scene.shows("Hello. What"));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.picture("after the first answer");
  scene.enter("/help");
  ASSERT_TRUE(scene.shows("works is said"));
  scene.picture("help");
  scene.leave();
}

TEST_F(ChatGolden, TheFirstStartWithoutAModel) {
  ChatScene scene(*house, "no-model", {}, 80, 24,
                  {{"ANTHROPIC_API_KEY", ""},
                   {"ANTHROPIC_AUTH_TOKEN", ""},
                   {"OPENAI_API_KEY", ""},
                   {"GEMINI_API_KEY", ""},
                   {"OLLAMA_HOST", ""}});
  ASSERT_TRUE(scene.begins());
  scene.picture("it has begun");
  scene.enter("/mcp");
  ASSERT_TRUE(scene.shows("/mcp SERVER"));
  scene.picture("there are no servers");
  scene.enter("hello");
  ASSERT_TRUE(scene.shows("no model that could answer"));
  scene.picture("nobody answers");
  scene.leave();
}

TEST_F(ChatGolden, ACallThatIsAskedAbout) {
  ChatScene scene(
      *house, "call-with-approval",
      scripted(R"({"text": "I ask the server.", "calls": [{"name": "mcp__fake__echo", "input": {"text": "ping"}}]},
                  {"text": "And I write a file.", "calls": [{"name": "write_file", "input": {"path": "n.txt", "content": "one\ntwo\n"}}]},
                  {"text": "That was no, so I am done."})",
               {"--mcp-config", server("fake", "mode", "good")}),
      80, 45);
  ASSERT_TRUE(scene.begins());
  scene.enter("go");
  ASSERT_TRUE(scene.shows("Call it?"));
  scene.picture("the question");
  scene.enter("?");
  scene.picture("what the letters mean");
  scene.enter("y");
  ASSERT_TRUE(scene.shows("+ two"));
  ASSERT_TRUE(scene.shows("Call it?"));
  scene.picture("the question about a file");
  scene.enter("n");
  ASSERT_TRUE(scene.shows("so I am done."));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.picture("afterwards");
  scene.leave();
}

TEST_F(ChatGolden, Servers) {
  ChatScene scene(*house, "mcp",
                  scripted(R"({"text": "Hello."})", {"--mcp-config", server("fake", "mode", "good"), "--mcp-config",
                                                     server("gone", "no-such-program")}),
                  80, 40);
  ASSERT_TRUE(scene.begins());
  scene.enter("/mcp");
  ASSERT_TRUE(scene.shows("/mcp SERVER"));
  scene.picture("before they are started");
  scene.enter("/mcp gone");
  ASSERT_TRUE(scene.lacks("Looking at"));
  scene.picture("one that cannot be started");
  scene.enter("/mcp nosuch");
  ASSERT_TRUE(scene.shows("/mcp lists all servers"));
  scene.enter("/tools fake");
  ASSERT_TRUE(scene.shows("mcp__fake__add"));
  ASSERT_TRUE(scene.lacks("Starting servers"));
  scene.enter("/mcp");
  ASSERT_TRUE(scene.shows("connected"));
  scene.picture("afterwards");
  scene.leave();
}

TEST_F(ChatGolden, Completion) {
  house->tree.file("project/notes.txt", "three\nlines\nhere\n");
  house->tree.file("project/notes.md", "# Notes\n");
  ChatScene scene(*house, "completion", scripted(R"({"text": "Read."})"), 80, 24);
  ASSERT_TRUE(scene.begins());
  scene.type("/co\t");
  ASSERT_TRUE(scene.shows("/compact"));
  scene.picture("commands");
  scene.type("\t\t");
  scene.picture("the second of them");
  scene.type("\x1b");
  ASSERT_TRUE(scene.lacks("/compact"));
  scene.type(
      "\x15"
      "look at @not\t");
  ASSERT_TRUE(scene.shows("notes.md"));
  scene.picture("files");
  scene.type("\t");
  scene.picture("one of them");
  scene.type("\x15");
  scene.leave();
}

TEST_F(ChatGolden, AFormOnASmallScreen) {
  ChatScene scene(*house, "form-80x15",
                  scripted(R"({"calls": [{"name": "mcp__fix__ask_form", "input": {}}]}, {"text": "It has an answer."})",
                           {"--allowedTools", "mcp__fix__ask_form", "--mcp-config", server("fix", "scenario")}),
                  80, 15);
  ASSERT_TRUE(scene.begins());
  scene.enter("ask me");
  ASSERT_TRUE(scene.shows("(Enter: cancel)"));
  scene.picture("somebody asks");
  scene.enter("y");
  ASSERT_TRUE(scene.shows("Enter: leave it out"));
  scene.picture("the first field");
  scene.enter("Ada");
  ASSERT_TRUE(scene.shows("Enter: 7"));
  scene.enter("many");
  ASSERT_TRUE(scene.becomes([&] {
    const auto all = scene.everything();
    const auto first = all.find("Enter: 7");
    return first != std::string::npos && all.find("Enter: 7", first + 1) != std::string::npos;
  }));
  scene.picture("what does not fit");
  scene.enter("");
  ASSERT_TRUE(scene.shows("an email address"));
  scene.enter("ada@example.com");
  ASSERT_TRUE(scene.shows("Send them?"));
  scene.picture("all answers");
  scene.enter("y");
  ASSERT_TRUE(scene.shows("It has an answer."));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.leave();
}

TEST_F(ChatGolden, AServerAsksForTextOfTheModel) {
  ChatScene scene(
      *house, "sampling",
      scripted(
          R"({"when": "say something", "text": "Something. \u001b[2JAnd more.", "usage": {"input": 1200, "output": 7}},
                              {"when": "first", "calls": [{"name": "mcp__fix__ask_sample", "input": {}}]},
                              {"text": "It has its text."},
                              {"when": "second", "calls": [{"name": "mcp__fix__ask_sample", "input": {}}]},
                              {"text": "It has none."})",
          {"--allowedTools", "mcp__fix__ask_sample", "--mcp-config", server("fix", "scenario")}),
      80, 45);
  ASSERT_TRUE(scene.begins());
  scene.enter("first");
  ASSERT_TRUE(scene.shows("[y/n]"));
  scene.picture("the question");
  scene.enter("y");
  ASSERT_TRUE(scene.shows("It has its text."));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.picture("it was allowed");
  scene.enter("/cost");
  ASSERT_TRUE(scene.shows("since the start"));
  scene.picture("what it cost");
  // A yes is for once.
  scene.enter("second");
  ASSERT_TRUE(scene.becomes([&] { return scene.everything().ends_with("[y/n]\n"); }));
  scene.enter("n");
  ASSERT_TRUE(scene.shows("It has none."));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.leave();
}

TEST_F(ChatGolden, CtrlC) {
  ChatScene scene(
      *house, "ctrl-c",
      scripted(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "x"}}]}, {"text": "Well then."})",
               {"--mcp-config", server("fake", "mode", "silent-on-call"), "--allowedTools", "mcp__fake__echo"}),
      80, 24);
  ASSERT_TRUE(scene.begins());
  scene.enter("call it");
  ASSERT_TRUE(scene.becomes([&] { return scene.everything().contains("mcp__fake__echo 0 s"); }));
  scene.enter("and then this");
  ASSERT_TRUE(scene.shows("then: and then this"));
  scene.picture("a call runs, and a message waits");
  scene.type("\x1b");
  ASSERT_TRUE(scene.lacks("then: and"));
  scene.type("\x03");
  ASSERT_TRUE(scene.shows("Well then."));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.picture("it was interrupted, and what is typed stays");
  scene.type("\x03");
  ASSERT_TRUE(scene.lacks("> and then"));
  scene.picture("what is typed was cleared");
  scene.type("\x03");
  ASSERT_TRUE(scene.shows("again leaves"));
  scene.picture("once more leaves");
  scene.leave();
}

TEST_F(ChatGolden, AnotherSize) {
  ChatScene scene(*house, "resize", scripted(R"({"text": "one\n\ntwo\n\nthree"}, {"text": "four"})"), 100, 20);
  ASSERT_TRUE(scene.begins());
  scene.enter("go");
  ASSERT_TRUE(scene.shows("three"));
  ASSERT_TRUE(scene.lacks("Working"));
  // Longer than one line of the narrow screen.
  const std::string typed = "a text that is longer than the narrowest of these screens";
  scene.type(typed);
  ASSERT_TRUE(scene.shows(typed));
  scene.picture("100 x 20");
  for (const auto& [columns, rows] : {std::pair{40, 20}, {120, 30}, {60, 8}, {90, 24}}) {
    ASSERT_TRUE(scene.resize(columns, rows));
    scene.type("+");
    scene.picture(std::to_string(columns) + " x " + std::to_string(rows));
    scene.type("\x7f");
    ASSERT_TRUE(scene.lacks("+"));
    // Nothing of what was printed is gone, or there twice; and there is one prompt.
    const auto all = scene.everything();
    for (const char* line : {"|one\n", "|two\n", "|three\n", "|> go\n", "> a text that is longer"}) {
      EXPECT_THAT(all, HasSubstr(line)) << columns;
      EXPECT_EQ(all.find(line), all.rfind(line)) << columns << "\n" << all;
    }
  }
  scene.type("\x15");
  scene.enter("more");
  ASSERT_TRUE(scene.shows("four"));
  ASSERT_TRUE(scene.lacks("Working"));
  scene.leave();
}

// What is kept of the conversation, as it is printed: paragraphs, and nothing that looks different as Markdown.
std::string kept_transcript(const Household& house) {
  std::string out;
  const auto add = [&](std::string_view text) {
    for (const auto line : split(text, '\n')) out += "|" + std::string(line) + "\n";
  };
  const auto folder = std::filesystem::path(house.home()) / ".local/state/patchbay/conversations";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const auto kept = parse_json(line);
      if (!kept || (*kept)["message"].is_null()) continue;
      const auto& message = (*kept)["message"];
      for (const auto& part : message["parts"].items()) {
        const auto text = part["text"].text();
        if (!text) continue;
        const bool said = message["role"] == Json("user");
        add(said ? "> " + std::string(*text) : std::string(*text) + "\n");
      }
    }
  }
  return out;
}

TEST_F(ChatGolden, WhatScrolledAwayAndTheScreenAreTheTranscript) {
  std::string text;
  for (int i = 0; i < 80; ++i) text += (i > 0 ? "\\n\\n" : "") + ("Line " + std::to_string(i)) + ".";
  const std::string before =
      "|patchbay VERSION · script:script.json · /tmp/patchbay-test-XXXXXX/project\n"
      "|What is there to do? /help lists commands and keys.\n";
  for (const int rows : {12, 400}) {
    SCOPED_TRACE(rows);
    std::filesystem::remove_all(std::filesystem::path(house->home()) / ".local");
    ChatScene scene(*house, {}, scripted("{\"text\": \"" + text + "\"}, {\"text\": \"The end.\"}"), 80, rows);
    ASSERT_TRUE(scene.begins());
    scene.enter("tell me");
    ASSERT_TRUE(scene.shows("Line 79."));
    ASSERT_TRUE(scene.lacks("Working"));
    scene.enter("and now?");
    ASSERT_TRUE(scene.shows("The end."));
    ASSERT_TRUE(scene.lacks("Working"));
    scene.leave();
    EXPECT_EQ(scene.everything(),
              before + kept_transcript(*house) + "|To go on with this conversation: patchbay chat --resume ID\n");
    EXPECT_EQ(scene.screen().scrolled_away().empty(), rows == 400);
  }
}

}  // namespace
}  // namespace patchbay::test
