// The fixture of the scenario tests as a program that speaks on stdin and stdout.
#include <patchbay/task.h>

#include "support/fixture_server.h"

namespace {

patchbay::Task<int> serve() {
  auto server = patchbay::test::make_fixture_server();
  co_await server->serve_stdio();
  co_return 0;
}

}  // namespace

int main() { return patchbay::run(serve()); }
