// `patchbay call TOOL ...`: one tool call. Its text goes to stdout as the server sent it,
// cleaned when a terminal shows it; --json prints the whole result.
#include <fmt/format.h>

#include "base/as_result.h"
#include "cli/context.h"
#include "host/call_arguments.h"
#include "protocol/clean_text.h"
#include "protocol/codec.h"

namespace patchbay::cli {

Task<int> call(Context& context) {
  const auto& words = context.settings.words;
  context.waiting.begin(fmt::format("calling {}", words.front()));
  auto entry = co_await context.host.find_tool(words.front());

  ArgumentSources sources;
  sources.read_stdin = [&context]() -> Result<std::string> { return context.io.read_input(); };
  sources.read_file = read_argument_file;
  const std::vector<std::string> given(words.begin() + 1, words.end());
  auto arguments = value_or_throw(call_arguments(given, entry.tool->input_schema, sources));

  auto result = co_await context.host.call(entry.name, std::move(arguments), context.call_options());
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
