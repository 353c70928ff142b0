#include "cli/words/settings.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include <patchbay/version.h>

#include "cli/texts/command_table.h"
#include "cli/texts/usage_error.h"
#include "cli/words/typed_words.h"

namespace patchbay::cli {
namespace {

// Words that stand for themselves: a name in lower case.
std::vector<std::string> choices_of(const CommandEntry& entry) {
  if (!entry.words_name ||
      std::string_view(entry.words_name).find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos)
    return {};
  return CLI::detail::split(entry.words_name, '|');
}

// What one command takes beside its words.
void declare_own_flags(CLI::App& sub, Command command, Settings& settings) {
  auto scope = [&](const char* help) {
    sub.add_option("-s,--scope", settings.scope, help)
        ->type_name("SCOPE")
        ->check(CLI::IsMember({"local", "project", "user"}));
  };
  switch (command) {
    case Command::add:
      sub.add_option("-t,--transport", settings.transport, "How the server is reached")
          ->type_name("TRANSPORT")
          ->check(CLI::IsMember({"stdio", "sse", "http"}));
      scope("Who can use the server (default: local)");
      sub.add_option("-e,--env", settings.env, "Variables for the command (repeatable; one flag can have several)")
          ->type_name("NAME=VALUE")
          ->allow_extra_args(false);
      sub.add_option("-H,--header", settings.headers,
                     "'Name: value' to send to the URL (repeatable; one flag can have several)")
          ->type_name("HEADER")
          ->allow_extra_args(false);
      sub.add_option("--client-id", settings.client_id, "Client ID to sign in with")->type_name("ID");
      sub.add_flag("--client-secret", settings.client_secret,
                   "Ask for the secret of this client, or take it from MCP_CLIENT_SECRET");
      sub.add_option("--callback-port", settings.callback_port,
                     "Local port that the browser returns to after sign-in (also: MCP_OAUTH_CALLBACK_PORT)")
          ->type_name("PORT")
          ->check(CLI::Range(1, 65535).description(""));
      break;
    case Command::add_json:
      scope("Who can use the server (default: local)");
      sub.add_flag("--client-secret", settings.client_secret,
                   "Ask for the secret of its oauth.clientId, or take it from MCP_CLIENT_SECRET");
      break;
    case Command::remove:
      scope("Remove the entry of this scope");
      break;
    case Command::get:
    case Command::list:
      scope("Show only entries of this scope");
      sub.add_flag("--check", settings.check, "Start the servers and show whether they answer");
      break;
    case Command::enable:
    case Command::disable:
      scope("local: in this project (default for disable); user: in every project");
      break;
    case Command::approve:
    case Command::reject:
      scope("Only project has a meaning here");
      sub.add_flag("--all", settings.all, "All servers declared by this project");
      break;
    case Command::reset_choices:
      scope("Only project has a meaning here");
      break;
    case Command::import_servers:
      scope("Scope of the new entries (default: user for your own files, local for files of the project)");
      sub.add_option("--from", settings.from, "The client that the file belongs to")->type_name("CLIENT");
      sub.add_option("--name", settings.names, "Only this server (repeatable)")
          ->type_name("SERVER")
          ->allow_extra_args(false);
      sub.add_flag("--dry-run", settings.dry_run, "Show what would be written, and write nothing");
      sub.add_flag("-y,--yes", settings.yes, "Write without a question");
      break;
    case Command::add_from_desktop:
      scope("Scope of the new entries (default: local)");
      sub.add_flag("--dry-run", settings.dry_run, "Show what would be written, and write nothing");
      sub.add_flag("-y,--yes", settings.yes, "Copy all without a question");
      break;
    case Command::doctor:
      sub.add_flag("--fix", settings.fix, "First fix what is safe to fix");
      sub.add_flag("--offline", settings.offline, "Start no server and connect to nothing");
      break;
    case Command::why:
      scope("Explain the entry of this scope, even if another one overrides it");
      sub.add_flag("--check", settings.check, "Start the server and show what it answers");
      break;
    case Command::lint:
      sub.add_flag("--strict", settings.warnings_fail, "Exit with 1 for warnings as well as errors");
      break;
    case Command::trust:
      sub.add_flag("--remove", settings.take_back, "Stop trusting the directory");
      sub.add_flag("-y,--yes", settings.yes, "Trust it without a question");
      break;
    case Command::serve:
      sub.add_option("--http", settings.http, "Listen on this address instead of stdin (port 0: any free port)")
          ->type_name("ADDR:PORT");
      sub.add_option("--bearer-file", settings.bearer_file, "Accept only clients that send the token in this file")
          ->type_name("FILE");
      sub.add_option("--allow-host", settings.allow_hosts, "Accept requests for this host name (repeatable)")
          ->type_name("NAME")
          ->allow_extra_args(false);
      sub.add_option("--allow-origin", settings.allow_origins,
                     "Accept requests from web pages of this origin (repeatable)")
          ->type_name("ORIGIN")
          ->allow_extra_args(false);
      break;
    default:
      break;
  }
}

void declare_command(CLI::App& parent, const CommandEntry& entry, Settings& settings) {
  auto* sub = parent.add_subcommand(entry.name, entry.summary);
  sub->callback([&settings, command = entry.command] { settings.command = command; });
  declare_own_flags(*sub, entry.command, settings);
  if (entry.words_name) {
    auto* words = sub->add_option(entry.words_name, settings.words, entry.words_help)->type_name("");
    if (entry.words_min > 0) words->required();
    words->expected(static_cast<int>(entry.words_min),
                    entry.words_max == 0 ? CLI::detail::expected_max_vector_size : static_cast<int>(entry.words_max));
    if (const auto choices = choices_of(entry); !choices.empty()) {
      words->check([choices](const std::string& word) -> std::string {
        if (std::ranges::find(choices, word) != choices.end()) return {};
        return "expected " + CLI::detail::join(choices, ", ") + ", not '" + word + "'";
      });
    }
  }
}

// Declares everything; what is parsed lands in `settings` and `version`.
void declare(CLI::App& app, Settings& settings, bool& version) {
  app.set_help_flag("-h,--help", "Show this help");
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.add_flag("-V,--version", version, "Show the version");
  auto* servers = app.add_option_group("Which servers to use");
  servers->add_option("--mcp-config", settings.mcp_config, "Use servers from this file or JSON text (repeatable)")
      ->type_name("FILE|JSON")
      ->allow_extra_args(false);
  servers
      ->add_option("--mcp-server", settings.mcp_servers,
                   "Use one more server: NAME=URL, NAME=JSON or NAME='command args' (repeatable)")
      ->type_name("NAME=SERVER")
      ->allow_extra_args(false);
  servers->add_flag("--strict-mcp-config", settings.strict, "Use only the servers from --mcp-config and --mcp-server");
  servers->add_option("--plugin-dir", settings.plugin_dirs, "Use servers of the plugin in this directory (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  servers->add_option("--settings", settings.settings, "Use settings from this file or JSON text (repeatable)")
      ->type_name("FILE|JSON")
      ->allow_extra_args(false);
  servers->add_flag("--trust-project", settings.trust_project,
                    "Approve and trust this project for this run: its servers start, its allow rules and headersHelper "
                    "commands are used");
  servers->add_flag("--builtin", settings.builtin, "Use the built-in server in addition to the others");
  servers->add_flag("--ide", settings.ide, "Use the tools of the editor that has this directory open");
  servers->add_flag("--allow-run", settings.allow_run, "Let the built-in server run commands");
  servers->add_option("--root", settings.root, "The only directory that the built-in server can access")
      ->type_name("DIR");
  auto* permissions = app.add_option_group("Which calls are allowed");
  permissions
      ->add_option(
          "--allowedTools,--allowed-tools", settings.allowed_tools,
          "Rules for calls that are allowed without a question: mcp__server__tool, mcp__server__* (repeatable)")
      ->type_name("RULES")
      ->allow_extra_args(false);
  permissions
      ->add_option("--disallowedTools,--disallowed-tools", settings.disallowed_tools,
                   "Rules for tools that are never called and not shown (repeatable)")
      ->type_name("RULES")
      ->allow_extra_args(false);
  permissions->add_option("--permission-mode", settings.permission_mode, "What happens to a call that no rule covers")
      ->type_name("MODE")
      ->check(
          CLI::IsMember({"default", "acceptReads", "bypass", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}));
  permissions->add_flag("--dangerously-skip-permissions", settings.skip_permissions,
                        "Same as --permission-mode bypass: only deny and ask rules apply");
  auto* output = app.add_option_group("Output, time limits and log");
  output->add_flag("--json", settings.json, "Print JSON, for scripts");
  output->add_flag("-q,--quiet", settings.quiet, "Do not report that servers start");
  output->add_flag("--no-color", settings.no_color, "Print without colours (also: NO_COLOR)");
  output->add_option("--timeout", settings.timeout_seconds, "Stop waiting for a call after this many seconds")
      ->type_name("SECONDS")
      ->check([](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return end != text.c_str() && *end == 0 && value > 0 ? "" : "expected a number of seconds greater than 0";
      });
  output->add_flag("--no-check", settings.no_check,
                   "Do not check arguments and results against the schemas of the tool");
  output->add_option("--log-level", settings.log_level, "How much to log")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));
  output->add_option("--log-file", settings.log_file, "Write the log to this file instead of stderr")
      ->type_name("FILE");
  output->add_flag("--trace", settings.trace, "Log every message, without secrets");

