#include "cli/agent_host.h"

#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "agent/conversation/conversation.h"
#include "agent/models/make_model.h"
#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "builtin/builtin_server.h"
#include "cli/chosen_model.h"
#include "cli/context.h"
#include "cli/host_options.h"
#include "cli/kept.h"
#include "cli/logging.h"
#include "cli/texts/command_table.h"
#include "cli/texts/present.h"
#include "cli/vault.h"
#include "host/ide/ide.h"
#include "host/make_host.h"
#include "settings/files.h"

namespace patchbay::cli {
namespace {

constexpr std::string_view builtin_name = "patchbay";
// What looks at files of the directory needs no question, and with acceptEdits what changes them neither.
constexpr std::string_view reading_tools[] = {"read_file", "list_dir", "glob", "grep"};
constexpr std::string_view editing_tools[] = {"write_file", "edit_file"};

void allow(PermissionOptions& options, std::span<const std::string_view> tools) {
  for (const auto tool : tools) options.allowed_tools.push_back(fmt::format("mcp__{}__{}", builtin_name, tool));
}

Runtime agent_runtime(const Settings& settings, Io& io, Runtime runtime, std::shared_ptr<const KnownSecrets> secrets,
                      std::function<void(const std::string&)> say) {
  const Talk talk = [&io](std::string_view text) { io.log(text); };
  runtime.log =
      log_is_wanted(settings) ? make_log(settings, talk, secrets) : words_for_people(settings, std::move(say), secrets);
  if (settings.trace) runtime.trace = make_trace(settings, talk, secrets);
  return runtime;
}

Json answer_schema(const std::string& argument) {
  auto text = is_inline_config(argument) ? Result<std::string>(argument) : read_argument_file(argument);
  if (!text) throw std::move(text).error();
  auto schema = parse_json(*text);
  if (!schema || !schema->is_object()) {
    throw Error(Errc::invalid_argument,
                fmt::format("--json-schema: {} is not a JSON object{}", safe_name(argument, 300),
                            schema ? "" : fmt::format(": {}", schema.error().message())));
  }
  return std::move(*schema);
}

}  // namespace

std::string agent_directory(const Settings& settings) {
  return settings.root.empty() ? std::filesystem::current_path().string()
                               : std::filesystem::absolute(settings.root).lexically_normal().string();
}

HostOptions agent_host_options(const Settings& settings, Io& io, const std::string& directory) {
  auto options = host_options(settings, directory);
  if (const auto& refused = options.config->refused_flags) throw Error(Errc::config, *refused);
  allow(options.permission, reading_tools);
  if (settings.permission_mode == "acceptEdits") allow(options.permission, editing_tools);
  options.permission.ask = [](PermissionQuestion) -> Task<bool> { co_return false; };
  say_problems(options.config->problems, settings, io);
  return options;
}

AgentHost::AgentHost(const Settings& settings, Io& io, const Runtime& given, HostOptions options,
                     std::function<void(const std::string&)> say, std::shared_ptr<RefusedExtras> refused)
    : secrets(std::make_shared<const KnownSecrets>(*options.config)),
      runtime(agent_runtime(settings, io, given, secrets, std::move(say))),
      vault_(open_vault(settings, io, options.config->config_dir)),
      words_(settings.model),
      config_(*options.config),
      refused_(refused ? std::move(refused) : std::make_shared<RefusedExtras>()),
      host(make_host(std::move(options), runtime, std::string(command_name(settings.command)), {}, vault_)) {
  if (settings.ide) {
    host.add_server(ide_server("--ide"), ide_transport(ide_search(process_environment(), agent_directory(settings))));
  }
  BuiltinOptions builtin;
  builtin.root = agent_directory(settings);
  builtin.allow_run = true;
  builtin.runtime = runtime;
  host.add_server(std::string(builtin_name), make_builtin_server(builtin), NamePrefix::none);
}

ModelChoice AgentHost::model_choice() const { return choice_of(words_, TypedWhere::shell); }

ModelChoice AgentHost::choice_of(const std::string& words, TypedWhere where) const {
  auto choice = chosen_model(words, config_, *vault_);
  if (!choice) throw choice.error().error.with_message(no_model_words(choice.error(), where));
  return std::move(*choice);
}

std::shared_ptr<Model> AgentHost::model(TypedWhere where) const {
  auto choice = choice_of(words_, where);
  chosen_line_ = model_line(choice);
  return model_of(std::move(choice));
}

std::shared_ptr<Model> AgentHost::model_named(const std::string& words) const {
  return model_of(choice_of(words, TypedWhere::chat));
}

std::shared_ptr<Model> AgentHost::model_of(ModelChoice choice) const {
  HttpClientOptions http;
  http.environment = variables_of(config_);
  http.log = runtime.log;
  return make_model(std::move(choice), {.http = std::move(http), .limits = runtime.limits, .refused = refused_});
}

std::string conversation_to_resume(const Settings& settings) {
  if (settings.resume && !settings.resume->empty()) return *settings.resume;
  if (!settings.resume && !settings.resume_newest) return {};
  asio::io_context loop(1);
  Scope scope(loop.get_executor());
  Result<std::vector<KeptConversation>> kept;
  scope.spawn([](const Settings& s, Result<std::vector<KeptConversation>>& out) -> Task<void> {
    ConversationOptions options{.state_directory = state_directory(), .directory = agent_directory(s)};
    out = co_await as_result(Conversation::list(std::move(options), 10));
  }(settings, kept));
  loop.run();
  if (!kept) throw std::move(kept).error();
  if (kept->empty()) {
    throw Error(Errc::invalid_argument,
                "no conversation of this directory is kept; begin one without "
                "--resume and --continue");
  }
  if (settings.resume_newest) return kept->front().id;
  std::string text = "--resume needs the ID of a conversation here:";
  for (const auto& one : *kept) text += fmt::format("\n  {}  {}", one.id, message_line(one.words, 60));
  throw Error(Errc::invalid_argument, std::move(text));
}

Error not_resumed(const Error& error) {
  if (error.code() != Errc::invalid_argument) return error;
  return error.with_message(error.message() + "; to choose one of this directory: patchbay chat --resume");
}

BeginWait wait_for_servers(BeginWait otherwise) {
  const auto said = process_environment()("MCP_CONNECTION_NONBLOCKING");
  if (!said || said->empty()) return otherwise;
  return *said == "0" || *said == "false" ? BeginWait::all : BeginWait::always_loaded;
}

AgentOptions agent_options(const Settings& settings) {
  AgentOptions options;
  options.wait_for_servers = wait_for_servers(BeginWait::always_loaded);
  options.directory = agent_directory(settings);
  options.more_instructions = settings.more_instructions;
  options.mode = settings.plan ? AgentMode::plan : AgentMode::normal;
  options.max_turns = settings.max_turns.value_or(0);
  if (!settings.json_schema.empty()) options.answer_schema = answer_schema(settings.json_schema);
  options.state_directory = state_directory();
  return options;
}

}  // namespace patchbay::cli
