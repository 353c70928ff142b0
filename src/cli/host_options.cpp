#include "cli/host_options.h"

#include <filesystem>

#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/offload.h"
#include "cli/approval.h"
#include "cli/context.h"
#include "cli/declared.h"
#include "cli/kept.h"
#include "cli/sign_in.h"
#include "cli/texts/model_words.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/words/channel_flags.h"
#include "cli/words/permission_flags.h"
#include "host/failure_memory.h"
#include "settings/folders.h"
#include "settings/settings_file.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

// What was saved, and how to take it back.
std::string answer_text(const std::string& server, bool yes) {
  return fmt::format("{} \"{}\"; you will not be asked again in this project{}. Undo: patchbay {}{}\n",
                     yes ? "Approved" : "Rejected", safe_name(server, 80), yes ? " unless its entry changes" : "",
                     yes ? "reject" : "approve", shell_operands({server}));
}

}  // namespace

HostOptions host_options(const Settings& settings, const std::string& directory) {
  HostOptions options;
  options.permission = permission_options(settings);
  options.load = load_request(settings);
  if (!directory.empty()) options.load->cwd = directory;
  options.config = load_servers(*options.load);
  options.config->problems = with_remedies_in_words(std::move(options.config->problems));
  require_flag_settings(*options.config);
  auto remark = foreign_mode_remark(settings.permission_mode);
  const bool known_here = is_agent(settings.command) && settings.permission_mode == "acceptEdits";
  if (!remark.empty() && !known_here) {
    options.config->problems.push_back({"--permission-mode", 0, 0, std::move(remark), {}, Severity::warning});
  }
  options.channels = channel_options(settings);
  options.trust_project = settings.trust_project;
  options.client.info = Implementation{.name = "patchbay", .version = std::string(version())};
  if (const auto cache = cache_folder(process_environment()); !cache.empty()) {
    options.client.protocol_memory = cache + "/older-servers.json";
  }
  options.failure_memory = failure_file();
  options.state_directory = state_directory();
  options.sign_in = sign_in_options(*options.config);
  if (settings.timeout_seconds) {
    options.connect_limit = timeout_of(settings);
    options.connect_setting = "give --timeout more seconds";
  }
  options.asking.folders = {
      settings.root.empty() ? options.load->cwd : std::filesystem::absolute(settings.root).lexically_normal().string()};
  return options;
}

Task<bool> remember_approval(Settings settings, std::function<void(const std::string&)> say, ServerConfig server,
                             bool yes) {
  auto kept = co_await offload(Pool::slow, [settings, server, yes] { return remember_answer(settings, server, yes); });
  if (!kept) {
    say(fmt::format("patchbay: your answer about \"{}\" could not be saved, so you will be asked again: {}\n",
                    safe_name(server.name, 80), message_line(kept.error().message(), 500)));
  } else {
    say(answer_text(server.name, yes));
  }
  if (yes) co_return true;
  auto error = Error(Errc::denied, fmt::format("you rejected the server \"{}\"", server.name))
                   .with_remedy({Remedy::Kind::undo_rejection, server.name});
  // Said just now, with how to undo it.
  throw kept ? std::move(error).marked() : error;
}

Task<bool> ask_and_remember(const Settings& settings, Io& io, Waiting& waiting, std::map<std::string, Error>& told,
                            ServerConfig server) {
  const auto answer = co_await ask_approval(io, waiting, server);
  if (!answer) co_return false;
  const auto say = [&](const std::string& text) {
    waiting.pause();
    io.talk(text);
  };
  try {
    co_return co_await remember_approval(settings, say, server, *answer);
  } catch (const Error& error) {
    if (error.is_same_failure(error)) told.insert_or_assign(server.name, error);
    throw;
  }
}

void say_problems(const std::vector<ConfigProblem>& problems, const Settings& settings, Io& io,
                  const std::string& named) {
  for (const auto& problem : problems) {
    if (problem.severity == Severity::note) continue;
    if (problem.severity == Severity::warning && (settings.json || settings.quiet)) continue;
    const bool aside = !named.empty() && problem.server != named;
    io.talk(fmt::format("patchbay: {}{}\n", problem.severity == Severity::warning || aside ? "warning: " : "",
                        problem_text(with_remedy_in_words(problem))));
  }
}

}  // namespace patchbay::cli
