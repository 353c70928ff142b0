// The file tools of the built-in server as plain functions: arguments in, result out. What a
// model did wrong is a result with is_error and a message it can act on, never an exception.
// Blocking; server.cpp runs them on a helper thread. They keep no state between calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <patchbay/json.h>
#include <patchbay/types.h>

#include "builtin/confined_files.h"
#include "builtin/options.h"
#include "builtin/walk.h"

namespace patchbay::builtin {

struct Settings {
  ConfinedRoot root;
  BuiltinLimits limits;
};

// `stop` becomes true when nobody waits for the result any more; long work then ends early.
using FileTool = CallToolResult(const Settings&, const Json& arguments, const Stop& stop);
FileTool read_file, write_file, edit_file, list_dir, glob, grep;

// What a model learns about each.
Tool read_file_tool(const BuiltinLimits& limits);
Tool write_file_tool();
Tool edit_file_tool(const BuiltinLimits& limits);
Tool list_dir_tool(const BuiltinLimits& limits);
Tool glob_tool(const BuiltinLimits& limits);
Tool grep_tool(const BuiltinLimits& limits);

// Shared by the tools --------------------------------------------------------------------

CallToolResult text_result(std::string text);
CallToolResult error_result(std::string message);
CallToolResult error_result(const Error& error);

// "Expected a directory", "not a file": what a path leads to, and what to do about it.
std::optional<std::string> unless_file(const ConfinedRoot& root, const std::string& path);
std::optional<std::string> unless_directory(const ConfinedRoot& root, const std::string& path);
// The path as results show it and other tools take it: from the root, without "..".
Result<std::string> tidy_path(const ConfinedRoot& root, const std::string& path);
// "1 directory", "2 directories".
std::string directories(std::size_t count);

// An object schema that admits nothing else. Members in the order given.
struct Argument {
  std::string name;
  Json schema;
  bool required = false;
};
Json object_schema(std::vector<Argument> arguments);

enum class Effect : unsigned char { reads, replaces, edits };
ToolAnnotations file_annotations(Effect effect);

}  // namespace patchbay::builtin
