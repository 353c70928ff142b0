#include "cli/settings.h"

#include <sstream>

#include <CLI/CLI.hpp>

#include <patchbay/version.h>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

struct CommandEntry {
  Command command;
  const char* name;
  const char* summary;
  const char* examples;
  const char* words_name;  // null: takes none; in lower case: these very words
  const char* words_help;
  std::size_t words_min;
  std::size_t words_max;  // 0: any number
};

constexpr CommandEntry commands[] = {
    {Command::tools, "tools", "List the tools of all servers or of one, or show one tool whole",
     "  patchbay tools\n  patchbay tools filesystem/read_text_file\n  patchbay tools filesystem --json | jq -r "
     "'.tools[].name'",
     "SERVER|TOOL", "Only this server, or everything about this tool", 0, 1},
    {Command::call, "call", "Call a tool",
     "  patchbay call read_file path=README.md\n"
     "  patchbay call mcp__db__query sql='select 1' limit:=10\n"
     "  patchbay call fs/write_file path=notes.txt content=@draft.txt\n"
     "  echo '{\"path\":\"README.md\"}' | patchbay call read_file -",
     "TOOL",
     "The tool (mcp__server__tool, server/tool, or its bare name), then key=value, key:=json, key=@file, {json} or -",
     1, 0},
    {Command::resources, "resources", "List resources and resource templates", "  patchbay resources docs", "SERVER",
     "Only this server", 0, 1},
    {Command::read, "read", "Read a resource",
     "  patchbay read docs file:///guide.md\n  patchbay read file:///logo.png > logo.png", "URI",
     "The resource; its server may be named before it", 1, 2},
    {Command::skills, "skills", "List skills, or show one, verified against its entry",
     "  patchbay skills\n  patchbay skills docs pdf-processing\n  patchbay skills docs pdf-processing "
     "references/forms.md",
     "SERVER", "Only this server; then a skill, by name or URI, and a file of it", 0, 3},
    {Command::prompts, "prompts", "List prompts", "  patchbay prompts", "SERVER", "Only this server", 0, 1},
    {Command::prompt, "prompt", "Show a prompt filled in", "  patchbay prompt review file=main.cpp", "NAME",
     "The prompt, then key=value", 1, 0},
    {Command::serve, "serve", "Offer the built-in tools as an MCP server on stdin and stdout, or over HTTP",
     "  patchbay serve --root ~/project\n  patchbay serve --root . --allow-run\n"
     "  patchbay serve --http 127.0.0.1:8080\n"
     "  patchbay serve --http 127.0.0.1:0 --json          any free port; prints {\"url\":…}\n"
     "  patchbay serve --http 0.0.0.0:8080 --bearer-file token --allow-host mcp.example\n\n"
     "Over HTTP the endpoint is /mcp. SIGINT and SIGTERM let running calls finish and exit with 0.\n"
     "Without --bearer-file, PATCHBAY_SERVE_TOKEN is the token if it is set.",
     nullptr, nullptr, 0, 0},
    {Command::completion, "completion", "Print the completion script of a shell, or the names of the servers it offers",
     "  source <(patchbay completion bash)\n  patchbay completion zsh > ~/.zfunc/_patchbay\n"
     "  patchbay completion fish > ~/.config/fish/completions/patchbay.fish",
     "bash|zsh|fish|servers", "The shell; or servers: what is declared, starting nothing", 1, 1},
    {Command::manual, "man", "Print the manual page", "  patchbay man | man -l -", nullptr, nullptr, 0, 0},
};

constexpr const char* about = "Connects to MCP servers and calls their tools.";
constexpr const char* about_servers =
    "Servers come from .mcp.json in this directory (inside a git repository: or one above it, up to its\n"
    "root) and from --mcp-config. MCP_TIMEOUT (milliseconds, 30000) is how long one may take to start.\n"
    "Without any, a built-in server with file tools is offered.";
constexpr const char* about_examples =
    "  patchbay                         what is here, and what to type next\n"
    "  patchbay tools --json            every tool, for scripts\n"
    "  patchbay call read_file path=README.md\n"
    "  patchbay --mcp-config '{\"echo\":{\"command\":\"my-server\"}}' tools";
constexpr const char* about_exit_codes =
    "0 ok, 1 the tool or server answered with an error, 2 usage or configuration,\n"
    "3 connection, time-out or limit, 70 a bug in patchbay, 130/143 interrupted.";

// Words that stand for themselves: a name in lower case.
std::vector<std::string> choices_of(const CommandEntry& entry) {
  if (!entry.words_name ||
      std::string_view(entry.words_name).find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos)
    return {};
  return CLI::detail::split(entry.words_name, '|');
}

std::string help_text(const CLI::App& app) { return app.help("", CLI::AppFormatMode::Normal); }

