// Questions of servers as a person and a script meet them: forms and pages on a terminal, --answers, and nobody there.
// E1.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Asking : testing::Test {
  void SetUp() override { ASSERT_EQ(house.run({"add", "fix", "--", built("scenario-server")}).code, 0); }
  Terminal call(const std::string& tool, std::vector<std::string> more = {}, unsigned short columns = 80) const {
    std::vector<std::string> words{built("patchbay"), "call", "fix/" + tool};
    words.insert(words.end(), more.begin(), more.end());
    return Terminal(words, house.project(), house.options().env, columns);
  }
  // A browser that writes down what it was asked to open.
  std::string browser() const {
    house.tree.file("browser", "#!/bin/sh\nprintf '%s' \"$1\" > \"" + opened() + "\"\n");
    const auto path = (house.tree.path() / "browser").string();
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::string opened() const { return (house.tree.path() / "opened").string(); }

  Household house;
};

// E1: a whole form on a small terminal: what does not fit is said at once, all of it is shown before it is sent, and a
// field can be changed. Nothing clears the screen.
TEST_F(Asking, AFormIsFilledInFieldByField_LookedAtAndChanged) {
  auto terminal = call("ask_form");
  ASSERT_TRUE(terminal.wait_for("(Enter: cancel)")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("The server \"fix\" asks (tool ask_form):"),
                                     HasSubstr("  | who are you?"), HasSubstr("Answer (3 fields)?")));
  terminal.type("y\n");
  ASSERT_TRUE(terminal.wait_for("name (a text; Enter: leave it out): ")) << terminal.seen();
  terminal.type("Ada\n");
  ASSERT_TRUE(terminal.wait_for("size (a whole number; Enter: 7): ")) << terminal.seen();
  terminal.type("many\n");
  ASSERT_TRUE(terminal.wait_for("expected a whole number")) << terminal.seen();
  terminal.type("\n");
  ASSERT_TRUE(terminal.wait_for("mail (an email address")) << terminal.seen();
  terminal.type("nobody\n");
  ASSERT_TRUE(terminal.wait_for("expected an email address, like name@example.com")) << terminal.seen();
  terminal.type("ada@example.com\n");
  ASSERT_TRUE(terminal.wait_for("Send them?")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("  1  name: \"Ada\""), HasSubstr("  2  size: 7"),
                                     HasSubstr("  3  mail: \"ada@example.com\"")));
  terminal.forget();
  terminal.type("height\n");
  ASSERT_TRUE(terminal.wait_for("There is no such field")) << terminal.seen();
  terminal.type("2\n");
  ASSERT_TRUE(terminal.wait_for("size (")) << terminal.seen();
  terminal.type("3\n");
  ASSERT_TRUE(terminal.wait_for("  2  size: 3")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("Send them?")) << terminal.seen();
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr(R"(accept {"name":"Ada","size":3,"mail":"ada@example.com"})"));
  EXPECT_THAT(terminal.seen(),
              AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("\x1b[H")), Not(HasSubstr("\x1b[?1049"))));
}

// E1: to decline is not to cancel, at the beginning and at the end.
TEST_F(Asking, DecliningAndCancellingAreTwoAnswers) {
  struct Case {
    std::vector<std::pair<const char*, const char*>> steps;  // what is shown, what is typed
    const char* answer;
  };
  const std::vector<Case> cases{
      {{{"(Enter: cancel)", "n\n"}}, "decline -"},
      {{{"(Enter: cancel)", "\n"}}, "cancel -"},
      {{{"(Enter: cancel)", "\x04"}}, "cancel -"},
      {{{"(Enter: cancel)", "y\n"}, {"name (", "\x04"}}, "cancel -"},
      {{{"(Enter: cancel)", "y\n"}, {"name (", "\n"}, {"size (", "\n"}, {"mail (", "\n"}, {"Send them?", "n\n"}},
       "decline -"},
      {{{"(Enter: cancel)", "y\n"}, {"name (", "\n"}, {"size (", "\n"}, {"mail (", "\n"}, {"Send them?", "\n"}},
       "cancel -"},
  };
  for (const auto& one : cases) {
    auto terminal = call("ask_form");
    for (const auto& [shown, typed] : one.steps) {
      ASSERT_TRUE(terminal.wait_for(shown)) << terminal.seen();
      terminal.forget();
      terminal.type(typed);
    }
    EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
    EXPECT_THAT(terminal.seen(), HasSubstr(one.answer));
  }
}

// E1: one tool that asks twice asks one after the other.
TEST_F(Asking, TwoQuestionsOfOneCallAreAskedOneAfterTheOther) {
  auto terminal = call("ask_both");
  ASSERT_TRUE(terminal.wait_for("(Enter: cancel)")) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("| first?"), Not(HasSubstr("| second?"))));
  terminal.forget();
  terminal.type("n\n");
  ASSERT_TRUE(terminal.wait_for("| second?")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("(Enter: cancel)")) << terminal.seen();
  terminal.type("\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr("decline - then cancel -"));
}

