#include "builtin/builtin_server.h"

#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "builtin/background.h"
#include "builtin/run_command.h"
#include "builtin/tools.h"

namespace patchbay {

namespace {

using builtin::FileTool;
using builtin::Settings;

void add_file_tool(Server& server, const Settings& settings, Tool tool, FileTool* run) {
  auto too_long = fmt::format("{} took longer than {} s and was ended; ask for less at once", tool.name,
                              std::chrono::duration<double>(settings.limits.file_time).count());
  server.add_tool(std::move(tool), [settings, run, too_long](RequestContext&, Json arguments) -> Task<CallToolResult> {
    auto work = [settings, run, arguments = std::move(arguments)](const builtin::Stop& stop) {
      return run(settings, arguments, stop);
    };
    return with_timeout(builtin::in_background(std::move(work)), as_duration(settings.limits.file_time), too_long);
  });
}

std::string instructions(const BuiltinOptions& options, const std::string& root) {
  return fmt::format(
      "Files and directories beneath {}; relative paths start there, and nothing outside can be accessed{}. Find files "
      "with glob, places in them with grep, look with read_file, change with edit_file. Results end in a note in "
      "brackets when something was cut or left out.",
      root, options.allow_run ? " by the file tools" : "");
}

}  // namespace

std::shared_ptr<Server> make_builtin_server(BuiltinOptions options) {
  const Settings settings{value_or_throw(ConfinedRoot::open(options.root.string())), options.limits};
  auto server = std::make_shared<Server>(ServerOptions{
      .info = {.name = "patchbay", .title = "Patchbay", .version = std::string(version())},
      .instructions = instructions(options, settings.root.path()),
  });
  const auto& limits = settings.limits;
  add_file_tool(*server, settings, builtin::read_file_tool(limits), builtin::read_file);
  add_file_tool(*server, settings, builtin::write_file_tool(), builtin::write_file);
  add_file_tool(*server, settings, builtin::edit_file_tool(limits), builtin::edit_file);
  add_file_tool(*server, settings, builtin::list_dir_tool(limits), builtin::list_dir);
  add_file_tool(*server, settings, builtin::glob_tool(limits), builtin::glob);
  add_file_tool(*server, settings, builtin::grep_tool(limits), builtin::grep);
  if (options.allow_run) {
    const builtin::RunSettings run{settings.root, limits, options.runtime};
    server->add_tool(builtin::run_command_tool(limits), [run](RequestContext& context, Json arguments) {
      // The context lives as long as the call.
      return builtin::run_command(run, std::move(arguments), [&context](double seconds, std::string message) {
        context.progress(seconds, {}, std::move(message));
      });
    });
  }
  return server;
}

}  // namespace patchbay
