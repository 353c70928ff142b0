#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <patchbay/server.h>

#include "base/as_result.h"
#include "protocol/tool_name.h"
#include "server/connection.h"
#include "server/core.h"
#include "server/serve.h"
#include "transport/text_channel.h"

namespace patchbay {

Server::Server(ServerOptions options) : core_(std::make_shared<Core>(std::move(options))) {}
Server::Server(std::string name, std::string version)
    : Server(ServerOptions{.info = {.name = std::move(name), .version = std::move(version)}}) {}
Server::~Server() { core_->end_tasks(); }

const ServerOptions& Server::options() const noexcept { return core_->options; }

void Server::add_tool(Tool tool, ToolHandler handler, ToolOptions options) {
  const auto name = tool.name;
  if (auto allowed = check_tool_name(name); !allowed) throw std::move(allowed).error();
  ToolSchemas schemas(tool.input_schema, tool.output_schema ? &*tool.output_schema : nullptr);
  for (const auto& [schema, problem] :
       {std::pair("inputSchema", schemas.input_problem()), std::pair("outputSchema", schemas.output_problem())}) {
    if (problem)
      throw Error(Errc::invalid_argument, fmt::format("tool \"{}\": {}: {}", name, schema, problem->message()));
  }
  core_->tasks_offered |= task_support_of(tool) != TaskSupport::forbidden;
  core_->tools.put(name, std::move(tool), {std::move(schemas), std::move(handler), options});
  core_->announce({Change::Kind::tools, {}});
}

bool Server::remove_tool(std::string_view name) {
  const bool removed = core_->tools.erase(name);
  if (removed) core_->announce({Change::Kind::tools, {}});
  return removed;
}

void Server::add_resource(Resource resource, ResourceHandler handler) {
  const auto uri = resource.uri;
  core_->resources.put(uri, std::move(resource), std::move(handler));
  core_->announce({Change::Kind::resources, {}});
}

bool Server::remove_resource(std::string_view uri) {
  const bool removed = core_->resources.erase(uri);
  if (removed) core_->announce({Change::Kind::resources, {}});
  return removed;
}

void Server::add_resource_template(ResourceTemplate resource_template, TemplateHandler handler) {
  const auto text = resource_template.uri_template;
  auto pattern = value_or_throw(UriTemplate::parse(text));
  core_->templates.put(text, std::move(resource_template), {std::move(pattern), std::move(handler)});
  core_->announce({Change::Kind::resources, {}});
}

void Server::add_skill(std::string path, std::vector<SkillFile> files) {
  core_->follow_skills(value_or_throw(core_->skills.add(path, std::move(files))));
}

bool Server::remove_skill(std::string_view path) {
  auto removed = core_->skills.remove(path);
  if (removed) core_->follow_skills(*removed);
  return removed.has_value();
}

void Server::add_prompt(Prompt prompt, PromptHandler handler) {
  const auto name = prompt.name;
  core_->prompts.put(name, std::move(prompt), std::move(handler));
  core_->announce({Change::Kind::prompts, {}});
}

bool Server::remove_prompt(std::string_view name) {
  const bool removed = core_->prompts.erase(name);
  if (removed) core_->announce({Change::Kind::prompts, {}});
  return removed;
}

void Server::set_completion(CompletionHandler handler) {
  core_->completion = std::make_shared<const CompletionHandler>(std::move(handler));
}

void Server::resource_updated(std::string_view uri) {
  core_->announce({Change::Kind::resource_updated, std::string(uri)});
}

namespace {

// Holds what it needs itself: the Server may be destroyed while a connection lasts.
Task<void> serve_channel(std::shared_ptr<ServerCore> core, std::unique_ptr<Channel> channel, Runtime runtime,
                         Duration drain) {
  auto executor = co_await asio::this_coro::executor;
  ClientConnection connection(std::move(core), executor, std::move(channel), std::move(runtime), drain);
  co_await connection.run();
}

Task<void> serve_texts(std::shared_ptr<ServerCore> core, std::unique_ptr<TextChannel> texts, Runtime runtime) {
  if (!texts) throw Error(Errc::invalid_argument, "the channel to serve is null");
  auto executor = co_await asio::this_coro::executor;
  auto channel = std::make_unique<TextMessages>(executor, std::move(texts), "the client", runtime);
  co_await serve_channel(std::move(core), std::move(channel), std::move(runtime), Duration::zero());
}

}  // namespace

Task<void> serve(Server& server, std::unique_ptr<Channel> channel, const Runtime& runtime) {
  return serve_channel(ServerAccess::core(server), std::move(channel), runtime, Duration::zero());
}

Task<void> Server::serve(std::unique_ptr<TextChannel> channel) {
  return serve_texts(core_, std::move(channel), core_->own_runtime());
}

}  // namespace patchbay
