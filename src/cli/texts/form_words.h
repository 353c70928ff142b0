// How a server's question looks on a terminal: its fields, what was answered, a page that it wants to be opened.
// The values are protocol/question_form's. All that comes from the server is written so that each character shows
// itself, and never begins a line. Pure; used by cli/questions and cli/given_answers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <patchbay/json.h>
#include <patchbay/questions.h>

#include "protocol/question_form.h"

namespace patchbay::cli {

// A stranger's text of any length behind bars, at most so many bytes of it.
std::string quoted(std::string_view text, std::size_t columns);

// What stands above the prompt: the description, the choices with their numbers, a warning about a secret.
std::string field_about(const FormField& field, std::size_t columns);
// "size (a whole number from 1 to 5; Enter: leave it out): "
std::string field_prompt(const FormField& field);
// Why a typed text was not taken, as a line.
std::string fault_line(std::string_view reason);
// All fields with what will be sent, numbered.
std::string review_text(const QuestionForm& form, const Json& content, std::size_t columns);
// The fields for whoever could have given answers: "name (required), size".
std::string fields_line(const QuestionForm& form);

// A page that a server wants to be opened. Only http and https addresses that every program reads alike.
struct Visit {
  std::string address;  // what is opened, and shown
  std::string host;
  std::string warning;  // a line; empty: there is nothing to warn of
};
Result<Visit> visit_of(const ElicitRequest& question);

}  // namespace patchbay::cli
