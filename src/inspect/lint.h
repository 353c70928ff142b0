// What is wrong with configuration, found without starting or reaching anything: every problem of the
// loaded files and of the permission rules in them, or those of one text by itself. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "permission/decide.h"
#include "settings/settings_file.h"

namespace patchbay {

std::string_view to_string(Severity severity) noexcept;  // "error"

// "file:line:column: error: message", as compilers have it.
std::string problem_line(const ConfigProblem& problem);

// By file in the order of their first problem, then by place; each once. Files below `cwd` are named as seen from it.
std::vector<ConfigProblem> sorted_problems(std::vector<ConfigProblem> problems, const std::string& cwd);

// Everything that was found when `config` was loaded, and what its rules and lists come to.
std::vector<ConfigProblem> lint_config(const LoadedConfig& config, const Permissions& permissions,
                                       const VariableLookup& variables);

// What a text is judged as.
enum class FileKind : std::uint8_t { servers, settings, claude, own, foreign };  // the last: another client's
// By its name and what it says; `own_file` is where ours is.
FileKind kind_of_file(const std::string& path, std::string_view text, const std::string& own_file);

// One text by itself, as if nothing else were there.
std::vector<ConfigProblem> lint_text(std::string_view text, const std::string& file, FileKind kind,
                                     const VariableLookup& variables);

}  // namespace patchbay