// Declares everything; what is parsed lands in `settings` and `version`.
void declare(CLI::App& app, Settings& settings, bool& version) {
  app.set_help_flag("-h,--help", "Show this help");
  app.footer(std::string(about_servers) + "\n\nExamples:\n" + about_examples + "\n\nExit codes: " + about_exit_codes);
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.add_flag("--version", version, "Show the version");
  auto* servers = app.add_option_group("Servers");
  servers->add_option("--mcp-config", settings.mcp_config, "Servers from this file or JSON text (repeatable)")
      ->type_name("FILE|JSON")
      ->allow_extra_args(false);
  servers->add_flag("--strict-mcp-config", settings.strict, "Use only the servers of --mcp-config");
  servers->add_flag("--trust-project", settings.trust_project, "Start servers of .mcp.json without asking");
  servers->add_flag("--builtin", settings.builtin, "Offer the built-in server beside the others");
  servers->add_flag("--allow-run", settings.allow_run, "Let the built-in server run commands");
  servers->add_option("--root", settings.root, "Directory the built-in server is confined to")->type_name("DIR");
  auto* output = app.add_option_group("Output");
  output->add_flag("--json", settings.json, "Print JSON, for scripts");
  output->add_flag("-q,--quiet", settings.quiet, "Say nothing about servers starting");
  output->add_flag("--no-color", settings.no_color, "No colours (also: NO_COLOR)");
  output->add_option("--timeout", settings.timeout_seconds, "Give up on a call after this many seconds")
      ->type_name("SECONDS")
      ->check([](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return end != text.c_str() && *end == 0 && value > 0 ? "" : "expected a number of seconds above 0";
      });
  output->add_flag("--no-check", settings.no_check, "Send and show what does not fit a tool's schemas, too");
  output->add_option("--log-level", settings.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));
  output->add_option("--log-file", settings.log_file, "Write the log here instead of stderr")->type_name("FILE");
  output->add_flag("--trace", settings.trace, "Log every message, secrets taken out");

  for (const auto& entry : commands) {
    auto* sub = app.add_subcommand(entry.name, entry.summary);
    sub->footer(std::string("Examples:\n") + entry.examples);
    sub->callback([&settings, command = entry.command] { settings.command = command; });
    if (entry.command == Command::serve) {
      sub->add_option("--http", settings.http, "Listen here instead of on stdin (port 0: any)")->type_name("ADDR:PORT");
      sub->add_option("--bearer-file", settings.bearer_file, "Only clients with the token in this file may call")
          ->type_name("FILE");
      sub->add_option("--allow-host", settings.allow_hosts, "Host name requests may use (repeatable)")
          ->type_name("NAME")
          ->allow_extra_args(false);
      sub->add_option("--allow-origin", settings.allow_origins, "Origin of web pages that may call (repeatable)")
          ->type_name("ORIGIN")
          ->allow_extra_args(false);
    }
    if (entry.words_name) {
      auto* words = sub->add_option(entry.words_name, settings.words, entry.words_help)->type_name("");
      if (entry.words_min > 0) words->required();
      words->expected(static_cast<int>(entry.words_min),
                      entry.words_max == 0 ? 1 << 20 : static_cast<int>(entry.words_max));
      if (const auto choices = choices_of(entry); !choices.empty()) {
        words->check([choices](const std::string& word) -> std::string {
          if (std::ranges::find(choices, word) != choices.end()) return {};
          return "expected " + CLI::detail::join(choices, ", ") + ", not '" + word + "'";
        });
      }
    }
  }
}

FlagText flag_text(const CLI::Option& option, std::string group, std::string command) {
  FlagText flag{.group = std::move(group),
                .command = std::move(command),
                .names = {},
                .value = {},
                .choices = {},
                .help = option.get_description(),
                .repeatable = option.get_expected_max() > 1};
  for (const auto& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_type_size() > 0) {
    flag.value = option.get_type_name();
    // A value out of a set is described as TYPE:{one,two}.
    if (const auto open = flag.value.find(":{"); open != std::string::npos) {
      flag.choices = CLI::detail::split(flag.value.substr(open + 2, flag.value.find('}') - open - 2), ',');
      flag.value.resize(open);
    }
  }
  return flag;
}

}  // namespace

std::variant<Settings, Stop> parse_command_line(int argc, const char* const* argv) {
  Settings settings;
  bool version = false;
  CLI::App app(about, "patchbay");
  declare(app, settings, version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    for (auto* sub : app.get_subcommands()) {
      if (sub->parsed()) return Stop{0, sub->help("patchbay"), {}, {}};
    }
    return Stop{0, help_text(app), {}, {}};
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    if (argc > 1 && argv[1][0] != '-') {
      std::vector<std::string> names;
      for (const auto& entry : commands) names.emplace_back(entry.name);
      const bool known = std::ranges::find(names, argv[1]) != names.end();
      auto meant = nearest(argv[1], names);
      if (!known) {
        message = std::string("unknown command '") + argv[1] + "'";
        if (!meant.empty()) message += "; did you mean '" + std::string(meant) + "'?";
      }
    }
    return Stop{2, {}, "patchbay: " + message + "\nRun `patchbay --help` for what there is.\n", message};
  }
  if (version) settings.command = Command::version;
  return settings;
}

CommandLineText describe_command_line() {
  Settings settings;
  bool version = false;
  CLI::App app(about, "patchbay");
  declare(app, settings, version);

  CommandLineText text{about, about_servers, about_examples, about_exit_codes, {}, {}};
  // Groups of options are subcommands without a name.
  std::vector<const CLI::App*> owners{&app};
  for (const auto* owner : app.get_subcommands([](const CLI::App*) { return true; })) owners.push_back(owner);
  for (const auto* owner : owners) {
    for (const auto* option : owner->get_options()) {
      if (option->get_positional()) continue;
      if (owner != &app && option == owner->get_help_ptr()) continue;  // each inherits its own
      text.flags.push_back(flag_text(*option, owner == &app ? "General" : owner->get_group(),
                                     owner == &app ? std::string() : owner->get_name()));
    }
  }
  for (const auto& entry : commands) {
    text.commands.push_back({.name = entry.name,
                             .summary = entry.summary,
                             .examples = entry.examples,
                             .words = entry.words_name ? entry.words_name : "",
                             .words_help = entry.words_help ? entry.words_help : "",
                             .words_required = entry.words_min > 0,
                             .words_many = entry.words_max != 1,
                             .choices = choices_of(entry)});
  }
  return text;
}

}  // namespace patchbay::cli