// E1: the browser is started after a yes, and never before.
TEST_F(Asking, APageIsOpenedAfterAYes) {
  struct Case {
    const char* typed;
    const char* then;  // null: it is not asked
    const char* answer;
    bool opened;
  };
  for (const auto& one : {Case{"y\n", "\n", "accept -", true}, Case{"y\n", "n\n", "decline -", true},
                          Case{"n\n", nullptr, "decline -", false}, Case{"\n", nullptr, "cancel -", false}}) {
    SCOPED_TRACE(one.answer);
    std::filesystem::remove(opened());
    auto environment = house.options().env;
    environment["BROWSER"] = browser();
    Terminal terminal({built("patchbay"), "call", "fix/ask_url"}, house.project(), environment, 80);
    ASSERT_TRUE(terminal.wait_for("Open it in your browser?")) << terminal.seen();
    EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("The server \"fix\" asks you to open a web page (tool ask_url):"),
                                       HasSubstr("  | sign in there"), HasSubstr("  Host: example.com"),
                                       HasSubstr("  Page: https://example.com/sign-in")));
    EXPECT_FALSE(std::filesystem::exists(opened()));
    ASSERT_TRUE(terminal.wait_for("(Enter: cancel)")) << terminal.seen();
    terminal.type(one.typed);
    if (one.then != nullptr) {
      ASSERT_TRUE(terminal.wait_for("Press Enter when you are done there.")) << terminal.seen();
      terminal.type(one.then);
    }
    EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
    EXPECT_THAT(terminal.seen(), HasSubstr(one.answer));
    EXPECT_EQ(std::filesystem::exists(opened()), one.opened);
  }
}

// E1: what is given with --answers is the answer, in a script and on a terminal.
TEST_F(Asking, GivenAnswersAreUsedWithoutAsking) {
  const auto one = house.run({"call", "fix/ask_form", "--answers", R"({"name":"Ada","size":"3"})"});
  EXPECT_EQ(one.out, "accept {\"name\":\"Ada\",\"size\":3}\n") << one.err;
  EXPECT_THAT(one.err, Not(HasSubstr("patchbay:")));
  house.tree.file("project/answers.json", R"({"name":"Ben","fix/ask_form":{"mail":"ben@example.com"},"height":2})");
  const auto file = house.run({"call", "fix/ask_form", "--answers", "answers.json"});
  EXPECT_EQ(file.code, 0);
  EXPECT_EQ(file.out, "accept {\"name\":\"Ben\",\"size\":7,\"mail\":\"ben@example.com\"}\n") << file.err;
  EXPECT_THAT(file.err, HasSubstr("warning: --answers: no question asked for height"));
  const auto json = house.run({"call", "fix/ask_form", "--json", "--answers", R"({"name":"Ada"})"});
  EXPECT_THAT(json.out, HasSubstr(R"(accept {\"name\":\"Ada\")")) << json.err;
  auto terminal = call("ask_form", {"--answers", R"({"name":"Ada"})"});
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("accept {\"name\":\"Ada\""), Not(HasSubstr("Answer"))));
  // There is nothing in it for this question, so the person is asked.
  auto other = call("ask_form", {"--answers", R"({"height":2})"});
  ASSERT_TRUE(other.wait_for("(Enter: cancel)")) << other.seen();
  other.type("n\n");
  EXPECT_EQ(other.wait_for_end(), 0) << other.seen();
}

// E1: an answer that does not fit is an error, and says which field.
TEST_F(Asking, GivenAnswersThatDoNotFitAreAnError) {
  const auto wrong = house.run({"call", "fix/ask_form", "--answers", R"({"name":"Ada","mail":"nobody"})"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "cancel -\n");
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("--answers does not fit a question of the server \"fix\""),
                               HasSubstr("the field \"mail\": expected an email address")));
  // Before anything is sent.
  for (const auto* bad : {"{", "[]", "{}", "no-such-file.json"}) {
    const auto refused = house.run({"call", "fix/hang", "--answers", bad});
    EXPECT_EQ(refused.code, 2) << bad;
    EXPECT_THAT(refused.err, AllOf(StartsWith("patchbay: --answers"), Not(HasSubstr("[mcp]")))) << bad;
  }
  EXPECT_EQ(house.run({"tools", "--answers", "{\"a\":1}"}).code, 2);
}

// E1: a script that is asked hears how it can answer.
TEST_F(Asking, WithoutATerminalTheQuestionIsCancelled_AndTheWayToAnswerIsNamed) {
  const auto form = house.run({"call", "fix/ask_form"});
  EXPECT_EQ(form.code, 0);
  EXPECT_EQ(form.out, "cancel -\n");
  EXPECT_THAT(form.err, AllOf(HasSubstr("the server \"fix\" asked a question, and there is no terminal"),
                              HasSubstr("--answers FILE|JSON, with the fields name, size, mail")));
  const auto page = house.run({"call", "fix/ask_url"});
  EXPECT_EQ(page.out, "cancel -\n");
  EXPECT_THAT(page.err, HasSubstr("run this on a terminal"));
  EXPECT_EQ(house.run({"call", "fix/ask_form", "--quiet"}).err, "");
  const auto json = house.run({"call", "fix/ask_form", "--json"});
  EXPECT_THAT(json.err, HasSubstr("with --json nobody is asked"));
}

