// `patchbay chat` in a real terminal: what a person sees and types, and what is written to the terminal. G3 P1 E1.
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"
#include "support/tmux.h"

namespace patchbay {
namespace {

using test::built;
using test::Household;
using test::Terminal;
using test::Tmux;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// That a call is under way, for however many seconds.
bool shows_the_time(const std::string& screen, const std::string& tool) {
  return std::regex_search(screen, std::regex(tool + " [0-9]+ s"));
}

class ChatInTmux : public testing::Test {
 protected:
  void SetUp() override {
    if (!Tmux::is_there()) GTEST_SKIP() << "tmux is not installed";
  }

  Tmux::Options at(int columns, int rows) const {
    return {.cwd = house.project(), .env = house.options().env, .columns = columns, .rows = rows};
  }
  // With a scripted model; `turns` is the inside of its list.
  std::vector<std::string> scripted(const std::string& turns, std::vector<std::string> more = {}) const {
    house.tree.file("script.json", "{\"turns\": [" + turns + "]}");
    std::vector<std::string> words{built("patchbay"), "chat", "--model",
                                   "script:" + (house.tree.path() / "script.json").string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> with_fake(const std::string& turns, const std::string& mode) const {
    return scripted(turns, {"--mcp-config", test::mode_server_file(mode)});
  }

  // What no conversation may do to a terminal.
  static void expect_gentle(const std::string& bytes) {
    for (const char* sequence : {"\033[2J", "\033[3J", "\033[H", "\033[?1049", "\033[?47", "\033c", "\033[1;1H"}) {
      EXPECT_THAT(bytes, Not(HasSubstr(sequence)));
    }
  }
  static void expect_restored(const std::string& left) {
    for (const std::string mode : {"icanon", "echo", "isig", "icrnl", "opost"}) {
      EXPECT_THAT(left, AllOf(HasSubstr(mode), Not(HasSubstr("-" + mode + " "))));
    }
  }

  Household house;
};

TEST_F(ChatInTmux, WithoutAModelItSaysHowToSetOneAndToolsCanBeUsed) {
  Tmux tmux({built("patchbay"), "chat", "--mcp-config", test::mode_server_file("good")}, at(100, 40));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("no model"), HasSubstr("ANTHROPIC_API_KEY")));
  tmux.enter("/call fake/echo text=hello");
  ASSERT_TRUE(tmux.wait_for("\nhello")) << tmux.screen();
  tmux.enter("/tools add");
  ASSERT_TRUE(tmux.wait_for("mcp__fake__add")) << tmux.screen();
  tmux.enter("hi");
  ASSERT_TRUE(tmux.wait_for("There is no model that could answer")) << tmux.screen();
  tmux.keys({"C-d"});
  const auto left = tmux.left();
  EXPECT_THAT(left, HasSubstr("left with 0"));
  expect_restored(left);
  expect_gentle(tmux.bytes());
}

// G1: nobody said which, so the first line says which and why.
TEST_F(ChatInTmux, TheFirstLineNamesTheModelThatIsUsedAndWhy) {
  auto options = at(120, 30);
  options.env["GEMINI_API_KEY"] = "k";
  options.env["GOOGLE_GEMINI_BASE_URL"] = "http://127.0.0.1:1";
  Tmux tmux({built("patchbay"), "chat"}, options);
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("gemini:gemini-3.5-flash (GEMINI_API_KEY is set)"));
}

TEST_F(ChatInTmux, ACallIsShownAskedAboutAndAnswered) {
  Tmux tmux(
      with_fake(R"({"text": "I will **ask** it.", "calls": [{"name": "mcp__fake__echo", "input": {"text": "ping"}}]},
                        {"text": "# It said\n\n- ${result}\n"},
                        {"calls": [{"name": "mcp__fake__echo", "input": {"text": "again"}}]}, {"text": "Done."})",
                "good"),
      at(100, 40));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("say ping");
  ASSERT_TRUE(tmux.wait_for("Call it?")) << tmux.screen();
  EXPECT_THAT(tmux.screen(),
              AllOf(HasSubstr("I will ask it."), HasSubstr("* mcp__fake__echo(text: \"ping\")"),
                    HasSubstr("wants to call \"echo\" of the server \"fake\""), HasSubstr("text: \"ping\""),
                    HasSubstr("y once · always: t tool"), HasSubstr("[y/t/s/a/e/n/w/?]")));
  tmux.enter("maybe");
  ASSERT_TRUE(tmux.wait_for("yes, this once")) << tmux.screen();
  tmux.enter("t");
  ASSERT_TRUE(tmux.wait_for("- ping")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("  > ping"));
  // Allowed from here on.
  tmux.enter("say again");
  ASSERT_TRUE(tmux.wait_for("Done.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("  > again"));
  tmux.enter("/permissions");
  ASSERT_TRUE(tmux.wait_for("  fake/echo")) << tmux.screen();
  tmux.enter("/mcp");
  ASSERT_TRUE(tmux.wait_for("/mcp SERVER shows")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("fake"));
  tmux.enter("/mcp fake");
  ASSERT_TRUE(tmux.wait_for("last messages")) << tmux.screen();
  EXPECT_THAT(tmux.screen(),
              AllOf(HasSubstr("The add tool"), HasSubstr("/mcp__fake__greet [who]"), HasSubstr("@fake:mode://one")));
  tmux.enter("/quit");
  const auto left = tmux.left();
  EXPECT_THAT(left, HasSubstr("left with 0"));
  EXPECT_THAT(tmux.all(), HasSubstr("patchbay chat --resume"));
  expect_restored(left);
  expect_gentle(tmux.bytes());
}

// Who types faster than it starts: their Enter sends as well.
TEST(ChatAtItsStart, SendsWhatWasTypedBeforeItReadKeys) {
  const Household house;
  house.tree.file("script.json",
                  R"({"turns": [{"when": "first", "text": "One."}, {"when": "second", "text": "Two."}]})");
  const auto gate = (house.tree.path() / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  auto env = house.options().env;
  env["GATE"] = gate;
  env["PATCHBAY"] = built("patchbay");
  env["SCRIPT"] = "script:" + (house.tree.path() / "script.json").string();
  Terminal terminal({"/bin/sh", "-c", R"(echo ready; read -r go < "$GATE"; exec "$PATCHBAY" chat --model "$SCRIPT")"},
                    house.project(), env);
  ASSERT_TRUE(terminal.wait_for("ready"));
  terminal.type("first words\rsecond words\r");
  // The terminal has made lines of them by the time it shows them.
  ASSERT_TRUE(terminal.wait_for("second words")) << terminal.seen();
  std::ofstream(gate) << "go\n";
  ASSERT_TRUE(terminal.wait_for("Two.")) << terminal.seen();
  EXPECT_LT(terminal.seen().find("One."), terminal.seen().find("Two."));
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
}

TEST_F(ChatInTmux, NoAndWhyIsToldToTheModel) {
  Tmux tmux(
      with_fake(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "ping"}}]}, {"text": "I hear: ${result}"})",
                "good"),
      at(100, 30));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("go");
  ASSERT_TRUE(tmux.wait_for("Call it?")) << tmux.screen();
  tmux.enter("w");
  ASSERT_TRUE(tmux.wait_for("Why not?")) << tmux.screen();
  tmux.enter("it is too loud");
  ASSERT_TRUE(tmux.wait_for("I hear:")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("it is too loud"));
  EXPECT_THAT(tmux.screen(), HasSubstr("not called"));
}

