// Permission rules as texts: what they name, what they ask of arguments, what is said about those that
// cannot be read, and what a set of settings comes to. P1 P2 N5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "permission/rules.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const RulePlaces places{"/home/me/project", "/home/me"};

PermissionRule rule(std::string_view text, RuleList list = RuleList::deny) {
  auto read = read_rule(text, list, places);
  EXPECT_THAT(read.faults, IsEmpty()) << text << ": " << (read.faults.empty() ? "" : read.faults[0].reason);
  EXPECT_TRUE(read.rule) << text;
  return read.rule.value_or(PermissionRule());
}

// compat: B7.4, B7.5, P1.a
TEST(PermissionRule, NamesInEverySpelling) {
  struct Case {
    std::string text;
    std::string pattern;
    bool foreign;
    std::size_t conditions;
  };
  for (const auto& [text, pattern, foreign, conditions] : std::vector<Case>{
           {"mcp__github", "mcp__github", false, 0},
           {"mcp__github__*", "mcp__github__*", false, 0},
           {" mcp__github__get_* ", "mcp__github__get_*", false, 0},
           {"mcp__my server__do it", "mcp__my server__do it", false, 0},
           {"MCPTool(mcp__github__*)", "mcp__github__*", false, 0},
           {"MCPTool( mcp__fs__write )", "mcp__fs__write", false, 0},
           {"MCPTool(mcp__fs__write(path: ./x))", "mcp__fs__write", false, 1},
           {"MCPTool", "*", false, 0},
           {"MCPTool(*)", "*", false, 0},
           {"fs/write_file", "fs/write_file", false, 0},
           {"fs/*(path: /etc/**)", "fs/*", false, 1},
           {"*", "*", false, 0},
           {"m*", "m*", false, 0},
           {"mcp__*__delete*", "mcp__*__delete*", false, 0},
           {"mcp__fs__write(*)", "mcp__fs__write", false, 0},
           {"mcp__fs__move(source: ./a/**, destination: ./b/**)", "mcp__fs__move", false, 2},
           {"Bash", "Bash", true, 0},
           {"Bash*", "Bash*", true, 0},
       }) {
    const auto read = rule(text);
    EXPECT_EQ(read.pattern, pattern) << text;
    EXPECT_EQ(read.foreign, foreign) << text;
    EXPECT_EQ(read.conditions.size(), conditions) << text;
    EXPECT_FALSE(read.any_arguments) << text;
    EXPECT_EQ(read.text, text);
  }
}

// compat: B7.5
TEST(PermissionRule, AllowRulesMayHaveAWildcardOnlyBehindTheServer) {
  for (std::string_view text : {"*", "mcp__*", "mcp__git*", "mcp__*__read", "m*", "MCPTool", "MCPTool(*)", "*/read"}) {
    const auto read = read_rule(text, RuleList::allow, places);
    EXPECT_FALSE(read.rule) << text;
    ASSERT_THAT(read.faults, SizeIs(1)) << text;
    EXPECT_THAT(read.faults[0].reason, HasSubstr("is skipped"));
    EXPECT_EQ(read.faults[0].severity, Severity::warning);
    EXPECT_TRUE(read_rule(text, RuleList::deny, places).rule) << text;
    EXPECT_TRUE(read_rule(text, RuleList::ask, places).rule) << text;
  }
  for (std::string_view text : {"mcp__github__*", "mcp__github__get_*", "mcp__a__*b*", "github/*", "mcp__github"}) {
    EXPECT_TRUE(read_rule(text, RuleList::allow, places).rule) << text;
  }
  // Rules about other programs' tools are not ours to judge.
  EXPECT_THAT(read_rule("Bash*", RuleList::allow, places).faults, IsEmpty());
}

// What a condition makes of a value: for an allow rule, and for one that denies.
enum class Verdict { yes, no, unclear };

Verdict verdict(std::string_view condition, const Json& arguments, const ToolAnnotations* hints = nullptr,
                std::string_view cwd = "/home/me/project") {
  const auto text = "mcp__s__t(" + std::string(condition) + ")";
  const CallFacts call{&arguments, hints, cwd};
  const bool allows = rule(text, RuleList::allow).fits(call);
  const bool denies = rule(text, RuleList::deny).fits(call);
  EXPECT_EQ(rule(text, RuleList::ask).fits(call), denies);
  EXPECT_FALSE(allows && !denies) << text;
  return allows ? Verdict::yes : denies ? Verdict::unclear : Verdict::no;
}

struct ValueCase {
  std::string condition;
  Json value;
  Verdict expected;
};

void check(const std::vector<ValueCase>& cases) {
  for (const auto& [condition, value, expected] : cases) {
    EXPECT_EQ(verdict(condition, Json{{"x", value}}), expected) << condition << " and " << to_text(value);
  }
}

// compat: B7.8
TEST(ArgumentRule, Texts) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {R"q(x: "exact, (this)")q", "exact, (this)", yes},
      {R"q(x: "exact, (this)")q", "exact", no},
      {R"(x: "a\"bé")", "a\"b\u00e9", yes},
      {R"(x: "*")", "anything", no},
      {"x: gmail_*", "gmail_send", yes},
      {"x: gmail_*", "xgmail_send", no},
      {"x: *", "", yes},
      {"x: word", "word", yes},
      {"x: word", "Word", no},
      {"x: two words", "two words", yes},
      {"x: gmail_*", 5, unclear},
      {"x: gmail_*", nullptr, unclear},
      {"x: true", true, yes},
      {"x: true", false, no},
      {"x: true", "true", unclear},
      {"x: null", nullptr, yes},
      {"x: null", 0, unclear},
  });
}

