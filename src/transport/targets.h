// Whom a transport reaches: the public options and what only this library says beside them. Values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/call.h>

#include "process/process.h"

namespace patchbay {

struct StdioTarget : StdioOptions {
  StdioTarget() = default;
  StdioTarget(StdioOptions options) : StdioOptions(std::move(options)) {}

  // About this run and not about the server: beneath `env`, and what is taken out of our environment.
  std::map<std::string, std::string> context_env;
  std::vector<std::string> unset_env;
  std::string shown;  // in messages, instead of the command line with secrets taken out
  // Gets what the command writes to stderr, in pieces as they come; unset: only its tail is kept.
  std::function<void(std::string_view)> on_stderr;
  // Called once when the command has ended, behind the last of its stderr.
  std::function<void(const ProcessEnd&)> on_end;
  // Its sandbox; null: none.
  std::shared_ptr<const Confinement> confinement;
  // What the sandbox may have to do with it that a server did not start, from its stderr; unset: nothing is said.
  std::function<std::string(std::string_view stderr_text, std::string_view refused)> explain_refusal;
};

struct HttpTarget : HttpOptions {
  HttpTarget() = default;
  HttpTarget(HttpOptions options) : HttpOptions(std::move(options)) {}

  std::string shown;  // in messages, instead of the url with secrets taken out
  // What HTTPS_PROXY and the like are set to; unset: as in the environment of this process.
  std::function<std::optional<std::string>(std::string_view name)> variables;
};

}  // namespace patchbay
