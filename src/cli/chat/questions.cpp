// What the host asks the person in a conversation. The question before a call is answered in the prompt's place; the
// others are those of every command, and have the terminal to themselves meanwhile.
#include "cli/questions.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "agent/conversation/usage_sum.h"
#include "agent/sampling.h"
#include "base/as_result.h"
#include "base/strings.h"
#include "cli/approval.h"
#include "cli/changed_tool.h"
#include "cli/chat/chat.h"
#include "cli/host_options.h"
#include "cli/sign_in.h"
#include "cli/texts/form_words.h"
#include "cli/texts/present.h"
#include "entries/consent_text.h"
#include "text/clean_text.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr int most_tries = 10;

// Nothing when the person leaves it. What was written with a mistake is there to be corrected.
Task<std::optional<Json>> edited_arguments(Stage::Question& asked, std::string text) {
  for (int tried = 0; tried < most_tries; ++tried) {
    auto written = co_await asked.ask("Arguments: ", text);
    if (!written) co_return std::nullopt;
    auto arguments = parse_json(*written);
    if (arguments && arguments->is_object()) co_return std::move(*arguments);
    asked.say(fault_line(arguments ? std::string("that is not a JSON object") : arguments.error().message()));
    text = std::move(*written);
  }
  co_return std::nullopt;
}

bool means_yes(const std::optional<std::string>& typed) {
  const auto word = to_lower_ascii(trim(typed.value_or("")));
  return word == "y" || word == "yes";
}

Settings for_sign_in(Settings settings) {
  settings.command = Command::login;
  settings.words.clear();
  return settings;
}

}  // namespace

void Chat::connect(HostOptions& options) {
  options.permission.ask = [this](PermissionQuestion question) { return permit(std::move(question)); };
  options.approve = [this](ApprovalQuestion question) { return approve(std::move(question)); };
  options.approve_change = [this](ChangedToolQuestion question) { return approve_change(std::move(question)); };
  options.asking.person = [this](ElicitRequest question, CallContext context) {
    return answer(std::move(question), std::move(context));
  };
  options.asking.sampling = [this](SamplingQuestion question) { return approve_sampling(std::move(question)); };
  options.client.sample = [this](CreateMessageRequest request, CallContext context) {
    return sample(std::move(request), std::move(context));
  };
  options.on_event = [this](const HostEvent& event) { heard(event); };
  let_user_sign_in(options.sign_in, *options.config, for_sign_in(settings_), io_, waiting_,
                   std::make_shared<bool>(false));
  if (options.sign_in.paste) {
    options.sign_in.paste = [this, ask = options.sign_in.paste](SignInPage page) {
      return paste_address(ask, std::move(page));
    };
  }
}

Task<std::string> Chat::paste_address(std::function<Task<std::string>(SignInPage)> ask, SignInPage page) {
  const auto turn = co_await turns_.acquire();
  const auto pause = co_await stage_.pause();
  co_return co_await ask(std::move(page));
}

Task<bool> Chat::permit(PermissionQuestion question) {
  if (own_calls_.contains(question.context.call_id) || grants_.cover(question)) co_return true;
  const auto turn = co_await turns_.acquire();
  // What was answered meanwhile may have been about this as well.
  if (grants_.cover(question)) co_return true;
  const auto possible = possible_grants(question);
  Stage::Question asked(stage_);
  view_.asked(question.context.call_id);
  asked.say(permission_lines(question, view_.look()));
  asked.say(wrapped(permission_legend(possible), stage_.room(), "  "));
  for (int tried = 0; tried < most_tries; ++tried) {
    const auto typed = co_await asked.ask(permission_prompt(possible));
    view_.answered(question.context.call_id);
    if (!typed) co_return false;
    const auto answer = permission_answer(*typed, possible);
    if (!answer) {
      for (const auto& line : permission_help(question, possible)) asked.say(wrapped_lines(line, stage_.room()));
      continue;
    }
    switch (answer->kind) {
      case PermissionAnswer::Kind::once:
        co_return true;
      case PermissionAnswer::Kind::grant:
        grants_.add(question, answer->scope);
        co_return true;
      case PermissionAnswer::Kind::no:
        co_return false;
      case PermissionAnswer::Kind::no_because: {
        const auto why = co_await asked.ask("Why not? ");
        if (!why || trim(*why).empty()) co_return false;
        throw Error(Errc::denied, fmt::format("the user did not allow this call and says: {}", *why));
      }
      case PermissionAnswer::Kind::edit: {
        const auto arguments = co_await edited_arguments(asked, safe_json(question.arguments.text()));
        if (!arguments) continue;
        if (*arguments == question.arguments.value()) co_return true;
        grants_.add(question, *arguments);
        throw Error(Errc::denied,
                    fmt::format("the user did not allow these arguments, but allows others; if they serve your "
                                "purpose, call the tool again with exactly these: {}",
                                to_text(*arguments)));
      }
    }
  }
  co_return false;
}

