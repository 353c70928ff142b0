// `patchbay man`: patchbay(1) for man(1), in the macros of man(7).
#include "cli/texts/manual.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <patchbay/version.h>

#include "base/strings.h"
#include "cli/context.h"
#include "cli/texts/help.h"

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

// Of a line of 78 columns, what is left beside the indentation of a paragraph behind the name of a command.
constexpr std::size_t columns = 64;

// The last blank within so many columns that is not inside of quotes; nowhere: npos.
std::size_t last_blank(std::string_view line, std::size_t most) {
  std::size_t found = line.npos;
  char quote = 0;
  bool word = false;  // the blanks in front do not count
  for (std::size_t at = 0; at < std::min(line.size(), most + 1); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ' ' && word) {
      found = at;
    }
    word = word || c != ' ';
  }
  return found;
}

// What is said about a command stands behind it, after more than one blank.
std::size_t remark_in(std::string_view line) {
  const auto word = line.find_first_not_of(' ');
  return word == line.npos ? word : line.find("  ", word);
}

enum class Remarks : std::uint8_t { behind, below };

// A line of an example, which may be typed as it is shown: a command that is too long goes on in the next line.
std::vector<std::string> fitted(std::string_view line, Remarks remarks) {
  std::vector<std::string> out;
  std::string_view remark;
  if (const auto gap = remark_in(line); remarks == Remarks::below && gap != line.npos) {
    remark = trim(line.substr(gap));
    line = line.substr(0, gap);
  }
  std::string rest(line);
  while (rest.size() > columns) {
    const auto at = last_blank(rest, columns - 2);
    if (at == rest.npos) break;
    out.push_back(rest.substr(0, at) + " \\");
    rest = "      " + rest.substr(at + 1);
  }
  out.push_back(std::move(rest));
  if (!remark.empty()) out.push_back("    # " + std::string(remark));
  return out;
}

// Lines that begin with blanks stay lines; the others are prose. In the indentation of the paragraph around them.
std::string verbatim(std::string_view text) {
  std::string out;
  bool filling = true;
  const auto lines = split(text, '\n');
  // All of one command in the same way.
  const bool wide = std::ranges::any_of(lines, [](std::string_view line) {
    return line.starts_with(' ') && line.size() > columns && remark_in(line) != line.npos;
  });
  for (const auto line : lines) {
    if (!line.empty() && line.starts_with(' ') == filling) {
      out += filling ? ".nf\n" : ".fi\n";
      filling = !filling;
    }
    if (filling) {
      out += roff(line) + "\n";
      continue;
    }
    for (const auto& part : fitted(line, wide ? Remarks::below : Remarks::behind)) out += roff(part) + "\n";
  }
  return filling ? out : out + ".fi\n";
}

std::string flag_entry(const FlagEntry& flag) {
  std::string names;
  for (const auto name : split(flag.names, ',')) names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (flag.takes_next_word()) {
    names += " \\fI" + roff(flag.value.name) + "\\fR";
  } else if (flag.takes_value()) {
    names += (flag.more ? " [\\fI" : "[=\\fI") + roff(flag.value.name) + "\\fR]";
  }
  return ".TP\n" + names + "\n" + sentence(flag_help(flag));
}

std::string command_entry(const CommandEntry& command) {
  std::string title = "\\fB" + roff(command.name) + "\\fR";
  const auto words = "\\fI" + roff(command.words.name) + "\\fR";
  if (command.words.most > 0) {
    title += command.words.least > 0 ? " " + words : " [" + words + "]";
    if (command.words.most > 1) title += " ...";
  }
  auto out = ".TP\n" + title + "\n" + sentence(command.summary);
  if (command.words.most > 0) out += words + ": " + sentence(command.words.help);
  out += ".IP\n" + verbatim(command.examples);
  std::string own;
  for (const auto& flag : flag_table()) {
    if (flag.owner.is(command.command)) own += flag_entry(flag);
  }
  return own.empty() ? out : out + ".RS\n" + own + ".RE\n";
}

