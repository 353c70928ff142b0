// `patchbay man`: patchbay(1) for man(1), in the macros of man(7).
#include "cli/texts/manual.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <patchbay/version.h>

#include "cli/context.h"

namespace patchbay::cli {
namespace {

// Text as it is: a hyphen stays what a shell understands, no line becomes a request, and what is not
// ASCII is named by its number, which every reader of the page understands.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const auto lead = static_cast<unsigned char>(c); lead >= 0xc0) {
      const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
      unsigned code = lead & (0x3fU >> more);
      for (std::size_t n = 0; n < more && i + 1 < text.size(); ++n) {
        code = code << 6 | (static_cast<unsigned char>(text[++i]) & 0x3fU);
      }
      out += fmt::format("\\[u{:04X}]", code);
      line_begins = false;
      continue;
    }
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string sentence(std::string_view text) { return roff(text) + (text.ends_with('.') ? "\n" : ".\n"); }

// Lines as they stand, in the indentation of the paragraph around them.
std::string verbatim(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string flag_entry(const FlagText& flag) {
  std::string names;
  for (const auto& name : flag.names) names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (!flag.value.empty()) names += " \\fI" + roff(flag.value) + "\\fR";
  return ".TP\n" + names + "\n" + sentence(flag.help);
}

std::string command_entry(const CommandText& command, const std::vector<FlagText>& flags) {
  std::string title = "\\fB" + roff(command.name) + "\\fR";
  if (!command.words.empty()) {
    const auto word = "\\fI" + roff(command.words) + "\\fR";
    title += command.words_required ? " " + word : " [" + word + "]";
    if (command.words_many) title += " ...";
  }
  auto out = ".TP\n" + title + "\n" + sentence(command.summary);
  if (!command.words_help.empty()) out += "\\fI" + roff(command.words) + "\\fR: " + sentence(command.words_help);
  out += ".IP\n" + verbatim(command.examples);
  std::string own;
  for (const auto& flag : flags) {
    if (flag.command == command.name) own += flag_entry(flag);
  }
  return own.empty() ? out : out + ".RS\n" + own + ".RE\n";
}

// What docs/configuration.md says at length.
constexpr struct {
  std::string_view name;
  std::string_view effect;
} variables[] = {
    {"MCP_TIMEOUT", "Milliseconds a server may take to start."},
    {"MCP_TOOL_TIMEOUT", "Milliseconds a call may take."},
    {"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "Milliseconds of silence during a call."},
    {"MCP_SERVER_CONNECTION_BATCH_SIZE", "How many local servers start at once."},
    {"MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "How many remote servers are connected to at once."},
    {"MCP_PROTOCOL_NEGOTIATION", "With the value legacy the older protocol is spoken to all servers."},
    {"MCP_CLIENT_SECRET", "The secret that belongs to --client-id, for add."},
    {"MCP_OAUTH_CALLBACK_PORT", "What add takes for --callback-port."},
    {"ENABLE_CLAUDEAI_MCP_SERVERS", "With the value false no connectors are used."},
    {"CLAUDE_CODE_MCP_ALLOWLIST_ENV", "With the value 1 servers inherit a small safe part of the environment."},
    {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "With the value 1 servers inherit no credentials of vendors and clouds."},
    {"CLAUDE_CODE_SHELL_PREFIX", "A program that is started with the command line of a server as its argument."},
    {"CLAUDE_CONFIG_DIR", "The directory instead of ~/.claude; .claude.json is looked for inside it too."},
    {"HTTPS_PROXY", "The proxy for https and wss; also HTTP_PROXY, ALL_PROXY and NO_PROXY, in capitals or small."},
    {"SSL_CERT_FILE", "Trusted certificates instead of the system's; also SSL_CERT_DIR."},
    {"NODE_EXTRA_CA_CERTS", "A file of certificates to trust besides."},
    {"CLAUDE_CODE_CLIENT_CERT",
     "The client certificate; also CLAUDE_CODE_CLIENT_KEY and CLAUDE_CODE_CLIENT_KEY_PASSPHRASE."},
    {"PATCHBAY_SERVE_TOKEN", "The token that serve --http asks clients for, unless --bearer-file names one."},
    {"PATCHBAY_WARDEN", "The program that ends servers and all their children, if it is not the installed one."},
    {"NO_COLOR", "No colours."},
};

}  // namespace

std::string manual_page(const CommandLineText& line, std::string_view version) {
  // A summary in the NAME section is no sentence.
  auto summary = line.summary.substr(0, line.summary.find_last_not_of('.') + 1);
  summary.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(summary.front())));

  auto out = fmt::format(
      ".\\\" Made by `patchbay man` from the table that also makes its help.\n"
      ".TH PATCHBAY 1 \"\" \"patchbay {}\" \"User Commands\"\n",
      version);
  out += ".SH NAME\npatchbay \\- " + roff(summary) + "\n";
  out += ".SH SYNOPSIS\n.B patchbay\n[\\fIOPTION\\fR ...] [\\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]]\n";
  out += ".SH DESCRIPTION\n" + sentence(line.summary) +
         "Without a command it shows the servers it found, their state and their tools.\n.PP\n" + roff(line.servers) +
         "\n";
  out += ".SH COMMANDS\n";
  for (const auto& command : line.commands) out += command_entry(command, line.flags);
  out += ".SH OPTIONS\nOptions may stand before or after the command.\n";
  std::string group;
  for (const auto& flag : line.flags) {
    if (!flag.command.empty()) continue;
    if (flag.group != group) out += ".SS " + roff(flag.group) + "\n";
    group = flag.group;
    out += flag_entry(flag);
  }
  out += ".SH EXIT STATUS\n" + roff(line.exit_codes) + "\n";
  out += ".SH ENVIRONMENT\n";
  for (const auto& variable : variables)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", variable.name, roff(variable.effect));
  out +=
      ".SH FILES\n"
      ".TP\n\\fI.mcp.json\\fR\nServers of a project. They are started when the person has agreed.\n"
      ".TP\n\\fI~/.config/patchbay/config.json\\fR\nServers of the scopes local and user, and what was said about "
      "those of "
      "projects. \\fBXDG_CONFIG_HOME\\fR moves it.\n"
      ".TP\n\\fI~/.local/state/patchbay/backups\\fR\nThe five newest backups of each of these files. "
      "\\fBXDG_STATE_HOME\\fR moves them.\n"
      ".TP\n\\fI~/.claude.json\\fR, \\fI~/.claude/\\fR, \\fI.claude/\\fR\nServers and settings of Claude Code: read, "
      "and "
      "never written.\n";
  out += ".SH EXAMPLES\n" + verbatim(line.examples);
  return out;
}

int manual(Io& io) {
  io.out(manual_page(describe_command_line(), version()));
  return 0;
}

}  // namespace patchbay::cli
