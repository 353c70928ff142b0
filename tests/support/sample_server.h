// The server that the tests of both eras talk to: a few tools, resources and prompts with
// answers that fit on a line. Tests add what they need beside them.
#pragma once

#include <memory>

#include <patchbay/server.h>

namespace patchbay::test {

std::shared_ptr<Server> sample_server(ServerOptions options = {});
CallToolResult text_result(std::string text);

}  // namespace patchbay::test
