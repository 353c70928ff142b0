#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"

namespace patchbay::builtin {

Tool glob_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "glob";
  tool.title = "Find files by name";
  tool.description = fmt::format(
      "Finds files whose path matches a pattern and returns their paths, one per line, sorted. In a pattern * matches "
      "within a "
      "name, ** any number of directories, ? one character, [abc] or [!a-z] one of a set, {{a,b}} alternatives: "
      "**/*.{{h,cpp}}. "
      "A pattern that ends in / finds directories instead. Hidden names match only where the pattern writes their dot; "
      ".git and "
      "node_modules only where it names them; symbolic links to directories are not followed. Returns at most {} "
      "paths. Use grep "
      "to search in the content.",
      limits.entries);
  tool.input_schema = object_schema({
      {"pattern",
       {{"type", "string"}, {"minLength", 1}, {"description", "Such as src/**/*.cpp, relative to path."}},
       true},
      {"path",
       {{"type", "string"},
        {"description",
         "The directory to look in, relative to the root directory or absolute beneath it. Default: the root."}}},
  });
  tool.annotations = file_annotations(Effect::reads);
  return tool;
}

CallToolResult glob(const Settings& settings, const Json& arguments, const Stop& stop) {
  Arguments in("glob", arguments, {"pattern", "path"});
  const auto wanted = in.word("pattern");
  const auto base = in.optional_word("path").value_or(".");
  if (const auto fault = in.fault()) return error_result(*fault);

  const auto pattern = GlobPattern::parse(wanted);
  if (!pattern) return error_result(pattern.error().within("glob"));
  const auto path = tidy_path(settings.root, base);
  if (!path) return error_result(path.error());
  if (const auto refusal = unless_directory(settings.root, *path)) return error_result(*refusal);

  std::string text;
  std::size_t found = 0;
  bool more = false;
  const auto outcome = walk(
      settings.root, *path, *pattern, {settings.limits.visited, settings.limits.depth}, stop, [&](const Visit& visit) {
        const auto kind = visit.kind;
        const bool asked = pattern->wants_directories() ? kind == FileKind::directory
                                                        : kind == FileKind::file || kind == FileKind::link;
        if (!asked) return true;
        more = found == settings.limits.entries;
        if (more) return false;
        ++found;
        text += printable_name(visit.path);
        text += kind == FileKind::directory ? "/\n" : "\n";
        return true;
      });
  if (!outcome) return error_result(outcome.error());
  if (found == 0) {
    text = fmt::format("[Nothing matches {}.{}]\n", wanted,
                       wanted.contains('/') || wanted.contains("**")
                           ? ""
                           : fmt::format(" It looks in one directory only; for the whole tree use **/{}.", wanted));
  }
  if (more) text += fmt::format("[Only the first {} paths are shown. Use a narrower pattern.]\n", found);
  if (outcome->incomplete) {
    text += "[The tree is too large: some directories were left out. Give a path to look in.]\n";
  }
  if (outcome->unreadable > 0) text += fmt::format("[{} could not be read.]\n", directories(outcome->unreadable));
  return text_result(std::move(text));
}

}  // namespace patchbay::builtin
