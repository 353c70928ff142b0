#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

Tool write_file_tool() {
  Tool tool;
  tool.name = "write_file";
  tool.title = "Write a file";
  tool.description =
      "Writes a whole file: creates it, with missing directories, or replaces what was there in one step. The result "
      "says "
      "which of the two happened. To change a part of an existing file use edit_file, which cannot lose the rest.";
  tool.input_schema = object_schema({
      {"path",
       {{"type", "string"}, {"description", "The file, relative to the root directory or absolute beneath it."}},
       true},
      {"content",
       {{"type", "string"}, {"description", "The complete new content, written as UTF-8 without any change."}},
       true},
  });
  tool.annotations = file_annotations(Effect::replaces);
  return tool;
}

CallToolResult write_file(const Settings& settings, const Json& arguments, const Stop&) {
  Arguments in("write_file", arguments, {"path", "content"});
  const auto wanted = in.word("path");
  const auto content = in.string("content");
  if (const auto fault = in.fault()) return error_result(*fault);
  if (wanted.ends_with('/')) return error_result(fmt::format("{} names a directory; give the name of a file.", wanted));

  const bool replaces = settings.root.status(wanted).has_value();
  const auto written = settings.root.write(wanted, content, {.parents = Parents::create});
  if (!written) return error_result(written.error());
  return text_result(
      fmt::format("{} {} ({}).", replaces ? "Replaced" : "Created", wanted, plural(content.size(), "byte")));
}

}  // namespace patchbay::builtin
