// Words in; settings, a page of help, or the word that is wrong out.
#include "cli/words/command_line.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cli/texts/help.h"
#include "cli/texts/usage_error.h"

namespace patchbay::cli {
namespace {

using testing::HasSubstr;
using Kind = UsageFault::Kind;
using Words = std::vector<std::string>;

struct Understood {
  Words words;
  std::function<void(Settings&)> as;  // what differs from the settings of no words
};

TEST(CommandLineTest, WordsBecomeSettings) {
  const std::vector<Understood> cases{
      {{}, [](Settings&) {}},
      {{"tools"}, [](Settings& s) { s.command = Command::tools; }},
      {{"tools", "docs"}, [](Settings& s) { s.command = Command::tools, s.words = {"docs"}; }},
      // A flag of every command is on either side of the command.
      {{"--json", "tools"}, [](Settings& s) { s.command = Command::tools, s.json = true; }},
      {{"tools", "--json"}, [](Settings& s) { s.command = Command::tools, s.json = true; }},
      {{"mcp", "--json", "list"}, [](Settings& s) { s.command = Command::list, s.as_mcp = s.json = true; }},
      {{"--json"}, [](Settings& s) { s.json = true; }},
      // The three ways to write a value.
      {{"--root", "a", "tools"}, [](Settings& s) { s.command = Command::tools, s.root = "a"; }},
      {{"--root=a", "tools"}, [](Settings& s) { s.command = Command::tools, s.root = "a"; }},
      {{"--root=a=b"}, [](Settings& s) { s.root = "a=b"; }},
      {{"list", "-s", "user"}, [](Settings& s) { s.command = Command::list, s.scope = "user"; }},
      {{"list", "-suser"}, [](Settings& s) { s.command = Command::list, s.scope = "user"; }},
      {{"add", "a", "-eA=1"}, [](Settings& s) { s.command = Command::add, s.words = {"a"}, s.env = {"A=1"}; }},
      // Whatever follows a flag that takes a value is its value.
      {{"--root", "tools", "list"}, [](Settings& s) { s.command = Command::list, s.root = "tools"; }},
      {{"--root", "--json"}, [](Settings& s) { s.root = "--json"; }},
      {{"--root", ""}, [](Settings&) {}},
      {{"--log-file", "-"}, [](Settings& s) { s.log_file = "-"; }},
      {{"--timeout", "2.5"}, [](Settings& s) { s.timeout_seconds = 2.5; }},
      {{"add", "a", "--callback-port", "65535"},
       [](Settings& s) { s.command = Command::add, s.words = {"a"}, s.callback_port = 65535; }},
      // Several short flags in one word; the last can have a value.
      {{"-qV"}, [](Settings& s) { s.command = Command::version, s.quiet = s.version = true; }},
      {{"list", "-qs", "user"}, [](Settings& s) { s.command = Command::list, s.quiet = true, s.scope = "user"; }},
      {{"list", "-qsuser"}, [](Settings& s) { s.command = Command::list, s.quiet = true, s.scope = "user"; }},
      // A switch can be given twice and switched off.
      {{"--json", "--json"}, [](Settings& s) { s.json = true; }},
      {{"--json=true"}, [](Settings& s) { s.json = true; }},
      {{"--json", "--json=false"}, [](Settings&) {}},
      {{"--quiet=on"}, [](Settings& s) { s.quiet = true; }},
      {{"--quiet=0"}, [](Settings&) {}},
      // A flag that can be repeated keeps all its values.
      {{"--mcp-config", "a", "list", "--mcp-config=b"},
       [](Settings& s) { s.command = Command::list, s.mcp_config = {"a", "b"}; }},
      {{"import", "--name", "a", "--name", "b"},
       [](Settings& s) { s.command = Command::import_servers, s.names = {"a", "b"}; }},
      // Rules before the command: full names of tools are never commands.
      {{"--allowedTools", "Bash", "mcp__a__b", "mcp__c", "tools"},
       [](Settings& s) { s.command = Command::tools, s.allowed_tools = {"Bash", "mcp__a__b", "mcp__c"}; }},
      {{"--allowed-tools", "a", "--disallowed-tools", "b", "mcp__c"},
       [](Settings& s) { s.allowed_tools = {"a"}, s.disallowed_tools = {"b", "mcp__c"}; }},
      {{"mcp", "--allowedTools", "a", "mcp__b", "list"},
       [](Settings& s) { s.command = Command::list, s.as_mcp = true, s.allowed_tools = {"a", "mcp__b"}; }},
      {{"tools", "--allowedTools", "a", "mcp__b"},
       [](Settings& s) { s.command = Command::tools, s.allowed_tools = {"a"}, s.words = {"mcp__b"}; }},
      // What is said to a model is none either.
      {{"-p", "go", "--allowedTools", "mcp__a", "mcp__b", "on"},
       [](Settings& s) {
         s.command = Command::chat, s.print = true, s.allowed_tools = {"mcp__a", "mcp__b"}, s.words = {"go", "on"};
       }},
      // It may begin like one.
      {{"-p", "--allowedTools", "mcp__a", "mcp__b fails, why?"},
       [](Settings& s) {
         s.command = Command::chat, s.print = true, s.allowed_tools = {"mcp__a"}, s.words = {"mcp__b fails, why?"};
       }},
      // One word may be several.
      {{"-p", "go", "--disallowedTools", "mcp__a", "mcp__b, mcp__c(x: y z) mcp__d", "mcp__e and mcp__f"},
       [](Settings& s) {
         s.command = Command::chat, s.print = true, s.words = {"go", "mcp__e and mcp__f"};
         s.disallowed_tools = {"mcp__a", "mcp__b, mcp__c(x: y z) mcp__d"};
       }},
      {{"-p", "--allowedTools", "mcp__a", "mcp__b(x: (1 OR 2))", "go"},
       [](Settings& s) {
         s.command = Command::chat, s.print = true;
         s.allowed_tools = {"mcp__a", "mcp__b(x: (1 OR 2))"}, s.words = {"go"};
       }},
      // Variables and headers of add; the first word that does not look like one ends them.
      {{"add", "-e", "A=1", "B=2", "files", "npx", "C=3"},
       [](Settings& s) { s.command = Command::add, s.env = {"A=1", "B=2"}, s.words = {"files", "npx", "C=3"}; }},
      {{"add", "--env", "A=1", "B_2=x=y", "-q", "C=3"},
       [](Settings& s) { s.command = Command::add, s.env = {"A=1", "B_2=x=y"}, s.quiet = true, s.words = {"C=3"}; }},
      {{"add", "-eA=1", "B=2"}, [](Settings& s) { s.command = Command::add, s.env = {"A=1"}, s.words = {"B=2"}; }},
      {{"add", "a", "-H", "X: 1", "Y-Z: 2", "https://host"},
       [](Settings& s) { s.command = Command::add, s.headers = {"X: 1", "Y-Z: 2"}, s.words = {"a", "https://host"}; }},
      {{"add", "-e", "KEY", "a"}, [](Settings& s) { s.command = Command::add, s.env = {"KEY"}, s.words = {"a"}; }},
      // Behind -- is the command of the new server, with its own flags.
      {{"add", "a", "--", "npx", "-y", "--json", "--", "x"},
       [](Settings& s) {
         s.command = Command::add, s.words = {"a"}, s.command_words = Words{"npx", "-y", "--json", "--", "x"};
       }},
      {{"add", "a", "-e", "A=1", "--", "B=2"},
       [](Settings& s) { s.command = Command::add, s.words = {"a"}, s.env = {"A=1"}, s.command_words = Words{"B=2"}; }},
      {{"mcp", "add", "a", "--"},
       [](Settings& s) { s.command = Command::add, s.as_mcp = true, s.words = {"a"}, s.command_words = Words{}; }},
      {{"--", "add", "a", "--", "-y"},
       [](Settings& s) { s.command = Command::add, s.words = {"a"}, s.command_words = Words{"-y"}; }},
      // Elsewhere -- ends the flags.
      {{"call", "t", "--", "--json", "--", "-q"},
       [](Settings& s) { s.command = Command::call, s.words = {"t", "--json", "--", "-q"}; }},
      {{"get", "--", "--all"}, [](Settings& s) { s.command = Command::get, s.words = {"--all"}; }},
      {{"--", "list"}, [](Settings& s) { s.command = Command::list; }},
      // Words that are neither flags nor taken apart.
      {{"call", "t", "-"}, [](Settings& s) { s.command = Command::call, s.words = {"t", "-"}; }},
      {{"call", "t", "-5"}, [](Settings& s) { s.command = Command::call, s.words = {"t", "-5"}; }},
      {{"call", "t", "a:=[1,2]", "[]"},
       [](Settings& s) { s.command = Command::call, s.words = {"t", "a:=[1,2]", "[]"}; }},
      {{"--mcp-config", "[a,b]"}, [](Settings& s) { s.mcp_config = {"[a,b]"}; }},
      {{"call", "t", ""}, [](Settings& s) { s.command = Command::call, s.words = {"t", ""}; }},
      // The name of a command is a word behind a command.
      {{"get", "list"}, [](Settings& s) { s.command = Command::get, s.words = {"list"}; }},
      {{"get", "help"}, [](Settings& s) { s.command = Command::get, s.words = {"help"}; }},
      {{"get", "mcp"}, [](Settings& s) { s.command = Command::get, s.words = {"mcp"}; }},
      // As other programs have it.
      {{"version"}, [](Settings& s) { s.command = Command::version, s.version = true; }},
      {{"--version", "--json"}, [](Settings& s) { s.command = Command::version, s.version = s.json = true; }},
      {{"version", "tools"}, [](Settings& s) { s.command = Command::version, s.version = true; }},
      // The last one counts.
      {{"list", "--scope", "user", "-s", "local"}, [](Settings& s) { s.command = Command::list, s.scope = "local"; }},
      {{"--timeout", "1", "--timeout", "2"}, [](Settings& s) { s.timeout_seconds = 2; }},
      // compat: B5.1
      {{"add", "-e", "A=1", "--", "NAME", "command", "-x"},
       [](Settings& s) {
         s.command = Command::add, s.env = {"A=1"}, s.words = {"NAME"},
         s.command_words = std::vector<std::string>{"command", "-x"};
       }},
      {{"add", "a", "npx", "-y", "pkg", "-s", "user"},
       [](Settings& s) {
         s.command = Command::add, s.words = {"a", "npx"},
         s.command_words = std::vector<std::string>{"-y", "pkg", "-s", "user"}, s.command_without_dashes = true;
       }},
      {{"add", "a", "docker", "run", "-v", "/a:/b", "image"},
       [](Settings& s) {
         s.command = Command::add, s.words = {"a", "docker", "run"},
         s.command_words = std::vector<std::string>{"-v", "/a:/b", "image"}, s.command_without_dashes = true;
       }},
      {{"add", "--", "NAME"},
       [](Settings& s) { s.command = Command::add, s.words = {"NAME"}, s.command_words = std::vector<std::string>{}; }},
      // compat: B5.24
      {{"mcp", "serve", "-d", "--verbose"},
       [](Settings& s) { s.command = Command::serve, s.as_mcp = s.debug = s.verbose = true; }},
      {{"--verbose", "mcp", "list"}, [](Settings& s) { s.command = Command::list, s.as_mcp = s.verbose = true; }},
      {{"call", "--version"}, [](Settings& s) { s.command = Command::version, s.version = true; }},
      {{"-V", "call"}, [](Settings& s) { s.command = Command::version, s.version = true; }},
      // Flags of `chat` stand for it; behind -p is what is said.
      {{"-p", "tools"}, [](Settings& s) { s.command = Command::chat, s.print = true, s.words = {"tools"}; }},
      {{"--model", "script:a", "-p", "list", "me"},
       [](Settings& s) { s.command = Command::chat, s.print = true, s.model = "script:a", s.words = {"list", "me"}; }},
      {{"--json", "-p", "--output-format", "stream-json", "--max-turns", "3", "hi"},
       [](Settings& s) {
         s.command = Command::chat, s.json = s.print = true, s.output_format = "stream-json", s.max_turns = 3,
         s.words = {"hi"};
       }},
      {{"-c"}, [](Settings& s) { s.command = Command::chat, s.resume_newest = true; }},
      {{"-cp", "go on"},
       [](Settings& s) { s.command = Command::chat, s.resume_newest = s.print = true, s.words = {"go on"}; }},
      {{"--plan", "acp"}, [](Settings& s) { s.command = Command::acp, s.plan = true; }},
      // An ID may follow; what has blanks is said.
      {{"--resume"}, [](Settings& s) { s.command = Command::chat, s.resume = ""; }},
      {{"--resume", "k3v7q2xa"}, [](Settings& s) { s.command = Command::chat, s.resume = "k3v7q2xa"; }},
      {{"--resume=k3v7q2xa"}, [](Settings& s) { s.command = Command::chat, s.resume = "k3v7q2xa"; }},
      {{"-p", "-r", "k3v7q2xa", "and now"},
       [](Settings& s) { s.command = Command::chat, s.print = true, s.resume = "k3v7q2xa", s.words = {"and now"}; }},
      {{"-p", "--resume", "and now"},
       [](Settings& s) { s.command = Command::chat, s.print = true, s.resume = "", s.words = {"and now"}; }},
      {{"chat", "--resume", "--model", "script:x"},
       [](Settings& s) { s.command = Command::chat, s.resume = "", s.model = "script:x"; }},
      {{"chat", "--resume", "-c"},
       [](Settings& s) { s.command = Command::chat, s.resume = "", s.resume_newest = true; }},
      {{"completion", "zsh"}, [](Settings& s) { s.command = Command::completion, s.words = {"zsh"}; }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.words));
    Settings expected;
    c.as(expected);
    const auto read = read_command_line(c.words);
    ASSERT_TRUE(std::holds_alternative<Settings>(read));
    EXPECT_TRUE(std::get<Settings>(read) == expected);
  }
}

struct Wrong {
  Words words;
  Kind kind;
  std::string word;
  std::size_t at;
  std::string command;  // "mcp list"; empty: none
  std::string message;
  bool json = false;
};

TEST(CommandLineTest, TheFirstWrongWordIsReported) {
  const std::string add_form = "write -- before the command of the server: patchbay add NAME -- COMMAND ARGUMENTS";
  const std::vector<Wrong> cases{
      {{"calll"}, Kind::unknown_command, "calll", 0, "", "unknown command \"calll\"; did you mean \"call\"?"},
      {{"-q", "foo", "--json"}, Kind::unknown_command, "foo", 1, "", "unknown command \"foo\"", true},
      {{"calll", "list"}, Kind::unknown_command, "calll", 0, "", "unknown command \"calll\"; did you mean \"call\"?"},
      {{"calll", "--help"}, Kind::unknown_command, "calll", 0, "", "unknown command \"calll\"; did you mean \"call\"?"},
      {{"help", "calll"}, Kind::unknown_command, "calll", 1, "", "unknown command \"calll\"; did you mean \"call\"?"},
      {{"mcp", "lst"},
       Kind::unknown_command,
       "lst",
       1,
       "mcp",
       "unknown command \"mcp lst\"; did you mean \"mcp list\"?"},
      {{"mcp", "tools"},
       Kind::unknown_command,
       "tools",
       1,
       "mcp",
       "unknown command \"mcp tools\"; write it without mcp: patchbay tools"},
      {{"mcp", "mcp"}, Kind::unknown_command, "mcp", 1, "mcp", "unknown command \"mcp mcp\""},
      {{"--timeout", "3", "-5"}, Kind::unknown_command, "-5", 2, "", "unknown command \"-5\""},
      {{"--allowedTools", "Bash", "Read", "tools"},
       Kind::unknown_command,
       "Read",
       2,
       "",
       "unknown command \"Read\"; write several rules as one word: --allowedTools 'Bash Read'"},
      {{"--allowedTools", "mcp__a", "mcp__b", "Read"},
       Kind::unknown_command,
       "Read",
       3,
       "",
       "unknown command \"Read\"; write several rules as one word: --allowedTools 'mcp__b Read'"},
      {{"--allowedTools", "mcp__a__b", "tool"},
       Kind::unknown_command,
       "tool",
       2,
       "",
       "unknown command \"tool\"; did you mean \"tools\"?"},
      {{"--allowedTools=Bash", "Read"},
       Kind::unknown_command,
       "Read",
       1,
       "",
       "unknown command \"Read\"; did you mean \"read\"?"},
      {{"mcp"}, Kind::missing_command, "", 1, "mcp", "\"mcp\" needs a command: patchbay mcp list"},

      {{"--bogus"}, Kind::unknown_flag, "--bogus", 0, "", "there is no flag \"--bogus\""},
      {{"list", "--scop=user"},
       Kind::unknown_flag,
       "--scop",
       1,
       "list",
       "there is no flag \"--scop\"; did you mean \"--scope\"?"},
      {{"--chekc", "list"},
       Kind::unknown_flag,
       "--chekc",
       0,
       "list",
       "there is no flag \"--chekc\"; did you mean \"--check\"?"},
      {{"--scpe", "user"},
       Kind::unknown_flag,
       "--scpe",
       0,
       "",
       "there is no flag \"--scpe\"; did you mean \"--scope\"?"},
      {{"-json", "list"},
       Kind::unknown_flag,
       "-json",
       0,
       "list",
       "there is no flag \"-json\"; did you mean \"--json\"?"},
      {{"-qx", "list"}, Kind::unknown_flag, "-x", 0, "list", "there is no flag \"-x\""},
      {{"-q=1", "list"}, Kind::unknown_flag, "-q=1", 0, "list", "there is no flag \"-q=1\""},
      {{"list", "--bogus", "--json"}, Kind::unknown_flag, "--bogus", 1, "list", "there is no flag \"--bogus\"", true},
      {{"call", "t", "--a", "1"},
       Kind::unknown_flag,
       "--a",
       2,
       "call",
       "there is no flag \"--a\" of call; arguments are written key=value: a=VALUE"},
      {{"prompt", "t", "--who=me"},
       Kind::unknown_flag,
       "--who",
       2,
       "prompt",
       "there is no flag \"--who\" of prompt; arguments are written key=value: who=me"},
      {{"call", "--jsn", "t"},
       Kind::unknown_flag,
       "--jsn",
       1,
       "call",
       "there is no flag \"--jsn\" of call; arguments are written key=value: jsn=VALUE (or did you mean --json?)"},
      {{"add", "--trnsport", "http", "a", "b"},
       Kind::unknown_flag,
       "--trnsport",
       1,
       "add",
       "there is no flag \"--trnsport\"; did you mean \"--transport\"?"},
      {{"add", "a", "b", "--trnsport", "http"},
       Kind::unknown_flag,
       "--trnsport",
       3,
       "add",
       "there is no flag \"--trnsport\"; did you mean \"--transport\"? If it is a flag of the server, " + add_form},
      {{"add", "a", "-y", "--", "pkg"}, Kind::foreign_flag, "-y", 2, "add", "\"add\" takes no flag \"-y\""},

      {{"--model", "x", "tools"}, Kind::foreign_flag, "--model", 0, "tools", "\"tools\" takes no flag \"--model\""},
      {{"tools", "-p", "x"}, Kind::foreign_flag, "-p", 1, "tools", "\"tools\" takes no flag \"-p\""},
      {{"mcp", "-p", "list"}, Kind::foreign_flag, "-p", 1, "mcp list", "\"list\" takes no flag \"-p\""},
      {{"-p", "x", "--max-turns", "0"},
       Kind::wrong_value,
       "--max-turns",
       2,
       "chat",
       "--max-turns takes a number of turns from 1, not \"0\""},
      {{"--check", "add", "a", "b"}, Kind::foreign_flag, "--check", 0, "add", "\"add\" takes no flag \"--check\""},
      {{"tools", "--scope", "user"}, Kind::foreign_flag, "--scope", 1, "tools", "\"tools\" takes no flag \"--scope\""},
      {{"--scope", "user", "tools"}, Kind::foreign_flag, "--scope", 0, "tools", "\"tools\" takes no flag \"--scope\""},
      {{"--http", "[::1]:80"},
       Kind::foreign_flag,
       "--http",
       0,
       "",
       "\"--http\" is a flag of \"serve\"; write the command first: patchbay serve --http '[::1]:80'"},
      {{"--scope", "user", "call", "x"},
       Kind::foreign_flag,
       "--scope",
       0,
       "call",
       "\"--scope\" is a flag of add, list, why and others, not of call; an argument of that name is written "
       "scope=VALUE"},
      {{"--scope", "local", "list"},
       Kind::misplaced_flag,
       "--scope",
       0,
       "list",
       "\"--scope\" is a flag of \"list\"; write it after the command: patchbay list --scope local"},
      {{"-q", "mcp", "--scope=local", "list"},
       Kind::misplaced_flag,
       "--scope",
       2,
       "mcp list",
       "\"--scope\" is a flag of \"mcp list\"; write it after the command: patchbay mcp list --scope=local"},
      {{"-slocal", "list"},
       Kind::misplaced_flag,
       "-s",
       0,
       "list",
       "\"-s\" is a flag of \"list\"; write it after the command: patchbay list -slocal"},
      {{"--check", "list"},
       Kind::misplaced_flag,
       "--check",
       0,
       "list",
       "\"--check\" is a flag of \"list\"; write it after the command: patchbay list --check"},

      {{"serve", "--http"},
       Kind::missing_value,
       "--http",
       1,
       "serve",
       "--http needs an address: patchbay serve --http 127.0.0.1:8080"},
      {{"serve", "--http="},
       Kind::missing_value,
       "--http",
       1,
       "serve",
       "--http needs an address: patchbay serve --http 127.0.0.1:8080"},
      {{"--timeout"},
       Kind::missing_value,
       "--timeout",
       0,
       "",
       "--timeout needs a number of seconds: patchbay --timeout 30"},
      {{"call", "t", "--timeout"},
       Kind::missing_value,
       "--timeout",
       2,
       "call",
       "--timeout needs a number of seconds: patchbay call --timeout 30 TOOL key=value"},
      {{"mcp", "add", "a", "-e", "--", "x"},
       Kind::missing_value,
       "-e",
       3,
       "mcp add",
       "-e (--env) needs a variable: patchbay mcp add -e KEY=value NAME -- COMMAND"},
      {{"add", "-H"},
       Kind::missing_value,
       "-H",
       1,
       "add",
       "-H (--header) needs a header: patchbay add -H 'Name: value' NAME URL"},
      {{"list", "-s"}, Kind::missing_value, "-s", 1, "list", "-s (--scope) needs a scope: patchbay list -s local"},
      {{"--json=maybe"}, Kind::unwanted_value, "--json", 0, "", "--json takes no value; write only --json"},
      {{"--json="}, Kind::unwanted_value, "--json", 0, "", "--json takes no value; write only --json"},
      {{"list", "--scope", "projct"},
       Kind::wrong_value,
       "--scope",
       1,
       "list",
       "--scope takes local, project or user, not \"projct\"; did you mean \"project\"?"},
      {{"--permission-mode", "plan", "tools"},
       Kind::wrong_value,
       "--permission-mode",
       0,
       "tools",
       "patchbay has no mode plan; --permission-mode dontAsk refuses every call that no rule allows"},
      {{"add", "-t", "ws", "a", "b"},
       Kind::wrong_value,
       "-t",
       1,
       "add",
       R"(-t (--transport) takes stdio, sse, http or streamable-http, not "ws"; to add a ws server: patchbay add-json NAME '{"type":"ws","url":"wss://…"}')"},
      {{"--timeout=0"},
       Kind::wrong_value,
       "--timeout",
       0,
       "",
       "--timeout takes a number of seconds greater than 0, not \"0\""},
      {{"--timeout", "1x"},
       Kind::wrong_value,
       "--timeout",
       0,
       "",
       "--timeout takes a number of seconds greater than 0, not \"1x\""},
      {{"--timeout", "nan"},
       Kind::wrong_value,
       "--timeout",
       0,
       "",
       "--timeout takes a number of seconds greater than 0, not \"nan\""},
      {{"add", "--callback-port", "65536", "a"},
       Kind::wrong_value,
       "--callback-port",
       1,
       "add",
       "--callback-port takes a port from 1 to 65535, not \"65536\""},
      {{"add", "--callback-port", "80a", "a"},
       Kind::wrong_value,
       "--callback-port",
       1,
       "add",
       "--callback-port takes a port from 1 to 65535, not \"80a\""},

      {{"call"}, Kind::missing_word, "", 1, "call", "\"call\" needs a tool: patchbay call TOOL key=value"},
      {{"mcp", "remove", "--json"},
       Kind::missing_word,
       "",
       3,
       "mcp remove",
       "\"remove\" needs the name of a server: patchbay mcp remove SERVER",
       true},
      {{"add-json", "a"},
       Kind::missing_word,
       "",
       2,
       "add-json",
       R"("add-json" needs a name and the JSON object of the entry: patchbay add-json NAME '{"command":"…"}')"},
      {{"reset-project-choices", "--", "--json"},
       Kind::extra_word,
       "--json",
       2,
       "reset-project-choices",
       "\"reset-project-choices\" takes no arguments; leave out \"--json\""},
      {{"get", "a", "b"}, Kind::extra_word, "b", 2, "get", "\"get\" takes at most one argument; leave out \"b\""},
      {{"skills", "a", "b", "c", "d"},
       Kind::extra_word,
       "d",
       4,
       "skills",
       "\"skills\" takes at most 3 arguments; leave out \"d\""},
      {{"completion", "tcsh"},
       Kind::wrong_word,
       "tcsh",
       1,
       "completion",
       "\"completion\" takes bash, zsh, fish, servers or tools, not \"tcsh\""},
      {{"completion", "bsh"},
       Kind::wrong_word,
       "bsh",
       1,
       "completion",
       "\"completion\" takes bash, zsh, fish, servers or tools, not \"bsh\"; did you mean \"bash\"?"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.words));
    const auto read = read_command_line(c.words);
    const auto* fault = std::get_if<UsageFault>(&read);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, c.kind);
    EXPECT_EQ(fault->word, c.word);
    EXPECT_EQ(fault->at, c.at);
    EXPECT_EQ(fault->json, c.json);
    const auto said = usage_error(*fault);
    EXPECT_EQ(said.message, c.message);
    EXPECT_EQ(said.help, "patchbay " + c.command + (c.command.empty() ? "--help" : " --help"));
  }
}