TEST_F(ChatInTmux, OtherArgumentsAreWrittenByThePersonAndNotAskedAboutAgain) {
  Tmux tmux(with_fake(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "ping"}}]},
                        {"calls": [{"name": "mcp__fake__echo", "input": {"text": "pong"}}]}, {"text": "Done."})",
                      "good"),
            at(100, 30));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("go");
  ASSERT_TRUE(tmux.wait_for("Call it?")) << tmux.screen();
  tmux.enter("e");
  ASSERT_TRUE(tmux.wait_for("Arguments: {\"text\":\"ping\"}")) << tmux.screen();
  tmux.keys({"C-u"});
  tmux.enter("{\"text\":\"pong\"");
  // A mistake is corrected, and nothing written again.
  ASSERT_TRUE(tmux.wait_for("at byte")) << tmux.screen();
  tmux.enter("}");
  ASSERT_TRUE(tmux.wait_for("Done.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("not called"), HasSubstr("  > pong")));
}

TEST_F(ChatInTmux, AServerOfTheProjectIsAskedAboutBeforeItStarts) {
  house.tree.file("project/.mcp.json", test::mode_server_file("good"));
  Tmux tmux(scripted(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "ping"}}]}, {"text": "Done."})",
                     {"--allowedTools", "mcp__fake__echo"}),
            at(100, 40));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/mcp");
  ASSERT_TRUE(tmux.wait_for("or now: /mcp fake")) << tmux.screen();
  tmux.enter("/mcp fake");
  ASSERT_TRUE(tmux.wait_for("Start it?")) << tmux.screen();
  // The second answer is to nothing, and is no message.
  tmux.keys({"y", "Enter", "y", "Enter"});
  ASSERT_TRUE(tmux.wait_for("The add tool")) << tmux.screen();
  tmux.enter("go");
  ASSERT_TRUE(tmux.wait_for("Done.")) << tmux.screen();
  EXPECT_THAT(tmux.all(), AllOf(HasSubstr("Approved \"fake\""), HasSubstr("  > ping"), testing::Not(HasSubstr("> y"))));
  tmux.keys({"C-d"});
  expect_restored(tmux.left());
  expect_gentle(tmux.bytes());
}