// compat: B7.8
TEST(ArgumentRule, Numbers) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {"x: 5", 5, yes},
      {"x: 5", 5.0, yes},
      {"x: 5", 6, no},
      {"x: 5", "5", unclear},
      {"x: 1..10", 1, yes},
      {"x: 1..10", 10, yes},
      {"x: 1..10", 10.5, no},
      {"x: 1..10", 0, no},
      {"x: -5..-1", -3, yes},
      {"x: ..10", -1e300, yes},
      {"x: 10..", 9, no},
      {"x: 10 .. 20", 15, yes},
      {"x: <10", 10, no},
      {"x: <= 10", 10, yes},
      {"x: >10", 10, no},
      {"x: >=1e3", 1000, yes},
      {"x: 0.5..1", 0.75, yes},
      {"x: ..9007199254740992", Json(std::int64_t{9007199254740993}), no},
      {"x: ..18446744073709551614", Json(std::uint64_t{18446744073709551615u}), no},
      {"x: 1..10", Json::number("123456789012345678901234567890"), unclear},
      {"x: 1..10", true, unclear},
      {"x: 1..10", "5", unclear},
  });
}

// compat: B7.8
TEST(ArgumentRule, Patterns) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {R"(x: /^select\b/i)", "SELECT 1", yes},
      {R"(x: /^select\b/)", "SELECT 1", no},
      {R"(x: /^select\b/i)", " select 1", no},
      {R"(x: /^select\b/i)", "selectx", no},
      {R"(x: /drop|delete/i)", "please Drop it", yes},
      {R"(x: /^a{1,3}$/)", "aa", yes},
      {R"(x: /^\/etc\/(a|b)$/)", "/etc/a", yes},
      {R"(x: /[/,)]/)", "a/b", yes},
      {R"(x: /^É$/iu)", "é", yes},
      {R"(x: /x/)", 7, unclear},
      {R"(x: /^(a+)+$/)", std::string(40, 'a') + "!", unclear},
  });
}

// compat: B7.8
TEST(ArgumentRule, Paths) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {"x: ./docs/**", "docs/a.md", yes},
      {"x: ./docs/**", "./docs/a/b/c.md", yes},
      {"x: ./docs/**", "/home/me/project/docs/a.md", yes},
      {"x: ./docs/**", "docs/.hidden", yes},
      {"x: docs/**", "docs/a.md", yes},
      {"x: ./docs/**", "docs/../secret", no},
      {"x: docs/**", "docs/../../../../etc/passwd", no},
      {"x: ./docs/**", "/home/me/project/docs/../secret", no},
      {"x: ./docs/**", "docs/x/../a.md", yes},
      {"x: ./docs/**", "documents/a", no},
      {"x: ./docs/**", "docs-evil/a", no},
      {"x: ./docs/**", "//home//me/./project/docs//a", yes},
      {"x: ./docs/**", "/../home/me/project/docs/a", yes},
      // The directory whose contents are meant is neither in nor out, unless a slash says so.
      {"x: ./docs/**", "docs", unclear},
      {"x: ./docs/**", "docs/", unclear},
      {"x: ./docs/**", "docs/a/..", unclear},
      {"x: ./docs/", "docs", yes},
      {"x: ./docs/", "docs/a/b", yes},
      {"x: ./docs", "docs", yes},
      {"x: ./docs", "docs/a", no},
      {"x: ./docs/*.md", "docs/a.md", yes},
      {"x: ./docs/*.md", "docs/sub/a.md", no},
      {"x: ./docs/?.md", "docs/a.md", yes},
      {"x: ./**/*.md", "a.md", yes},
      {"x: ./**/*.md", "a/b/c.md", yes},
      {"x: ./**/*.md", "../c.md", no},
      {"x: /etc/**", "/etc/passwd", yes},
      {"x: /etc/**", "../../../etc/passwd", yes},
      {"x: //etc/i", "/etc/i", yes},
      {"x: //srv/[a]/**", "/srv/[a]/b", yes},
      {"x: /", "/", yes},
      {"x: ../shared/**", "/home/me/shared/a", yes},
      {"x: ~/notes/**", "/home/me/notes/a", yes},
      {"x: ~/notes/**", "~/notes/a", yes},
      {"x: ~/notes/**", "~/notes/../.ssh/id", no},
      {"x: ~/notes/**", "~root/a", unclear},
      // Who reads these may mean another place.
      {"x: /etc/**", "~/../../etc/passwd", unclear},
      {"x: /etc/**", "file:///etc/passwd", unclear},
      {"x: /etc/**", "FILE:/etc/passwd", unclear},
      {"x: /etc/**", " /etc/passwd", unclear},
      {"x: /etc/**", "/etc/passwd\n", unclear},
      {"x: /etc/**", "$HOME/x", unclear},
      {"x: /etc/**", "docs\\..\\..\\etc", unclear},
      {"x: /etc/**", std::string("/etc\0/x", 7), unclear},
      {"x: /etc/**", "", unclear},
      {"x: /etc/**", 5, unclear},
  });
  // A server started elsewhere means another place by the same words.
  EXPECT_EQ(verdict("x: ./docs/**", Json{{"x", "docs/a"}}, nullptr, "/srv"), no);
  EXPECT_EQ(verdict("x: /srv/docs/**", Json{{"x", "docs/a"}}, nullptr, "/srv"), yes);
  EXPECT_EQ(verdict("x: /srv/docs/**", Json{{"x", "docs/a"}}, nullptr, ""), unclear);
}