TEST(CommandLineTest, HelpIsShownWhateverElseIsTyped) {
  struct Case {
    Words words;
    std::string usage;
  };
  for (const auto& c : std::vector<Case>{
           {{"--help"}, "Usage: patchbay [FLAGS] [COMMAND]"},
           {{"help"}, "Usage: patchbay [FLAGS] [COMMAND]"},
           {{"help", "version"}, "Usage: patchbay [FLAGS] [COMMAND]"},
           {{"-qh"}, "Usage: patchbay [FLAGS] [COMMAND]"},
           {{"-h", "list"}, "Usage: patchbay list [FLAGS] [SERVER]...\n"},
           {{"help", "list"}, "Usage: patchbay list [FLAGS] [SERVER]...\n"},
           {{"list", "extra", "--bogus", "--help"}, "Usage: patchbay list [FLAGS] [SERVER]...\n"},
           {{"list", "--scope", "bad", "--help"}, "Usage: patchbay list [FLAGS] [SERVER]...\n"},
           {{"serve", "--help", "--http"}, "Usage: patchbay serve [FLAGS]\n"},
           {{"mcp", "--help"}, "Usage: patchbay mcp [FLAGS] COMMAND...\n"},
           {{"mcp", "help", "add"}, "Usage: patchbay mcp add [FLAGS] NAME...\n"},
           {{"help", "mcp", "add"}, "Usage: patchbay mcp add [FLAGS] NAME...\n"},
       }) {
    SCOPED_TRACE(testing::PrintToString(c.words));
    const auto read = read_command_line(c.words);
    ASSERT_TRUE(std::holds_alternative<HelpTopic>(read));
    EXPECT_THAT(help_page(std::get<HelpTopic>(read), 80), HasSubstr(c.usage));
  }
}

