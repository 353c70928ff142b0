#include "cli/words/flag_sources.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/texts/present.h"
#include "entries/parse.h"
#include "entries/server_argument.h"
#include "settings/files.h"
#include "text/document.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string_view flag, std::string_view message) {
  throw Error(Errc::invalid_argument, fmt::format("{}: {}", flag, message));
}

// A text behind a flag is not a file that could be fixed.
std::string about_text(ConfigProblem problem) {
  if (const auto at = problem.message.rfind(fix_the_file); at != std::string::npos) {
    problem.message.replace(at, fix_the_file.size(), "correct the JSON after the flag");
  }
  return problem.line == 0 ? problem.message : fmt::format("{}:{}: {}", problem.line, problem.column, problem.message);
}

struct Named {
  std::string text;
  std::string file;  // empty: the text itself was given
};

Named text_of(std::string_view flag, const std::string& argument) {
  if (is_inline_config(argument)) return {argument, {}};
  auto text = read_config_text((fs::current_path() / argument).lexically_normal().string());
  if (!text) {
    refuse(flag, fmt::format("{} cannot be read: {}; write the name of a file, or JSON that begins with {{",
                             safe_name(argument, 300), text.error()));
  }
  return {std::move(*text), argument};
}

std::string told(const Named& named, const ConfigProblem& problem) {
  return named.file.empty() ? about_text(problem) : problem.text();
}

void check_servers(const std::string& argument) {
  constexpr std::string_view flag = "--mcp-config";
  const auto named = text_of(flag, argument);
  const auto parsed = parse_servers(named.text, {.file = named.file, .scope = ConfigScope::dynamic});
  if (!parsed.servers.empty()) return;
  const auto worst = std::ranges::find(parsed.problems, Severity::error, &ConfigProblem::severity);
  if (worst != parsed.problems.end()) refuse(flag, told(named, *worst));
}

void check_server(const std::string& argument) {
  constexpr std::string_view flag = "--mcp-server";
  const auto parsed = parse_server_argument(argument, std::string(flag));
  const auto worst = std::ranges::find(parsed.problems, Severity::error, &ConfigProblem::severity);
  if (worst != parsed.problems.end()) refuse(flag, about_text(*worst));
}

// What is in it is reported where it is read.
void check_settings(const std::string& argument) { (void)text_of("--settings", argument); }

void check_plugin(const std::string& argument) {
  std::error_code error;
  if (fs::is_directory(argument, error)) return;
  refuse("--plugin-dir",
         fmt::format("{} is not a directory; write the directory of a plugin", safe_name(argument, 300)));
}

}  // namespace

void check_flag_sources(const Settings& settings) {
  std::ranges::for_each(settings.mcp_config, check_servers);
  std::ranges::for_each(settings.mcp_servers, check_server);
  std::ranges::for_each(settings.settings, check_settings);
  std::ranges::for_each(settings.plugin_dirs, check_plugin);
}

}  // namespace patchbay::cli
