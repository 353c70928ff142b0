// `patchbay call TOOL ...`: one tool call. Its text goes to stdout as the server sent it,
// cleaned when a terminal shows it; --json prints the whole result.
#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "cli/context.h"
#include "cli/output_file.h"
#include "cli/texts/present.h"
#include "protocol/codec.h"
#include "text/call_arguments.h"
#include "text/clean_text.h"
#include "text/shell_word.h"

namespace patchbay::cli {

namespace {

// Wrong arguments end in the command that shows the right ones.
Error with_remedy(const Error& error, const CatalogEntry& entry) {
  if (error.code() != Errc::invalid_argument) return error;
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

// Text that belongs to a file stays out of the way of the file.
std::string text_parts(const CallToolResult& result) {
  std::string out;
  for (const auto& block : result.content) {
    if (const auto* text = std::get_if<TextContent>(&block)) out += text->text + "\n";
  }
  return out;
}

Task<int> make_call(Context& context) {
  const auto& words = context.settings.words;
  const auto& file = context.settings.output;
  if (!file.empty()) check_output(file);
  if (names_server(context, words.front()) && words.size() > 1 && !is_argument(words[1])) {
    throw server_for_tool(words.front(), words[1]);
  }
  context.waiting.begin(fmt::format("calling {}", words.front()));
  auto found = co_await as_result(context.host.find_tool(words.front()));
  if (!found && found.error().code() == Errc::invalid_argument && names_server(context, words.front())) {
    throw server_for_tool(words.front(), "TOOL");
  }
  if (!found) throw found.error();
  const auto entry = std::move(*found);

  ArgumentSources sources;
  sources.read_stdin = [&context]() -> Result<std::string> { return context.io.read_input(); };
  sources.read_file = read_argument_file;
  const std::vector<std::string> given(words.begin() + 1, words.end());
  auto arguments = call_arguments(given, entry.tool->input_schema, sources);
  if (!arguments) throw with_remedy(arguments.error(), entry);
  say_undeclared(context, entry, *arguments);
  say_rule_problems(context);

  auto outcome = co_await as_result(context.host.call(entry.name, std::move(*arguments), context.call_options()));
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
