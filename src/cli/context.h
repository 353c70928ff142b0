// What a command gets: its settings, the terminal, a host that has started nothing yet.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <patchbay/host.h>

#include "base/runtime.h"
#include "cli/io.h"
#include "cli/known_secrets.h"
#include "cli/session/use.h"
#include "cli/waiting.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

struct Context {
  const Settings& settings;
  Io& io;
  const Runtime& runtime;
  Host& host;
  Waiting& waiting;
  // Failures of servers that were shown already: each is shown once.
  std::map<std::string, Error>& told;
  std::shared_ptr<const KnownSecrets> secrets;
  std::shared_ptr<const SessionUse> session = nullptr;  // when servers are reached through one
  bool rules_told = false;
  // Whether a sign-in has sent the user to a page.
  std::shared_ptr<bool> page_shown = std::make_shared<bool>(false);

  CallOptions call_options() const;
  // Of all servers, as they may be shown.
  std::vector<ServerStatus> statuses() const;
  void print_json(const Json& value) const;
};

// --timeout, at least a millisecond and at most what a clock can hold.
std::chrono::milliseconds timeout_of(const Settings& settings);

// One function per command; each file says what it prints.
Task<int> overview(Context& context);
Task<int> tools(Context& context);
Task<int> call(Context& context);
Task<int> search(Context& context);
Task<int> resources(Context& context);
Task<int> read(Context& context);
Task<int> skills(Context& context);
Task<int> prompts(Context& context);
Task<int> prompt(Context& context);
Task<int> lock(Context& context);
Task<int> verify(Context& context);
// `list`, `get`, `doctor` and `why` when servers are to be started; declared.h has all others about declared servers.
Task<int> list_checked(Context& context);
Task<int> get_checked(Context& context);
Task<int> doctor_checked(Context& context);
Task<int> why_checked(Context& context);

// Says why a command failed, as JSON or in words, and returns the exit code of that.
int report(const Error& error, bool json, Io& io);

// These need no host.
int show_version(const Settings& settings, Io& io);
int serve(const Settings& settings, Io& io, const Runtime& runtime);
// The agent: on the terminal, as one answer (-p), and inside of an editor. They have hosts of their own (agent_host.h).
int chat(const Settings& settings, Io& io, const Runtime& runtime);
int print_answer(const Settings& settings, Io& io, const Runtime& runtime);
int acp(const Settings& settings, Io& io, const Runtime& runtime);
int session(const Settings& settings, Io& io);
int completion(const Settings& settings, Io& io);
int manual(Io& io);

// Starts the named server, or all, and returns the names that are connected. Throws when there is no such server, or
// when rules deny all of it, without a start; of one that failed it returns none.
Task<std::vector<std::string>> start_servers(Context& context, const std::string& only);
// The same of one that is to be looked at, whatever rules say about using it.
Task<void> start_to_look(Context& context, const std::string& server);
// For a listing: the session of a connected server. Nothing for one that rules deny as a whole, unless it is the `only`
// one asked for: then that is the error.
Task<std::optional<Session>> session_to_list(Context& context, std::string server, std::string only);
// Deny rules that name nobody, once; known when servers have told their tools, and said before a tool is called.
void say_rule_problems(Context& context);
// Exit code of a listing: 0 unless everything that could have answered failed.
int listing_exit_code(const Context& context, const std::string& only);
// The same error, with the servers that did not start: what was asked for may be theirs.
Error with_failures(const Context& context, const Error& error);
// Says why a server could not list what was asked for, and returns the exit code of that.
int say_list_failure(const Context& context, const std::string& server, const Error& error);
// What is printed when a listing is empty: '"docs" has no prompts.'.
std::string none_text(const std::string& only, const std::vector<std::string>& connected, std::string_view what);
// Text as text, anything else as its bytes unless a terminal would have to show them.
void print_contents(Context& context, const ResourceContents& contents);
// The states of the servers a listing is about, for its JSON.
Json servers_json(const Context& context, const std::string& only);

}  // namespace patchbay::cli