// A value without a slash may be the name of a file: its other spellings are denied, and not allowed.
TEST(ArgumentRule, ATextThatNamesAFileMeansItInEverySpelling) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {"x: .env", ".env", yes},
      {"x: .env", "./.env", unclear},
      {"x: .env", ".//.env", unclear},
      {"x: .env", ".env/", unclear},
      {"x: .env", "docs/../.env", unclear},
      {"x: .env", "/home/me/project/.env", unclear},
      {"x: .env", "/home/me/./project//.env/.", unclear},
      {"x: .env", "/proc/self/cwd/.env", unclear},
      {"x: .env", std::string(".env\0.md", 8), unclear},
      {"x: .env", "docs/.env", no},
      {"x: .env", "/srv/.env", no},
      {"x: .env*", "./.env.local", unclear},
      {"x: *.pem", "./a/b.pem", yes},
      {"x: id_rsa", "./id_rsa", unclear},
      // The directory itself has a name as well.
      {"x: *.", "docs/..", unclear},
      {"x: *.", "docs//..//", unclear},
      {"x: *.", "./", unclear},
      {"x: *.", "/home/me/project", unclear},
      {"x: *.", "/home/me/project2", no},
      // Nor does a spelling open what the name does not.
      {"x: .*", "./secret", unclear},
      {"x: .*", "../../etc/passwd", unclear},
      {"x: .*", ".hidden/../../etc/passwd", unclear},
      {"x: *.md", "../a.md", yes},
      {"x: docs*", "docs/../secret", unclear},
      // Texts that are not paths stay what they are.
      {"x: drop*", "select a/b\nfrom x", no},
      {"x: gmail_*", "https://example.com/../x", no},
      {"x: *", "a//b/../c", yes},
  });
  for (std::size_t size : {std::size_t{5'000}, std::size_t{2'000'000}}) {
    std::string many;
    while (many.size() < size) many += "./";
    EXPECT_EQ(verdict("x: .env", Json{{"x", many + ".env"}}), unclear) << size;
    EXPECT_EQ(verdict("x: .env", Json{{"x", many + "x"}}), no) << size;
  }
  test::TempTree tree;
  const auto root = tree.path().string();
  tree.file(".env", "");
  tree.link("notes", ".env");
  const Json arguments{{"x", "notes"}};
  EXPECT_TRUE(rule("mcp__s__t(x: .env)").fits({&arguments, nullptr, root}));
  EXPECT_FALSE(rule("mcp__s__t(x: .env)").fits({&arguments, nullptr, ""}));
}

// Names that mean another place for each process that reads them.
TEST(ArgumentRule, PathsOfAProcessAreUnclear) {
  for (std::string path :
       {"/proc/self/root/etc/passwd", "/proc/self/cwd/x", "/proc/1/root/home", "/proc/thread-self/fd/3",
        "/proc/../proc/self/root/etc", "/dev/fd/3", "/dev/stdin", "/proc/self", "/proc/1",
        // The text leads out of it again, and the kernel somewhere else: the reader's own directory.
        "/proc/self/cwd/../../../srv/x", "/proc/thread-self/cwd/../../../../srv/x", "/dev/fd/3/../../../srv/x",
        "/proc/1/cwd/../../../srv/x", "/srv/../proc/self/../../srv/x", "../../../proc/self/cwd/x",
        "/dev/stdin/../../srv/x", "/proc/mounts"}) {
    for (std::string_view condition : {"x: /etc/**", "x: /proc/**", "x: /dev/**", "x: /**"}) {
      EXPECT_EQ(verdict(condition, Json{{"x", path}}), Verdict::unclear) << condition << " and " << path;
    }
  }
  EXPECT_EQ(verdict("x: /proc/*", Json{{"x", "/proc/cpuinfo"}}), Verdict::yes);
  EXPECT_EQ(verdict("x: /etc/**", Json{{"x", "/dev/null"}}), Verdict::no);
}

// A link into such a place is no way around it, also where it leads out again.
TEST(ArgumentRule, LinksIntoAProcessAreUnclear) {
  test::TempTree tree;
  const auto root = tree.path().string();
  tree.file("docs/a.md", "");
  tree.link("docs/cwd", "/proc/self/cwd");
  tree.link("docs/up", "/proc/self/cwd/..");
  tree.link("docs/task", "/proc/thread-self/root");
  tree.link("docs/fds", "/dev/fd");
  tree.link("docs/in", "/dev/stdin");
  for (const auto* path : {"docs/cwd", "docs/cwd/secret", "docs/up/secret", "docs/up/../x", "docs/task/etc/passwd",
                           "docs/fds/3", "docs/fds/3/../../x", "docs/in", "docs/cwd/../a.md"}) {
    for (std::string condition : {"x: ./docs/**", "x: /srv/**"}) {
      const Json arguments{{"x", path}};
      const CallFacts call{&arguments, nullptr, root};
      const auto text = "mcp__s__t(" + condition + ")";
      const auto allow = read_rule(text, RuleList::allow, {root, "/home/me"});
      const auto deny = read_rule(text, RuleList::deny, {root, "/home/me"});
      EXPECT_FALSE(allow.rule->fits(call)) << text << " and " << path;
      EXPECT_TRUE(deny.rule->fits(call)) << text << " and " << path;
    }
  }
}

// What links lead to is compared as well: a path is clear only where its text and its real place agree.
TEST(ArgumentRule, SymbolicLinksAreFollowed) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  test::TempTree tree;
  const auto root = tree.path().string();
  tree.file("repo/docs/a.md", "");
  tree.file("secret/deep/key", "");
  tree.link("repo/docs/out", root + "/secret");
  tree.link("repo/docs/file", "../../secret/deep/key");
  tree.link("repo/docs/new", root + "/secret/not-there-yet");
  tree.link("repo/docs/loop", "loop");
  tree.link("repo/in", "docs");
  tree.link("repo/up", root + "/secret/deep");
  tree.link("repo/posing", root + "/secret");
  tree.link("other", root + "/repo");
  struct Case {
    std::string condition;  // R stands for the tree
    std::string path;
    Verdict expected;
  };
  for (const auto& [condition, path, expected] : std::vector<Case>{
           {"x: ./docs/**", "docs/a.md", yes},
           {"x: ./docs/**", "docs/not-there/yet", yes},
           {"x: ./docs/**", "R/repo/docs/a.md", yes},
           // Out of it by a link, existing or not, of a file or a directory.
           {"x: ./docs/**", "docs/out/deep/key", unclear},
           {"x: ./docs/**", "docs/file", unclear},
           {"x: ./docs/**", "docs/new", unclear},
           {"x: ./docs/**", "docs/loop", unclear},
           {"x: ./docs/**", "docs/out/../a.md", unclear},
           {"x: R/secret/**", "docs/out/deep/key", unclear},
           {"x: R/secret/**", "docs/file", unclear},
           {"x: R/secret/**", "docs/new", unclear},
           {"x: R/secret/**", "docs/a.md", no},
           // Into it by a link: its text says otherwise.
           {"x: ./docs/**", "in/a.md", unclear},
           // The parent of where a link leads, and of the link.
           {"x: R/secret/**", "up/../x", unclear},
           {"x: ./docs/**", "up/../docs/a.md", unclear},
           // What the rule names is itself a link: it must not open where that leads, and it closes it.
           {"x: ./posing/**", "posing/deep/key", unclear},
           {"x: ./posing/**", "R/secret/deep/key", unclear},
           {"x: ./posing/**", "docs/a.md", no},
       }) {
    auto filled = [&](std::string text) {
      if (const auto at = text.find("R/"); at != std::string::npos) text.replace(at, 1, root);
      return text;
    };
    for (const auto* name : {"repo", "other"}) {
      // By whichever name the directory is known, its files are in it.
      const auto cwd = root + "/" + name;
      const Json arguments{{"x", filled(path)}};
      const CallFacts call{&arguments, nullptr, cwd};
      const auto text = "mcp__s__t(" + filled(condition) + ")";
      const auto allow = read_rule(text, RuleList::allow, {cwd, "/home/me"});
      const auto deny = read_rule(text, RuleList::deny, {cwd, "/home/me"});
      ASSERT_TRUE(allow.rule && deny.rule) << text;
      const auto found = allow.rule->fits(call) ? yes : deny.rule->fits(call) ? unclear : no;
      // A path of one name and a rule of the other are clear to nobody.
      const bool mixed = std::string_view(name) == "other" && path.starts_with("R/repo");
      EXPECT_EQ(found, mixed ? unclear : expected) << text << " and " << path << " in " << cwd;
    }
  }
}

