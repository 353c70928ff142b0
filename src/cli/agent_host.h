// What the three faces of the agent share (`chat`, `-p` and `acp`): from the words of a command line to a Host with the
// built-in tools, a model, and the options of an Agent. Who is asked is theirs: they put it into HostOptions.
//
//   auto options = agent_host_options(settings, io);
//   options.permission.ask = …;
//   AgentHost house(settings, io, runtime, std::move(options));
//   Agent agent(house.host, house.model(), agent_options(settings));
//
// Made before there is a loop, used on the loop thread. Each throws Errc::config or invalid_argument for what cannot be
// used.
#pragma once

#include <memory>
#include <string>

#include <patchbay/agent.h>

#include "agent/models/api_extras.h"
#include "agent/models/model_choice.h"
#include "auth/store/secret_vault.h"
#include "base/runtime.h"
#include "cli/io.h"
#include "cli/known_secrets.h"
#include "cli/texts/typed_where.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// Reads the configuration and says what is wrong with it. Asks nobody: what no rule decides is refused, unless
// `permission.ask` is set to something else.
// `directory`: as host_options() takes it.
HostOptions agent_host_options(const Settings& settings, Io& io, const std::string& directory = {});

class AgentHost {
 public:
  // `say` gets lines for people that come up meanwhile: warnings of the log. With a log of its own they go there.
  // `refused`: where several on one loop share what APIs refused.
  AgentHost(const Settings& settings, Io& io, const Runtime& given, HostOptions options,
            std::function<void(const std::string&)> say, std::shared_ptr<RefusedExtras> refused = nullptr);

  // Which model is meant: that of --model, else `model` of the configuration, else the first with a key.
  // Errc::config says how one is set up. May ask the store of secrets, which blocks.
  ModelChoice model_choice() const;
  std::shared_ptr<Model> model(TypedWhere where = TypedWhere::shell) const;
  // Which one that was and why, as people read it: see model_line(). Empty before.
  const std::string& chosen_line() const noexcept { return chosen_line_; }
  // Another one, as --model would name it; for a conversation.
  std::shared_ptr<Model> model_named(const std::string& words) const;

  const std::shared_ptr<const KnownSecrets> secrets;
  const Runtime runtime;

 private:
  const std::shared_ptr<SecretVault> vault_;
  const std::string words_;
  const LoadedConfig config_;  // as it was when this began
  const std::shared_ptr<RefusedExtras> refused_;
  ModelChoice choice_of(const std::string& words, TypedWhere where) const;
  std::shared_ptr<Model> model_of(ModelChoice choice) const;
  mutable std::string chosen_line_;

 public:
  Host host;
};

// What a conversation waits for: what MCP_CONNECTION_NONBLOCKING says, and `otherwise` where it says nothing.
BeginWait wait_for_servers(BeginWait otherwise);

// Without a conversation to resume: see conversation_to_resume().
AgentOptions agent_options(const Settings& settings);

// The conversation to go on with: that of --resume, or with --continue the newest of the directory; empty: a new one.
// Errc::invalid_argument when there is none, or when nobody said which. Blocking; has a loop of its own.
std::string conversation_to_resume(const Settings& settings);

// Of a conversation that --resume names and that is not there: how to find those that are.
Error not_resumed(const Error& error);

// The directory that the agent works in: that of --root, else the current one.
std::string agent_directory(const Settings& settings);

}  // namespace patchbay::cli
