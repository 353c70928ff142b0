#include "host/asking/questions.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "protocol/question_form.h"

namespace patchbay {
namespace {

constexpr std::size_t most_folders = 100;

ElicitResult declined() { return {.action = ElicitResult::Action::decline}; }
ElicitResult cancelled() { return {.action = ElicitResult::Action::cancel}; }

// Who stopped waiting is not told about it.
void leave_if_cancelled(const Error& error) {
  if (error.code() == Errc::cancelled) throw error;
}

}  // namespace

Root root_of(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  auto text = path.string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  auto name = std::filesystem::path(text).filename().string();
  Root root{.uri = "file://" + percent_encoded(text, "/-._~")};
  if (!name.empty() && valid_utf8(name)) root.name = std::move(name);
  return root;
}

Questions::Questions(AskingOptions options, const ClientOptions& program, Log log)
    : options_(std::move(options)),
      program_(program.elicit),
      program_visits_(program.elicit_by_url),
      model_(program.sample),
      program_has_roots_(static_cast<bool>(program.roots)),
      log_(std::move(log)) {}

void Questions::answer_for(ClientOptions& client, const std::string& server, const ConfigOrigin& declared) {
  const auto self = shared_from_this();
  if (program_ || options_.person || options_.before) {
    client.elicit = [self](ElicitRequest question, CallContext context) {
      return elicit(self, std::move(question), std::move(context));
    };
    client.elicit_by_url = program_visits_ || options_.person || options_.before;
  }
  const auto outcome = decide_sampling(layers_, server, declared);
  const bool may_have = outcome == SamplingOutcome::allow || (outcome == SamplingOutcome::ask && options_.sampling);
  client.sample = nullptr;
  if (model_ && may_have) {
    client.sample = [self, declared](CreateMessageRequest request, CallContext context) {
      return sample(self, declared, std::move(request), std::move(context));
    };
  }
  if (!program_has_roots_ && !options_.folders.empty()) {
    client.roots = [self](const CallContext&) { return roots(self); };
  }
}

bool Questions::use(std::span<const SettingsLayer> layers, const std::string& cwd, const std::string& home) {
  const auto before = all_folders();
  layers_.assign(layers.begin(), layers.end());
  budget_ = sampling_budget(layers_);
  more_folders_.clear();
  for (const auto& layer : layers_) {
    if (is_inside_repository(layer.source)) continue;
    for (const auto& [folder, place, verbatim] : layer.folders) {
      const bool of_home = folder == "~" || folder.starts_with("~/");
      const auto path = of_home ? std::filesystem::path(home + folder.substr(1)) : std::filesystem::path(cwd) / folder;
      more_folders_.push_back(path.lexically_normal().string());
    }
  }
  return before != all_folders();
}

bool Questions::set_folders(std::vector<std::string> folders) {
  const auto before = all_folders();
  options_.folders = std::move(folders);
  return before != all_folders();
}

std::vector<std::string> Questions::all_folders() const {
  std::vector<std::string> out;
  for (const auto* list : {&options_.folders, &more_folders_}) {
    for (const auto& folder : *list) {
      // A path that is relative to something else than we know is nobody's folder.
      if (!folder.starts_with('/') || out.size() == most_folders) continue;
      if (std::ranges::find(out, folder) == out.end()) out.push_back(folder);
    }
  }
  return out;
}

Task<std::vector<Root>> Questions::roots(Self self) {
  std::vector<Root> out;
  for (const auto& folder : self->all_folders()) out.push_back(root_of(folder));
  co_return out;
}

void Questions::tell_cancelled(const CallContext& context, std::string_view reason) const {
  log_.for_server(context.server)(LogLevel::warning, "question_cancelled", "tool", context.tool, "reason", reason);
}

Task<ElicitResult> Questions::ask_person(Self self, ElicitRequest question, CallContext context) {
  if (!self->options_.person) co_return cancelled();
  if (question.mode == ElicitRequest::Mode::form) {
    // Nobody is shown a form that cannot be filled in.
    if (const auto form = read_form(question.requested_schema); !form) {
      self->tell_cancelled(context, form.error().message());
      co_return cancelled();
    }
  }
  auto waiting = co_await as_result(self->queue_.turn_of(context.server));
  if (!waiting) {
    if (waiting.error().code() != Errc::limit) throw std::move(waiting).error();
    self->tell_cancelled(context, waiting.error().message());
    co_return cancelled();
  }
  const auto turn = std::move(*waiting);
  co_return co_await self->options_.person(std::move(question), std::move(context));
}

// By the program, else by the person.
Task<ElicitResult> Questions::answered(Self self, ElicitRequest question, CallContext context) {
  const bool fits = self->program_visits_ || question.mode == ElicitRequest::Mode::form;
  if (self->program_ && fits) {
    auto answer = co_await as_result(self->program_(question, context));
    if (answer) co_return std::move(*answer);
    if (answer.error().code() != Errc::unsupported) throw std::move(answer).error();
  }
  co_return co_await ask_person(self, std::move(question), std::move(context));
}

Task<ElicitResult> Questions::elicit(Self self, ElicitRequest question, CallContext context) {
  std::optional<ElicitResult> answer;
  if (self->options_.before) {
    auto said = co_await as_result(self->options_.before(question, context));
    if (!said) {
      leave_if_cancelled(said.error());
      self->tell_cancelled(context, said.error().message());
      co_return declined();
    }
    answer = std::move(*said);
  }
  if (!answer) answer = co_await answered(self, question, context);
  if (!self->options_.after) co_return std::move(*answer);
  auto said = co_await as_result(self->options_.after(std::move(question), std::move(*answer), context));
  if (!said) {
    leave_if_cancelled(said.error());
    self->tell_cancelled(context, said.error().message());
    co_return declined();
  }
  co_return std::move(*said);
}

Task<void> Questions::permit(Self self, const ConfigOrigin& declared, const CreateMessageRequest& request,
                             const CallContext& context) {
  const auto outcome = decide_sampling(self->layers_, context.server, declared);
  const auto refused = [&](std::string_view why, LogLevel level = LogLevel::info) {
    self->log_.for_server(context.server)(level, "sampling_denied", "reason", why);
    return Error(Errc::denied, fmt::format("the server may not have text from the model: {}", why));
  };
  if (outcome == SamplingOutcome::deny) throw refused("settings deny it");
  if (outcome == SamplingOutcome::ask && !self->options_.sampling) {
    // Whoever starts a script would not know.
    throw refused("settings do not allow it (sampling.allow), and nobody can be asked", LogLevel::warning);
  }
  auto taken = self->spent_.take(self->budget_, context.server, context.call_id, request.max_tokens);
  if (!taken) throw std::move(taken).error();
  if (outcome == SamplingOutcome::allow) co_return;
  SamplingQuestion question{.request = request, .text = sampling_text(request), .context = context};
  const auto turn = co_await self->queue_.turn_of(context.server);
  if (!co_await self->options_.sampling(std::move(question))) throw refused("the user rejected the request");
}

Task<CreateMessageResult> Questions::sample(Self self, ConfigOrigin declared, CreateMessageRequest request,
                                            CallContext context) {
  co_await permit(self, declared, request, context);
  co_return co_await self->model_(std::move(request), std::move(context));
}

}  // namespace patchbay