// Who is refused because something could not be judged is told what.
TEST(ArgumentRule, DoubtsAreNamed) {
  auto doubt = [](std::string_view text, const Json& arguments) {
    return rule(text).doubt({&arguments, nullptr, "/home/me/project"});
  };
  EXPECT_EQ(doubt("mcp__s__t(pth: ./a/**)", Json{{"path", "b"}}), "the call has no argument \"pth\"");
  EXPECT_EQ(doubt("mcp__s__t(a.b: 1)", Json{{"a", 1}}), "the call has no argument \"a.b\"");
  EXPECT_EQ(doubt("mcp__s__t(path: ./a/**)", Json{{"path", 5}}),
            "the argument \"path\" cannot be compared with the condition");
  for (const auto* rule : {"mcp__s__t(by: /^9/)", "mcp__s__t(by: 9*)"}) {
    EXPECT_EQ(doubt(rule, Json{{"by", 1}}),
              "the argument \"by\" is a number and the condition is about texts (write a range such as 1..10)");
  }
  EXPECT_EQ(doubt("mcp__s__t(@openWorld: true)", Json()), "the server does not report @openWorld for the tool");
  EXPECT_EQ(doubt("mcp__s__t(path: ./a/**)", Json{{"path", "a/b"}}), "");
  EXPECT_EQ(doubt("mcp__s__t(path: ./a/**)", Json{{"path", "b"}}), "");
}

TEST(ArgumentRule, AStartDirectoryIsTakenLiterally) {
  const Json arguments{{"x", "/home/other/docs/a"}};
  auto read = read_rule("mcp__s__t(x: ./docs/**)", RuleList::allow, {"/home/*", "/home/me"});
  ASSERT_TRUE(read.rule);
  EXPECT_FALSE(read.rule->fits({&arguments, nullptr, "/"}));
}

// compat: B7.8
TEST(ArgumentRule, Urls) {
  const auto yes = Verdict::yes, no = Verdict::no, unclear = Verdict::unclear;
  check({
      {"x: https://*.example.com/**", "https://a.example.com/b/c", yes},
      {"x: https://example.com", "https://example.com/x?y", yes},
      {"x: https://example.com", "https://example.com@evil.example/", no},
      {"x: *://example.com", "http://EXAMPLE.com/", yes},
      {"x: https://example.com", "not a url", unclear},
      {"x: http://127.0.0.1/**", "http://0x7f.1/x", yes},
      {"x: http://127.0.0.1/**", "http://[::ffff:127.0.0.1]/x", yes},
      {"x: http://127.0.0.1/**", "http://2130706434/x", no},
      {"x: https://*.example.com/**", "https://evil.com／.example.com/x", unclear},
      {"x: https://evil.com/**", "https://ev\u00ADil.com/x", unclear},
  });
}

// compat: B7.8
TEST(ArgumentRule, AMissingArgumentNeverAllowsAndAlwaysDenies) {
  for (std::string_view condition :
       {"x: a*", "x: 1..5", "x: /a/", "x: ./a", "x: \"a\"", "x: true", "x.y: a", "@readOnly: true"}) {
    EXPECT_EQ(verdict(condition, Json::object()), Verdict::unclear) << condition;
    EXPECT_EQ(verdict(condition, Json()), Verdict::unclear) << condition;
    EXPECT_EQ(verdict(condition, Json::array({1})), Verdict::unclear) << condition;
    EXPECT_EQ(verdict(condition, Json{{"x", Json::object()}}), Verdict::unclear) << condition;
  }
}

// compat: B7.8
TEST(ArgumentRule, SeveralConditionsMustAllHold) {
  const auto text = "from: ./a/**, to: ./b/**, force: false";
  EXPECT_EQ(verdict(text, Json{{"from", "a/x"}, {"to", "b/x"}, {"force", false}}), Verdict::yes);
  EXPECT_EQ(verdict(text, Json{{"from", "a/x"}, {"to", "c/x"}, {"force", false}}), Verdict::no);
  EXPECT_EQ(verdict(text, Json{{"from", "a/x"}, {"to", "b/x"}}), Verdict::unclear);
  EXPECT_EQ(verdict(text, Json{{"from", "a/x"}, {"to", "c/x"}}), Verdict::no);
}

