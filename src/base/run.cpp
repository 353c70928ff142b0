#include <cstdio>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <patchbay/task.h>

#include "base/as_result.h"
#include "base/exit_code.h"

namespace patchbay {

int run(Task<int> task) {
  asio::io_context loop(1);
  Result<int> result = 0;
  asio::co_spawn(loop, as_result(std::move(task)), [&](std::exception_ptr, Result<int> r) { result = std::move(r); });
  loop.run();
  if (result) return *result;
  fmt::print(stderr, "error: {}\n", result.error().message());
  if (!result.error().detail().empty()) fmt::print(stderr, "{}\n", result.error().detail());
  return exit_code(result.error());
}

}  // namespace patchbay
