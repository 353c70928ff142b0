// `patchbay resources [SERVER]` lists; `patchbay read [SERVER] URI` prints one resource:
// text as text, anything else as its bytes unless a terminal would have to show them.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "cli/context.h"
#include "cli/kept.h"
#include "cli/output_file.h"
#include "cli/texts/present.h"
#include "host/server_error.h"
#include "protocol/codec.h"
#include "protocol/uri_template.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

struct ServerResources {
  std::string server;
  std::vector<Resource> resources;
  std::vector<ResourceTemplate> templates;
  std::optional<Error> error;
};

Task<std::vector<ServerResources>> list_resources(Context& context, std::vector<std::string> servers,
                                                  std::string only) {
  std::vector<ServerResources> all;
  std::vector<ListedNow> kept;
  for (const auto& name : servers) {
    auto session = co_await session_to_list(context, name, only);
    if (!session || !session->server().capabilities.resources) continue;
    ServerResources one;
    one.server = name;
    auto listed = co_await as_result(context.host.resources(name));
    if (listed) {
      one.resources = *listed->items;
    } else {
      one.error = listed.error();
    }
    auto templates = co_await as_result(context.host.resource_templates(name));
    if (templates) one.templates = *templates->items;
    if (!one.error) kept.push_back({.server = name, .resources = one.resources, .templates = one.templates});
    all.push_back(std::move(one));
  }
  co_await keep_lists(context, std::move(kept));
  co_return all;
}

bool offers(const ServerResources& one, std::string_view uri) {
  for (const auto& resource : one.resources) {
    if (resource.uri == uri) return true;
  }
  for (const auto& resource_template : one.templates) {
    auto parsed = UriTemplate::parse(resource_template.uri_template);
    if (parsed && parsed->match(uri)) return true;
  }
  return false;
}

// The server meant when none was named: the only one with resources, or the only one that
// lists the URI.
Task<std::string> server_of(Context& context, std::string uri) {
  for (const auto& status : context.statuses()) {
    if (status.name != uri) continue;
    const auto name = shell_operands({uri});
    throw Error(Errc::invalid_argument,
                fmt::format("\"{}\" is a server; add the URI of a resource: patchbay read{} URI "
                            "(to list its resources: patchbay resources{})",
                            safe_name(uri, 80), name, name));
  }
  auto connected = co_await start_servers(context, "");
  auto all = co_await list_resources(context, connected, "");
  std::vector<std::string> candidates;
  for (const auto& one : all) {
    if (offers(one, uri)) candidates.push_back(one.server);
  }
  if (candidates.empty() && all.size() == 1) co_return all.front().server;
  if (candidates.size() == 1) co_return candidates.front();
  if (candidates.empty()) {
    throw with_failures(
        context,
        Error(
            Errc::invalid_argument,
            fmt::format("no connected server lists the resource \"{}\"; if you know its server: patchbay read SERVER{}",
                        uri, shell_operands({uri}))));
  }
  throw Error(
      Errc::invalid_argument,
      fmt::format("several servers have the resource \"{}\": {}; name one of them, for example: patchbay read{}", uri,
                  fmt::join(candidates, ", "), shell_operands({candidates.front(), uri})));
}

}  // namespace

void print_contents(Context& context, const ResourceContents& contents) {
  if (contents.text) {
    context.io.out(context.io.out_is_terminal ? clean_for_display(*contents.text) + "\n" : *contents.text);
    return;
  }
  auto bytes = base64_decode(contents.blob.value_or(""));
  if (!bytes) {
    throw Error(
        Errc::protocol,
        fmt::format("the content of \"{}\" from the server is not valid base64; report it to the server's author",
                    contents.uri));
  }
  if (context.io.out_is_terminal) {
    context.io.out(fmt::format("[{}, {} bytes; to keep it: --output FILE]\n",
                               safe_name(contents.mime_type.value_or("binary"), 60), bytes->size()));
  } else {
    context.io.out(*bytes);
  }
}