TEST_F(ChatInTmux, ARejectedServerIsApprovedWhereItIsMissed) {
  house.tree.file("project/.mcp.json", test::mode_server_file("good"));
  ASSERT_EQ(house.run({"reject", "fake"}).code, 0);
  Tmux tmux(scripted(R"({"text": "Hello."})"), at(100, 40));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/mcp fake");
  ASSERT_TRUE(tmux.wait_for("/mcp approve fake")) << tmux.screen();
  tmux.enter("/mcp approve fake");
  ASSERT_TRUE(tmux.wait_for("Approved \"fake\"")) << tmux.screen();
  tmux.enter("/mcp fake");
  ASSERT_TRUE(tmux.wait_for("The add tool")) << tmux.screen();
  tmux.enter("hello");
  ASSERT_TRUE(tmux.wait_for("Hello.")) << tmux.screen();
  tmux.enter("and?");
  ASSERT_TRUE(tmux.wait_for("To talk to a model: /model PROVIDER:NAME")) << tmux.screen();
}

TEST_F(ChatInTmux, AModelAndAServerCanComeLater) {
  house.tree.file("late.json", R"({"turns": [{"text": "Here I am."}]})");
  Tmux tmux({built("patchbay"), "chat"}, at(100, 30));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/connect '" + built("mode-server") + "' good");
  ASSERT_TRUE(tmux.wait_for("Connected to")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("6 tools"), HasSubstr("!patchbay add")));
  tmux.enter("/mcp disable mode");
  ASSERT_TRUE(tmux.wait_for("belongs to this conversation")) << tmux.screen();
  tmux.enter("/model script:" + (house.tree.path() / "late.json").string());
  ASSERT_TRUE(tmux.wait_for("answers from here on")) << tmux.screen();
  tmux.enter("!echo shell $((40 + 2))");
  ASSERT_TRUE(tmux.wait_for("shell 42")) << tmux.screen();
  tmux.enter("hello");
  ASSERT_TRUE(tmux.wait_for("Here I am.")) << tmux.screen();
  tmux.enter("/mpc");
  ASSERT_TRUE(tmux.wait_for("did you mean /mcp?")) << tmux.screen();
}