TEST(ArgumentRule, NamesLeadIntoObjectsAndListsAreTakenElementByElement) {
  EXPECT_EQ(verdict("options.path: ./a/**", Json{{"options", {{"path", "a/x"}}}}), Verdict::yes);
  EXPECT_EQ(verdict("options.path: ./a/**", Json{{"options.path", "a/x"}}), Verdict::unclear);
  EXPECT_EQ(verdict("\"options.path\": ./a/**", Json{{"options.path", "a/x"}}), Verdict::yes);
  EXPECT_EQ(verdict("\"@readOnly\": true", Json{{"@readOnly", true}}), Verdict::yes);
  const auto lists = [](std::initializer_list<Json> items) { return Json{{"x", Json::array(items)}}; };
  EXPECT_EQ(verdict("x: ./a/**", lists({"a/1", "a/2"})), Verdict::yes);
  EXPECT_EQ(verdict("x: ./a/**", lists({"a/1", "b/2"})), Verdict::unclear);
  EXPECT_EQ(verdict("x: ./a/**", lists({"b/1", "b/2"})), Verdict::no);
  EXPECT_EQ(verdict("x: ./a/**", lists({})), Verdict::unclear);
  EXPECT_EQ(verdict("x: ./a/**", lists({"a/1", 5})), Verdict::unclear);
}

TEST(ArgumentRule, HintsOfTheTool) {
  ToolAnnotations hints;
  hints.open_world_hint = true;
  hints.read_only_hint = false;
  EXPECT_EQ(verdict("@openWorld: true", Json(), &hints), Verdict::yes);
  EXPECT_EQ(verdict("@openWorld: false", Json(), &hints), Verdict::no);
  EXPECT_EQ(verdict("@readOnly: true", Json(), &hints), Verdict::no);
  EXPECT_EQ(verdict("@destructive: true", Json(), &hints), Verdict::unclear);
  EXPECT_EQ(verdict("@idempotent: true", Json(), &hints), Verdict::unclear);
}

TEST(ArgumentRule, PathsAndPatternsAreDistinguished) {
  const auto yes = Verdict::yes;
  EXPECT_EQ(verdict("x: /etc, y: /", Json{{"x", "/etc"}, {"y", "/"}}), yes);
  EXPECT_EQ(verdict("x: /etc/**, y: /a/i", Json{{"x", "/etc/p"}, {"y", "A"}}), yes);
  EXPECT_EQ(verdict("x: /a/i, y: /etc/**", Json{{"x", "A"}, {"y", "/etc/p"}}), yes);
  EXPECT_EQ(verdict("x: /home/me/, y: /b/", Json{{"x", "/home/me/z"}, {"y", "b"}}), yes);
}

TEST(PermissionRule, WhatCannotBeReadFailsClosed) {
  struct Case {
    std::string text;
    std::string pattern;
    std::size_t offset;
    std::string reason;
  };
  for (const auto& [text, pattern, offset, reason] : std::vector<Case>{
           {"mcp__s__t(", "mcp__s__t", 10, "')' is missing"},
           {"mcp__s__t(x: 1", "mcp__s__t", 14, "')' is missing"},
           {"mcp__s__t()", "mcp__s__t", 10, "expected the name of an argument"},
           {"mcp__s__t(x)", "mcp__s__t", 11, "expected ':'"},
           {"mcp__s__t(x:)", "mcp__s__t", 12, "expected a value"},
           {"mcp__s__t(x: 1,)", "mcp__s__t", 15, "expected the name of an argument"},
           {"mcp__s__t(x: \"a)", "mcp__s__t", 13, "the quote is not closed"},
           {"mcp__s__t(x: \"\\q\")", "mcp__s__t", 13, "not a JSON string"},
           {"mcp__s__t(x: \"a\" b)", "mcp__s__t", 17, "expected ',' or ')'"},
           {"mcp__s__t(x: /[/)", "mcp__s__t", 13, "its '[' is not closed; if it is a path, begin it with two slashes"},
           {"mcp__s__t(x: /^select)", "mcp__s__t", 13, "the slash at its end is missing; if it is a path"},
           {"mcp__s__t(x: /a|b/z)", "mcp__s__t", 13, "two slashes"},
           {"mcp__s__t(x: /(/)", "mcp__s__t", 13, "the pattern cannot be used"},
           {"mcp__s__t(x: /a/g)", "mcp__s__t", 16, "begin it with two slashes: //a/g"},
           {"mcp__s__t(x: //)", "mcp__s__t", 13, "the pattern is empty"},
           {"mcp__s__t(x: ./a/**b)", "mcp__s__t", 13, "'**' must stand alone"},
           {"mcp__s__t(x: ./*/../b)", "mcp__s__t", 13, "'..' cannot follow a wildcard"},
           {"mcp__s__t(x: ~you/b)", "mcp__s__t", 13, "home directory of another user"},
           {"mcp__s__t(x: https://)", "mcp__s__t", 13, "has no host"},
           {"mcp__s__t(@x: true)", "mcp__s__t", 10, "the hints of a tool are"},
           {"mcp__s__t(a..b: 1)", "mcp__s__t", 10, "is empty"},
           {"MCPTool(mcp__s__t", "mcp__s__t", 17, "')' is missing"},
           {"MCPTool()", "*", 8, "it does not name a tool"},
           {"(x: 1)", "*", 0, "it does not name a tool"},
       }) {
    for (auto list : {RuleList::ask, RuleList::deny}) {
      const auto read = read_rule(text, list, places);
      ASSERT_THAT(read.faults, testing::Not(IsEmpty())) << text;
      EXPECT_THAT(read.faults[0].reason, HasSubstr(reason)) << text;
      EXPECT_EQ(read.faults[0].offset, offset) << text;
      EXPECT_THAT(read.faults[0].consequence, HasSubstr("it applies to all arguments"));
      // A command that ends because of it says nothing about what would be denied.
      const auto flag = flag_rule_fault(text, list, "--flag");
      ASSERT_TRUE(flag) << text;
      EXPECT_THAT(*flag, AllOf(testing::StartsWith("--flag: "), HasSubstr(reason),
                               testing::Not(HasSubstr("it applies to all arguments"))));
      ASSERT_TRUE(read.rule) << text;
      EXPECT_EQ(read.rule->pattern, pattern) << text;
      EXPECT_TRUE(read.rule->fits({})) << text;
    }
    const auto allow = read_rule(text, RuleList::allow, places);
    EXPECT_FALSE(allow.rule) << text;
    EXPECT_THAT(allow.faults, testing::Not(IsEmpty())) << text;
  }
}