Task<int> resources(Context& context) {
  const auto only = context.settings.words.empty() ? std::string() : context.settings.words.front();
  auto connected = co_await start_servers(context, only);
  auto all = co_await list_resources(context, connected, only);
  int failed = 0;
  for (const auto& one : all) {
    if (one.error) failed = say_list_failure(context, one.server, *one.error);
  }
  if (context.settings.json) {
    Json list = Json::array();
    Json templates = Json::array();
    for (const auto& one : all) {
      for (const auto& resource : one.resources) list.push_back(with_server(one.server, encode(resource)));
      for (const auto& item : one.templates) templates.push_back(with_server(one.server, encode(item)));
    }
    context.print_json({{"servers", servers_json(context, only)},
                        {"resources", std::move(list)},
                        {"resourceTemplates", std::move(templates)}});
  } else {
    for (const auto& one : all) {
      context.io.out(fmt::format("{}\n", safe_name(one.server, 60)));
      const auto room = description_room(context.io);
      for (const auto& resource : one.resources) print_lines(context.io, resource_line(resource, room));
      for (const auto& item : one.templates) print_lines(context.io, resource_line(item, room));
    }
    if (all.empty()) context.io.talk(none_text(only, connected, "resources"));
  }
  const int code = listing_exit_code(context, only);
  co_return code != 0 || all.size() != 1 ? code : failed;
}

namespace {

// What `read` was told: [SERVER] URI [NAME=VALUE...].
struct Wanted {
  std::string server;  // empty: to be found
  std::string uri;
};

// A template with its variables in place.
std::string filled(const Wanted& wanted, const std::vector<std::string>& pairs) {
  auto parsed = UriTemplate::parse(wanted.uri);
  const auto names = parsed ? parsed->variables() : std::vector<std::string>();
  if (names.empty() && pairs.empty()) return wanted.uri;
  std::vector<std::string> operands;
  if (!wanted.server.empty()) operands.push_back(wanted.server);
  operands.push_back(wanted.uri);
  for (const auto& name : names) operands.push_back(name + "=VALUE");
  const auto line = "patchbay read" + shell_operands(operands);
  if (names.empty()) {
    throw Error(Errc::invalid_argument,
                fmt::format("\"{}\" is not a template, so \"{}\" has no place in it; leave it out: {}", wanted.uri,
                            safe_name(pairs.front(), 80), line));
  }
  // What is missing leaves no trace, as optional parts of a query do; a template without any value is a slip.
  if (pairs.empty()) {
    throw Error(Errc::invalid_argument,
                fmt::format("\"{}\" is a template; give its variables a value: {}", wanted.uri, line));
  }
  UriTemplate::Values values;
  for (const auto& pair : pairs) {
    const auto sign = pair.find('=');
    const auto name = pair.substr(0, sign);
    if (sign == std::string::npos || std::ranges::find(names, name) == names.end()) {
      throw Error(Errc::invalid_argument,
                  fmt::format("the template has no variable \"{}\"; write: {}", safe_name(name, 80), line));
    }
    values[name] = pair.substr(sign + 1);
  }
  auto uri = parsed->expand(values);
  if (!uri) throw std::move(uri).error();
  return std::move(*uri);
}

Wanted wanted_by(const Context& context) {
  const auto& words = context.settings.words;
  const auto statuses = context.statuses();
  const bool named =
      words.size() > 1 && std::ranges::find(statuses, words.front(), &ServerStatus::name) != statuses.end();
  Wanted out{named ? words.front() : "", words.at(named ? 1 : 0)};
  out.uri = filled(out, {words.begin() + (named ? 2 : 1), words.end()});
  return out;
}

}  // namespace

Task<int> read(Context& context) {
  const auto& file = context.settings.output;
  if (!file.empty()) check_output(file);
  const auto [named, uri] = wanted_by(context);
  const auto server = named.empty() ? co_await server_of(context, uri) : named;
  context.waiting.begin(fmt::format("reading {}", uri));
  auto session = co_await context.host.session(server);
  auto outcome = co_await as_result(session.read_resource(uri, context.call_options()));
  if (!outcome) throw error_of_call(server, uri, outcome.error());
  const auto& result = *outcome;
  context.waiting.end();
  if (!file.empty()) {
    std::vector<OutputPart> parts;
    for (const auto& contents : result.contents) parts.push_back(binary_part(contents));
    if (parts.empty()) {
      throw Error(Errc::protocol, fmt::format("the resource \"{}\" has no content, so nothing was written", uri));
    }
    write_output(file, parts, context.io, context.settings.quiet || context.settings.json);
  }
  if (context.settings.json) {
    context.print_json(encode(result));
    co_return 0;
  }
  if (!file.empty()) co_return 0;
  for (const auto& contents : result.contents) print_contents(context, contents);
  co_return 0;
}

}  // namespace patchbay::cli