TEST_F(ChatInTmux, CompletesCommandsFilesAndResources) {
  house.tree.file("project/notes.txt", "three\nlines\nhere\n");
  Tmux tmux(with_fake(R"({"text": "Read."})", "good"), at(100, 30));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.type("/co");
  tmux.keys({"Tab"});
  ASSERT_TRUE(tmux.wait_for("/compact")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("/connect"), HasSubstr("/cost"), HasSubstr("/context")));
  tmux.keys({"Escape"});
  ASSERT_TRUE(tmux.wait_until_gone("/compact")) << tmux.screen();
  tmux.keys({"C-u"});
  tmux.type("look at @fake:");
  tmux.keys({"Tab"});
  ASSERT_TRUE(tmux.wait_for("@fake:mode://one")) << tmux.screen();
  tmux.type(" and @not");
  tmux.keys({"Tab"});
  ASSERT_TRUE(tmux.wait_for("and @notes.txt")) << tmux.screen();
  tmux.keys({"Enter"});
  ASSERT_TRUE(tmux.wait_for("Read.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("notes.txt: 3 lines"), HasSubstr("@fake:mode://one: ")));
}

TEST_F(ChatInTmux, AFormIsFilledInOnASmallScreen) {
  ASSERT_EQ(house.run({"add", "fix", "--", built("scenario-server")}).code, 0);
  Tmux tmux(scripted(R"({"calls": [{"name": "mcp__fix__ask_form", "input": {}}]}, {"text": "It answered ${result}."})",
                     {"--allowedTools", "mcp__fix__ask_form"}),
            at(80, 15));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("ask me");
  ASSERT_TRUE(tmux.wait_for("(Enter: cancel)")) << tmux.screen();
  tmux.enter("y");
  ASSERT_TRUE(tmux.wait_for("name (a text; Enter: leave it out):")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("1 of 3"));
  tmux.enter("Ada");
  ASSERT_TRUE(tmux.wait_for("size (a whole number; Enter: 7):")) << tmux.screen();
  tmux.keys({"Enter"});
  ASSERT_TRUE(tmux.wait_for("mail (an email address")) << tmux.screen();
  tmux.enter("ada@example.com");
  ASSERT_TRUE(tmux.wait_for("Send them?")) << tmux.screen();
  tmux.enter("y");
  ASSERT_TRUE(tmux.wait_for("It answered")) << tmux.screen();
  EXPECT_THAT(tmux.all(), HasSubstr(R"(accept {"name":"Ada","size":7,"mail":"ada@example.com"})"));
  expect_gentle(tmux.bytes());
}

TEST_F(ChatInTmux, AFormIsLeftWithCtrlCAndTheConversationGoesOn) {
  ASSERT_EQ(house.run({"add", "fix", "--", built("scenario-server")}).code, 0);
  Tmux tmux(scripted(R"({"calls": [{"name": "mcp__fix__ask_form", "input": {}}]}, {"text": "Well then."})",
                     {"--allowedTools", "mcp__fix__ask_form"}),
            at(80, 24));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("ask me");
  ASSERT_TRUE(tmux.wait_for("(Enter: cancel)")) << tmux.screen();
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("Well then.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("  > interrupted"));
  // The keys are the editor's again.
  tmux.type("ab");
  tmux.keys({"C-a"});
  tmux.type("x");
  ASSERT_TRUE(tmux.wait_for("> xab")) << tmux.screen();
}

TEST_F(ChatInTmux, WhatScrolledAwayIsTheWholeConversation) {
  std::string text;
  for (int i = 0; i < 80; ++i) text += "Line " + std::to_string(i) + ".\\n\\n";
  Tmux tmux(scripted("{\"text\": \"" + text + "\"}, {\"text\": \"The end.\"}"), at(80, 12));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("tell me");
  ASSERT_TRUE(tmux.wait_for("Line 79.")) << tmux.screen();
  tmux.enter("and now?");
  ASSERT_TRUE(tmux.wait_for("The end.")) << tmux.screen();
  ASSERT_TRUE(tmux.wait_until_gone("Working")) << tmux.screen();
  std::string wanted = "> tell me\n";
  for (int i = 0; i < 80; ++i) wanted += "Line " + std::to_string(i) + ".\n\n";
  wanted += "> and now?\nThe end.\n\n>";
  EXPECT_THAT(tmux.all(), HasSubstr(wanted));
  expect_gentle(tmux.bytes());
}

TEST_F(ChatInTmux, CtrlCInterruptsACallAndThenLeaves) {
  Tmux tmux(scripted(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "x"}}]}, {"text": "Well then."})",
                     {"--mcp-config", test::mode_server_file("silent-on-call"), "--allowedTools", "mcp__fake__echo"}),
            at(90, 20));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("call it");
  ASSERT_TRUE(tmux.wait_until([&] { return shows_the_time(tmux.screen(), "mcp__fake__echo"); })) << tmux.screen();
  // What is typed meanwhile waits.
  tmux.enter("and then this");
  ASSERT_TRUE(tmux.wait_for("then: and then this")) << tmux.screen();
  tmux.keys({"Escape"});
  ASSERT_TRUE(tmux.wait_until_gone("then: and")) << tmux.screen();
  tmux.keys({"C-u"});
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("Well then.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("  > interrupted"));
  ASSERT_TRUE(tmux.wait_until_gone("Working")) << tmux.screen();
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("Ctrl-C again leaves")) << tmux.screen();
  tmux.keys({"C-c"});
  const auto left = tmux.left();
  EXPECT_THAT(left, HasSubstr("left with 0"));
  expect_restored(left);
}

