// `patchbay call TOOL ...`: one tool call. Its text goes to stdout as the server sent it,
// cleaned when a terminal shows it; --json prints the whole result.
#include <fmt/format.h>

#include "base/as_result.h"
#include "cli/context.h"
#include "host/call_arguments.h"
#include "protocol/clean_text.h"
#include "protocol/codec.h"

namespace patchbay::cli {

namespace {

// Wrong arguments end in the command that shows the right ones.
Error with_remedy(const Error& error, const CatalogEntry& entry) {
  if (error.code() != Errc::invalid_argument) return error;
  return Error(error.code(), fmt::format("{}; run `patchbay tools {}/{}` to see what it takes", error.message(),
                                         entry.server, entry.tool->name))
      .with_detail(error.detail());
}

}  // namespace

Task<int> call(Context& context) {
  const auto& words = context.settings.words;
  context.waiting.begin(fmt::format("calling {}", words.front()));
  auto entry = co_await context.host.find_tool(words.front());

  ArgumentSources sources;
  sources.read_stdin = [&context]() -> Result<std::string> { return context.io.read_input(); };
  sources.read_file = read_argument_file;
  const std::vector<std::string> given(words.begin() + 1, words.end());
  auto arguments = call_arguments(given, entry.tool->input_schema, sources);
  if (!arguments) throw with_remedy(arguments.error(), entry);

  auto outcome = co_await as_result(context.host.call(entry.name, std::move(*arguments), context.call_options()));
  if (!outcome) throw with_remedy(outcome.error(), entry);
  const auto& result = *outcome;
  context.waiting.end();
  if (context.settings.json) {
    context.print_json(encode(result));
  } else {
    auto text = text_of(result);
    if (context.io.out_is_terminal) text = clean_for_display(text);
    if (!text.ends_with('\n')) text.push_back('\n');
    context.io.out(text);
  }
  co_return result.is_error ? 1 : 0;
}

}  // namespace patchbay::cli
