// `patchbay lint`: what is wrong with configuration, a line for each problem as compilers have it, on stdout.
// Reads files and nothing else.
#include "inspect/lint.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "cli/words/permission_flags.h"
#include "servers/load.h"
#include "settings/files.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

std::vector<ConfigProblem> problems_in_files(const Settings& settings) {
  const auto own_file = config_paths(load_request(settings)).own_file();
  std::vector<ConfigProblem> out;
  for (const auto& file : settings.words) {
    const auto path = fs::absolute(file).lexically_normal().string();
    const auto text = read_config_text(path);
    if (!text) {
      out.push_back({file, 0, 0, "cannot be read: " + text.error(), {}, Severity::error});
      continue;
    }
    std::ranges::move(lint_text(*text, file, kind_of_file(path, *text, own_file), process_environment()),
                      std::back_inserter(out));
  }
  return out;
}

std::string count_text(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

int lint(const Settings& settings, Io& io) {
  std::vector<ConfigProblem> problems;
  if (settings.words.empty()) {
    const auto config = load_servers(load_request(settings));
    problems = lint_config(config, permissions_of(config, settings), process_environment());
  } else {
    problems = problems_in_files(settings);
  }
  problems = with_remedies_in_words(std::move(problems));
  Json list = Json::array();
  std::string lines;
  for (const auto& problem : problems) {
    lines += visible_message(problem_line(problem)) + "\n";
    auto one = problem_json(problem);
    one["severity"] = to_string(problem.severity);
    list.push_back(std::move(one));
  }
  const auto errors = std::ranges::count(problems, Severity::error, &ConfigProblem::severity);
  const auto warnings = std::ranges::count(problems, Severity::warning, &ConfigProblem::severity);
  if (settings.json || !lines.empty()) answer(settings, io, {{"problems", std::move(list)}}, lines);
  if (!settings.json && !settings.quiet) {
    io.talk(fmt::format("patchbay: {}, {}\n", count_text(static_cast<std::size_t>(errors), "error"),
                        count_text(static_cast<std::size_t>(warnings), "warning")));
  }
  return errors > 0 || (settings.warnings_fail && warnings > 0) ? 1 : 0;
}

}  // namespace patchbay::cli
