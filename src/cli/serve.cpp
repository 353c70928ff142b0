// `patchbay serve`: the built-in tools as an MCP server on stdin and stdout.
#include <filesystem>

#include "builtin/builtin_server.h"
#include "cli/context.h"

namespace patchbay::cli {

int serve(const Settings& settings, Io&, const Runtime& runtime) {
  BuiltinOptions options;
  options.root = settings.root.empty() ? std::filesystem::current_path() : std::filesystem::path(settings.root);
  options.allow_run = settings.allow_run;
  options.runtime = runtime;
  return run([](std::shared_ptr<Server> server, Runtime with) -> Task<int> {
    co_await server->serve_stdio(with);
    co_return 0;
  }(make_builtin_server(options), runtime));
}

}  // namespace patchbay::cli