TEST(PermissionRule, RulesForOtherProgramsToolsAreSilent) {
  for (std::string_view text :
       {"Bash(rm -rf /)", "Read(./.env)", "WebFetch(domain:example.com)", "Edit(//tmp/**)", "Bash("}) {
    for (auto list : {RuleList::allow, RuleList::ask, RuleList::deny}) {
      EXPECT_THAT(read_rule(text, list, places).faults, IsEmpty()) << text;
    }
  }
}

// What looks like a rule about a server's tool and is none protects nothing.
TEST(PermissionRule, AMisspeltPrefixIsReported) {
  for (std::string_view text : {"MCP__a__rm", "Mcp__a", "mcp_a__rm", "MCP__a__rm(x: 1)", "mcptool(mcp__a)"}) {
    for (auto list : {RuleList::allow, RuleList::ask, RuleList::deny}) {
      const auto read = read_rule(text, list, places);
      ASSERT_THAT(read.faults, SizeIs(1)) << text;
      EXPECT_THAT(read.faults[0].reason, HasSubstr("does not name a tool of a server")) << text;
      EXPECT_EQ(read.faults[0].severity, Severity::warning);
      EXPECT_FALSE(flag_rule_fault(text, list, "--flag"));
    }
  }
  for (std::string_view text : {"Bash", "MCPSearch", "ListMcpResourcesTool", "mcp__a", "MCPTool(mcp__a)"}) {
    EXPECT_THAT(read_rule(text, RuleList::deny, places).faults, IsEmpty()) << text;
  }
}

TEST(PermissionRule, AConditionThatNothingFulfilsIsReported) {
  for (const auto& [condition, why] : std::vector<std::pair<std::string, std::string>>{
           {"x: 10..1", "no number is in this range"},
           {"x: $HOME/.ssh/**", "variables are not replaced"},
           {"x: ./a, y: /proc/self/**", "not the same file for the server"},
           {"x: /proc/../dev/fd/*", "not the same file for the server"},
           {"x: https://example.com:080", "a port must be"},
           {"x: https://example.com:65536", "a port must be"},
           {"x: https://[::ffff:10.*]", "IPv4"},
           {"x: https://[2001:0db8:*]", "without leading zeros"},
           {"x: https://*..example.com", "no host name begins with a dot or contains two dots in a row"},
           {"x: https://.*.example.com", "no host name begins with a dot or contains two dots in a row"},
       }) {
    const auto text = "mcp__s__t(" + condition + ")";
    for (const auto list : {RuleList::deny, RuleList::allow}) {
      const auto read = read_rule(text, list, places);
      EXPECT_TRUE(read.rule) << text;
      ASSERT_THAT(read.faults, SizeIs(1)) << text;
      EXPECT_THAT(read.faults[0].reason, AllOf(HasSubstr("never matches: "), HasSubstr(why))) << text;
      EXPECT_EQ(read.faults[0].severity, Severity::warning) << text;
    }
  }
  for (const auto* condition :
       {"x: 1..1", "x: .env", "x: ~/x", "x: /proc/cpuinfo", "x: /dev/null", "x: a$b/c", "x: https://example.com:65535",
        "x: https://[2001:db8:*]", "x: https://*.example.com", "x: https://10.0.*", "x: https://example.com:*"}) {
    EXPECT_THAT(read_rule("mcp__s__t(" + std::string(condition) + ")", RuleList::deny, places).faults, IsEmpty());
  }
}

TEST(PermissionRule, ACharacterThatCannotBeSeenIsReported) {
  for (const auto list : {RuleList::deny, RuleList::allow}) {
    const auto read = read_rule("mcp__fs__wri\u200Bte", list, places);
    ASSERT_THAT(read.faults, SizeIs(1));
    EXPECT_THAT(read.faults[0].reason, AllOf(HasSubstr("wri\\u200bte"), HasSubstr("invisible character")));
    EXPECT_EQ(read.faults[0].severity, Severity::warning);
    EXPECT_TRUE(read.rule);
  }
}

TEST(PermissionRule, EmptyAndEndlessTexts) {
  EXPECT_FALSE(read_rule("", RuleList::deny, places).rule);
  EXPECT_THAT(read_rule("  ", RuleList::deny, places).faults, SizeIs(1));
  const auto endless = read_rule("mcp__s__t(x: " + std::string(5000, 'a') + ")", RuleList::deny, places);
  ASSERT_TRUE(endless.rule);
  EXPECT_TRUE(endless.rule->any_arguments);
  std::string many = "mcp__s__t(a: 1";
  for (int i = 0; i < 40; ++i) many += ", a: 1";
  EXPECT_THAT(read_rule(many + ")", RuleList::deny, places).faults, SizeIs(1));
}

TEST(PermissionRule, ProblemsPointIntoTheFile) {
  // The rule begins with the quote in column 25.
  const auto denying = [](std::string_view rule) {
    return checked_settings(R"({"permissions":{"deny":[")" + std::string(rule) + R"("]}})", SettingsSource::user, "/f")
        .problems;
  };
  EXPECT_THAT(denying("mcp__s__t(x: ./*/../b)"), ElementsAre(testing::Field(&ConfigProblem::column, 25 + 1 + 13)));
  // With escapes in the file an offset would point anywhere.
  EXPECT_THAT(denying(R"(mcp__s__t(x: .\u002f*/../b))"), ElementsAre(testing::Field(&ConfigProblem::column, 25u)));
}

