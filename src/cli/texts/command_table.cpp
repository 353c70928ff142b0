#include "cli/texts/command_table.h"

#include <algorithm>
#include <limits>

namespace patchbay::cli {
namespace {

constexpr auto any = std::numeric_limits<std::size_t>::max();
constexpr std::string_view shells[] = {"bash", "zsh", "fish", "servers", "tools"};

constexpr std::string_view session_words[] = {"start", "stop", "status"};

constexpr std::string_view record_words[] = {"list", "show", "export"};

constexpr std::string_view secret_words[] = {"set", "list", "remove", "passphrase"};

constexpr std::string_view pins_words[] = {"list", "show", "approve"};

constexpr std::string_view result_words[] = {"list", "read", "remove"};
constexpr std::string_view auth_words[] = {"status"};
constexpr std::string_view xaa_words[] = {"setup", "login", "show", "clear"};
constexpr CommandWords no_words{};
constexpr bool in_mcp = true;
constexpr bool takes_command = true;

// In the order of the help: those that people need first in the first group.
constexpr CommandEntry commands[] = {
    {Command::chat, CommandGroup::first, "chat",
     "Talk to a model that uses the tools: in this terminal, or with -p in a script",
     "  patchbay chat\n  patchbay chat --continue\n"
     "  patchbay -p 'What changed in this directory today?'\n"
     "  git diff | patchbay -p 'Is this safe to merge?' --json | jq -r .result\n"
     "  patchbay -p 'Fix the typo' --permission-mode acceptEdits --max-turns 10\n\n"
     "With -p nobody is asked: a call that no rule allows is refused, the model is told, and the JSON lists it in "
     "permission_denials. Exit codes of -p: 0 answered, 1 an error, a refusal of the model or --max-turns, 2 wrong "
     "usage "
     "or configuration, 3 the model or a required server was not reached. Conversations are kept in "
     "~/.local/state/patchbay/conversations, where only you can read them.",
     CommandWords("TEXT", "What to say first", 0, any)},
    {Command::add, CommandGroup::first, "add", "Add a server",
     "  patchbay add --transport http sentry https://mcp.sentry.dev/mcp\n"
     "  patchbay add airtable --env AIRTABLE_API_KEY=key -- npx -y airtable-mcp-server\n"
     "  patchbay add --scope user memory -- npx -y @modelcontextprotocol/server-memory\n\n"
     "Scopes: local (only you, in this project), user (only you, in every project), project (.mcp.json, for "
     "everybody who has the project). Entries with scope local or user are written to "
     "~/.config/patchbay/config.json.",
     CommandWords("NAME", "A name for the server, then its URL, or -- and its command with arguments", 1, any,
                  "a name for the server", "NAME -- COMMAND"),
     in_mcp, takes_command},
    {Command::list, CommandGroup::first, "list", "List your servers and their state",
     "  patchbay list\n  patchbay list --check\n  patchbay list --json | jq -r '.servers[].name'\n\n"
     "`patchbay list` starts no server. `patchbay list --check` and `patchbay mcp list` start every server and show "
     "whether it answers.",
     CommandWords("SERVER", "Servers, to list only these", 0, any), in_mcp},
    {Command::tools, CommandGroup::first, "tools",
     "List the tools of all servers or of one server, or show everything about one tool",
     "  patchbay tools\n  patchbay tools filesystem/read_text_file\n  patchbay tools filesystem --json | jq -r "
     "'.tools[].name'\n  patchbay tools --cached      from an earlier run; starts no server",
     CommandWords(
         "SERVER|TOOL",
         "A server, to list its tools; or a tool, to show everything about it (mcp__server__tool, server/tool, or "
         "both words)",
         0, 2)},
    {Command::call, CommandGroup::first, "call", "Call a tool",
     "  patchbay call read_file path=README.md\n"
     "  patchbay call mcp__db__query sql='select 1' limit:=10\n"
     "  patchbay call fs/write_file path=notes.txt content=@draft.txt\n"
     "  echo '{\"path\":\"README.md\"}' | patchbay call read_file -",
     CommandWords(
         "TOOL",
         "The tool (mcp__server__tool, server/tool, or only its name), then its arguments: key=value, key:=json, "
         "key=@file, one {json} object, or - to read the object from stdin",
         1, any, "a tool", "TOOL key=value")},
    {Command::why, CommandGroup::first, "why",
     "Explain why a server is or is not used, or why a call is or is not allowed",
     "  patchbay why sentry            its file and line, what overrides it\n"
     "  patchbay why sentry --check    starts it and shows its error\n"
     "  patchbay why mcp__db__query sql='drop table users'\n"
     "  patchbay why fs write_file path=docs/a.md\n\n"
     "Starts no server unless --check is given.",
     CommandWords("SERVER|TOOL",
                  "A server; or a tool (mcp__server__tool, server/tool, or both words), then arguments as for `call`",
                  1, any, "a server or a tool", "SERVER"),
     in_mcp},
    {Command::doctor, CommandGroup::first, "doctor",
     "Check servers, files, rules and this machine, and say how to fix problems",
     "  patchbay doctor              connects to every server that may be started\n"
     "  patchbay doctor --offline    starts no server and connects to nothing\n"
     "  patchbay doctor --fix        first fixes what is safe to fix\n"
     "  patchbay doctor --json | jq '.findings[] | select(.level == \"problem\")'\n\n"
     "The exit code is 1 if there is a problem. --fix makes patchbay's own files readable only by you, deletes "
     "leftover temporary files and forgets your approvals, rejections and trust for projects that no longer exist. It "
     "approves nothing and "
     "changes no file of another program.",
     CommandWords("SERVER", "Servers, to check only these", 0, any), in_mcp},
    {Command::status, CommandGroup::servers, "status", "Show how your servers are and what they offer",
     "  patchbay status              as they were last seen; starts no server\n"
     "  patchbay status --check      connects to every server that may be started\n"
     "  patchbay status --json | jq '.clients[] | {name, state, age}'\n\n"
     "`age` is how many seconds ago the state was seen; null means now, or never. With --check the exit code is 3 if a "
     "server failed, and 2 if one that you named, or every one, cannot be used before you approve or enable it.",
     CommandWords("SERVER", "Servers, to show only these", 0, any), in_mcp},
    {Command::logs, CommandGroup::servers, "logs", "Show what a server wrote to stderr and what happened to it",
     "  patchbay logs files\n  patchbay logs files -n 20\n  patchbay logs files -f\n  patchbay logs files --json | jq "
     "-r '.lines[].text'\n\n"
     "The log is in ~/.local/state/patchbay/logs: up to 1 MiB for each server, and one older file. Secrets are hidden.",
     CommandWords("SERVER", "The name of the server", 1, 1, "the name of a server", "SERVER"), in_mcp},
    {Command::reconnect, CommandGroup::servers, "reconnect", "Connect to a server now, also to one that wants sign-in",
     "  patchbay reconnect sentry\n  patchbay reconnect sentry --json\n\n"
     "A server that refused its credentials is not asked again for 15 minutes; `reconnect` asks it now. The exit code "
     "is 3 if the server cannot be reached.",
     CommandWords("SERVER", "The name of the server", 1, 1, "the name of a server", "SERVER"), in_mcp},
    {Command::login, CommandGroup::servers, "login", "Sign in at servers with a browser",
     "  patchbay login linear\n  patchbay login linear notion sentry    one after the other\n"
     "  patchbay login linear --no-browser    when the browser is on another machine\n"
     "  patchbay login linear --json\n\n"
     "Opens the page of $BROWSER or xdg-open, and always prints its address. It has worked when the token is kept (in "
     "the system keyring, else in an encrypted file) and the server has accepted it. The exit code is 3 if it has not, "
     "and 2 if nobody can sign in at this server; of several servers, that of the first that failed, and the others "
     "are tried all the same.",
     CommandWords("SERVER", "The names of servers", 1, any, "the name of a server", "SERVER"), in_mcp},
    {Command::logout, CommandGroup::servers, "logout", "Sign out of a server and forget its token",
     "  patchbay logout linear\n\n"
     "Tells whoever gave the token that it is not needed any more, and warns if that was not possible. Other servers "
     "that share the token are signed out as well.",
     CommandWords("SERVER", "The name of the server", 1, 1, "the name of a server", "SERVER"), in_mcp},
    {Command::auth, CommandGroup::servers, "auth", "Show where you are signed in, until when, and what failed last",
     "  patchbay auth status\n  patchbay auth status linear\n"
     "  patchbay auth status --json | jq '.servers[] | {name, signedIn, expires}'\n\n"
     "Starts no server, asks no keyring and shows no token.",
     CommandWords("status", "What to show, then servers, to show only these", 1, any, "a word", "status", auth_words)},
    {Command::xaa, CommandGroup::servers, "xaa",
     "Set, show or forget the identity provider that signs you in for many servers at once",
     "  patchbay mcp xaa setup --issuer https://login.example.com --client-id ID\n  patchbay mcp xaa login\n"
     "  patchbay mcp xaa show\n  patchbay mcp xaa clear\n\n"
     "Servers whose entry has \"oauth\": {\"xaa\": true} use it (cross-app access). The provider is written to "
     "~/.config/patchbay/config.json (\"settings\": {\"xaaIdp\": …}), a client secret to the store of secrets.",
     CommandWords("setup|login|show|clear", "What to do with the identity provider", 1, 1,
                  "setup, login, show or clear", "show", xaa_words),
     in_mcp},
    {Command::get, CommandGroup::servers, "get", "Show one server; secrets are hidden",
     "  patchbay get sentry\n  patchbay get sentry --check\n  patchbay get sentry --json",
     CommandWords("SERVER", "The name of the server", 1, 1, "the name of a server", "SERVER"), in_mcp},
    {Command::remove, CommandGroup::servers, "remove", "Remove servers",
     "  patchbay remove sentry\n  patchbay remove sentry --scope user",
     CommandWords("SERVER", "The names of the servers", 1, any, "the name of a server", "SERVER"), in_mcp},
    {Command::enable, CommandGroup::servers, "enable", "Enable servers that were disabled",
     "  patchbay enable sentry\n  patchbay enable sentry --scope user",
     CommandWords("SERVER", "The names of the servers", 1, any, "the name of a server", "SERVER"), in_mcp},
    {Command::disable, CommandGroup::servers, "disable", "Disable servers without removing them",
     "  patchbay disable sentry              in this project\n  patchbay disable sentry --scope user   everywhere",
     CommandWords("SERVER", "The names of the servers", 1, any, "the name of a server", "SERVER"), in_mcp},
    {Command::import_servers, CommandGroup::servers, "import", "Copy servers from the files of other clients",
     "  patchbay import           shows the servers of all clients; writes nothing\n"
     "  patchbay import cursor    shows what would be written, then asks\n"
     "  patchbay import vscode --scope project --name github --yes\n"
     "  patchbay import ~/old/settings.json --from gemini --dry-run\n\n"
     "Clients: claude-desktop, cursor, vscode, codex, gemini, windsurf, opencode, zed, goose, cline, mcporter; "
     "registry for a server.json of the MCP registry, mcp-json for any file like .mcp.json. A field that cannot be "
     "copied is reported with its file and line.\n"
     "Servers from a file inside a repository are confirmed one by one. Without a terminal, name each one with "
     "--name.",
     CommandWords("CLIENT|FILE", "A client, or a file of a client; without it, all files that are found are shown", 0,
                  1),
     in_mcp},
    {Command::add_json, CommandGroup::servers, "add-json", "Add a server; its entry is given as JSON",
     "  patchbay add-json weather '{\"type\":\"http\",\"url\":\"https://weather.example\"}'\n"
     "  patchbay add-json --scope user db '{\"command\":\"db\",\"args\":[\"--read-only\"]}'",
     CommandWords("NAME", "A name for the server, then the JSON object of its entry; - reads the object from stdin", 2,
                  2, "a name and the JSON object of the entry", "NAME '{\"command\":\"…\"}\'"),
     in_mcp},
    {Command::add_from_desktop, CommandGroup::servers, "add-from-claude-desktop", "Copy the servers of Claude Desktop",
     "  patchbay mcp add-from-claude-desktop\n  patchbay mcp add-from-claude-desktop --scope user --yes", no_words,
     in_mcp},
    {Command::mcp, CommandGroup::servers, "mcp", "The commands about servers, named as in `claude mcp`",
     "  patchbay mcp add --transport http sentry https://mcp.sentry.dev/mcp\n"
     "  patchbay mcp add airtable --env API_KEY=key -- npx -y airtable-mcp-server\n"
     "  patchbay mcp list",
     CommandWords("COMMAND", "One of the commands about servers, with its own arguments and flags", 1, any, "a command",
                  "list")},
    {Command::approve, CommandGroup::approval, "approve", "Approve servers declared by this project",
     "  patchbay approve files\n  patchbay approve --all\n  patchbay approve --from-claude",
     CommandWords("SERVER", "The names of the servers", 0, any), in_mcp},
    {Command::reject, CommandGroup::approval, "reject", "Reject servers declared by this project",
     "  patchbay reject files\n  patchbay reject --all", CommandWords("SERVER", "The names of the servers", 0, any),
     in_mcp},
    {Command::reset_choices, CommandGroup::approval, "reset-project-choices",
     "Forget this project's approvals and rejections", "  patchbay reset-project-choices", no_words, in_mcp},
    {Command::trust, CommandGroup::approval, "trust", "Trust the directory of this project, or another directory",
     "  patchbay trust\n  patchbay trust ~/src/project\n  patchbay trust --remove\n\n"
     "In a trusted directory the headersHelper (a command that prints HTTP headers) of project and local servers and "
     "the hooks in the project's settings may run, and allow rules there apply. Servers of the project still need "
     "`patchbay approve`. Trust is stored in "
     "~/.config/patchbay/config.json.",
     CommandWords("DIR", "The directory; without it, the root of this project", 0, 1), in_mcp},
    {Command::pins, CommandGroup::approval, "pins", "List, show and approve tools that have changed",
     "  patchbay pins list               what is known of each server, and what waits\n"
     "  patchbay pins show files         the changes, old and new\n"
     "  patchbay pins show files/read_file\n"
     "  patchbay pins approve files/read_file\n"
     "  patchbay pins approve files      all of its changes\n"
     "  patchbay pins list --json | jq '.servers[].waiting'\n\n"
     "A tool is remembered as it is when it is first seen. When its texts, its required arguments or its promises "
     "change, calls are refused until you agree. Starts no server.",
     CommandWords("list|show|approve", "What to do, then servers (for show and approve, or tools: SERVER/TOOL)", 1, any,
                  "list, show or approve", "list", pins_words)},
    {Command::lock, CommandGroup::approval, "lock", "Write what the servers of .mcp.json are now to .mcp.lock",
     "  patchbay lock                all servers of .mcp.json\n"
     "  patchbay lock files          only this server; others stay as they were locked\n\n"
     "Starts the servers. A tool that is not as .mcp.lock says is not called. The file approves nothing.",
     CommandWords("SERVER", "Servers, to lock only these", 0, any)},
    {Command::verify, CommandGroup::approval, "verify", "Check whether servers are as .mcp.lock says",
     "  patchbay verify\n  patchbay verify files\n  patchbay verify --json | jq '.differences'\n\n"
     "Starts the servers. The exit code is 2 if there is a difference or no lock file, and 3 if a server cannot be "
     "reached.",
     CommandWords("SERVER", "Servers, to check only these", 0, any)},
    {Command::search, CommandGroup::contents, "search", "Find tools by what they do",
     "  patchbay search create an issue\n  patchbay search screenshot --limit 10\n"
     "  patchbay search --cached read file      from an earlier run; starts no server\n"
     "  patchbay search select:files/read_text_file --json | jq '.tools[].inputSchema'",
     CommandWords("QUERY", "Words for what the tool does, or select:NAME,NAME for tools whose names you know", 1, any,
                  "words for what a tool does", "QUERY")},
    {Command::resources, CommandGroup::contents, "resources", "List resources and resource templates",
     "  patchbay resources docs\n  patchbay resources --cached",
     CommandWords("SERVER", "A server, to list only its resources", 0, 1)},
    {Command::read, CommandGroup::contents, "read", "Read a resource",
     "  patchbay read docs file:///guide.md\n  patchbay read file:///logo.png --output logo.png\n"
     "  patchbay read docs 'file:///{path}' path=guide.md\n  patchbay read @docs:file:///guide.md",
     CommandWords("URI",
                  "The resource; you can name its server before it, or write @SERVER:URI. A template is filled with "
                  "NAME=VALUE behind it",
                  1, any, "the URI of a resource", "URI")},
    {Command::prompts, CommandGroup::contents, "prompts", "List prompts",
     "  patchbay prompts\n  patchbay prompts --cached",
     CommandWords("SERVER", "A server, to list only its prompts", 0, 1)},
    {Command::prompt, CommandGroup::contents, "prompt", "Show a prompt with its arguments filled in",
     "  patchbay prompt review file=main.cpp\n  patchbay prompt '/mcp__code__review main.cpp \"all of it\"'",
     CommandWords("NAME",
                  "The prompt (mcp__server__prompt, server/prompt, or only its name), then its arguments: key=value. "
                  "Behind /mcp__server__prompt values may stand in their order, without a key",
                  1, any, "the name of a prompt", "NAME key=value")},
    {Command::skills, CommandGroup::contents, "skills",
     "List skills, or show one after checking its content against its hash",
     "  patchbay skills\n  patchbay skills docs pdf-processing\n  patchbay skills docs pdf-processing "
     "references/forms.md\n  patchbay skills approve docs pdf-processing    lets models follow it\n"
     "  patchbay skills reject docs pdf-processing",
     CommandWords("SERVER",
                  "A server, to list only its skills; then a skill, by name or URI; then one of its files. Before them "
                  "`approve` or `reject`, to answer whether a model may follow the skill",
                  0, 3)},
    {Command::results, CommandGroup::contents, "results",
     "List, read and remove results that were too large for a model",
     "  patchbay call db/export --for-model   keeps a large result, prints its start\n"
     "  patchbay results list\n"
     "  patchbay results read k3v7q2xa --pointer /rows/0\n"
     "  patchbay results read k3v7q2xa --grep 'error|warn' --lines 20\n"
     "  patchbay results remove k3v7q2xa\n\n"
     "In a session (`patchbay session start`), a later call passes a result on by its ID: "
     "`patchbay call sheet/import 'rows=@result:k3v7q2xa#/rows'`. Results are kept for 7 days in "
     "~/.local/state/patchbay/results, where only you can read them.",
     CommandWords("list|read|remove", "What to do, then the ID of the result for read, or IDs for remove", 1, any,
                  "list, read or remove", "list", result_words)},
    {Command::secret, CommandGroup::other, "secret", "Store, list and remove secrets that entries name",
     "  patchbay secret set GITHUB_TOKEN    asks for the value\n"
     "  pass show github | patchbay secret set GITHUB_TOKEN\n"
     "  patchbay secret list\n  patchbay secret remove GITHUB_TOKEN\n"
     "  patchbay secret passphrase          protects the encrypted file\n\n"
     "An entry uses a stored secret as ${secret:GITHUB_TOKEN}. Secrets are kept in the system keyring if there is one, "
     "and otherwise in an encrypted file in ~/.local/state/patchbay/secrets. The key of that file is in "
     "~/.config/patchbay/secrets.key unless you choose a passphrase. The exit code is 3 if the keyring or the file "
     "that "
     "holds a secret cannot be opened from here.",
     CommandWords("set|list|remove|passphrase", "What to do, then the name of the secret for set and remove", 1, 2,
                  "set, list, remove or passphrase", "set NAME", secret_words)},
    {Command::session, CommandGroup::other, "session",
     "Keep the servers of this directory up between commands, or end or show that",
     "  patchbay session start\n  patchbay call browser/navigate url=https://example.com\n"
     "  patchbay call browser/snapshot\n  patchbay session status\n  patchbay session stop\n\n"
     "A session is one background process for each user and directory. While it runs, the commands of this directory "
     "that use servers (tools, call, read, prompt, …) use its servers, which keep the environment of `session start`. "
     "Commands with --no-session, or with flags that change servers, settings or permissions, do not. It starts a "
     "server when a command first needs it, follows changes of the configuration and approves nothing.",
     CommandWords("start|stop|status", "What to do with the session of this directory", 1, 1, "start, stop or status",
                  "start", session_words)},
    {Command::record, CommandGroup::other, "record", "Show or export what passed between Patchbay and a server",
     "  patchbay record list\n  patchbay record show files\n  patchbay record export files -o frames.jsonl\n\n"
     "The latest messages of each server are kept in memory: 256 of them, 1 MiB. When a server fails they are written "
     "to ~/.local/state/patchbay/recordings, without secrets (7 days, 64 MiB for all servers). `record show` and "
     "`record export` ask the session of this directory for what it has in memory; without a session, or for a server "
     "that it has not used, they take the newest file. "
     "`\"recorder\": \"off\"` in the settings switches it off.",
     CommandWords("list|show|export", "What to do, then a server; for show also a file", 1, 2, "list, show or export",
                  "list", record_words)},
    {Command::replay, CommandGroup::other, "replay", "Serve a recording as the server that it was made of",
     "  patchbay replay frames.jsonl\n"
     "  patchbay --mcp-server 'again=patchbay replay frames.jsonl' tools\n"
     "  patchbay replay frames.jsonl --http 127.0.0.1:8080\n\n"
     "Each request gets the answer that was recorded for the same method and params, with what the server said before "
     "and after it; a request that was not recorded gets an error that says what was. Where the server was silent, or "
     "ended the connection, so does this. With --http only this machine can reach it.",
     CommandWords("FILE", "A recording, from `patchbay record export` or from a failure", 1, 1, "a recording", "FILE")},
    {Command::serve, CommandGroup::other, "serve",
     "Run an MCP server with the built-in tools, on stdin and stdout or over HTTP",
     "  patchbay serve --root ~/project\n  patchbay serve --root . --allow-run\n"
     "  patchbay serve --http 127.0.0.1:8080\n"
     "  patchbay serve --http 127.0.0.1:0 --json    any free port; prints {\"url\":…}\n"
     "  patchbay serve --http 0.0.0.0:80 --bearer-file token --allow-host mcp.example\n\n"
     "The URL ends in /mcp. With --http, Ctrl-C (SIGINT) and SIGTERM let running calls finish, and the exit code is "
     "0.\n"
     "The token that clients must send is in the file of --bearer-file, or in PATCHBAY_SERVE_TOKEN. With "
     "--allow-run, and on every address except loopback, a token is required: without one of these, a token for "
     "this run is made and printed.",
     no_words, in_mcp},
    {Command::acp, CommandGroup::other, "acp", "Be the agent of an editor, over the Agent Client Protocol",
     "  patchbay acp        an editor starts this, and talks to it on stdin and stdout\n"
     "  patchbay acp --model anthropic:claude-sonnet-4-5\n\n"
     "The editor shows what is said and done and asks its user about calls that no rule decides. Servers that it names "
     "are used beside those of the directory it has open.",
     no_words},
    {Command::lint, CommandGroup::other, "lint", "Check configuration files and rules without starting a server",
     "  patchbay lint                       all files that are used in this directory\n"
     "  patchbay lint .mcp.json .claude/settings.json --strict\n"
     "  patchbay lint --json | jq '.problems'\n\n"
     "Prints one line per problem: file:line:column: severity: message. The exit code is 1 if there are errors.",
     CommandWords("FILE", "Check only these files, each one alone", 0, any), in_mcp},
    {Command::completion, CommandGroup::other, "completion", "Print the completion script for a shell",
     "  source <(patchbay completion bash)\n  patchbay completion zsh > ~/.zfunc/_patchbay\n"
     "  patchbay completion fish > ~/.config/fish/completions/patchbay.fish",
     CommandWords("bash|zsh|fish|servers|tools",
                  "The shell; or servers or tools, to print the names of your servers, or of their tools as far as "
                  "earlier runs listed them",
                  1, 1, "a shell", "bash", shells)},
    {Command::manual, CommandGroup::other, "man", "Print the manual page", "  patchbay man | man -l -", {}},
};

constexpr const char* about = "Connects to MCP servers and calls their tools.";
constexpr const char* about_servers =
    "Servers come from .mcp.json in this directory (in a git repository also from the directories above, up to its "
    "root), from `patchbay add`, from the files of Claude Code and from --mcp-config. `patchbay list` shows them. "
    "MCP_TIMEOUT is the time a server may take to start, in milliseconds (default 30000). If no server is declared, "
    "a built-in server with file tools is used.";
constexpr const char* about_examples =
    "  patchbay                         show the servers, and what to type next\n"
    "  patchbay tools --json            all tools as JSON, for scripts\n"
    "  patchbay call read_file path=README.md\n"
    "  patchbay -p 'What is here?'      one answer of a model that uses the tools\n"
    "  patchbay mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n"
    "  patchbay --mcp-config '{\"echo\":{\"command\":\"my-server\"}}' tools";
constexpr const char* about_exit_codes =
    "0 success; 1 the tool or server answered with an error, or doctor or lint found a problem; 2 wrong usage or "
    "configuration; 3 connection failed, time-out or limit reached; 70 a bug in patchbay; 130 or 143 interrupted.";

constexpr ProgramText text_of_program{about, about_servers, about_examples, about_exit_codes};

}  // namespace

std::span<const CommandEntry> command_table() { return commands; }

const CommandEntry* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands, name, &CommandEntry::name);
  return found == std::ranges::end(commands) ? nullptr : found;
}

std::string_view command_name(Command command) noexcept {
  const auto found = std::ranges::find(commands, command, &CommandEntry::command);
  return found == std::ranges::end(commands) ? std::string_view() : found->name;
}

std::vector<std::string_view> commands_in_mcp() {
  std::vector<std::string_view> names;
  for (const auto& entry : commands) {
    if (entry.in_mcp) names.push_back(entry.name);
  }
  return names;
}

std::string_view group_title(CommandGroup group) {
  switch (group) {
    case CommandGroup::first:
      return "Start with these commands";
    case CommandGroup::servers:
      return "Commands about servers";
    case CommandGroup::approval:
      return "Commands about approval and trust";
    case CommandGroup::contents:
      return "Commands about tools, resources, prompts and skills";
    case CommandGroup::other:
      break;
  }
  return "Other commands";
}

const ProgramText& program_text() { return text_of_program; }

}  // namespace patchbay::cli
