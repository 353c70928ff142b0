// What a conversation shows and understands: calls, results, the question before a call, commands. G3 P1.
#include "cli/texts/chat_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/texts/slash_words.h"

namespace patchbay::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ChatLook look{.columns = 50};

TEST(ChatWords, ACallIsALineAndAnEditIsADifference) {
  struct Case {
    ModelToolUse use;
    std::vector<std::string> lines;
  };
  const std::vector<Case> table{
      {{.name = "look"}, {"* look()"}},
      {{.name = "add", .input = {{"a", 1}, {"b", Json::array({2, "x"})}}}, {R"(* add(a: 1, b: [2,"x"]))"}},
      {{.name = "say", .input = {{"text", "one\ntwo"}}}, {R"(* say(text: "one\ntwo"))"}},
      {{.name = "say", .input = {{"text", std::string(100, 'x')}}}, {"* say(text: \"" + std::string(36, 'x') + "…"}},
      {{.name = "bad\033[31m", .broken = "{oops"}, {R"(* bad\x1b[31m(not JSON: {oops))"}},
      {{.name = "edit", .input = {{"path", "a"}, {"old_text", "1\n2\n3"}, {"new_text", "1\nx\n3"}}},
       {R"(* edit(path: "a", old_text: …, new_text: …))", "      1", "    - 2", "    + x", "      3"}},
      {{.name = "write", .input = {{"file_path", "a"}, {"content", "new\033[2J"}}},
       {R"(* write(file_path: "a", content: …))", R"(    + new\x1b[2J)"}},
  };
  for (const auto& one : table) {
    std::vector<std::string> lines{call_line(one.use, look)};
    for (auto& line : edit_lines(one.use, look)) lines.push_back(std::move(line));
    EXPECT_THAT(lines, ElementsAreArray(one.lines)) << one.use.name;
  }
}

AgentToolResult result(std::string text, AgentToolResult::End end = AgentToolResult::End::answered) {
  return {.id = "1", .name = "look", .result = {.blocks = {ModelText{std::move(text)}}}, .end = end};
}

