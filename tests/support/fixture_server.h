// The server that scenarios run against: one of everything a client can use. In this process
// it is made by make_fixture_server(); tests/fakes/scenario_server.cpp offers the same over
// stdio. Whatever a scenario wants to know about it, it asks by a tool.
//
//   echo             its arguments, as text and structured
//   blocks           one block of every kind
//   structured_only  structured content without blocks
//   fails            throws; is_error: answers with isError; refuses: JSON-RPC error 1234
//   count_up         progress 1..`to`
//   hang             until cancelled; hangs: how many began and how many were cancelled
//   ask_form, ask_url, ask_both, ask_times{times}, ask_sample, ask_roots
//   speak            one log message per level
//   task_held, task_optional   until task_release, as a task if need be; task_asks: two forms inside
//   the task; task_fails: JSON-RPC error 1234; task_is_error; task_after_question: a form before it
//   add_tool{name}, remove_tool{name}, touch{uri}, end_process
//   filler_00 ... filler_19
//
// Its skills: office/pdf with SKILL.md, references/forms.md, templates/{1..6}.md and logo.bin;
// `changed` and `longer`, whose SKILL.md is read as another text than their entry says, of the
// same length and of another; change_skill{text} replaces references/forms.md of office/pdf.
#pragma once

#include <memory>

#include <patchbay/server.h>

namespace patchbay::test {

std::shared_ptr<Server> make_fixture_server();

}  // namespace patchbay::test
