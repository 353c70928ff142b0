// The headers that an entry's headersHelper prints, added to every request of one connection. Run before the
// first request, and once more when the server refuses what was sent (401, 403): tokens expire. However many
// requests are refused at once, it runs once for them. Plugged into an HTTP transport as its HttpAuth; loop
// thread only.
#pragma once

#include <cstdint>

#include "base/runtime.h"
#include "base/semaphore.h"
#include "entries/child_env.h"
#include "host/start/helper_command.h"
#include "http/auth.h"

namespace patchbay {

class HelperHeaders final : public HttpAuth {
 public:
  HelperHeaders(HelperCommand command, Runtime runtime) : command_(std::move(command)), runtime_(std::move(runtime)) {}

  Task<SentCredentials> authorize(HttpRequest& request) override;
  Task<bool> on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) override;

  // What it prints now; throws Errc::config.
  Task<NamedTexts> fetch();

 private:
  HelperCommand command_;
  Runtime runtime_;
  NamedTexts headers_;
  std::uint64_t generation_ = 0;  // 0: not run yet
  Semaphore running_{1};
};

}  // namespace patchbay