Task<bool> Chat::approve(ApprovalQuestion question) {
  std::optional<bool> said;
  {
    const auto turn = co_await turns_.acquire();
    const auto pause = co_await stage_.pause();
    said = co_await ask_approval(io_, waiting_, question.server);
  }
  if (!said) co_return false;
  const std::function<void(const std::string&)> say = [this](const std::string& text) { io_.talk(text); };
  co_return co_await remember_approval(settings_, say, std::move(question.server), *said);
}

// A server that nobody declared: the model has found its command or URL.
Task<bool> Chat::approve_new(ApprovalQuestion question) {
  const auto turn = co_await turns_.acquire();
  Stage::Question asked(stage_);
  asked.say(fmt::format("The model wants to use a server that is not declared, \"{}\":\n{}",
                        visible_text(question.server.name), consent_block(question.server, "  ", stage_.room())));
  const auto typed = co_await asked.ask("Connect to it, for this conversation? [y/n] ");
  co_return means_yes(typed);
}

Task<bool> Chat::approve_change(ChangedToolQuestion question) {
  const auto turn = co_await turns_.acquire();
  const auto pause = co_await stage_.pause();
  co_return co_await ask_about_change(io_, waiting_, std::move(question));
}

Task<ElicitResult> Chat::answer(ElicitRequest question, CallContext context) {
  const auto turn = co_await turns_.acquire();
  const auto pause = co_await stage_.pause();
  co_return co_await ask_user(io_, waiting_, std::move(question), std::move(context));
}

// Whether a server may have text of the model. All that would be sent is shown, or nothing is sent.
Task<bool> Chat::approve_sampling(SamplingQuestion question) {
  if (!model_) throw Error(Errc::unsupported, "this conversation has no model");
  value_or_throw(can_be_read(question.text));
  const auto turn = co_await turns_.acquire();
  Stage::Question asked(stage_);
  const auto& context = question.context;
  asked.say(wrapped_lines(
      fmt::format("The server \"{}\"{} wants your model ({}) to answer this:\n{}", visible_text(context.server),
                  context.tool.empty() ? "" : fmt::format(" (tool {})", visible_text(context.tool)),
                  safe_name(model_name(), 100), question.text),
      stage_.room()));
  const auto typed = co_await asked.ask("Send it to the model, and the answer to the server? [y/n] ");
  co_return means_yes(typed);
}

Task<CreateMessageResult> Chat::sample(CreateMessageRequest request, CallContext context) {
  const auto model = model_;
  if (!model) throw Error(Errc::unsupported, "this conversation has no model");
  std::string said;
  auto result = co_await answer_sampling(model, std::move(request), [&](const ModelAnswer& answer) {
    // It has no tools, so none can be left out.
    add(for_servers_, answer.usage);
    for (const auto& warning : answer.warnings) view_.note(message_line(warning, 1000));
    said = text_of(answer.message);
  });
  view_.note(
      fmt::format("The model answered \"{}\":\n{}", visible_text(context.server), indented(clean_excerpt(said, 600))));
  co_return result;
}

Task<bool> Chat::approve_skill(SkillQuestion question) {
  const auto turn = co_await turns_.acquire();
  Stage::Question asked(stage_);
  std::vector<std::string> lines{fmt::format("The model wants to follow the skill \"{}\" of the server \"{}\"{}:",
                                             visible_text(question.skill.frontmatter["name"].as_text()),
                                             visible_text(question.server),
                                             question.changed ? ", which is another one than you approved" : "")};
  for (auto& line :
       wrapped("    " + visible_text(question.skill.frontmatter["description"].as_text()), stage_.room(), "      | ")) {
    lines.push_back(std::move(line));
  }
  asked.say(lines);
  const auto typed = co_await asked.ask("Let it? [y/n] ");
  co_return means_yes(typed);
}

}  // namespace patchbay::cli