// compat: B5.13
TEST(PermissionRule, OneFlagHoldsSeveral) {
  EXPECT_THAT(split_rules("mcp__a"), ElementsAre("mcp__a"));
  EXPECT_THAT(split_rules("mcp__a, mcp__b__*,MCPTool(mcp__c)"), ElementsAre("mcp__a", "mcp__b__*", "MCPTool(mcp__c)"));
  EXPECT_THAT(split_rules("mcp__a  mcp__b MCPTool"), ElementsAre("mcp__a", "mcp__b", "MCPTool"));
  EXPECT_THAT(split_rules("mcp__my server__do it,"), ElementsAre("mcp__my server__do it"));
  EXPECT_THAT(split_rules("mcp__a__t(x: 1, y: \")\") mcp__b"), ElementsAre("mcp__a__t(x: 1, y: \")\")", "mcp__b"));
  EXPECT_THAT(split_rules("MCPTool(mcp__a__t(x: (1), y: 2)),mcp__b"),
              ElementsAre("MCPTool(mcp__a__t(x: (1), y: 2))", "mcp__b"));
  EXPECT_THAT(split_rules(" , "), IsEmpty());
  // One that is not closed is not taken apart, so that what is left of it is said to be broken.
  EXPECT_THAT(split_rules("mcp__a(x: 1, mcp__b"), ElementsAre("mcp__a(x: 1, mcp__b"));
}

// --- sets

SettingsLayer layer(SettingsSource source, std::string_view text) {
  return checked_settings(text, source, "/" + std::string(to_string(source)) + "/settings.json");
}

std::vector<std::string> texts(const RuleSet& set) {
  std::vector<std::string> out;
  for (const auto& one : set.rules) out.push_back(std::string(to_string(one.list)) + " " + one.text);
  return out;
}

TEST(RuleSet, FlagsThenFilesByTheirRank) {
  const std::vector layers{
      layer(SettingsSource::user, R"({"permissions": {"allow": ["mcp__u"], "deny": ["mcp__ud"]}})"),
      layer(SettingsSource::enterprise, R"({"permissions": {"ask": ["mcp__e"]}})"),
      layer(SettingsSource::project, R"({"permissions": {"deny": ["mcp__p"]}})"),
  };
  RuleRequest request;
  request.allowed_tools = {"mcp__fa"};
  request.disallowed_tools = {"mcp__fd"};
  request.names.disallowed_tools = "--disallowedTools";
  const auto set = collect_rules(layers, request);
  EXPECT_THAT(texts(set), ElementsAre("deny mcp__fd", "allow mcp__fa", "ask mcp__e", "deny mcp__p", "deny mcp__ud",
                                      "allow mcp__u"));
  EXPECT_EQ(set.rules[0].file, "--disallowedTools");
  EXPECT_EQ(set.rules[0].line, 0u);
  EXPECT_EQ(set.rules[3].file, "/project/settings.json");
  EXPECT_EQ(set.rules[3].line, 1u);
  EXPECT_THAT(set.problems, IsEmpty());
}

// compat: C6.c
TEST(RuleSet, AllowRulesOfARepositoryNeedTrust) {
  const std::vector layers{
      layer(SettingsSource::project,
            "{\"permissions\": {\n\"allow\": [\"Bash\", \"mcp__x__y\"], \"ask\": [\"mcp__z\"]}}"),
      layer(SettingsSource::project_local, R"({"permissions": {"allow": ["mcp__x__z"], "deny": ["mcp__d"]}})"),
  };
  const auto set = collect_rules(layers, {});
  EXPECT_THAT(texts(set), ElementsAre("deny mcp__d", "ask mcp__z"));
  ASSERT_THAT(set.problems, SizeIs(2));
  EXPECT_THAT(set.problems[1].text(), HasSubstr("/project/settings.json:2:"));
  EXPECT_EQ(set.problems[1].remedy, Remedy{Remedy::Kind::trust_project});
  RuleRequest trusting;
  trusting.trusted = true;
  EXPECT_THAT(texts(collect_rules(layers, trusting)),
              ElementsAre("deny mcp__d", "allow mcp__x__z", "ask mcp__z", "allow Bash", "allow mcp__x__y"));
  EXPECT_THAT(collect_rules(std::vector{layer(SettingsSource::project, R"({"permissions": {"allow": ["Bash"]}})")}, {})
                  .problems,
              IsEmpty());
}

// compat: P2.b, C6.c
TEST(RuleSet, TheModeNeverComesFromARepositoryWhenItOpensDoors) {
  struct Case {
    SettingsSource source;
    std::string mode;
    bool trusted;
    PermissionMode expected;
  };
  using Mode = PermissionMode;
  for (const auto& [source, mode, trusted, expected] : std::vector<Case>{
           {SettingsSource::user, "bypass", false, Mode::bypass},
           {SettingsSource::user, "bypassPermissions", false, Mode::bypass},
           {SettingsSource::own, "bypass", false, Mode::bypass},
           {SettingsSource::enterprise, "bypass", false, Mode::bypass},
           {SettingsSource::flag, "bypass", false, Mode::bypass},
           {SettingsSource::project, "bypass", true, Mode::standard},
           {SettingsSource::project_local, "bypassPermissions", true, Mode::standard},
           {SettingsSource::project, "acceptReads", false, Mode::standard},
           {SettingsSource::project, "acceptReads", true, Mode::standard},
           {SettingsSource::project_local, "acceptReads", true, Mode::standard},
           {SettingsSource::project, "dontAsk", false, Mode::dont_ask},
           {SettingsSource::user, "acceptEdits", false, Mode::standard},
           {SettingsSource::user, "acceptReads", false, Mode::accept_reads},
       }) {
    const std::vector layers{layer(source, R"({"permissions": {"defaultMode": ")" + mode + "\"}}")};
    RuleRequest request;
    request.trusted = trusted;
    EXPECT_EQ(collect_rules(layers, request).mode, expected) << to_string(source) << " " << mode;
    // The other way to say it.
    if (mode == "bypass") {
      const std::vector other{layer(source, R"({"dangerouslySkipPermissions": true})")};
      EXPECT_EQ(collect_rules(other, request).mode, expected) << to_string(source);
    }
  }
}

