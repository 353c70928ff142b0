#include <cstdio>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <patchbay/task.h>

#include "base/as_result.h"
#include "base/exit_code.h"

namespace patchbay {

namespace {

// Text that may come from a server, without what a terminal would act on.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) {
      ++i;
    } else if (byte >= 0x20 && byte != 0x7F) {
      out.push_back(text[i]);
    } else if (byte == '\n' || byte == '\t') {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

int run(Task<int> task) {
  asio::io_context loop(1);
  Result<int> result = 0;
  asio::co_spawn(loop, as_result(std::move(task)), [&](std::exception_ptr, Result<int> r) { result = std::move(r); });
  loop.run();
  if (result) return *result;
  fmt::print(stderr, "error: {}\n", plain(result.error().message()));
  if (!result.error().detail().empty()) fmt::print(stderr, "{}\n", plain(result.error().detail()));
  return exit_code(result.error());
}

int run(Task<void> task) {
  return run([](Task<void> whole) -> Task<int> {
    co_await std::move(whole);
    co_return 0;
  }(std::move(task)));
}

}  // namespace patchbay
