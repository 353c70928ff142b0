// What is wrong with configuration, file by file and as a whole. N6 P1.
#include "inspect/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "permission/rules.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<std::string> nothing_set(std::string_view) { return std::nullopt; }

std::vector<std::string> lines_of(const std::vector<ConfigProblem>& problems) {
  std::vector<std::string> out;
  for (const auto& problem : problems) out.push_back(problem_line(problem));
  return out;
}

TEST(Lint, AFileIsKnownByItsNameAndElseByWhatItSays) {
  struct Case {
    std::string path;
    std::string text;
    FileKind kind;
  };
  const std::vector<Case> cases{
      {"/p/.mcp.json", R"({"permissions": {}})", FileKind::servers},
      {"/etc/claude-code/managed-mcp.json", "{}", FileKind::servers},
      {"/home/me/.claude/mcp.json", "{}", FileKind::servers},
      {"/p/.claude/settings.json", "{}", FileKind::settings},
      {"/p/.claude/settings.local.json", "{}", FileKind::settings},
      {"/etc/claude-code/managed-settings.json", "{}", FileKind::settings},
      {"/etc/claude-code/managed-settings.d/10-a.json", "{}", FileKind::settings},
      {"/home/me/.claude.json", "{}", FileKind::claude},
      {"/home/me/.config/patchbay/config.json", "{}", FileKind::own},
      {"/elsewhere/mine.json", "{}", FileKind::own},
      {"/p/x.json", R"({"permissions": {}})", FileKind::settings},
      {"/p/x.json", R"({"deniedMcpServers": []})", FileKind::settings},
      {"/p/x.json", R"({"projects": {}})", FileKind::claude},
      {"/p/x.json", R"({"version": 1, "projects": {}})", FileKind::own},
      {"/p/x.json", R"({"mcpServers": {}})", FileKind::servers},
      {"/p/x.json", R"({"a": {"command": "b"}})", FileKind::servers},
      {"/p/.vscode/mcp.json", "{}", FileKind::foreign},
      {"/p/.cursor/mcp.json", R"({"mcpServers": {}})", FileKind::foreign},
      {"/home/me/.gemini/settings.json", R"({"mcpServers": {}})", FileKind::foreign},
      {"/home/me/.codex/config.toml", "", FileKind::foreign},
      {"/p/x.json", R"({"context_servers": {}})", FileKind::foreign},
      {"/p/.mcp.json", R"({"servers": {}})", FileKind::servers},
      {"/p/x.json", "no json", FileKind::servers},
      {"/p/x.json", "[]", FileKind::servers},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(kind_of_file(one.path, one.text, "/elsewhere/mine.json"), one.kind) << one.path << " " << one.text;
  }
}

TEST(Lint, ProblemsLookLikeACompilers) {
  ConfigProblem problem{"a.json", 3, 7, "is wrong", {}, Severity::error};
  EXPECT_EQ(problem_line(problem), "a.json:3:7: error: is wrong");
  problem.severity = Severity::warning;
  EXPECT_EQ(problem_line(problem), "a.json:3:7: warning: is wrong");
  problem.severity = Severity::note;
  problem.line = 0;
  EXPECT_EQ(problem_line(problem), "a.json: note: is wrong");
}

TEST(Lint, ProblemsComeByFileAndPlaceAndOnce) {
  const auto sorted = sorted_problems({{"/w/b.json", 9, 1, "late", {}, Severity::note},
                                       {"/else/a.json", 1, 1, "other", {}, Severity::error},
                                       {"b.json", 2, 5, "early", {}, Severity::error},
                                       {"/w/b.json", 9, 1, "late", {}, Severity::note}},
                                      "/w");
  EXPECT_THAT(lines_of(sorted),
              ElementsAre("b.json:2:5: error: early", "b.json:9:1: note: late", "/else/a.json:1:1: error: other"));
}