// What docs/configuration.md says at length.
constexpr struct {
  std::string_view name;
  std::string_view effect;
} variables[] = {
    {"MCP_TIMEOUT", "How long a server may take to start, in milliseconds."},
    {"MCP_TOOL_TIMEOUT", "How long a call may take, in milliseconds."},
    {"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "How long a call may wait for an answer or progress, in milliseconds."},
    {"MCP_SERVER_CONNECTION_BATCH_SIZE", "How many local servers start at once."},
    {"MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "How many remote servers are connected at once."},
    {"MCP_PROTOCOL_NEGOTIATION", "legacy: use the older protocol with all servers."},
    {"MCP_DISCOVERY_CACHE", "0: do not keep what servers list, and do not use what was kept."},
    {"MCP_DISCOVERY_CACHE_TTL_S", "How long a kept list is used, in seconds (default 900)."},
    {"MCP_CLIENT_SECRET", "The client secret that add stores for --client-id."},
    {"PATCHBAY_SECRET_STORE",
     "Where secrets are stored: keyring, file, or auto (the default: in the keyring if it answers)."},
    {"PATCHBAY_SECRETS_KEY_FILE", "The key file of the encrypted file of secrets, instead of secrets.key."},
    {"MCP_OAUTH_CALLBACK_PORT", "The port that the browser comes back to at login, if the entry names none."},
    {"MCP_OAUTH_CALLBACK_HOST", "127.0.0.1 or localhost: the name of this machine in that address."},
    {"MCP_OAUTH_CLIENT_METADATA_URL", "The URL of a document that tells authorization servers who patchbay is."},
    {"MCP_XAA_IDP_CLIENT_SECRET", "The client secret at the identity provider of mcp xaa."},
    {"BROWSER", "The programs that login opens pages with, separated by colons; %s stands for the address."},
    {"ENABLE_CLAUDEAI_MCP_SERVERS", "false: do not use the servers (connectors) of your claude.ai account."},
    {"MAX_MCP_OUTPUT_TOKENS", "How much of a result a model gets (default 25000 tokens of four bytes)."},
    {"ENABLE_MCP_LARGE_OUTPUT_FILES", "false: a result that is larger is cut instead of kept."},
    {"TRACEPARENT, TRACESTATE", "The W3C trace that requests to servers belong to, in their _meta."},
    {"MCP_TRACE_CONTEXT", "1: without TRACEPARENT, each request to a server begins a trace."},
    {"CLAUDE_CODE_MCP_ALLOWLIST_ENV", "1: servers inherit only a small, safe part of the environment."},
    {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "1: servers do not inherit credentials of AI vendors and cloud providers."},
    {"CLAUDE_CODE_SHELL_PREFIX",
     "A program that starts each server: it gets the command line of the server as its argument."},
    {"CLAUDE_CONFIG_DIR", "The directory to use instead of ~/.claude. It also contains .claude.json then."},
    {"HTTPS_PROXY",
     "The proxy for https and wss. HTTP_PROXY, ALL_PROXY and NO_PROXY are used as well; lower case is accepted."},
    {"SSL_CERT_FILE", "Certificates to trust instead of those of the system. SSL_CERT_DIR is used as well."},
    {"NODE_EXTRA_CA_CERTS", "A file of additional certificates to trust."},
    {"CLAUDE_CODE_CLIENT_CERT",
     "The client certificate. Its key is in CLAUDE_CODE_CLIENT_KEY, and CLAUDE_CODE_CLIENT_KEY_PASSPHRASE opens the "
     "key."},
    {"PATCHBAY_SERVE_TOKEN", "The token that clients of serve --http must send, if --bearer-file is not given."},
    {"PATCHBAY_WARDEN",
     "The path of patchbay-warden, the program that ends servers and all processes they started; needed only if it is "
     "not where it was installed."},
    {"NO_COLOR", "Any value: print without colours."},
};

}  // namespace

std::string manual_page(std::string_view version) {
  const auto& program = program_text();
  // A summary in the NAME section is not a sentence.
  std::string summary(program.about.substr(0, program.about.find_last_not_of('.') + 1));
  summary.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(summary.front())));

  auto out = fmt::format(
      ".\\\" Made by `patchbay man` from the tables that also make its help.\n"
      ".TH PATCHBAY 1 \"\" \"patchbay {}\" \"User Commands\"\n",
      version);
  out += ".SH NAME\npatchbay \\- " + roff(summary) + "\n";
  out += ".SH SYNOPSIS\n.B patchbay\n[\\fIOPTION\\fR ...] [\\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]]\n";
  out += ".SH DESCRIPTION\n" + sentence(program.about) +
         "Without a command it shows your servers, their state and their tools.\n.PP\n" + roff(program.servers) + "\n";
  out += ".SH COMMANDS\n";
  for (const auto& command : command_table()) out += command_entry(command);
  out += ".SH OPTIONS\nOptions can be written before or after the command.\n";
  std::string_view title;
  for (const auto& flag : flag_table()) {
    if (!flag.owner.every_command()) continue;
    const auto group = group_title(flag.owner.group);
    if (group != std::exchange(title, group)) out += ".SS " + roff(group) + "\n";
    out += flag_entry(flag);
  }
  out += ".SH EXIT STATUS\n" + roff(program.exit_codes) + "\n";
  out += ".SH ENVIRONMENT\n";
  for (const auto& variable : variables)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", variable.name, roff(variable.effect));
  out +=
      ".SH FILES\n"
      ".TP\n\\fI.mcp.json\\fR\nServers of a project. They start only after you approve them.\n"
      ".TP\n\\fI~/.config/patchbay/config.json\\fR\nServers of the scopes local and user, and your approvals, "
      "rejections and trust. \\fBXDG_CONFIG_HOME\\fR moves it.\n"
      ".TP\n\\fI~/.local/state/patchbay/backups\\fR\nThe five newest backups of each of these files. "
      "\\fBXDG_STATE_HOME\\fR moves them.\n"
      ".TP\n\\fI~/.local/state/patchbay/servers\\fR, \\fI~/.local/state/patchbay/logs\\fR\nWhat servers listed when "
      "they were last used, and their logs. They can be deleted.\n"
      ".TP\n\\fI~/.local/state/patchbay/secrets\\fR, \\fI~/.config/patchbay/secrets.key\\fR\nStored secrets, "
      "encrypted, and the key file that opens them. Without the key file they are lost.\n"
      ".TP\n\\fI~/.claude.json\\fR, \\fI~/.claude/\\fR, \\fI.claude/\\fR\nServers and settings of Claude Code: read, "
      "never written.\n";
  out += ".SH EXAMPLES\n" + verbatim(program.examples);
  return out;
}

int manual(Io& io) {
  io.out(manual_page(version()));
  return 0;
}

}  // namespace patchbay::cli
