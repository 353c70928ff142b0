// Who answers the questions of servers while one command runs: what was given with --answers, then the person on the
// terminal, and where there is none, nobody, with a word about how a script can answer. Wired by main; loop thread
// only.
#pragma once

#include <cstdint>
#include <optional>

#include <patchbay/host.h>

#include "cli/given_answers.h"
#include "cli/io.h"
#include "cli/waiting.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// What was answered before, and what became of it.
struct Answering {
  std::optional<GivenAnswers> given;
  std::optional<Error> fault;  // an answer that did not fit
  bool told = false;           // that there is nobody to ask
};

enum class WhoAnswers : std::uint8_t {
  nobody,       // of a command that is not about one call
  given_alone,  // there is no terminal
  person,
};

// All of these outlive the host.
void let_answer(HostOptions& options, Answering& answering, WhoAnswers who, const Settings& settings, Io& io,
                Waiting& waiting);

// At the end, with the answers that nobody has asked for.
void say_unused_answers(const Answering& answering, const Settings& settings, Io& io);

}  // namespace patchbay::cli
