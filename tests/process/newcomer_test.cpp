// Rows of docs/requirements.md: W1, W7.
// What people who are new type, and what they need to be told.
#include <algorithm>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay {
namespace {

using test::Household;
using test::Terminal;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string fake = test::built("mode-server");

class Newcomer : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& mode = "good") {
    ASSERT_EQ(house.run({"add", name, "--", fake, mode, starts()}).code, 0);
  }
  std::string starts() const { return (house.tree.path() / "starts").string(); }
  bool anything_started() const { return house.tree.has("starts"); }
  test::CommandResult elsewhere(std::vector<std::string> words) const {
    return house.run(std::move(words), "../elsewhere");
  }

  Household house;
};

TEST_F(Newcomer, IsToldForWhichDirectoryAServerIsDeclared) {
  add("ev");
  house.tree.directory("elsewhere/.git");
  const auto place = "\"ev\" is declared for " + house.project() + " only: run the command there";
  for (const auto& words : {std::vector<std::string>{"call", "ev/echo", "text=x"},
                            {"tools", "ev"},
                            {"get", "ev"},
                            {"list", "ev"},
                            {"why", "ev"},
                            {"call", "ev.echo"},
                            {"call", "ev", "echo"}}) {
    const auto ran = elsewhere(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(place)) << words.front();
  }
  const auto listed = elsewhere({"list"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.err, HasSubstr("Declared for other directories only: ev (for " + house.project() + ")"));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, WhoTypesAUrlIsAnsweredAtOnce) {
  add("ev");
  const auto ran = house.run({"tools", "http://127.0.0.1:1/mcp"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("patchbay --mcp-server NAME=URL"), HasSubstr("patchbay add NAME URL")));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ListTakesNames) {
  add("ev");
  add("other");
  EXPECT_THAT(house.run({"list", "ev"}).out, AllOf(HasSubstr("ev "), Not(HasSubstr("other"))));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ToolsOfOneServerAreShownWithTheirArguments) {
  add("ev");
  const auto out = house.run({"tools", "ev"}).out;
  EXPECT_THAT(out, HasSubstr("  mcp__ev__add(a: integer, b: integer)\n      The add tool\n"));
  EXPECT_THAT(house.run({"tools"}).out, HasSubstr("  mcp__ev__add   The add tool\n"));
}

TEST_F(Newcomer, FilesOfAResultAreKept) {
  add("ev", "pictures");
  const auto file = (house.tree.path() / "out.png").string();
  const auto ran = house.run({"call", "ev/echo", "text=x", "--output", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "two files\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("Wrote " + file + " (image/png, 5 bytes)\n"),
                             HasSubstr("out.2.png (audio/wav, 6 bytes)")));
  EXPECT_EQ(house.tree.read("out.png"), "first");
  EXPECT_EQ(house.tree.read("out.2.png"), "second");
}

TEST_F(Newcomer, AFailedCallReplacesNoFile) {
  add("ev");
  house.tree.file("kept.txt", "mine");
  const auto ran = house.run({"call", "ev/fail", "--output", (house.tree.path() / "kept.txt").string()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "the tool failed\n");
  EXPECT_EQ(house.tree.read("kept.txt"), "mine");
}

TEST_F(Newcomer, OnlyTheFileThatWasNamedIsReplaced) {
  add("ev", "pictures");
  house.tree.file("out.2.png", "mine");
  const auto ran = house.run({"call", "ev/echo", "text=x", "--output", (house.tree.path() / "out.png").string()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("out.2.png cannot be written: File exists"));
  EXPECT_EQ(house.tree.read("out.2.png"), "mine");
}

// A full disk, as a limit on the size of files.
TEST_F(Newcomer, AFileThatCannotBeWrittenWholeIsNotLeftBehind) {
  add("ev");
  house.tree.file("kept.txt", "mine");
  const auto write = [&](const std::string& name) {
    const auto file = (house.tree.path() / name).string();
    const auto ran =
        test::run_program({"/bin/sh", "-c",
                           "trap '' XFSZ; ulimit -f 64; exec '" + test::built("patchbay") +
                               "' call ev/echo text=" + std::string(60'000, 'x') + " --output '" + file + "'"},
                          house.options());
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(file + " cannot be written: File too large"));
  };
  write("out.txt");
  EXPECT_FALSE(house.tree.has("out.txt"));
  write("kept.txt");
  EXPECT_TRUE(house.tree.has("kept.txt"));
}

TEST_F(Newcomer, ASecretThatCannotBeStoredIsReportedWithTheCause) {
  const auto ran = test::run_program(
      {"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec '" + test::built("patchbay") + "' secret set token"},
      house.options({}, "s3cret"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(StartsWith("patchbay: cannot write " + house.home()), HasSubstr(": File too large\n")));
  EXPECT_EQ(house.run({"secret", "list"}).out, "");
}

// A1
TEST_F(Newcomer, AProgramThatOnlyEchoesIsCalledWhatItIs) {
  ASSERT_EQ(house.run({"add", "echo", "--", "cat"}).code, 0);
  for (const std::string protocol : {"auto", "legacy"}) {
    auto options = house.options();
    options.env["MCP_PROTOCOL_NEGOTIATION"] = protocol;
    const auto ran = test::run_program({test::built("patchbay"), "tools", "echo"}, options);
    EXPECT_EQ(ran.code, 3);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("it sends back what it is sent, so it is not an MCP server"),
                               Not(HasSubstr("unknown method"))));
  }
}

TEST_F(Newcomer, TextIsKeptWhereThereIsNoFile) {
  add("ev");
  const auto file = (house.tree.path() / "out.txt").string();
  const auto ran = house.run({"call", "ev/echo", "text=hello", "-o", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(house.tree.read("out.txt"), "hello");
}

TEST_F(Newcomer, AFileThatCannotBeWrittenIsReportedBeforeTheCall) {
  add("ev");
  for (const auto& file : {std::string("/no/such/directory/x"), house.tree.path().string()}) {
    const auto ran = house.run({"call", "ev/echo", "text=x", "--output", file});
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_THAT(ran.err, HasSubstr("--output: " + file + " cannot be written")) << file;
  }
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ReadFillsTemplates) {
  add("ev", "pictures");
  EXPECT_EQ(house.run({"read", "ev", "mode://{path}/x{?q}", "path=a b"}).out, "mode://a%20b/x");
  EXPECT_EQ(house.run({"read", "mode://{path}", "path=c"}).out, "mode://c");
  EXPECT_THAT(house.run({"read", "ev", "mode://{path}"}).err,
              HasSubstr("is a template; give its variables a value: patchbay read ev 'mode://{path}' path=VALUE"));
  EXPECT_THAT(house.run({"read", "ev", "mode://{path}", "pth=c"}).err,
              HasSubstr("the template has no variable \"pth\""));
  EXPECT_THAT(house.run({"read", "ev", "mode://one", "path=c"}).err, HasSubstr("is not a template"));
}

TEST_F(Newcomer, TheLimitThatEndedTheWaitIsNamed) {
  add("quiet", "never-answers");
  EXPECT_THAT(house.run({"--timeout", "0.5", "tools", "quiet"}).err,
              HasSubstr("if it needs longer to start, give --timeout more seconds"));
}

TEST_F(Newcomer, TwoAccountsAtOneUrlAreNotReported) {
  ASSERT_EQ(house.run({"add", "-t", "http", "work", "https://h.example/mcp", "-H", "X-Account: work"}).code, 0);
  ASSERT_EQ(house.run({"add", "-t", "http", "home", "https://h.example/mcp", "-H", "X-Account: home"}).code, 0);
  EXPECT_EQ(house.run({"list"}).err, "");
  ASSERT_EQ(house.run({"add", "-t", "http", "again", "https://h.example/mcp", "-H", "X-Account: home"}).code, 0);
  EXPECT_THAT(house.run({"list"}).err, AllOf(HasSubstr("\"again\": it has the same URL as \"home\""),
                                             HasSubstr("both are used; remove one of them")));
}

TEST_F(Newcomer, TwoEntriesForOneServerAreNotReportedWithEveryCall) {
  add("ev");
  add("again");
  const auto same = HasSubstr("it has the same command");
  EXPECT_THAT(house.run({"list"}).err, same);
  EXPECT_THAT(house.run({"doctor", "--offline"}).out, same);
  EXPECT_THAT(house.run({"tools"}).err, Not(same));
  EXPECT_EQ(house.run({"call", "again/echo", "text=x"}).err, "");
  EXPECT_THAT(house.run({"why", "again"}).out, same);
}

TEST_F(Newcomer, IsToldForWhichDirectoryClaudeCodeHasAServer) {
  add("ev");
  house.tree.file("home/.claude.json",
                  R"({"projects":{"/src/app":{"mcpServers":{"theirs":{"command":"x"},"ev":{"command":"x"}}}}})");
  for (const auto& words : {std::vector<std::string>{"tools", "theirs"},
                            {"call", "theirs/x"},
                            {"why", "theirs"},
                            {"prompt", "theirs", "x"}}) {
    EXPECT_THAT(house.run(words).err, HasSubstr("\"theirs\" is declared for /src/app only: ")) << words.front();
  }
  EXPECT_EQ(house.run({"call", "ev/echo", "text=x"}).out, "x\n");
}

TEST_F(Newcomer, CommandsThatPrintASecretHaveTheVariablesOfSettings) {
  house.tree.file("home/.claude/settings.json", R"({"env": {"FROM_SETTINGS": "seen"}})");
  const auto file = (house.tree.path() / "out").string();
  house.tree.file("home/.claude.json",
                  to_text(Json{{"mcpServers",
                                {{"ev",
                                  {{"command", "/bin/sh"},
                                   {"args", Json::array({"-c", "echo $X > '" + file + "'; exec '" + fake + "' good"})},
                                   {"env", {{"X", "${cmd:echo $FROM_SETTINGS}"}}}}}}}}));
  EXPECT_EQ(house.run({"call", "ev/echo", "text=x"}).out, "x\n");
  EXPECT_EQ(house.tree.read("out"), "seen\n");
}

TEST_F(Newcomer, WhatADyingServerWroteIsShownAsItWasWritten) {
  ASSERT_EQ(house
                .run({"add", "dies", "--", "/bin/sh", "-c",
                      "printf '  first\\nError: no key\\n    at f\\n\\tat g\\nlast\\n' >&2; exit 1"})
                .code,
            0);
  const auto lines = HasSubstr("  |   first\n  | Error: no key\n  |     at f\n  |     at g\n  | last\n");
  EXPECT_THAT(house.run({"why", "--check", "dies"}).out, lines);
  EXPECT_THAT(house.run({"doctor"}).out, lines);
}

TEST_F(Newcomer, AServerWithADotInItsName) {
  house.tree.file("home/.claude.json", to_text(Json{{"mcpServers", {{"a.b", {{"command", fake}}}}}}));
  EXPECT_EQ(house.run({"call", "a.b.echo", "text=x"}).out, "x\n");
  EXPECT_EQ(house.run({"call", "a.b", "echo", "text=x"}).out, "x\n");
}

TEST_F(Newcomer, WhoForgetsTheNameOfAServerIsToldTheLineToType) {
  struct Case {
    std::vector<std::string> words;
    std::string line;
  };
  for (const auto& one : std::initializer_list<Case>{
           {{"add", "npx", "-y", "@modelcontextprotocol/server-everything"},
            "patchbay add everything -- npx -y @modelcontextprotocol/server-everything\n"},
           {{"mcp", "add", "uvx", "--from", "git+x", "y"}, "patchbay mcp add git-x -- uvx --from git+x y\n"},
           {{"add", "https://mcp.sentry.dev/mcp"}, "patchbay add --transport http sentry https://mcp.sentry.dev/mcp\n"},
           {{"add", "-s", "user", "https://mcp.sentry.dev/mcp"},
            "patchbay add --transport http --scope user sentry https://mcp.sentry.dev/mcp\n"},
           {{"add", "npx"}, "patchbay add NAME -- npx ARGUMENTS\n"},
           {{"add", "thing"}, "or: patchbay add thing -- COMMAND ARGUMENTS\n"}}) {
    const auto ran = house.run(one.words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(one.line)) << testing::PrintToString(one.words);
  }
  EXPECT_TRUE(house.own().is_null());
}

TEST_F(Newcomer, SeveralServersAreRemovedOrNone) {
  add("a");
  add("b", "one-tool");
  EXPECT_EQ(house.run({"remove", "a", "nosuch"}).code, 2);
  EXPECT_EQ(house.own()["projects"][house.project()]["mcpServers"].size(), 2u);
  const auto ran = house.run({"rm", "a", "b"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Removed MCP server a from local config"), HasSubstr("server b from local")));
  EXPECT_EQ(house.own()["projects"][house.project()]["mcpServers"].size(), 0u);
}

TEST_F(Newcomer, DoctorLooksAtTheServersThatAreNamed) {
  add("ev");
  add("other", "exits-at-once");
  const auto ran = house.run({"doctor", "ev"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("ev: connected"), Not(HasSubstr("other"))));
  EXPECT_THAT(house.run({"doctor", "nosuch"}).err, HasSubstr("there is no server called \"nosuch\""));
}

// ---- a terminal of 80 columns

class Screen : public Newcomer {
 protected:
  // What a person sees, without the carriage returns.
  std::string shown(std::vector<std::string> words, int code = 0, const std::string& typed = {}) const {
    words.insert(words.begin(), program);
    Terminal terminal(words, house.project(), house.options().env, 80);
    if (!typed.empty()) terminal.type(typed);
    EXPECT_EQ(terminal.wait_for_end(), code) << terminal.seen();
    std::string out;
    for (const char c : terminal.seen()) {
      if (c != '\r') out += c;
    }
    return out;
  }
  static void expect_fits(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      for (const std::string colour : {"\033[32m", "\033[0m"}) {
        if (const auto at = line.find(colour); at != std::string::npos) line.erase(at, colour.size());
      }
      // What is not ASCII has more bytes than columns.
      const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(columns, 80) << line;
    }
  }
  const std::string program = test::built("patchbay");
};

TEST_F(Screen, MessagesAreWrappedBetweenWordsAndPipedOnesAreNot) {
  const std::vector<std::string> words{"call", "no-such-server/and-a-tool-with-a-rather-long-name", "x=1"};
  add("a-server-with-a-name");
  add("another-server-with-a-name", "one-tool");
  const auto piped = house.run(words).err;
  EXPECT_EQ(std::ranges::count(piped, '\n'), 1) << piped;
  const auto seen = shown(words, 2);
  expect_fits(seen);
  EXPECT_GT(std::ranges::count(seen, '\n'), 1) << seen;
  auto words_of = [](const std::string& text) {
    std::istringstream in(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
  };
  EXPECT_EQ(words_of(seen), words_of(piped));
}

TEST_F(Screen, ListingsFit) {
  add("a-server-with-a-rather-long-name", "wordy");
  for (const std::string command : {"", "tools", "prompts", "resources", "list"}) {
    for (const std::string server : {"", "a-server-with-a-rather-long-name"}) {
      std::vector<std::string> words;
      if (!command.empty()) words.push_back(command);
      if (!server.empty() && command.empty()) continue;
      if (!server.empty()) words.push_back(server);
      const auto seen = shown(words);
      expect_fits(seen);
      // What is cut to fit is not wrapped as well.
      if (command == "tools") EXPECT_THAT(seen, testing::ContainsRegex("Makes a plan [a-z ]*(of many words, )?.*…"));
      EXPECT_THAT(seen, Not(HasSubstr("\n      (destructive)\n")));
      EXPECT_THAT(seen, Not(HasSubstr("\n      …")));
      if (command == "tools" && !server.empty()) {
        EXPECT_THAT(seen, HasSubstr("  mcp__a-server-with-a-rather-long-name__plan(first_argument: string, \n"
                                    "      second_argument: string | number, "));
      }
    }
  }
  EXPECT_THAT(house.run({"prompts"}).out, AllOf(HasSubstr("The end of it.\n"), Not(HasSubstr("…"))));
}

TEST_F(Screen, AnErrorOfTheToolIsMarked) {
  add("ev");
  EXPECT_EQ(shown({"call", "ev/fail"}, 1), "the tool failed\npatchbay: the tool reported an error\n");
  const auto piped = house.run({"call", "ev/fail"});
  EXPECT_EQ(piped.code, 1);
  EXPECT_EQ(piped.err, "");
}

TEST_F(Newcomer, WhatIsNotTextCanBeKept) {
  add("ev", "pictures");
  EXPECT_THAT(house.run({"call", "ev/echo", "text=x"}).err,
              HasSubstr("the result has 2 parts that are not text; to keep them: --output FILE"));
  EXPECT_EQ(house.run({"-q", "call", "ev/echo", "text=x"}).err, "");
}

TEST_F(Newcomer, MissingArgumentsAreNamedWithALineToType) {
  add("ev");
  auto text = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"call", "ev/add"});
    const auto ran = house.run(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_EQ(text({}),
            "patchbay: \"add\" needs a, b. For example:\n"
            "  patchbay call ev/add a=1 b=2\n"
            "  To see what they mean: patchbay tools ev/add\n");
  EXPECT_THAT(text({"a=7"}), AllOf(HasSubstr("\"add\" needs a, b; missing: b. For example:\n"),
                                   HasSubstr("  patchbay call ev/add a=7 b=2\n")));
  EXPECT_THAT(text({R"({"a":7})"}), HasSubstr("  patchbay call ev/add '{\"a\":7,\"b\":2}'\n"));
  EXPECT_EQ(house.run({"call", "ev/add", "a=1", "b=2"}).out, "3\n");
}

TEST_F(Newcomer, ThePageOfAToolSaysWhatItTakesAndHowToCallIt) {
  add("ev", "wordy");
  const auto page = house.run({"tools", "ev", "plan"}).out;
  EXPECT_THAT(page,
              AllOf(HasSubstr("second_argument  string | number  (required)"),
                    HasSubstr("third_argument  array of (red | green)"), HasSubstr("fourth_argument  Point | null")))
      << page;
  EXPECT_THAT(page,
              HasSubstr("The server says of it (not checked): it changes things; it may delete or overwrite things"));
  EXPECT_THAT(page, HasSubstr("To call it:\n  patchbay call ev/plan first_argument=TEXT second_argument=TEXT\n"));
  EXPECT_EQ(house.run({"call", "ev/plan", "first_argument=TEXT", "second_argument=TEXT"}).code, 0);
}

// E1: what a server lists for those who can be asked is the same for every command, with a terminal or without.
TEST_F(Newcomer, EveryCommandTellsServersThatItCanBeAsked) {
  Household house;
  ASSERT_EQ(house.run({"add", "fix", "--", test::built("scenario-server")}).code, 0);
  for (const auto& words : std::vector<std::vector<std::string>>{{"tools", "fix"},
                                                                 {"call", "fix/echo", "text=x"},
                                                                 {"list", "--check"},
                                                                 {"call", "fix/echo", "text=x", "--json"}}) {
    auto traced = words;
    traced.push_back("--trace");
    EXPECT_THAT(house.run(traced).err, HasSubstr("\"elicitation\":{")) << testing::PrintToString(words);
  }
  const auto asked = house.run({"call", "fix/ask_form"});
  EXPECT_EQ(asked.out, "cancel -\n") << asked.err;
}

// P1: `why` takes a value for what the tool last listed takes it for, as `call` does.
TEST_F(Newcomer, WhyTakesArgumentsForWhatTheToolTakesThemFor) {
  add("fake");
  const std::vector<std::string> why{"why", "fake/add", "a=1", "b=2", "--disallowedTools", "mcp__fake__add(a: /^9/)"};
  const auto unknown = house.run(why);
  EXPECT_THAT(unknown.out, HasSubstr("the types of the arguments are not known")) << unknown.err;
  ASSERT_EQ(house.run({"tools", "fake"}).code, 0);
  const auto known = house.run(why);
  EXPECT_THAT(known.out, AllOf(HasSubstr("mcp__fake__add: deny"), Not(HasSubstr("are not known, so")))) << known.err;
  EXPECT_EQ(house.run({"call", "fake/add", "a=1", "b=2", "--disallowedTools", "mcp__fake__add(a: /^9/)"}).code, 2);
}

// X5: what is wrong with another entry is not the error of this call.
TEST_F(Newcomer, ABrokenEntryBesideTheOneThatIsMeantIsAWarning) {
  add("fake");
  house.tree.file("project/.mcp.json", R"({"mcpServers":{"odd":{"command":7}}})");
  const auto called = house.run({"call", "fake/echo", "text=x"});
  EXPECT_EQ(called.out, "x\n");
  EXPECT_THAT(called.err, AllOf(StartsWith("patchbay: warning: "), HasSubstr("odd")));
  house.tree.file("project/.mcp.json", "{");
  const auto unread = house.run({"call", "fake/echo", "text=x"});
  EXPECT_EQ(unread.out, "x\n");
  EXPECT_THAT(unread.err, AllOf(StartsWith("patchbay: warning: "), HasSubstr("fix the file"),
                                Not(HasSubstr("run the command again"))));
}

TEST_F(Newcomer, AFlagOfAnotherCommandIsNamedAsSuch) {
  const auto refused = house.run({"call", "k1/count", "--cached"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("\"--cached\" is a flag of "));
  EXPECT_THAT(refused.err, AllOf(HasSubstr("tools"), HasSubstr("not of call"), HasSubstr("cached=VALUE")));
}

TEST_F(Newcomer, WhereServersFailedTheOverviewNamesDoctor) {
  add("fake");
  EXPECT_THAT(house.run({}).out, Not(HasSubstr("patchbay doctor")));
  add("gone", "exits-at-once");
  EXPECT_THAT(house.run({}).out, HasSubstr("patchbay doctor"));
}

TEST_F(Newcomer, WhereNoServerIsUsedTheOverviewDoesNotSpeakOfTools) {
  add("off");
  ASSERT_EQ(house.run({"disable", "off"}).code, 0);
  EXPECT_THAT(house.run({}).out, AllOf(HasSubstr("patchbay list"), Not(HasSubstr("chat")), Not(HasSubstr("tools"))));
}

TEST_F(Newcomer, AKeyThatWasMisspeltIsNamedWithTheServerThatIsMeant) {
  house.tree.file("home/.claude.json", R"({"mcpServers": {"slip": {"comand": "x"}, "odd": {"colour": "red"}}})");
  EXPECT_THAT(house.run({"tools", "slip"}).err, HasSubstr("did you mean \"command\" where it says \"comand\"?"));
  EXPECT_THAT(house.run({"tools", "odd"}).err, Not(HasSubstr("colour")));
  const auto count = [](std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  // Once, by whatever reads it.
  for (const auto& words : {std::vector<std::string>{"lint"},
                            {"add-json", "s", R"({"comand": "x"})"},
                            {"add-json", "s", R"({"type": "stdio", "comand": "x"})"}}) {
    const auto ran = house.run(words);
    EXPECT_EQ(count(ran.out + ran.err, "\"comand\""), 1U) << ran.out << ran.err;
    EXPECT_THAT(ran.out + ran.err, HasSubstr("; did you mean \"command\" where it says \"comand\"?"));
  }
  EXPECT_THAT(house.run({"add-json", "s", R"({"type": "http", "ur": "https://h/mcp"})"}).err,
              HasSubstr("needs a \"url\"; did you mean \"url\" where it says \"ur\"?"));
  // What an error does not name is told behind it.
  EXPECT_THAT(house.run({"add-json", "s", R"({"comand": "x", "colour": "red"})"}).err,
              AllOf(HasSubstr("\"comand\""), HasSubstr("; MCP server \"s\": unknown key \"colour\" has no effect")));
}

TEST_F(Newcomer, WhereAFileCannotBeReadDoctorDoesNotSayThatNothingIsDeclared) {
  house.tree.file("project/.mcp.json", R"({"mcpServers": {"a": {"command": "x" "args": []}}})");
  EXPECT_THAT(house.run({"doctor", "--offline"}).out,
              HasSubstr("! no servers are declared in the files that could be read\n"));
}

TEST_F(Newcomer, ApproveSaysWhatIsMissing) {
  EXPECT_THAT(house.run({"approve"}).err, AllOf(HasSubstr("name the servers, or use --all;"), Not(HasSubstr("both"))));
  EXPECT_THAT(house.run({"approve", "x", "--all"}).err, HasSubstr("not both"));
}

// A full disk behind stdout, and behind the log.
TEST_F(Newcomer, WhatCannotBeWrittenIsAnErrorAndNotACrash) {
  add("ev");
  for (const std::string json : {"", " --json"}) {
    const auto ran = test::run_program(
        {"/bin/sh", "-c", "'" + test::built("patchbay") + "' tools" + json + " > /dev/full"}, house.options());
    EXPECT_EQ(ran.code, 3) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("patchbay: cannot write to standard output: No space left on device\n"));
  }
  const auto logged = house.run({"call", "ev/echo", "text=x", "--log-file", "/dev/full", "--log-level", "debug"});
  EXPECT_EQ(logged.out, "x\n");
  EXPECT_EQ(logged.code, 0);
  EXPECT_EQ(logged.err,
            "patchbay: warning: the file /dev/full of --log-file cannot be written: No space left on device; the log "
            "is not complete\n");
}

TEST_F(Newcomer, AFolderThatCannotBeMadeIsReportedWithTheReason) {
  add("ev");
  house.tree.file("not-a-folder", "");
  auto options = house.options();
  options.env["XDG_STATE_HOME"] = (house.tree.path() / "not-a-folder").string();
  const auto ran = test::run_program({test::built("patchbay"), "call", "ev/echo", "text=x"}, options);
  EXPECT_EQ(ran.out, "x\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("cannot make "), HasSubstr(": Not a directory")));
}

TEST_F(Screen, AnInterruptedQuestionLeavesTheCursorOnALineOfItsOwn) {
  house.tree.file("project/.mcp.json", to_text(Json{{"mcpServers", {{"ev", {{"command", fake}}}}}}));
  Terminal terminal({program, "tools"}, house.project(), house.options().env, 80);
  ASSERT_TRUE(terminal.wait_for("not now) "));
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait_for_end(), 130);
  EXPECT_THAT(terminal.seen(), testing::EndsWith("^C\r\n"));
}

// N2
TEST_F(Newcomer, LogsCanBeTheLastLines) {
  add("gone", "exits-at-once");
  (void)house.run({"tools", "gone"});
  const auto all = house.run({"logs", "gone"}).out;
  ASSERT_GT(std::ranges::count(all, '\n'), 2);
  const auto last = house.run({"logs", "gone", "-n", "2"}).out;
  EXPECT_EQ(std::ranges::count(last, '\n'), 2);
  EXPECT_THAT(all, testing::EndsWith(last));
  EXPECT_EQ(house.run({"logs", "gone", "-n", "0"}).out, "");
  EXPECT_EQ(house.run({"logs", "gone", "-n", "many"}).code, 2);
  EXPECT_EQ(test::json_of(house.run({"logs", "gone", "-n", "1", "--json"}))["lines"].size(), 1u);
}

}  // namespace
}  // namespace patchbay