// Behind -- it is a word, and behind a flag that takes a value it is the value.
TEST(CommandLineTest, HelpThatIsAWordIsNotShown) {
  for (const auto& words : std::vector<Words>{
           {"add", "a", "--", "x", "--help"}, {"call", "t", "--", "--help"}, {"serve", "--http", "--help"}}) {
    EXPECT_TRUE(std::holds_alternative<Settings>(read_command_line(words))) << testing::PrintToString(words);
  }
}

std::vector<std::string> names_in(const FlagEntry& flag) {
  const auto names = split(flag.names, ',');
  return {names.begin(), names.end()};
}

TEST(FlagTableTest, ACommandHasAFlagOnceAndAFlagIsTheSameEverywhere) {
  for (const auto& flag : flag_table()) {
    for (const auto& name : names_in(flag)) {
      for (const auto& other : flag_table()) {
        if (&other == &flag || !other.is_called(name)) continue;
        EXPECT_EQ(other.value.name, flag.value.name) << name;
        EXPECT_EQ(other.names, flag.names);
        EXPECT_EQ(other.owner.commands & flag.owner.commands, 0u) << name;
        EXPECT_FALSE(other.owner.every_command()) << name;
      }
    }
  }
}

TEST(CommandTableTest, ExamplesFitATerminal) {
  for (const auto& command : command_table()) {
    for (const auto line : split(command.examples, '\n')) {
      EXPECT_TRUE(!line.starts_with("  ") || line.size() <= 80) << line;
    }
  }
}