// The first ends the call, and the model goes on; the second ends the turn.
TEST_F(ChatInTmux, ASecondCtrlCEndsTheTurn) {
  Tmux tmux(scripted(R"({"calls": [{"name": "mcp__fake__echo", "input": {"text": "one"}}]},
                        {"calls": [{"name": "mcp__fake__echo", "input": {"text": "two"}}]}, {"text": "A new turn."})",
                     {"--mcp-config", test::mode_server_file("silent-on-call"), "--allowedTools", "mcp__fake"}),
            at(80, 24));
  ASSERT_TRUE(tmux.wait_for("What is there to do?")) << tmux.screen();
  tmux.enter("call it");
  ASSERT_TRUE(tmux.wait_for("echo(text: \"one\")")) << tmux.screen();
  ASSERT_TRUE(tmux.wait_until([&] { return shows_the_time(tmux.screen(), "mcp__fake__echo"); })) << tmux.screen();
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("echo(text: \"two\")")) << tmux.screen();
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("What would you rather have?")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), Not(HasSubstr("A new turn.")));
  tmux.enter("something else");
  ASSERT_TRUE(tmux.wait_for("A new turn.")) << tmux.screen();
  tmux.keys({"C-d"});
  EXPECT_THAT(tmux.left(), HasSubstr("left with 0"));
}

TEST_F(ChatInTmux, SeveralLinesWideCharactersAndPastesAreOneMessage) {
  Tmux tmux(scripted(R"({"when": "second line", "text": "Both lines."}, {"when": "pasted two", "text": "All of it."})"),
            at(60, 20));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.type("日本語 first");
  tmux.keys({"M-Enter"});
  tmux.type("second line");
  ASSERT_TRUE(tmux.wait_for("\n  second line")) << tmux.screen();
  tmux.keys({"Enter"});
  ASSERT_TRUE(tmux.wait_for("Both lines.")) << tmux.screen();
  tmux.paste("pasted one\npasted two\n");
  ASSERT_TRUE(tmux.wait_for("\n  pasted two")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), Not(HasSubstr("All of it")));
  tmux.keys({"Enter"});
  ASSERT_TRUE(tmux.wait_for("All of it.")) << tmux.screen();
  // Back to what was said before.
  tmux.keys({"C-r"});
  tmux.type("first");
  ASSERT_TRUE(tmux.wait_for("search: first")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("日本語 first\n"));
}

TEST_F(ChatInTmux, AnotherSizeLeavesOnePromptAndAllThatWasPrinted) {
  Tmux tmux(scripted(R"({"text": "one\n\ntwo\n\nthree"}, {"text": "four"})"), at(100, 20));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("go");
  ASSERT_TRUE(tmux.wait_for("three")) << tmux.screen();
  tmux.type("typed text");
  ASSERT_TRUE(tmux.wait_for("> typed text")) << tmux.screen();
  for (const auto& [columns, rows] : {std::pair{40, 20}, {120, 30}, {60, 12}}) {
    tmux.resize(columns, rows);
    tmux.type("+");
    ASSERT_TRUE(tmux.wait_for("> typed text+")) << tmux.screen();
    tmux.keys({"BSpace"});
    ASSERT_TRUE(tmux.wait_until_gone("text+")) << tmux.screen();
    const auto all = tmux.all();
    EXPECT_EQ(all.find("> typed text"), all.rfind("> typed text")) << all;
    for (const char* line : {"\none\n", "\ntwo\n", "\nthree\n"}) {
      EXPECT_THAT(all, HasSubstr(line)) << columns;
      EXPECT_EQ(all.find(line), all.rfind(line)) << columns << all;
    }
  }
}

TEST_F(ChatInTmux, ASignalThatEndsItLeavesTheTerminalAsItWas) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGABRT}) {
    Tmux tmux(scripted(""), at(80, 50));
    ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
    const auto pid = tmux.program();
    ASSERT_GT(pid, 1);
    ::kill(pid, number);
    const auto left = tmux.left();
    EXPECT_THAT(left, HasSubstr("left with " + std::to_string(128 + number)));
    expect_restored(left);
  }
}

