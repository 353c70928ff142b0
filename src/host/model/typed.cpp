// What a person types: resources as @server:uri, prompts as /mcp__server__prompt.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "catalog/mention.h"
#include "catalog/naming.h"
#include "host/model/model_tools_impl.h"
#include "host/server_error.h"
#include "protocol/uri_template.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_read = 16;  // resources that one text has read
constexpr std::size_t most_completions = 50;
// Whoever types does not wait long.
constexpr std::size_t most_asked = 8;
constexpr auto completion_limit = std::chrono::seconds(3);

std::vector<std::string> server_names(const Host& host) {
  std::vector<std::string> out;
  for (const auto& status : host.status()) out.push_back(status.name);
  return out;
}

std::vector<Content> error_block(const Error& error) {
  std::vector<Content> out;
  out.push_back(TextContent{.text = fmt::format("[it could not be read: {}]", clean_excerpt(error.message(), 1000)),
                            .annotations = {},
                            .meta = {},
                            .extra = {}});
  return out;
}

}  // namespace

Task<void> ModelTools::Impl::read_into(Self self, std::shared_ptr<std::vector<MentionedResource>> all, std::size_t at,
                                       CallOptions options) {
  const auto server = (*all)[at].server;
  const auto uri = (*all)[at].uri;
  auto outcome = co_await as_result(read(self, server, uri, std::move(options)));
  for (auto& one : *all) {
    if (one.server != server || one.uri != uri) continue;
    if (outcome) {
      one.read = *outcome;
      one.for_model = contents_for_model(outcome->result->contents, 0, self->options_.longest_text);
    } else {
      one.error = outcome.error();
      one.for_model = error_block(outcome.error());
    }
  }
}

Task<std::vector<MentionedResource>> ModelTools::Impl::mentioned(Self self, std::string text, CallOptions options) {
  co_await self->host_.prepare();
  auto all = std::make_shared<std::vector<MentionedResource>>();
  Scope scope(co_await asio::this_coro::executor);
  std::set<ResourceCache::Key> reading;
  for (auto& mention : mentions_in(text, server_names(self->host_))) {
    MentionedResource one;
    one.server = std::move(mention.server);
    one.uri = std::move(mention.uri);
    one.begin = mention.begin;
    one.end = mention.end;
    all->push_back(std::move(one));
  }
  for (std::size_t i = 0; i < all->size(); ++i) {
    auto& one = (*all)[i];
    const ResourceCache::Key key{one.server, one.uri};
    if (reading.contains(key)) continue;
    if (reading.size() >= most_read) {
      one.error = Error(Errc::limit, fmt::format("a text may mention {} resources", most_read));
      one.for_model = error_block(*one.error);
      continue;
    }
    reading.insert(key);
    scope.spawn(read_into(self, all, i, options));
  }
  co_await scope.finish();
  co_return std::move(*all);
}

Task<std::vector<std::string>> ModelTools::Impl::complete_mention(Self self, std::string typed) {
  co_await self->host_.prepare();
  if (typed.starts_with('@')) typed.erase(0, 1);
  std::vector<std::string> out;
  const auto add = [&](std::string text) {
    if (out.size() < most_completions && clean_line(text) == text && std::ranges::find(out, text) == out.end()) {
      out.push_back(std::move(text));
    }
  };
  for (const auto& status : self->host_.status()) self->note(status);
  std::string server;
  for (const auto& name : server_names(self->host_)) {
    if (typed.starts_with(name + ":") && name.size() > server.size()) server = name;
  }
  if (server.empty()) {
    for (const auto& name : self->with_resources_) {
      if (name.starts_with(typed) && self->sees(name)) add("@" + name + ":");
    }
    co_return out;
  }
  const auto before = "@" + server + ":";
  const auto uri = typed.substr(server.size() + 1);
  const auto lists = co_await lists_of(self, server);
  std::size_t asked = 0;
  for (const auto& one : lists.resources) {
    if (one.uri.starts_with(uri)) add(before + one.uri);
  }
  for (const auto& one : lists.templates) {
    const auto parsed = UriTemplate::parse(one.uri_template);
    const auto open = one.uri_template.find('{');
    if (!parsed || open == std::string::npos) continue;
    const auto start = one.uri_template.substr(0, open);
    if (start.starts_with(uri)) add(before + start);
    // The first variable, while nothing behind it is typed.
    const auto names = parsed->variables();
    if (!uri.starts_with(start) || names.size() != 1 || uri.find('/', start.size()) != uri.npos) continue;
    auto session = co_await as_result(self->host_.session(server));
    if (!session || !session->server().capabilities.completions || asked++ >= most_asked) continue;
    CompleteRequest request;
    request.ref.kind = CompletionReference::Kind::resource;
    request.ref.name = one.uri_template;
    request.argument.name = names.front();
    request.argument.value = uri.substr(start.size());
    CallOptions options;
    options.total = completion_limit;
    auto completed = co_await as_result(session->complete(std::move(request), std::move(options)));
    if (!completed && completed.error().code() == Errc::cancelled) throw std::move(completed).error();
    if (!completed) continue;
    for (const auto& value : completed->values) {
      UriTemplate::Values values;
      values[names.front()] = value;
      if (auto filled = parsed->expand(values)) add(before + *filled);
    }
  }
  co_return out;
}

Task<GetPromptResult> ModelTools::Impl::prompt(Self self, std::string line, CallOptions options) {
  co_await self->host_.prepare();
  const auto parsed = value_or_throw(parse_prompt_line(line));
  struct Found {
    std::string server;
    Prompt prompt;
  };
  std::vector<Found> found;
  std::vector<std::string> names;
  std::optional<Error> failed;
  for (const auto& server : server_names(self->host_)) {
    if (!parsed.name.starts_with(normalised_full_name({server, ""}))) continue;
    auto listed = co_await as_result(self->host_.prompts(server));
    if (!listed) {
      failed = listed.error();
      continue;
    }
    for (const auto& prompt : *listed->items) {
      auto name = normalised_full_name({server, prompt.name});
      if (name == parsed.name) found.push_back({server, prompt});
      names.push_back(std::move(name));
    }
  }
  if (found.empty()) {
    if (failed) throw std::move(*failed);
    const auto meant = nearest(parsed.name, names);
    throw Error(Errc::invalid_argument,
                fmt::format("there is no prompt called \"/{}\"{}", clean_excerpt(parsed.name, 200),
                            meant.empty() ? std::string() : fmt::format("; did you mean \"/{}\"?", meant)));
  }
  if (found.size() > 1) {
    throw Error(Errc::invalid_argument,
                fmt::format("\"/{}\" means several prompts: {} of {} and {} of {}", parsed.name,
                            clean_excerpt(found[0].prompt.name, 80), clean_excerpt(found[0].server, 80),
                            clean_excerpt(found[1].prompt.name, 80), clean_excerpt(found[1].server, 80)));
  }
  auto arguments = value_or_throw(prompt_arguments("/" + parsed.name, found[0].prompt, parsed.words));
  auto session = co_await self->host_.session(found[0].server);
  auto result = co_await as_result(session.get_prompt(found[0].prompt.name, std::move(arguments), std::move(options)));
  if (!result) throw error_of_call(found[0].server, found[0].prompt.name, result.error());
  co_return std::move(*result);
}

}  // namespace patchbay