// E1: the folders that servers are told.
TEST_F(Asking, ServersAreToldTheWorkingDirectory) {
  EXPECT_EQ(house.run({"call", "fix/ask_roots"}).out, "file://" + house.project() + " \n");
  EXPECT_EQ(house.run({"call", "fix/ask_roots", "--root", house.home()}).out, "file://" + house.home() + " \n");
}

// E1 N9: answers reach the server of a session like any other.
TEST(AskingInASession, GivenAnswersAreUsed) {
  const SessionHouse house;
  house.add_fixture_server();
  house.start();
  const auto given = house.run({"call", "fix/ask_form", "--answers", R"({"name":"Ada"})"});
  EXPECT_EQ(given.out, "accept {\"name\":\"Ada\",\"size\":7}\n") << given.err;
  const auto wrong = house.run({"call", "fix/ask_form", "--answers", R"({"mail":"nobody"})"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "cancel -\n");
  EXPECT_THAT(wrong.err, HasSubstr("--answers does not fit"));
  EXPECT_EQ(house.run({"call", "fix/ask_roots"}).out, "file://" + house.project() + " \n");
}

// E1 N9: two terminals are asked at the same time, each about its own call.
TEST(AskingInASession, EachTerminalHasItsOwnQuestion) {
  const SessionHouse house;
  house.add_fixture_server("one");
  house.add_fixture_server("two");
  house.start();
  Terminal first({built("patchbay"), "call", "one/ask_form"}, house.project(), house.options().env);
  ASSERT_TRUE(first.wait_for("(Enter: cancel)")) << first.seen();
  Terminal second({built("patchbay"), "call", "two/ask_form"}, house.project(), house.options().env);
  ASSERT_TRUE(second.wait_for("(Enter: cancel)")) << second.seen();
  EXPECT_THAT(first.seen(), AllOf(HasSubstr("\"one\" asks"), Not(HasSubstr("\"two\" asks"))));
  EXPECT_THAT(second.seen(), AllOf(HasSubstr("\"two\" asks"), Not(HasSubstr("\"one\" asks"))));
  second.type("n\n");
  EXPECT_EQ(second.wait_for_end(), 0) << second.seen();
  first.type("\n");
  EXPECT_EQ(first.wait_for_end(), 0) << first.seen();
  EXPECT_THAT(first.seen(), HasSubstr("cancel -"));
  EXPECT_THAT(second.seen(), HasSubstr("decline -"));
}

// E1 N9: what a caller answers that cannot be passed on is cancelled, and the log of the session says why.
TEST(AskingInASession, AWrongAnswerIsCancelledWithAWarning) {
  const SessionHouse house;
  house.add_fixture_server();
  const auto log = (house.tree.path() / "session.log").string();
  house.start({"--log-file", log, "--log-level", "warning"});
  struct Case {
    Json reply;
    const char* reason;
  };
  for (const auto& one :
       {Case{Json{{"result", Json{{"action", "accept"}, {"content", Json{{"size", "many"}}}}}}, "size"},
        Case{Json{{"result", Json{{"action", "perhaps"}}}}, "action"},
        Case{Json{{"error", Json{{"code", -32603}, {"message", "the desk is closed"}}}}, "the desk is closed"}}) {
    SocketClient caller(house.socket());
    ASSERT_TRUE(caller.open_for_user("fix", Json{{"elicitation", Json{{"form", Json::object()}}}}).find("result"));
    caller.send(
        "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask_form\","
        "\"arguments\":{}}}\n");
    const auto question = caller.next();
    ASSERT_EQ(question["method"], Json("elicitation/create")) << to_text(question);
    auto reply = one.reply;
    reply["jsonrpc"] = "2.0";
    reply["id"] = question["id"];
    caller.send(to_text(reply) + "\n");
    EXPECT_EQ(text_of_call(caller.next()), "cancel -");
    std::ifstream file(log);
    const std::string written{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_THAT(written, AllOf(HasSubstr("question_cancelled"), HasSubstr(one.reason)));
  }
}

// What docs/questions.md shows.
TEST_F(Asking, TheExampleOfThePageWorks) {
  std::ifstream file(in_sources("docs/questions.md"));
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto block = [&](const std::string& kind, std::size_t from) {
    const auto begin = page.find("```" + kind + "\n", from) + kind.size() + 4;
    return page.substr(begin, page.find("```", begin) - begin);
  };
  const auto at = page.find("A test runs this");
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(house.run({"add", "forms", "--", built("scenario-server")}).code, 0);
  house.tree.file("project/answers.json", block("json", at));
  EXPECT_EQ(block("sh", at), "patchbay call forms/ask_form --answers answers.json\n");
  const auto called = house.run({"call", "forms/ask_form", "--answers", "answers.json"});
  EXPECT_EQ(called.out, block("text", at)) << called.err;
  EXPECT_THAT(called.err, Not(HasSubstr("patchbay:")));
}

}  // namespace
}  // namespace patchbay::test
