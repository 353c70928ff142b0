// `patchbay prompts [SERVER]` lists; `patchbay prompt NAME key=value ...` shows one filled in, and so does a line as an
// agent takes it: '/mcp__server__prompt value "a value with blanks" key=value'.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "catalog/mention.h"
#include "catalog/naming.h"
#include "cli/context.h"
#include "cli/kept.h"
#include "cli/texts/present.h"
#include "host/server_error.h"
#include "protocol/codec.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

struct ServerPrompt {
  std::string name;  // mcp__server__prompt
  std::string server;
  Prompt prompt;
};

Task<std::vector<ServerPrompt>> list_prompts(Context& context, std::vector<std::string> servers, std::string only) {
  std::vector<ServerPrompt> all;
  std::vector<ListedNow> kept;
  for (const auto& name : servers) {
    auto session = co_await session_to_list(context, name, only);
    if (!session || !session->server().capabilities.prompts) continue;
    auto listed = co_await as_result(context.host.prompts(name));
    if (!listed) {
      (void)say_list_failure(context, name, listed.error());
      continue;
    }
    kept.push_back({.server = name, .prompts = *listed->items});
    for (const auto& prompt : *listed->items) all.push_back({normalised_full_name({name, prompt.name}), name, prompt});
  }
  co_await keep_lists(context, std::move(kept));
  std::ranges::sort(all, {}, &ServerPrompt::name);
  co_return all;
}

// `whose`: the only server that can be meant; empty when any can.
const ServerPrompt& find_prompt(const Context& context, const std::vector<ServerPrompt>& all, const std::string& text,
                                const std::string& whose) {
  std::vector<const ServerPrompt*> found;
  for (const auto& one : all) {
    if (one.name == text || fmt::format("{}/{}", one.server, one.prompt.name) == text) return one;
    if (one.prompt.name == text) found.push_back(&one);
  }
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  if (found.empty()) {
    for (const auto& one : all) {
      names.push_back(one.name);
      names.push_back(one.prompt.name);
      names.push_back(fmt::format("{}/{}", one.server, one.prompt.name));
    }
    auto meant = nearest(text, names);
    const auto hint =
        meant.empty() ? "; run `patchbay prompts` to list the prompts" : fmt::format("; did you mean \"{}\"?", meant);
    const Error error(Errc::invalid_argument,
                      fmt::format("there is no prompt called \"{}\"{}", safe_name(text, 80), hint));
    throw whose.empty() && meant.empty() ? with_failures(context, error) : error;
  }
  for (const auto* one : found) names.push_back(one->name);
  throw Error(Errc::invalid_argument,
              fmt::format("several servers have a prompt called \"{}\": use one of {}", text, fmt::join(names, ", ")));
}

// What the server would refuse, or worse ignore: an argument it does not name, and one that is missing.
void check_arguments(const ServerPrompt& found, const std::map<std::string, std::string>& arguments) {
  std::vector<std::string> names;
  for (const auto& argument : found.prompt.arguments) names.push_back(argument.name);
  for (const auto& [name, value] : arguments) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto meant = nearest(name, names);
    throw Error(
        Errc::invalid_argument,
        fmt::format("the prompt \"{}\" has no argument \"{}\"{}", found.name, safe_name(name, 80),
                    !meant.empty()  ? fmt::format("; did you mean \"{}\"?", safe_name(meant, 80))
                    : names.empty() ? std::string("; it has no arguments")
                                    : fmt::format("; its arguments are {}", safe_line(join(names, ", "), 400))));
  }
  std::vector<std::string> missing;
  for (const auto& argument : found.prompt.arguments) {
    if (argument.required == true && !arguments.contains(argument.name)) missing.push_back(argument.name + "=…");
  }
  if (missing.empty()) return;
  throw Error(Errc::invalid_argument, fmt::format("the prompt \"{}\" also needs these arguments: {}", found.name,
                                                  safe_line(join(missing, " "), 400)));
}

}  // namespace

Task<int> prompts(Context& context) {
  const auto only = context.settings.words.empty() ? std::string() : context.settings.words.front();
  auto connected = co_await start_servers(context, only);
  auto all = co_await list_prompts(context, connected, only);
  if (context.settings.json) {
    Json list = Json::array();
    for (const auto& one : all) list.push_back(prompt_json(one.server, one.prompt));
    context.print_json({{"servers", servers_json(context, only)}, {"prompts", std::move(list)}});
  } else {
    for (const auto& one : all) {
      print_lines(context.io, prompt_line(one.server, one.prompt, description_room(context.io)));
    }
    if (all.empty()) context.io.talk(none_text(only, connected, "prompts"));
  }
  co_return listing_exit_code(context, only);
}

Task<int> prompt(Context& context) {
  const auto& words = context.settings.words;
  std::map<std::string, std::string> arguments;
  std::optional<PromptLine> line;
  if (words.front().starts_with('/')) {
    line = value_or_throw(parse_prompt_line(words.front()));
    for (std::size_t i = 1; i < words.size(); ++i) line->words.push_back(prompt_word(words[i]));
  }
  const auto& name = line ? line->name : words.front();
  for (std::size_t i = 1; i < words.size() && !line; ++i) {
    auto equals = words[i].find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(Errc::invalid_argument,
                  fmt::format("\"{}\" is not an argument; write arguments as key=value", words[i]));
    }
    arguments[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  // A name that says whose prompt it is starts only that server.
  std::string only;
  for (const auto& status : context.statuses()) {
    const auto prefix = normalised_full_name({status.name, ""});
    if (name.starts_with(prefix) || name.starts_with(status.name + "/")) only = status.name;
  }
  auto connected = co_await start_servers(context, only);
  auto all = co_await list_prompts(context, connected, only);
  const auto& found = find_prompt(context, all, name, only);
  if (line) {
    arguments = value_or_throw(prompt_arguments(found.name, found.prompt, line->words));
  } else if (!context.settings.no_check) {
    check_arguments(found, arguments);
  }
  auto session = co_await context.host.session(found.server);
  auto outcome =
      co_await as_result(session.get_prompt(found.prompt.name, std::move(arguments), context.call_options()));
  if (!outcome) throw error_of_call(found.server, found.prompt.name, outcome.error());
  const auto& result = *outcome;
  if (context.settings.json) {
    context.print_json(encode(result));
    co_return 0;
  }
  for (const auto& message : result.messages) {
    auto text = fmt::format("{}: {}\n", to_string(message.role), text_of(message.content));
    context.io.out(context.io.out_is_terminal ? clean_for_display(text) : text);
  }
  co_return 0;
}

}  // namespace patchbay::cli
