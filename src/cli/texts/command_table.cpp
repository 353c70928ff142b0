#include "cli/texts/command_table.h"

namespace patchbay::cli {
namespace {

constexpr CommandEntry commands[] = {
    {Command::tools, "tools", "List the tools of all servers or of one, or show one tool whole",
     "  patchbay tools\n  patchbay tools filesystem/read_text_file\n  patchbay tools filesystem --json | jq -r "
     "'.tools[].name'",
     "SERVER|TOOL",
     "Only this server, or everything about this tool (server/tool where its name is nearly that of a server)", 0, 1},
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
    {Command::add, "add", "Declare a server",
     "  patchbay add --transport http sentry https://mcp.sentry.dev/mcp\n"
     "  patchbay add airtable --env AIRTABLE_API_KEY=key -- npx -y airtable-mcp-server\n"
     "  patchbay add --scope user files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n\n"
     "Scopes: local (you, in this project), user (you, everywhere), project (.mcp.json, for everybody who has\n"
     "the project). local and user are kept in patchbay/config.json of your configuration directory.",
     "NAME", "The name, then a URL, or -- and a command with its arguments", 1, 0, true},
    {Command::add_json, "add-json", "Declare a server by the JSON of its entry",
     "  patchbay add-json weather '{\"type\":\"http\",\"url\":\"https://weather.example/mcp\"}'\n"
     "  patchbay add-json --scope user db '{\"command\":\"db-server\",\"args\":[\"--read-only\"]}'",
     "NAME", "The name, then the JSON object; - reads it from stdin", 2, 2, true},
    {Command::remove, "remove", "Take a declared server away",
     "  patchbay remove sentry\n  patchbay remove sentry --scope user", "SERVER", "Its name", 1, 1, true},
    {Command::get, "get", "Show one declared server, secrets hidden",
     "  patchbay get sentry\n  patchbay get sentry --check\n  patchbay get sentry --json", "SERVER", "Its name", 1, 1,
     true},
    {Command::list, "list", "List the declared servers and where each stands",
     "  patchbay list\n  patchbay list --check\n  patchbay list --json | jq -r '.servers[].name'\n\n"
     "`patchbay list` starts none; `patchbay mcp list` starts them to see whether they answer, as --check does.",
     nullptr, nullptr, 0, 0, true},
    {Command::enable, "enable", "Switch servers on again",
     "  patchbay enable sentry\n  patchbay enable sentry --scope user", "SERVER", "Their names", 1, 0, true},
    {Command::disable, "disable", "Switch servers off without taking them away",
     "  patchbay disable sentry              in this project\n  patchbay disable sentry --scope user   everywhere",
     "SERVER", "Their names", 1, 0, true},
    {Command::approve, "approve", "Say yes to servers that this project brought along",
     "  patchbay approve files\n  patchbay approve --all", "SERVER", "Their names", 0, 0, true},
    {Command::reject, "reject", "Say no to servers that this project brought along",
     "  patchbay reject files\n  patchbay reject --all", "SERVER", "Their names", 0, 0, true},
    {Command::reset_choices, "reset-project-choices", "Forget what was said to the servers of this project",
     "  patchbay reset-project-choices", nullptr, nullptr, 0, 0, true},
    {Command::import_servers, "import", "Take over servers that other clients declare",
     "  patchbay import                     what there is of all clients; writes nothing\n"
     "  patchbay import cursor              shows what becomes of it, then asks\n"
     "  patchbay import vscode --scope project --name github --yes\n"
     "  patchbay import ~/old/settings.json --from gemini --dry-run\n\n"
     "Clients: claude-desktop, cursor, vscode, codex, gemini, windsurf, opencode, zed, goose, cline, mcporter,\n"
     "registry (server.json), mcp-json. Every field that cannot be carried is named with its file and line.\n"
     "Servers of a file inside a repository are asked about one by one; without a terminal, name them (--name).",
     "CLIENT|FILE", "A client, or a file of one; without it: everything that is found", 0, 1, true},
    {Command::add_from_desktop, "add-from-claude-desktop", "Take over the servers of Claude Desktop",
     "  patchbay mcp add-from-claude-desktop\n  patchbay mcp add-from-claude-desktop --scope user --yes", nullptr,
     nullptr, 0, 0, true},
    {Command::doctor, "doctor", "Look for what is wrong with servers, files, rules and this machine",
     "  patchbay doctor                     connects to every server that may be started\n"
     "  patchbay doctor --no-check          starts and reaches nothing\n"
     "  patchbay doctor --fix               sets right what is ours and safe, then looks\n"
     "  patchbay doctor --json | jq '.findings[] | select(.level == \"problem\")'\n\n"
     "Exits with 1 when there is a problem. --fix closes our own files to others, removes what was left behind\n"
     "and forgets answers for projects that are gone; it approves nothing and touches no other program's file.",
     nullptr, nullptr, 0, 0, true},
    {Command::why, "why", "Say why a server is used or not, or why a tool may be called or not, starting nothing",
     "  patchbay why sentry                 which file and line, what goes before it, what to do\n"
     "  patchbay why sentry --check         starts it, and shows the error\n"
     "  patchbay why mcp__db__query sql='drop table users'\n"
     "  patchbay why fs write_file path=docs/a.md",
     "SERVER|TOOL",
     "A server; or a tool (mcp__server__tool, server/tool, or both words), then arguments as `call` takes them", 1, 0,
     true},
    {Command::lint, "lint", "Check configuration files and permission rules, starting nothing",
     "  patchbay lint                       everything that counts in this directory\n"
     "  patchbay lint .mcp.json .claude/settings.json --strict\n"
     "  patchbay lint --json | jq '.problems'\n\n"
     "One line for each problem: file:line:column: severity: message. Exits with 1 when there are errors.",
     "FILE", "Only these files, each by itself", 0, 0, true},
    {Command::trust, "trust", "Say that you trust this project's directory, or another one",
     "  patchbay trust\n  patchbay trust ~/src/project\n  patchbay trust --remove\n\n"
     "In a trusted directory headersHelper of project and local servers runs, and allow rules of the project's\n"
     "settings count. Servers of the project still need `patchbay approve`. Kept in our own config.json.",
     "DIR", "The directory; without it: the root of this project", 0, 1, true},
    {Command::serve, "serve", "Offer the built-in tools as an MCP server on stdin and stdout, or over HTTP",
     "  patchbay serve --root ~/project\n  patchbay serve --root . --allow-run\n"
     "  patchbay serve --http 127.0.0.1:8080\n"
     "  patchbay serve --http 127.0.0.1:0 --json          any free port; prints {\"url\":…}\n"
     "  patchbay serve --http 0.0.0.0:8080 --bearer-file token --allow-host mcp.example\n\n"
     "Over HTTP the endpoint is /mcp. SIGINT and SIGTERM let running calls finish and exit with 0.\n"
     "Without --bearer-file, PATCHBAY_SERVE_TOKEN is the token if it is set. Where one is needed and none is given\n"
     "(with --allow-run, and on every address but loopback), one is made for the run and printed.",
     nullptr, nullptr, 0, 0, true},
    {Command::completion, "completion", "Print the completion script of a shell, or the names of the servers it offers",
     "  source <(patchbay completion bash)\n  patchbay completion zsh > ~/.zfunc/_patchbay\n"
     "  patchbay completion fish > ~/.config/fish/completions/patchbay.fish",
     "bash|zsh|fish|servers", "The shell; or servers: what is declared, starting nothing", 1, 1},
    {Command::manual, "man", "Print the manual page", "  patchbay man | man -l -", nullptr, nullptr, 0, 0},
};

constexpr const char* mcp_summary = "The commands about servers, as `claude mcp` has them";
constexpr const char* mcp_examples =
    "  patchbay mcp add --transport http sentry https://mcp.sentry.dev/mcp\n"
    "  patchbay mcp add airtable --env AIRTABLE_API_KEY=key -- npx -y airtable-mcp-server\n"
    "  patchbay mcp list";

constexpr const char* about = "Connects to MCP servers and calls their tools.";
constexpr const char* about_servers =
    "Servers come from .mcp.json in this directory (inside a git repository: or one above it, up to its\n"
    "root), from what `patchbay add` wrote, from the files of Claude Code and from --mcp-config; `patchbay list`\n"
    "shows them. MCP_TIMEOUT (milliseconds, 30000) is how long one may take to start.\n"
    "Without any, a built-in server with file tools is offered.";
constexpr const char* about_examples =
    "  patchbay                         what is here, and what to type next\n"
    "  patchbay tools --json            every tool, for scripts\n"
    "  patchbay call read_file path=README.md\n"
    "  patchbay mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n"
    "  patchbay --mcp-config '{\"echo\":{\"command\":\"my-server\"}}' tools";
constexpr const char* about_exit_codes =
    "0 ok, 1 the tool or server answered with an error, or doctor or lint found one, 2 usage or\n"
    "configuration, 3 connection, time-out or limit, 70 a bug in patchbay, 130/143 interrupted.";

constexpr ProgramText text_of_program{about,       about_servers, about_examples, about_exit_codes,
                                      mcp_summary, mcp_examples};

}  // namespace

std::span<const CommandEntry> command_table() { return commands; }

const ProgramText& program_text() { return text_of_program; }

}  // namespace patchbay::cli
