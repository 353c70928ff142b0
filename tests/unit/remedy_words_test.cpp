// What would help, as a command line says it.
#include "cli/texts/remedy_words.h"

#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

TEST(RemedyWordsTest, EachKindSaysWhatToType) {
  struct Case {
    Remedy remedy;
    std::string words;
  };
  for (const auto& c : std::initializer_list<Case>{
           {{Remedy::Kind::approve_server, "docs"},
            "if you trust it: patchbay approve docs (in a script: --trust-project)"},
           {{Remedy::Kind::approve_server, "my server"},
            "if you trust it: patchbay approve 'my server' (in a script: --trust-project)"},
           {{Remedy::Kind::undo_rejection, "docs"}, "to approve it now: patchbay approve docs"},
           {{Remedy::Kind::enable_server, "docs"}, "to enable it: patchbay enable docs"},
           {{Remedy::Kind::trust_project}, "if you trust this project: patchbay trust (for one run: --trust-project)"},
           {{.kind = Remedy::Kind::import_file, .file = "/p/a b.json"},
            "to copy its servers: patchbay import '/p/a b.json'"},
           {{Remedy::Kind::give_more_time, "docs"},
            "to wait longer: --timeout SECONDS, \"timeout\" in the entry of the server, or MCP_TOOL_TIMEOUT"},
           {{Remedy::Kind::list_tools}, "`patchbay tools` lists all tools"},
           {{Remedy::Kind::list_tools, "docs"}, "to list the tools of the server: patchbay tools docs"},
           {{Remedy::Kind::choose_permission_mode}, "choose another mode with --permission-mode"},
       }) {
    EXPECT_EQ(remedy_words(c.remedy), c.words);
  }
}

TEST(RemedyWordsTest, InAConversationItsOwnCommandsWhereItHasThem) {
  struct Case {
    Remedy remedy;
    std::string words;
  };
  for (const auto& c : std::initializer_list<Case>{
           {{Remedy::Kind::approve_server, "docs"}, "you are asked about it with: /mcp docs"},
           {{Remedy::Kind::enable_server, "docs"}, "to enable it: /mcp enable docs"},
           {{Remedy::Kind::sign_in, "docs"}, "to sign in: /mcp login docs"},
           {{Remedy::Kind::list_tools}, "/tools lists all tools"},
           {{Remedy::Kind::list_tools, "docs"}, "to list the tools of the server: /tools docs"},
           {{Remedy::Kind::undo_rejection, "docs"}, "to approve it now: /mcp approve docs"},
           {{Remedy::Kind::give_more_time, "my docs"},
            "to wait longer: \"timeout\" in the entry of the server, and then: /mcp reconnect 'my docs'"},
           {{Remedy::Kind::give_more_time}, "to wait longer: \"timeout\" in the entry of the server"},
           {{Remedy::Kind::approve_changes, "docs"},
            "to look at the changes: !patchbay pins show docs; if you agree: !patchbay pins approve docs; then: "
            "/mcp reconnect docs"},
           {{Remedy::Kind::renew_lock, "docs"},
            "to look at the changes: !patchbay verify docs; if you agree: !patchbay lock docs; then: /mcp reconnect "
            "docs"},
           {{.kind = Remedy::Kind::import_file, .file = "/p/a.json"},
            "to copy its servers: !patchbay import /p/a.json"},
           {{Remedy::Kind::trust_project},
            "if you trust this project: /quit, then `patchbay trust` and `patchbay chat --continue`"},
           {{Remedy::Kind::choose_permission_mode},
            "to choose another mode: /quit, then `patchbay chat --continue --permission-mode MODE`"},
       }) {
    EXPECT_EQ(remedy_words(c.remedy, TypedWhere::chat), c.words);
  }
  const auto error = Error(Errc::invalid_argument, "no").with_remedy({Remedy::Kind::list_tools});
  EXPECT_EQ(with_remedy_in_words(error, TypedWhere::chat).message(), "no; /tools lists all tools");
}

TEST(RemedyWordsTest, TheMessageEndsInItOnce) {
  const auto error = Error(Errc::invalid_argument, "there is no tool called \"x\"")
                         .with_detail("more")
                         .with_remedy({Remedy::Kind::list_tools})
                         .marked();
  const auto shown = with_remedy_in_words(with_remedy_in_words(error));
  EXPECT_EQ(shown.message(), "there is no tool called \"x\"; `patchbay tools` lists all tools");
  EXPECT_EQ(shown.detail(), "more");
  EXPECT_TRUE(shown.is_same_failure(error));
  EXPECT_EQ(with_remedy_in_words(Error(Errc::closed, "gone")), Error(Errc::closed, "gone"));
}

TEST(RemedyWordsTest, EachFixSaysWhatToType) {
  struct Case {
    Fix fix;
    std::string words;
  };
  for (const auto& c : std::vector<Case>{
           {{}, ""},
           {Fix::changing("correct \"url\" in /p/.mcp.json:3"), "correct \"url\" in /p/.mcp.json:3"},
           {{Fix::Kind::approve, "db"}, "patchbay approve db"},
           // A name that a shell would take apart is quoted.
           {{Fix::Kind::approve, "my server's"}, R"(patchbay approve 'my server'\''s')"},
           {{Fix::Kind::approve, "--all"}, "patchbay approve -- --all"},
           {{Fix::Kind::look_and_approve, "x; rm -rf /"},
            "look at it with `patchbay get 'x; rm -rf /'`; if you trust it: patchbay approve 'x; rm -rf /'"},
           {{Fix::Kind::approve_instead, "db"},
            "look at it with `patchbay get db`; to use it instead of the other: patchbay approve db"},
           {{Fix::Kind::enable, "db"}, "patchbay enable db"},
           {{Fix::Kind::remove_other, "db", ConfigScope::user},
            "rename one of them, or: patchbay remove --scope user db"},
           {{Fix::Kind::explain, "db"}, "to find out more: patchbay why db"},
           {{Fix::Kind::read_log, "db"}, "to find out more: patchbay tools --log-level debug db"},
           {{Fix::Kind::trust}, "if you trust this project: patchbay trust (for one run: --trust-project)"},
           {{Fix::Kind::withdraw_trust}, "to stop trusting it: patchbay trust --remove"},
           {{Fix::Kind::choose_mode}, "choose another mode with --permission-mode"},
           {{Fix::Kind::repair_files}, "patchbay doctor --fix"}}) {
    EXPECT_EQ(fix_words(c.fix), c.words);
  }
}

TEST(RemedyWordsTest, AProblemAndAReasonEndInIt) {
  ConfigProblem problem{"/f", 1, 2, "is ignored", {}, Severity::note, Remedy{Remedy::Kind::trust_project}};
  const auto shown = with_remedies_in_words({problem, with_remedy_in_words(problem)});
  for (const auto& one : shown) {
    EXPECT_EQ(one.message, "is ignored; if you trust this project: patchbay trust (for one run: --trust-project)");
  }
  ServerConfig server;
  server.reason = "you rejected it";
  EXPECT_EQ(reason_words(server), "you rejected it");
  server.remedy = Remedy{Remedy::Kind::undo_rejection, "s"};
  EXPECT_EQ(reason_words(server), "you rejected it; to approve it now: patchbay approve s");
}

}  // namespace
}  // namespace patchbay::cli
