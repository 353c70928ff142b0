// `patchbay call TOOL ...`: one tool call. Its text goes to stdout as the server sent it,
// cleaned when a terminal shows it; --json prints the whole result, --for-model what a model gets of it.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <patchbay/failure.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/offload.h"
#include "base/strings.h"
#include "cli/approval.h"
#include "cli/context.h"
#include "cli/output_file.h"
#include "cli/texts/model_words.h"
#include "cli/texts/present.h"
#include "cli/texts/tool_text.h"
#include "protocol/codec.h"
#include "results/handle.h"
#include "text/call_arguments.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {

namespace {

// Wrong arguments end in the command that shows the right ones.
Error with_remedy(const Error& error, const CatalogEntry& entry) {
  if (error.code() != Errc::invalid_argument) return error;
  if (error.message().starts_with(handle_mark)) {
    return error.with_message(error.message() +
                              "; to list the results that are kept: patchbay results list. A result can be named by "
                              "the commands of the session that it came from (patchbay session start)");
  }
  return error.with_message(fmt::format("{}; run `patchbay tools{}` to see the arguments of the tool", error.message(),
                                        shell_operands({entry.server + "/" + entry.tool->name})));
}

bool names_server(const Context& context, const std::string& word) {
  return std::ranges::any_of(context.statuses(), [&](const ServerStatus& status) { return status.name == word; });
}

// key=value, {json} or -: what can follow a tool.
bool is_argument(const std::string& word) {
  return word == "-" || word.find('=') != std::string::npos || word.starts_with('{') || word.starts_with('[');
}

Error server_for_tool(const std::string& server, const std::string& tool) {
  return {
      Errc::invalid_argument,
      fmt::format("\"{}\" is a server; add the name of the tool: patchbay call{} (to list its tools: patchbay tools{})",
                  safe_name(server, 80), shell_operands({server + "/" + tool}), shell_operands({server}))};
}

// An argument that the schema does not name is sent and most often ignored, so a slip would go unnoticed.
void say_undeclared(Context& context, const CatalogEntry& entry, const Json& arguments) {
  if (context.settings.no_check) return;
  for (const auto& one : undeclared_arguments(arguments, entry.tool->input_schema)) {
    const auto name = safe_name(one.name, 80);
    if (!one.meant.empty() && !one.foreseen) {
      throw with_remedy(
          Error(Errc::invalid_argument,
                fmt::format("the tool has no argument \"{}\"; did you mean \"{}\"? (--no-check sends it anyway)", name,
                            safe_name(one.meant, 80))),
          entry);
    }
    if (one.foreseen || context.settings.json || context.settings.quiet) continue;
    context.waiting.pause();
    context.io.talk(fmt::format("patchbay: warning: the tool has no argument \"{}\"; it is sent anyway\n", name));
  }
}

// Said before the schema is asked: what is missing, and the line that has it.
void require_arguments(const Context& context, const CatalogEntry& entry, const std::vector<std::string>& given,
                       const Json& arguments) {
  if (context.settings.no_check) return;
  auto text = missing_text(entry, given, arguments);
  if (!text.empty()) throw Error(Errc::invalid_argument, std::move(text));
}

// What a person would not see otherwise: that the text is an error, and that something is not text.
void say_kind_of_result(const Context& context, const CallToolResult& result) {
  if (context.settings.json || context.settings.quiet) return;
  if (result.is_error && context.io.talk_is_terminal) context.io.talk("patchbay: the tool reported an error\n");
  const auto binary = context.settings.output.empty() ? binary_count(result.content) : 0;
  if (binary == 0) return;
  context.io.talk(fmt::format("patchbay: note: the result has {} {} not text; to keep {}: --output FILE\n",
                              plural(binary, "part"), binary == 1 ? "that is" : "that are",
                              binary == 1 ? "it" : "them"));
}

// Text that belongs to a file stays out of the way of the file.
std::string text_parts(const CallToolResult& result) {
  std::string out;
  for (const auto& block : result.content) {
    if (const auto* text = std::get_if<TextContent>(&block)) out += text->text + "\n";
  }
  return out;
}

// A failure as well: a model has to get something for every call.
Task<int> show_to_model(Context& context, CatalogEntry entry, Result<CallToolResult> outcome) {
  auto given = outcome ? std::move(*outcome) : failure_result(context.secrets->without(outcome.error()), entry.server);
  const auto code = outcome ? (given.is_error ? 1 : 0) : exit_code(outcome.error());
  const auto result = co_await context.host.for_model(entry.name, std::move(given));
  context.waiting.end();
  if (context.settings.json) {
    context.print_json(model_json(result));
    co_return code;
  }
  auto text = model_text(result);
  if (!text.ends_with('\n')) text.push_back('\n');
  context.io.out(text);
  if (context.settings.quiet) co_return code;
  for (const auto& note : result.notes) context.io.talk(fmt::format("patchbay: note: {}\n", message_line(note, 1000)));
  co_return code;
}

bool reads_stdin(std::string_view argument) { return argument == "-" || argument.ends_with("=@-"); }

Task<int> make_call(Context& context) {
  const auto& words = context.settings.words;
  const auto& file = context.settings.output;
  if (!file.empty() && context.settings.for_model) {
    throw Error(Errc::invalid_argument,
                "--for-model prints what a model gets; --output writes what is not text: give one");
  }
  if (words.front().empty()) {
    throw Error(Errc::invalid_argument, "the name of the tool is empty; is a variable of your script not set?");
  }
  if (!file.empty()) check_output(file);
  if (names_server(context, words.front()) && words.size() > 1 && !is_argument(words[1])) {
    throw server_for_tool(words.front(), words[1]);
  }
  context.waiting.begin(fmt::format("calling {}", words.front()));
  auto found = co_await as_result(context.host.find_tool(words.front()));
  if (!found && found.error().code() == Errc::invalid_argument && names_server(context, words.front())) {
    throw server_for_tool(words.front(), "TOOL");
  }
  // Whatever was sent until here, it was not the call.
  if (!found) throw std::move(found).error().with_carried_out(CarriedOut::no);
  const auto entry = std::move(*found);

  const std::vector<std::string> given(words.begin() + 1, words.end());
  std::optional<TerminalInUse> typed;
  if (context.io.in_is_terminal && std::ranges::any_of(given, reads_stdin)) typed.emplace(context.waiting);
  // Aside: somebody may still be writing what is read, and who interrupts meanwhile wants no call.
  auto arguments =
      co_await offload(Pool::slow, [given, schema = entry.tool->input_schema, read_input = context.io.read_input] {
        ArgumentSources sources;
        sources.read_stdin = [&]() -> Result<std::string> { return read_input(); };
        sources.read_file = read_argument_file;
        return call_arguments(given, schema, sources);
      });
  typed.reset();
  if (!arguments) throw with_remedy(arguments.error(), entry);
  say_undeclared(context, entry, *arguments);
  require_arguments(context, entry, given, *arguments);
  say_rule_problems(context);

  auto outcome = co_await as_result(context.host.call(entry.name, std::move(*arguments), context.call_options()));
  if (context.settings.for_model) co_return co_await show_to_model(context, entry, std::move(outcome));
  if (!outcome) throw with_remedy(outcome.error(), entry);
  const auto& result = *outcome;
  context.waiting.end();
  if (context.settings.json) {
    if (!file.empty() && !result.is_error) write_output(file, binary_parts(result.content), context.io, true);
    context.print_json(encode(result));
  } else {
    auto text = text_of(result);
    if (!file.empty() && !result.is_error) {
      auto parts = binary_parts(result.content);
      text = parts.empty() ? std::string() : text_parts(result);
      if (parts.empty()) parts.push_back({text_of(result), "text"});
      write_output(file, parts, context.io, context.settings.quiet);
      if (text.empty()) co_return result.is_error ? 1 : 0;
    }
    if (context.io.out_is_terminal) text = clean_for_display(text);
    if (!text.ends_with('\n')) text.push_back('\n');
    context.io.out(text);
  }
  say_kind_of_result(context, result);
  co_return result.is_error ? 1 : 0;
}

}  // namespace

Task<int> call(Context& context) {
  auto made = co_await as_result(make_call(context));
  if (made) co_return *made;
  // What the host has not said of the call failed before the host was asked.
  auto error = std::move(made).error();
  throw error.carried_out() ? error : std::move(error).with_carried_out(CarriedOut::no);
}

}  // namespace patchbay::cli