TEST(RuleSet, AFlagOverridesFilesAndTheHighestFileOverridesOthers) {
  auto mode = [](SettingsSource source, const std::string& text) {
    return layer(source, R"({"permissions": {"defaultMode": ")" + text + "\"}}");
  };
  const std::vector layers{mode(SettingsSource::user, "bypass"), mode(SettingsSource::project, "default")};
  EXPECT_EQ(collect_rules(layers, {}).mode, PermissionMode::standard);
  // A repository makes it stricter and never looser, trusted or not.
  RuleRequest trusting;
  trusting.trusted = true;
  for (std::string own : {"dontAsk", "default", "acceptReads", "bypass"}) {
    for (std::string theirs : {"dontAsk", "default", "acceptReads", "bypass"}) {
      const std::vector both{mode(SettingsSource::user, own), mode(SettingsSource::project, theirs)};
      const auto mine = collect_rules(std::vector{both[0]}, {}).mode;
      const bool stricter = (theirs == "dontAsk" && own != "dontAsk") ||
                            (theirs == "default" && (own == "acceptReads" || own == "bypass")) ||
                            (theirs == "acceptReads" && own == "bypass");
      const auto expected = stricter ? *permission_mode(theirs) : mine;
      EXPECT_EQ(collect_rules(both, {}).mode, expected) << own << " and " << theirs;
      const auto trusted = collect_rules(both, trusting);
      EXPECT_EQ(trusted.mode, expected) << own << " and " << theirs;
      const bool said = std::ranges::any_of(trusted.problems, [](const auto& problem) {
        return problem.message.find("can only choose a stricter mode") != std::string::npos;
      });
      EXPECT_EQ(said, theirs != "bypass" && theirs != own && !stricter) << own << " and " << theirs;
    }
  }
  const std::vector organisation{mode(SettingsSource::enterprise, "default"),
                                 mode(SettingsSource::project, "acceptReads")};
  EXPECT_EQ(collect_rules(organisation, trusting).mode, PermissionMode::standard);
  const std::vector two{mode(SettingsSource::user, "default"), mode(SettingsSource::own, "acceptReads")};
  EXPECT_EQ(collect_rules(two, {}).mode, PermissionMode::accept_reads);
  EXPECT_EQ(collect_rules(layers, {}).mode_from, "/project/settings.json:1");
  RuleRequest request;
  request.mode = PermissionMode::bypass;
  EXPECT_EQ(collect_rules(layers, request).mode, PermissionMode::bypass);
}

TEST(RuleSet, BypassCanBeSwitchedOff) {
  const std::vector layers{
      layer(SettingsSource::enterprise, "{\"permissions\": {\n\"disableBypassPermissionsMode\": \"disable\"}}"),
      layer(SettingsSource::user, R"({"permissions": {"defaultMode": "bypass"}})")};
  const auto set = collect_rules(layers, {});
  EXPECT_EQ(set.mode, PermissionMode::standard);
  ASSERT_THAT(set.problems, SizeIs(1));
  EXPECT_THAT(set.problems[0].text(), AllOf(HasSubstr("/enterprise/settings.json:2:"), HasSubstr("is ignored")));
  RuleRequest request;
  request.mode = PermissionMode::bypass;
  EXPECT_EQ(collect_rules(layers, request).mode, PermissionMode::standard);
  request.mode = PermissionMode::accept_reads;
  EXPECT_EQ(collect_rules(layers, request).mode, PermissionMode::accept_reads);
}

TEST(RuleSet, FilesThatCannotBeReadRefuseEveryCall) {
  EXPECT_FALSE(collect_rules(std::vector{layer(SettingsSource::user, "{}")}, {}).refuse_all);
  for (std::string_view text : {"{", "[]", "{\"permissions\": 5}", "{\"permissions\": {\"deny\": [{}]}}"}) {
    const auto set = collect_rules(std::vector{layer(SettingsSource::user, text)}, {});
    ASSERT_TRUE(set.refuse_all) << text;
    EXPECT_EQ(set.refuse_all->outcome, PermissionOutcome::deny);
    EXPECT_EQ(set.refuse_all->file, "/user/settings.json");
  }
}

TEST(RuleSet, BrokenFlagsAreReported) {
  RuleRequest request;
  request.allowed_tools = {"mcp__*"};
  request.disallowed_tools = {"mcp__a__b(x"};
  const auto set = collect_rules({}, request);
  ASSERT_THAT(set.problems, SizeIs(2));
  EXPECT_THAT(set.problems[0].text(), AllOf(testing::StartsWith("disallowed_tools: "), HasSubstr("cannot be read")));
  EXPECT_THAT(set.problems[1].text(), AllOf(testing::StartsWith("allowed_tools: "), HasSubstr("is skipped")));
  EXPECT_THAT(texts(set), ElementsAre("deny mcp__a__b(x"));
}

TEST(PermissionMode, Spellings) {
  EXPECT_EQ(permission_mode("default"), PermissionMode::standard);
  EXPECT_EQ(permission_mode("nonsense"), std::nullopt);
  for (auto mode :
       {PermissionMode::standard, PermissionMode::accept_reads, PermissionMode::bypass, PermissionMode::dont_ask}) {
    EXPECT_EQ(permission_mode(to_string(mode)), mode);
  }
  EXPECT_EQ(to_string(PermissionOutcome::deny), "deny");
}

}  // namespace
}  // namespace patchbay