  for (const auto& entry : command_table()) declare_command(app, entry, settings);
  auto* mcp = app.add_subcommand("mcp", program_text().mcp_summary);
  mcp->require_subcommand(1);
  for (const auto& entry : command_table()) {
    if (entry.in_mcp) declare_command(*mcp, entry, settings);
  }
}

// The program and its commands; groups of options are commands without a name.
std::vector<const CLI::App*> owners_of(const CLI::App& app) {
  std::vector<const CLI::App*> owners{&app};
  for (const auto* owner : app.get_subcommands([](const CLI::App*) { return true; })) owners.push_back(owner);
  return owners;
}

void add_names(const CLI::Option& option, std::vector<std::string>& names) {
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
}

void add_names(const CLI::App& owner, std::vector<std::string>& names) {
  for (const auto* option : owner.get_options()) add_names(*option, names);
}

// Of all commands together; none of them means two things.
std::vector<std::string> flags_with_value(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* owner : owners_of(app)) {
    for (const auto* option : owner->get_options()) {
      if (!option->get_positional() && option->get_items_expected_max() > 0) add_names(*option, names);
    }
  }
  return names;
}

KnownFlags known_flags(const CLI::App& app, const std::string& command) {
  KnownFlags known;
  add_names(app, known.here);
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    // A group of options has no name.
    if (sub->get_name().empty() || sub->get_name() == command) add_names(*sub, known.here);
    add_names(*sub, known.anywhere);
  }
  return known;
}