TEST_F(ChatInTmux, AConversationGoesOn) {
  {
    Tmux tmux(scripted(R"({"text": "Remember the number 42."})"), at(80, 20));
    ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
    tmux.enter("tell me a number");
    ASSERT_TRUE(tmux.wait_for("42.")) << tmux.screen();
    tmux.keys({"C-d"});
    (void)tmux.left();
  }
  Tmux tmux(scripted(R"({"text": "It was 42."})", {"--continue"}), at(80, 20));
  ASSERT_TRUE(tmux.wait_for("Remember the number 42.")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("> tell me a number"));
  // What was typed in earlier conversations is there as well.
  tmux.keys({"Up"});
  tmux.type("!");
  ASSERT_TRUE(tmux.wait_for("> tell me a number!")) << tmux.screen();
  tmux.keys({"C-u"});
  tmux.enter("which one?");
  ASSERT_TRUE(tmux.wait_for("It was 42.")) << tmux.screen();
}

TEST_F(ChatInTmux, AConversationIsChosenOfAList) {
  {
    Tmux tmux(scripted(R"({"text": "Remember the number 42."})"), at(80, 20));
    ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
    tmux.enter("tell me a number");
    ASSERT_TRUE(tmux.wait_for("42.")) << tmux.screen();
    tmux.keys({"C-d"});
    (void)tmux.left();
  }
  auto words = scripted(R"({"text": "Hello."})");
  words.insert(words.begin() + 2, "--resume");
  Tmux tmux(words, at(80, 20));
  ASSERT_TRUE(tmux.wait_for("Which one?")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), testing::ContainsRegex(" 1  [a-z0-9]+  20..-..-.. ..:..  tell me a number"));
  tmux.enter("1");
  ASSERT_TRUE(tmux.wait_for("Remember the number 42.")) << tmux.screen();
}

// However many there are, the newest is on the screen.
TEST_F(ChatInTmux, AListToChooseFromFitsTheScreen) {
  house.tree.file("project/s.json", R"({"turns": [{"text": "Hello."}]})");
  for (int i = 1; i <= 14; ++i) {
    ASSERT_EQ(house.run({"-p", "message-" + std::to_string(i), "--model", "script:s.json"}).code, 0);
  }
  auto words = scripted(R"({"text": "Hello again."})");
  words.insert(words.begin() + 2, "--resume");
  Tmux tmux(words, at(80, 15));
  ASSERT_TRUE(tmux.wait_for("Which one?")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(HasSubstr("message-14\n"), HasSubstr("… 4 more before that")));
  // Those that are not shown have their numbers all the same.
  tmux.enter("14");
  ASSERT_TRUE(tmux.wait_for("> message-1")) << tmux.screen();
  EXPECT_THAT(tmux.all(), HasSubstr("> message-1\n"));
}

TEST_F(ChatInTmux, ACommandThatDoesNothingSaysSo) {
  Tmux tmux(scripted(R"({"text": "Hello."})"), at(100, 30));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/compact");
  ASSERT_TRUE(tmux.wait_for("nothing to gain")) << tmux.screen();
  tmux.enter("!sleep 1000");
  ASSERT_TRUE(tmux.wait_for("Running")) << tmux.screen();
  tmux.keys({"C-c"});
  ASSERT_TRUE(tmux.wait_for("\nInterrupted.")) << tmux.screen();
  tmux.enter("/resume nosuchthing");
  ASSERT_TRUE(tmux.wait_for("/resume lists")) << tmux.screen();
  tmux.enter("/connect /no/such/server");
  ASSERT_TRUE(tmux.wait_for("patchbay: /no/such/server does not exist")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(Not(HasSubstr("1 failed")), Not(HasSubstr("Failed to connect"))));
}