TEST(ChatWords, OfAResultTheFirstLinesAndHowItEnded) {
  using End = AgentToolResult::End;
  EXPECT_THAT(result_lines(result("one\n\ttwo \033[31mred"), false, look), ElementsAre("  > one", "        two red"));
  EXPECT_THAT(result_lines(result("1\n2\n3\n4\n5\n6\n7\n8"), false, look),
              ElementsAre("  > 1", "    2", "    3", "    4", "    5", "    … 3 more lines: /last"));
  EXPECT_THAT(result_lines(result("\n"), false, look), ElementsAre("  > done, without a text"));
  EXPECT_THAT(result_lines(result("x"), true, look), ElementsAre("  > look: 1 line", "    x"));
  EXPECT_THAT(result_lines(result("why", End::failed), false, look), ElementsAre("  > failed", "    why"));
  auto denied = result("", End::denied);
  denied.reason = "the rule \"x\"";
  EXPECT_THAT(result_lines(denied, false, look), ElementsAre("  > not called: the rule \"x\""));
  auto slow = result("x");
  slow.took = std::chrono::milliseconds(83'000);
  slow.end = End::interrupted;
  EXPECT_THAT(result_lines(slow, false, look), ElementsAre("  > interrupted (1 min 23 s)"));
  EXPECT_FALSE(is_cut(result("1\n2\n3\n4\n5\n6")));
  EXPECT_FALSE(is_cut(slow));
  EXPECT_TRUE(is_cut(result("1\n2\n3\n4\n5\n6\n7")));
  EXPECT_EQ(whole_result(result("1\n\t2\033[31m\n3\n")), "look:\n1\n    2\n3\n");
  auto kept = result("1\n2\n3\n4\n5\n6\n7\n8");
  kept.result.handle = "@result:abc";
  EXPECT_THAT(result_lines(kept, false, look).back(), HasSubstr("kept as @result:abc"));
}

PermissionQuestion question(Json arguments) {
  PermissionQuestion out;
  auto tool = std::make_shared<Tool>();
  tool->name = "write\xE2\x80\xAE";
  out.tool = {.name = "mcp__files__write", .server = "files", .tool = std::move(tool)};
  out.arguments = Payload(std::move(arguments));
  out.decision.reason = "no rule is about it";
  return out;
}

TEST(ChatWords, TheQuestionShowsAllOfACallAndNothingOfItCanHide) {
  const auto lines =
      permission_lines(question({{"path", "a\033[2Jb"}, {"text", std::string(120, 'x') + "\nCall it? y"}}), look);
  for (const auto& line : lines) {
    EXPECT_LE(line.size(), 52u) << line;
    EXPECT_THAT(line, Not(HasSubstr("\033")));
    // Nothing that is asked about looks like a line of ours.
    EXPECT_TRUE(line.starts_with("The model") || line.starts_with("    ") || line.starts_with("  Why")) << line;
  }
  std::string all;
  for (const auto& line : permission_lines(
           question({{"path", "a\033[2Jb"}, {"text", std::string(120, 'x') + "\nCall it? y"}}), {.columns = 400})) {
    all += line + "\n";
  }
  EXPECT_THAT(all, AllOf(HasSubstr(R"("write\u202e" of the server "files")"), HasSubstr(R"(path: "a\x1b[2Jb")"),
                         HasSubstr("    + Call it? y"), HasSubstr("no rule is about it")));
  std::size_t count = 0;
  for (const char c : all) count += c == 'x' ? 1 : 0;
  EXPECT_GE(count, 120u);
}

TEST(ChatWords, AnEditHidesNoOtherArgument) {
  std::string all;
  for (const auto& line : permission_lines(
           question(
               {{"path", "a"}, {"old_text", "1\n"}, {"new_text", "2\n"}, {"run", "ls\nrm -r /"}, {"text", "3\n4"}}),
           {.columns = 400})) {
    all += line + "\n";
  }
  EXPECT_THAT(all, AllOf(HasSubstr("run: "), HasSubstr("rm -r /"), HasSubstr("text: "), HasSubstr("+ 2")));
}

TEST(ChatWords, WhatAnEditWritesIsInTheQuestionOnce) {
  for (const char* content : {"only-once", "first\nonly-once\n"}) {
    std::string all;
    for (const auto& line : permission_lines(question({{"path", "a"}, {"content", content}}), {.columns = 400})) {
      all += line + "\n";
    }
    const auto at = all.find("only-once");
    EXPECT_NE(at, std::string::npos) << all;
    EXPECT_EQ(all.rfind("only-once"), at) << all;
  }
}

TEST(ChatWords, TheLettersAreExplainedOnALine) {
  using enum GrantScope;
  EXPECT_EQ(permission_legend({arguments, tool, server}),
            "y once · always: t tool, s server, a same call · e edit · n no · w no, and why");
  EXPECT_EQ(permission_legend({arguments, tool}),
            "y once · always: t tool, a same call · e edit · n no · w no, and why");
  EXPECT_EQ(permission_legend({}), "y once · n no · w no, and why");
}

TEST(ChatWords, WhatIsNotOfferedIsNoAnswer) {
  using Kind = PermissionAnswer::Kind;
  using enum GrantScope;
  const std::vector<GrantScope> all{arguments, tool, server};
  EXPECT_EQ(permission_prompt(all), "Call it? [y/t/s/a/e/n/w/?] ");
  EXPECT_EQ(permission_prompt({arguments, tool}), "Call it? [y/t/a/e/n/w/?] ");
  EXPECT_EQ(permission_prompt({}), "Call it? [y/n/w/?] ");
  EXPECT_EQ(permission_answer(" Y ", {}), (PermissionAnswer{Kind::once}));
  EXPECT_EQ(permission_answer("yes", all), (PermissionAnswer{Kind::once}));
  EXPECT_EQ(permission_answer("s", all), (PermissionAnswer{Kind::grant, server}));
  EXPECT_EQ(permission_answer("s", {arguments, tool}), std::nullopt);
  EXPECT_EQ(permission_answer("a", all), (PermissionAnswer{Kind::grant, arguments}));
  EXPECT_EQ(permission_answer("e", {}), std::nullopt);
  EXPECT_EQ(permission_answer("n", {}), (PermissionAnswer{Kind::no}));
  EXPECT_EQ(permission_answer("w", {}), (PermissionAnswer{Kind::no_because}));
  // The end of a sentence that was being typed is none.
  for (const char* typed : {"", "?", "es please", "y and n", "no thanks"}) {
    EXPECT_EQ(permission_answer(typed, all), std::nullopt) << typed;
  }
  EXPECT_THAT(permission_help(question(Json::object()), {}).back(), HasSubstr("each time"));
}

TEST(ChatWords, CtrlCStepByStep) {
  using enum InterruptMeans;
  EXPECT_EQ(interrupt_means(false, true, 0), interrupts);
  EXPECT_EQ(interrupt_means(true, true, 0), interrupts);
  EXPECT_EQ(interrupt_means(false, true, 1), ends_turn);
  EXPECT_EQ(interrupt_means(false, true, 2), leaves);
  EXPECT_EQ(interrupt_means(true, false, 0), clears);
  EXPECT_EQ(interrupt_means(false, false, 0), warns);
  EXPECT_EQ(interrupt_means(false, false, 1), leaves);
}

TEST(ChatWords, Numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(progress_text("look", std::chrono::seconds(5), Progress{.progress = 1, .total = 3.0, .message = "a\nb"}),
            "look 5 s  1/3  a b");
  EXPECT_THAT(cost_lines({}, {}), Not(Contains(HasSubstr("servers"))));
  EXPECT_THAT(cost_lines({.input = 1200}, {.input = 30, .cache_read = 4, .output = 5}),
              AllOf(Contains(HasSubstr("1,200  read by the model, not from its cache")),
                    Contains(HasSubstr("servers asked the model for")), Contains(HasSubstr("34  read by the model")),
                    Contains(HasSubstr("5  written by the model"))));
  EXPECT_THAT(cost_lines({.input = 1200, .cache_miss = "the tools changed"}, {}),
              AllOf(Contains(HasSubstr("1,200  read by the model")), Contains(HasSubstr("the tools changed"))));
  AgentContext context{.limit = 1000, .system = 100, .messages = 50};
  context.tools.push_back({.server = "files", .tools = {{"read", 30}, {"write", 20}}, .deferred = 4});
  const auto lines = context_lines(context, "script:x");
  EXPECT_THAT(lines.front(), HasSubstr("200 of 1,000 tokens (20 %)"));
  EXPECT_THAT(lines, Contains(HasSubstr("50    files, and 4 more tools found by searching")));
}

// compat: B5.15
TEST(SlashWords, WhatALineIs) {
  using Kind = Typed::Kind;
  struct Case {
    std::string line;
    Kind kind;
    std::string rest;
    std::string_view command = {};
  };
  const std::vector<Case> table{
      {"hello", Kind::message, "hello"},  {"  a\nb ", Kind::message, "a\nb"},
      {"/help", Kind::slash, "", "help"}, {"/mcp reconnect  fs ", Kind::slash, "reconnect  fs", "mcp"},
      {"/exit", Kind::slash, "", "quit"}, {"/mcp__fs__greet Ada", Kind::prompt, "/mcp__fs__greet Ada"},
      {"/mpc", Kind::unknown, "mpc"},     {"/etc/hosts is what?", Kind::message, "/etc/hosts is what?"},
      {"/", Kind::message, "/"},          {"! ls -l", Kind::shell, "ls -l"},
  };
  for (const auto& one : table) {
    const auto typed = read_typed_line(one.line);
    EXPECT_EQ(typed.kind, one.kind) << one.line;
    EXPECT_EQ(typed.rest, one.rest) << one.line;
    EXPECT_EQ(typed.slash ? typed.slash->name : "", one.command) << one.line;
  }
  EXPECT_THAT(unknown_slash_text("mpc"), HasSubstr("did you mean /mcp?"));
  EXPECT_THAT(words_of("a 'b c' d\\ e"), ElementsAre("a", "b c", "d e"));
}

TEST(SlashWords, WhatCanBeCompleted) {
  using What = Completing::What;
  struct Case {
    std::string text;
    What what;
    std::size_t begin;
    std::string word;
  };
  const std::vector<Case> table{
      {"", What::nothing, 0, ""},
      {"hello", What::nothing, 0, "hello"},
      {"/co", What::command, 0, "/co"},
      {"/mcp__f", What::command, 0, "/mcp__f"},
      {"/etc/ho", What::nothing, 0, "/etc/ho"},
      {"see @no", What::mention, 4, "@no"},
      {"/plan see @no", What::mention, 10, "@no"},
      {"see @\"a b", What::mention, 4, "@\"a b"},
      {"see @\"a b\" no", What::nothing, 11, "no"},
      {"/mcp rec", What::server_word, 5, "rec"},
      {"/mcp reconnect f", What::server_word, 15, "f"},
      {"/call fs/r", What::tool, 6, "fs/r"},
      {"/resume ", What::conversation, 8, ""},
      {"/mcp__fs__greet A", What::prompt_argument, 16, "A"},
  };
  for (const auto& one : table) {
    const auto found = completing_at(one.text, one.text.size());
    EXPECT_EQ(found.what, one.what) << one.text;
    EXPECT_EQ(found.begin, one.begin) << one.text;
    EXPECT_EQ(found.word, one.word) << one.text;
  }
  EXPECT_THAT(slash_candidates("/co"), testing::SizeIs(4));
  EXPECT_THAT(slash_candidates("/x"), IsEmpty());
  EXPECT_THAT(mcp_candidates("re"), ElementsAre(terminal::Candidate{"reconnect ", "Make its connection again"}));
}

}  // namespace
}  // namespace patchbay::cli
