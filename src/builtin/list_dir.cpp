#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

Tool list_dir_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "list_dir";
  tool.title = "List a directory";
  tool.description = fmt::format(
      "Lists one directory, hidden names included, sorted by name: directories end in '/', files are followed by their "
      "size. Shows at most {} entries. Use glob to find files by name in a whole tree.",
      limits.entries);
  tool.input_schema = object_schema({
      {"path",
       {{"type", "string"},
        {"description",
         "The directory, relative to the root directory or absolute beneath it. Default: the root itself."}}},
  });
  tool.annotations = file_annotations(Effect::reads);
  return tool;
}

CallToolResult list_dir(const Settings& settings, const Json& arguments, const Stop& stop) {
  Arguments in("list_dir", arguments, {"path"});
  const auto wanted = in.optional_word("path").value_or(".");
  if (const auto fault = in.fault()) return error_result(*fault);

  if (const auto refusal = unless_directory(settings.root, wanted)) return error_result(*refusal);
  const auto listing = settings.root.list(wanted, settings.limits.visited);
  if (!listing) return error_result(listing.error());
  if (listing->entries.empty()) return text_result("[The directory is empty.]");

  std::string text;
  std::size_t shown = 0;
  for (const auto& entry : listing->entries) {
    if (shown == settings.limits.entries || stop) break;
    ++shown;
    text += printable_name(entry.name);
    switch (entry.status.kind) {
      case FileKind::directory:
        text += '/';
        break;
      case FileKind::file:
        text += fmt::format("  {}", size_text(entry.status.size));
        break;
      case FileKind::link:
        text += "  (symbolic link)";
        break;
      case FileKind::other:
        text += "  (pipe, socket or device)";
        break;
    }
    text += '\n';
  }
  if (shown < listing->entries.size()) {
    text += fmt::format("[{} of {}{} entries shown. Use glob with a pattern to see others.]\n", shown,
                        listing->cut ? "more than " : "", listing->entries.size());
  }
  return text_result(std::move(text));
}

}  // namespace patchbay::builtin