FlagText flag_text(const CLI::Option& option, std::string group, std::string command) {
  FlagText flag{.group = std::move(group),
                .command = std::move(command),
                .names = {},
                .value = {},
                .choices = {},
                .help = option.get_description(),
                .repeatable = option.get_expected_max() > 1};
  add_names(option, flag.names);
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
  CLI::App app(program_text().about, "patchbay");
  declare(app, settings, version);
  const auto with_value = flags_with_value(app);
  const auto given = repeat_rule_flags({argv + std::min(argc, 1), argv + argc}, with_value);
  const auto typed = usual_words(given, with_value);
  auto untangled = untangle_add(typed, with_value);
  guard_words(untangled.words, with_value);
  std::ranges::reverse(untangled.words);
  try {
    app.parse(std::move(untangled.words));
  } catch (const CLI::CallForHelp&) {
    for (auto* sub : app.get_subcommands()) {
      for (auto* inner : sub->get_subcommands()) {
        if (inner->parsed()) return Stop{0, HelpTopic{inner->get_name(), true}, {}, {}};
      }
      if (sub->parsed()) return Stop{0, HelpTopic{sub->get_name(), false}, {}, {}};
    }
    return Stop{0, HelpTopic{}, {}, {}};
  } catch (const CLI::ParseError& error) {
    const auto flags = [&app](const std::string& command) { return known_flags(app, command); };
    const auto usage = usage_error(error.what(), typed, flags, with_value);
    return Stop{
        2, {}, "patchbay: " + usage.message + "\nRun `" + usage.help + "` to see what is possible.\n", usage.message};
  }
  std::ranges::for_each(settings.words, take_guards_off);
  settings.command_words = std::move(untangled.command);
  settings.as_mcp = app.got_subcommand("mcp");
  if (version) settings.command = Command::version;
  return settings;
}

std::string_view command_name(Command command) noexcept {
  for (const auto& entry : command_table()) {
    if (entry.command == command) return entry.name;
  }
  return {};
}

CommandLineText describe_command_line() {
  Settings settings;
  bool version = false;
  CLI::App app(program_text().about, "patchbay");
  declare(app, settings, version);

  CommandLineText text{
      program_text().about, program_text().servers, program_text().examples, program_text().exit_codes, {}, {}};
  for (const auto* owner : owners_of(app)) {
    for (const auto* option : owner->get_options()) {
      if (option->get_positional()) continue;
      if (owner != &app && option == owner->get_help_ptr()) continue;  // each inherits its own
      text.flags.push_back(flag_text(*option, owner == &app ? "General" : owner->get_group(),
                                     owner == &app ? std::string() : owner->get_name()));
    }
  }
  for (const auto& entry : command_table()) {
    text.commands.push_back({.name = entry.name,
                             .summary = entry.summary,
                             .examples = entry.examples,
                             .words = entry.words_name ? entry.words_name : "",
                             .words_help = entry.words_help ? entry.words_help : "",
                             .words_required = entry.words_min > 0,
                             .words_many = entry.words_max != 1,
                             .choices = choices_of(entry),
                             .in_mcp = entry.in_mcp});
  }
  CommandText mcp{.name = "mcp",
                  .summary = program_text().mcp_summary,
                  .examples = program_text().mcp_examples,
                  .words = "COMMAND",
                  .words_help = "One of the commands about servers, with its own arguments and flags",
                  .words_required = true,
                  .words_many = true,
                  .choices = {},
                  .in_mcp = false};
  for (const auto& entry : command_table()) {
    if (entry.in_mcp) mcp.choices.emplace_back(entry.name);
  }
  text.commands.push_back(std::move(mcp));
  return text;
}

}  // namespace patchbay::cli
