// Whom a transport reaches: the public options and what only this library says beside them. Values.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/call.h>

namespace patchbay {

struct StdioTarget : StdioOptions {
  StdioTarget() = default;
  StdioTarget(StdioOptions options) : StdioOptions(std::move(options)) {}

  // About this run and not about the server: beneath `env`, and what is taken out of our environment.
  std::map<std::string, std::string> context_env;
  std::vector<std::string> unset_env;
  std::string shown;  // in messages, instead of the command line with secrets taken out
};

struct HttpTarget : HttpOptions {
  HttpTarget() = default;
  HttpTarget(HttpOptions options) : HttpOptions(std::move(options)) {}

  std::string shown;  // in messages, instead of the url with secrets taken out
};

}  // namespace patchbay
