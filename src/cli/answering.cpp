#include "cli/answering.h"

#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/questions.h"
#include "cli/texts/form_words.h"
#include "cli/texts/present.h"
#include "protocol/question_form.h"

namespace patchbay::cli {
namespace {

Task<ElicitResult> ask_nobody() { co_return ElicitResult{.action = ElicitResult::Action::cancel}; }

// Without a terminal: says once how a script can answer.
Task<ElicitResult> say_nobody(const Settings& settings, Io& io, Waiting& waiting, Answering& answering,
                              ElicitRequest question, CallContext context) {
  if (!settings.quiet && !answering.fault && !std::exchange(answering.told, true)) {
    const auto form = read_form(question.requested_schema);
    const bool fields = question.mode == ElicitRequest::Mode::form && form && !form->fields.empty();
    waiting.pause();
    io.talk(fmt::format(
        "patchbay: the server \"{}\" asked a question, and {}, so it was cancelled{}\n", safe_name(context.server, 80),
        settings.json ? "with --json nobody is asked" : "there is no terminal to ask it on",
        fields ? fmt::format("; to answer it: --answers FILE|JSON, with the fields {}", fields_line(*form))
        : question.mode == ElicitRequest::Mode::url
            ? "; it wants a web page to be opened, which needs a person: run this on a terminal"
            : "; to answer it: --answers FILE|JSON"));
  }
  co_return ElicitResult{.action = ElicitResult::Action::cancel};
}

// By what was given on the command line. Throws Errc::unsupported where there is nothing about this question.
Task<ElicitResult> answer_as_given(Io& io, Waiting& waiting, Answering& answering, ElicitRequest question,
                                   CallContext context) {
  auto given = answering.given->answer(question, context);
  if (!given) throw Error(Errc::unsupported, "not answered before");
  if (*given) {
    co_return ElicitResult{.action = ElicitResult::Action::accept, .content = std::move(**given)};
  }
  answering.fault = given->error();
  waiting.pause();
  io.talk(fmt::format("patchbay: --answers does not fit a question of the server \"{}\", so it was cancelled: {}\n",
                      safe_name(context.server, 80), message_line(given->error().message(), 500)));
  co_return ElicitResult{.action = ElicitResult::Action::cancel};
}

}  // namespace

void let_answer(HostOptions& options, Answering& answering, WhoAnswers who, const Settings& settings, Io& io,
                Waiting& waiting) {
  // Some servers have tools for those alone who can be asked. What a server lists must not depend on the command or on
  // the terminal, so every command says that it can.
  options.asking.person = [&, who](ElicitRequest question, CallContext context) {
    switch (who) {
      case WhoAnswers::person:
        return ask_user(io, waiting, std::move(question), std::move(context));
      case WhoAnswers::given_alone:
        return say_nobody(settings, io, waiting, answering, std::move(question), std::move(context));
      case WhoAnswers::nobody:
        break;
    }
    return ask_nobody();
  };
  if (!answering.given) return;
  options.client.elicit = [&](ElicitRequest question, CallContext context) {
    return answer_as_given(io, waiting, answering, std::move(question), std::move(context));
  };
}

void say_unused_answers(const Answering& answering, const Settings& settings, Io& io) {
  if (!answering.given || settings.quiet) return;
  const auto unused = answering.given->unused();
  if (unused.empty()) return;
  io.talk(fmt::format("patchbay: warning: --answers: no question asked for {}\n", safe_line(join(unused, ", "), 400)));
}

}  // namespace patchbay::cli