TEST(Lint, EveryKindOfFileIsJudgedByItself) {
  struct Case {
    FileKind kind;
    std::string text;
    std::vector<std::string> lines;  // parts of each
  };
  const std::vector<Case> cases{
      {FileKind::servers, R"({"mcpServers": {"a": {"command": "b"}}})", {}},
      {FileKind::servers, "{", {"f.json:1:2: error: "}},
      {FileKind::servers,
       "{\"mcpServers\": {\"a\": {\"command\": 1},\n \"b\": {\"command\": \"x\", \"args\": [\"${NO}\"]}}}",
       {"f.json:1:34: error: ", "f.json:2:33: warning: "}},
      {FileKind::servers, R"({"a": {"command": "${env:NO}"}})", {"so the server does not start"}},
      {FileKind::foreign, R"({"servers": {}})", {"warning: this is a file of VS Code, which Patchbay does not read"}},
      {FileKind::settings, R"({"permissions": {"allow": ["mcp__a__b"]}})", {}},
      {FileKind::settings,
       "{\"permissions\": {\"allow\": [\"mcp__*\"],\n\"deny\": [\"mcp__a__b(\"]}}",
       {
           "warning: ",
           "f.json:2:",
       }},
      {FileKind::settings,
       "{\"permissions\": {\"allow\": [\"mcp__a__b\"],\n\"deny\": [\"mcp__a\"]}}",
       {"never has an effect"}},
      {FileKind::settings, "{", {"f.json:1:2: error: "}},
      {FileKind::claude, R"({"mcpServers": {"a": {"command": 1}}})", {"error: "}},
      {FileKind::claude, R"({"projects": {"/anywhere": {"mcpServers": {"a": {"command": 1}}}}})", {"error: "}},
      {FileKind::own, R"({"version": 1, "mcpServer": {}})", {"did you mean \"mcpServers\"?"}},
      {FileKind::own, R"({"version": 1, "settings": {"permissions": {"deny": ["mcp__a__b("]}}})", {"error: "}},
      {FileKind::own,
       R"({"version": 1, "projects": {"/p": {"mcpServers": {"a": {"command": "${NO}"}, "b": 1}}}})",
       {"NO", "error: "}},
  };
  for (const auto& one : cases) {
    const auto lines = lines_of(lint_text(one.text, "f.json", one.kind, nothing_set));
    ASSERT_EQ(lines.size(), one.lines.size()) << one.text << testing::PrintToString(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr(one.lines[i])) << one.text;
  }
}

TEST(Lint, AVariableThatIsSetIsNotAProblem) {
  auto set = [](std::string_view name) { return std::optional(std::string(name)); };
  EXPECT_THAT(lint_text(R"({"a": {"command": "${YES}"}})", "f.json", FileKind::servers, set), IsEmpty());
}

TEST(Lint, WhatAFileOfTheRepositoryMayNotUseIsReported) {
  const std::string text = R"({"mcpServers": {"a": {"command": "b", "env": {"X": "${cmd:id}"}}}})";
  EXPECT_THAT(lines_of(lint_text(text, "/p/.mcp.json", FileKind::servers, nothing_set)),
              ElementsAre(HasSubstr("/p/.mcp.json:1:")));
}

// compat: B7.7
TEST(Lint, ADenyRuleThatNamesNoToolIsReported) {
  LoadedConfig config;
  config.cwd = "/w";
  ServerConfig server;
  server.name = "github";
  config.servers.push_back(server);
  const std::vector layers{parse_settings(R"({"permissions": {"deny": ["mcp__githubb__x", "mcp__github__y"]}})",
                                          SettingsSource::user, "/home/me/.claude/settings.json")};
  const Permissions permissions(collect_rules(layers, {}));
  EXPECT_THAT(lines_of(lint_config(config, permissions, nothing_set)),
              ElementsAre(HasSubstr("note: the deny rule \"mcp__githubb__x\" does not name a server that is "
                                    "configured; did you mean mcp__github?")));
}

}  // namespace
}  // namespace patchbay