// What is advised for a missing value or word is understood.
TEST(FlagTableTest, ExamplesAreUnderstood) {
  for (const auto& command : command_table()) {
    if (command.command == Command::mcp) continue;
    Words line{std::string(command.name)};
    if (!command.words.example.empty()) {
      for (const auto word : split(command.words.example, ' ')) line.emplace_back(word);
    }
    EXPECT_TRUE(std::holds_alternative<Settings>(read_command_line(line))) << command.name;
    EXPECT_EQ(command.words.needs.empty(), command.words.least == 0) << command.name;
    EXPECT_EQ(command.words.example.empty(), command.words.least == 0) << command.name;
    for (const auto& flag : flag_table()) {
      if (!flag.takes_value() || (!flag.owner.every_command() && !flag.owner.is(command.command))) continue;
      EXPECT_NE(flag.value.needs, "") << flag.names;
      auto with_flag = line;
      if (flag.takes_next_word()) {
        with_flag.insert(with_flag.begin() + 1, {names_in(flag).front(), std::string(flag.value.example)});
      } else {
        with_flag.insert(with_flag.begin() + 1, names_in(flag).front() + "=" + std::string(flag.value.example));
      }
      EXPECT_TRUE(std::holds_alternative<Settings>(read_command_line(with_flag))) << testing::PrintToString(with_flag);
    }
  }
}

}  // namespace
}  // namespace patchbay::cli