TEST_F(ChatInTmux, WhatIsWrittenIsShownOnceAndAResultInFullWhenAskedFor) {
  Tmux tmux(
      scripted(
          R"({"calls": [{"name": "write_file", "input": {"path": "n.txt", "content": "one\ntwo\nthree\nfour\nfive\nsix\nseven\nlast-of-all\n"}}]},
             {"calls": [{"name": "read_file", "input": {"path": "n.txt"}}]}, {"text": "Done."})"),
      at(100, 50));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/last");
  ASSERT_TRUE(tmux.wait_for("No result was shown in part")) << tmux.screen();
  tmux.enter("look at @nofile.txt");
  ASSERT_TRUE(tmux.wait_for("Call it?")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), HasSubstr("@nofile.txt: there is no such file"));
  const auto asked = tmux.screen();
  EXPECT_EQ(asked.find("+ last-of-all"), asked.rfind("+ last-of-all")) << asked;
  EXPECT_THAT(asked, HasSubstr("+ last-of-all"));
  tmux.enter("y");
  ASSERT_TRUE(tmux.wait_for("Done.")) << tmux.screen();
  const auto done = tmux.all();
  EXPECT_EQ(done.find("+ last-of-all"), done.rfind("+ last-of-all")) << done;
  EXPECT_THAT(done, HasSubstr(": /last"));
  tmux.enter("/last");
  ASSERT_TRUE(tmux.wait_for("read_file:")) << tmux.screen();
  const auto all = tmux.all();
  EXPECT_NE(all.find("last-of-all", all.find("read_file:")), std::string::npos) << all;
}

TEST_F(ChatInTmux, WhatToTypeIsNamedAsItIsTypedHere) {
  Tmux tmux({built("patchbay"), "chat", "--mcp-config", test::mode_server_file("good")}, at(120, 60));
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("/tools fake/add");
  ASSERT_TRUE(tmux.wait_for("/call fake/add")) << tmux.screen();
  tmux.enter("/call fake/add");
  ASSERT_TRUE(tmux.wait_for(": /tools fake/add")) << tmux.screen();
  tmux.enter("/call nosuchtool");
  ASSERT_TRUE(tmux.wait_for("/tools lists all tools")) << tmux.screen();
  EXPECT_THAT(tmux.screen(), AllOf(Not(HasSubstr("patchbay call")), Not(HasSubstr("patchbay tools"))));
}

TEST_F(ChatInTmux, AConversationThatCannotGoOnSaysWhatToDo) {
  {
    Tmux tmux(scripted("", {"--resume", "nope1234"}), at(100, 20));
    EXPECT_THAT(tmux.left(), HasSubstr("left with 2"));
    EXPECT_THAT(tmux.bytes(), HasSubstr("patchbay chat --resume"));
  }
  Tmux first(scripted(R"({"text": "Hello."})"), at(80, 20));
  ASSERT_TRUE(first.wait_for("/help")) << first.screen();
  first.enter("hi");
  ASSERT_TRUE(first.wait_for("Hello.")) << first.screen();
  Tmux second(scripted("", {"--continue"}), at(200, 20));
  EXPECT_THAT(second.left(), HasSubstr("left with 2"));
  EXPECT_THAT(std::regex_replace(second.bytes(), std::regex("\\s+"), " "), HasSubstr("when that one has ended"));
}

TEST_F(ChatInTmux, WithoutColoursNothingIsColoured) {
  auto options = at(80, 20);
  options.env["NO_COLOR"] = "1";
  Tmux tmux(scripted(R"({"text": "# Title\n\n**bold** `code`"})"), options);
  ASSERT_TRUE(tmux.wait_for("/help")) << tmux.screen();
  tmux.enter("go");
  ASSERT_TRUE(tmux.wait_for("Title")) << tmux.screen();
  tmux.keys({"C-d"});
  (void)tmux.left();
  for (const char* colour : {"\033[1m", "\033[2m", "\033[31m", "\033[36m"}) {
    EXPECT_THAT(tmux.bytes(), Not(HasSubstr(colour)));
  }
}

TEST(ChatElsewhere, WithoutATerminalItSaysWhatAScriptCanDo) {
  Household house;
  const auto result = house.run({"chat"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("needs a terminal"), HasSubstr("patchbay -p")));
}

TEST_F(ChatInTmux, ATerminalThatCannotMoveItsCursorIsLeftAlone) {
  auto options = at(80, 20);
  options.env["TERM"] = "dumb";
  Tmux tmux(scripted(""), options);
  EXPECT_THAT(tmux.left(), HasSubstr("left with 2"));
  EXPECT_THAT(tmux.bytes(), AllOf(HasSubstr("patchbay -p"), Not(HasSubstr("\033["))));
}

}  // namespace
}  // namespace patchbay
