// The manual page and the completions say what --help says, and their readers take them.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command.h"
#include "support/places.h"

namespace patchbay {
namespace {

using test::CommandOptions;
using test::run_program;
using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

const std::string program = test::built("patchbay");

std::string printed_by(std::vector<std::string> words) {
  words.insert(words.begin(), program);
  auto result = run_program(words);
  EXPECT_EQ(result.code, 0) << result.err;
  return result.out;
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

// The names as the help has them: flags begin a line or follow a comma, commands come after their heading.
std::set<std::string> flags_in_help(const std::string& command = {}) {
  std::set<std::string> flags;
  std::istringstream lines(command.empty() ? printed_by({"--help"}) : printed_by({command, "--help"}));
  for (std::string line; std::getline(lines, line);) {
    const auto text = line.find_first_not_of(' ');
    if ((text != 2 && text != 4) || line[text] != '-') continue;
    const auto names = line.substr(0, line.find("  ", text));
    for (const auto& flag : matches(names, "[ ,](--?[a-zA-Z][a-zA-Z-]*)")) flags.insert(flag);
  }
  return flags;
}

std::set<std::string> commands_in_help() {
  const auto help = printed_by({"--help"});
  const auto begin = help.find("Start with these commands:\n");
  EXPECT_NE(begin, std::string::npos);
  return matches(help.substr(begin, help.find("\nGeneral:\n", begin) - begin), "\n  ([a-z-]+) ");
}

std::set<std::string> flags_in_every_help() {
  auto flags = flags_in_help();
  for (const auto& command : commands_in_help()) flags.merge(flags_in_help(command));
  return flags;
}

// What bash would offer for these words; the last one is being typed.
std::vector<std::string> offered(const std::vector<std::string>& words, const CommandOptions& options = {}) {
  std::vector<std::string> argv{"/bin/bash",
                                "--norc",
                                "-c",
                                "compopt() { echo \"compopt $*\"; }\n"
                                "source <(\"$1\" completion bash) || exit 1\n"
                                "COMP_WORDS=(\"${@:1}\") COMP_CWORD=$(($# - 1))\n"
                                "_patchbay\n"
                                "printf '%s\\n' \"${COMPREPLY[@]}\"",
                                "bash",
                                program};
  argv.insert(argv.end(), words.begin(), words.end());
  auto result = run_program(argv, options);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  std::vector<std::string> lines;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

TEST(Manual, HelpIsReadRight) {
  EXPECT_THAT(flags_in_help(), IsSupersetOf({"-h", "--help", "--version", "--mcp-config", "--log-level", "-q"}));
  EXPECT_THAT(flags_in_help("serve"), IsSupersetOf({"-h", "--http", "--bearer-file", "--allow-origin"}));
  EXPECT_THAT(commands_in_help(), IsSupersetOf({"tools", "call", "serve", "completion", "man"}));
}

TEST(Help, BeginsWithTheCommandsThatPeopleNeedFirst) {
  const auto help = printed_by({"--help"});
  const auto begin = help.find("Start with these commands:\n");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_THAT(matches(help.substr(begin, help.find("\n\n", begin) - begin), "\n  ([a-z-]+) "),
              testing::UnorderedElementsAre("chat", "add", "list", "tools", "call", "why", "doctor"));
  EXPECT_LT(begin, help.find("--mcp-config"));
  for (const std::string jargon : {"Option Group", "SUBCOMMAND", "TEXT:{"}) {
    EXPECT_THAT(help, testing::Not(HasSubstr(jargon)));
  }
}

TEST(Manual, PageHasEveryCommandAndFlagOfTheHelp) {
  auto page = printed_by({"man"});
  for (const auto& command : commands_in_help()) {
    EXPECT_THAT(page, HasSubstr(".TP\n\\fB" + std::regex_replace(command, std::regex("-"), "\\-") + "\\fR"));
  }
  for (const auto& flag : flags_in_every_help()) {
    EXPECT_THAT(page, HasSubstr("\\fB" + std::regex_replace(flag, std::regex("-"), "\\-") + "\\fR")) << flag;
  }
}

// Every variable the page about configuration explains is in the manual as well.
TEST(Manual, PageHasEveryVariableOfTheDocumentation) {
  const auto page = printed_by({"man"});
  std::ifstream file(test::in_sources("docs/configuration.md"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto documented = matches(text, "`((?:MCP|PATCHBAY|ENABLE|NODE|SSL)_[A-Z_]+)[`=]");
  EXPECT_GE(documented.size(), 8u);
  for (const auto& name : documented) EXPECT_THAT(page, HasSubstr(name));
}

TEST(Manual, PageIsTypesetWithoutAWarning) {
  auto typeset = run_program({"/usr/bin/groff", "-ww", "-man", "-Tutf8", "-P-cbou"}, {.input = printed_by({"man"})});
  EXPECT_EQ(typeset.code, 0);
  EXPECT_EQ(typeset.err, "");
  EXPECT_THAT(typeset.out, HasSubstr("EXIT STATUS"));
  for (const char c : printed_by({"man"})) ASSERT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_THAT(typeset.out, HasSubstr("prints {\"url\":…}"));
  // Not text that a request swallowed.
  EXPECT_THAT(typeset.out, HasSubstr(".mcp.json"));
  EXPECT_THAT(typeset.out, HasSubstr("echo '{\"path\":\"README.md\"}' | patchbay call read_file -"));
}

// What is typed is not filled, so nothing but its length keeps it on the screen.
TEST(Manual, NoLineIsLongerThanATerminalIsWide) {
  const auto typeset = run_program({"/usr/bin/groff", "-man", "-Tutf8", "-P-cbou"}, {.input = printed_by({"man"})});
  ASSERT_EQ(typeset.code, 0);
  std::istringstream lines(typeset.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    EXPECT_LE(line.size() - static_cast<std::size_t>(std::ranges::count_if(line, continues)), 78u) << line;
  }
  EXPECT_GT(count, 300u);
}

TEST(Completion, EveryShellKnowsEveryCommandAndFlagOfTheHelp) {
  const auto bash = printed_by({"completion", "bash"});
  const auto zsh = printed_by({"completion", "zsh"});
  const auto fish = printed_by({"completion", "fish"});
  for (const auto& command : commands_in_help()) {
    EXPECT_THAT(zsh, HasSubstr("\n    '" + command + ":"));
    EXPECT_THAT(fish, HasSubstr(" -a " + command + " -d "));
  }
  for (const auto& flag : flags_in_every_help()) {
    const bool is_long = flag.starts_with("--");
    EXPECT_TRUE(zsh.find(")" + flag + "[") != std::string::npos || zsh.find("*" + flag + "[") != std::string::npos ||
                zsh.find(flag + "=[") != std::string::npos || zsh.find(flag + "=-[") != std::string::npos)
        << flag;
    EXPECT_THAT(fish + " ", HasSubstr((is_long ? " -l " + flag.substr(2) : " -s " + flag.substr(1)) + " "));
  }
  EXPECT_THAT(offered({""}), testing::UnorderedElementsAreArray(commands_in_help()));
  EXPECT_THAT(offered({"-"}), testing::UnorderedElementsAreArray(flags_in_help()));
  for (const auto& command : commands_in_help()) {
    if (command == "session") continue;  // takes fewer, see below
    auto expected = flags_in_help();
    expected.merge(flags_in_help(command));
    EXPECT_THAT(offered({command, "-"}), testing::UnorderedElementsAreArray(expected)) << command;
  }
}

// Flags that `session` refuses are not offered for it.
TEST(Completion, OffersTheFlagsThatSessionTakes) {
  const auto flags = offered({"session", "start", "--"});
  EXPECT_THAT(flags, IsSupersetOf({"--idle", "--log-file", "--trace", "--json", "--help"}));
  for (const std::string refused : {"--mcp-config", "--allowedTools", "--no-session", "--permission-mode", "--root"}) {
    EXPECT_THAT(flags, testing::Not(testing::Contains(refused)));
    EXPECT_THAT(offered({"call", "--"}), testing::Contains(refused));
  }
}

TEST(Completion, BashOffersWhatFits) {
  struct Case {
    std::vector<std::string> words;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases{
      {{"to"}, {"tools"}},
      {{"--json", "reso"}, {"resources"}},
      {{"--str"}, {"--strict-mcp-config"}},
      {{"tools", "--tru"}, {"--trust-project"}},
      {{"--log-level", "de"}, {"debug"}},
      {{"--log-level", "=", "w"}, {"warning"}},
      {{"--log-level", "="}, {"trace", "debug", "info", "warning", "error", "off"}},
      {{"--timeout", ""}, {}},
      {{"--root", ""}, {"compopt -o dirnames"}},
      {{"--mcp-config", "x"}, {"compopt -o default"}},
      // The value of a flag is not the command.
      {{"--log-file", "tools", "ser"}, {"serve"}},
      {{"--log-file", "=", "tools", "ser"}, {"serve"}},
      {{"completion", "f"}, {"fish"}},
      {{"call", "x"}, {"compopt -o default"}},
      {{"serve", ""}, {}},
      {{"mcp", "add"}, {"add", "add-json", "add-from-claude-desktop"}},
      {{"mcp", "--json", "rej"}, {"reject"}},
      {{"mcp", "add", "--call"}, {"--callback-port"}},
      {{"mcp", "add", "--scope", "u"}, {"user"}},
      {{"add-json", "-s", "pro"}, {"project"}},
      {{"serve", "--http", ""}, {}},
      {{"serve", "--bearer-file", ""}, {"compopt -o default"}},
  };
  for (const auto& one : cases) EXPECT_EQ(offered(one.words), one.expected) << testing::PrintToString(one.words);
}

TEST(Completion, ServersAreThoseDeclaredAndNothingIsStarted) {
  TemporaryDirectory here;
  EXPECT_THAT(offered({"tools", ""}, {.cwd = here.path()}), ElementsAre("patchbay"));
  here.write(".mcp.json", R"({"mcpServers": {"files": {"command": "/bin/sh", "args": ["-c", "touch started"]},
                                             "fetch": {"command": "true"}, "other": {"command": "true"}}})");
  EXPECT_THAT(offered({"tools", "f"}, {.cwd = here.path()}), testing::UnorderedElementsAre("files", "fetch"));
  EXPECT_THAT(offered({"mcp", "remove", "ot"}, {.cwd = here.path()}), ElementsAre("other"));
  // The tool is for the user to know; its server comes before it.
  EXPECT_THAT(offered({"call", "fi"}, {.cwd = here.path()}),
              ElementsAre("compopt -o default", "compopt -o nospace", "files/"));
  EXPECT_THAT(offered({"--json", "prompt", "ot"}, {.cwd = here.path()}),
              ElementsAre("compopt -o default", "compopt -o nospace", "other/"));
  EXPECT_THAT(offered({"call", "files/read", "fi"}, {.cwd = here.path()}), ElementsAre("compopt -o default"));
  EXPECT_EQ(run_program({"/bin/ls", here.path()}).out, "");
}

TEST(Completion, NamesThatAShellWouldRunAreNotOffered) {
  TemporaryDirectory here;
  here.write(".mcp.json",
             R"json({"mcpServers": {"$(touch ran)": {"command": "true"}, "`touch ran`": {"command": "true"},
    "a;touch ran": {"command": "true"}, "good": {"command": "true"}}})json");
  EXPECT_THAT(offered({"tools", ""}, {.cwd = here.path()}), ElementsAre("good"));
  EXPECT_EQ(run_program({"/bin/ls", here.path()}).out, "");
}

TEST(Completion, UnknownShellIsAUsageError) {
  auto result = run_program({program, "completion", "tcsh"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("bash, zsh, fish"));
  EXPECT_EQ(run_program({program, "completion"}).code, 2);
  EXPECT_EQ(run_program({program, "man", "page"}).code, 2);
}

}  // namespace
}  // namespace patchbay
