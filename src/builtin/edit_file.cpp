#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/edit_text.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

Tool edit_file_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "edit_file";
  tool.title = "Edit a file";
  tool.description = fmt::format(
      "Replaces a piece of a text file by another and returns what changed. old_text must occur exactly once, blanks "
      "and "
      "indentation included, so copy it from read_file and take as many lines as make it unique; or set replace_all to "
      "replace "
      "every occurrence. Write \\n for line ends whatever the file uses: they are kept. Files up to {}.",
      size_text(limits.edit_bytes));
  tool.input_schema = object_schema({
      {"path",
       {{"type", "string"}, {"description", "The file, relative to the root directory or absolute beneath it."}},
       true},
      {"old_text", {{"type", "string"}, {"minLength", 1}, {"description", "The exact text to replace."}}, true},
      {"new_text", {{"type", "string"}, {"description", "What takes its place. Empty deletes."}}, true},
      {"replace_all",
       {{"type", "boolean"}, {"description", "Replace every occurrence, not just a unique one. Default false."}}},
  });
  tool.annotations = file_annotations(Effect::edits);
  return tool;
}

CallToolResult edit_file(const Settings& settings, const Json& arguments, const Stop&) {
  Arguments in("edit_file", arguments, {"path", "old_text", "new_text", "replace_all"});
  const auto wanted = in.word("path");
  const auto old_text = in.string("old_text");
  const auto new_text = in.string("new_text");
  const bool replace_all = in.boolean("replace_all", false);
  if (const auto fault = in.fault()) return error_result(*fault);

  if (const auto refusal = unless_file(settings.root, wanted)) return error_result(*refusal);
  const auto content = settings.root.read(wanted, settings.limits.edit_bytes);
  if (!content) return error_result(content.error());
  if (const auto kind = binary_kind(*content); !kind.empty()) {
    return error_result(fmt::format("{} is {}, not text that can be edited.", wanted, kind));
  }
  const auto edit = edit_text(*content, {old_text, new_text, replace_all, settings.limits.edit_bytes});
  if (!edit) return error_result(fmt::format("{} was not changed: {}", wanted, edit.error().message()));
  if (const auto written = settings.root.write(wanted, edit->text); !written) return error_result(written.error());
  return text_result(
      fmt::format("Edited {}, {}.\n{}", wanted, plural(edit->replacements, "replacement"), edit->excerpt));
}

}  // namespace patchbay::builtin
