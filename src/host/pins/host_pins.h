// HostPins: holds what a Host's servers list against what they were when they were first seen (pins/pinned_server), and
// against the lock file of the project. Keeps that in the state directory; where that is not possible, for this run
// alone. It knows which tools wait for somebody to agree; asking somebody, and refusing calls, is the Host's. Owned by
// the Host; loop thread only. Files are read and written on a helper thread. docs/pins.md, docs/adr/0023.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/task.h>

#include "base/log.h"
#include "host/kept/server_key.h"
#include "host/pins/pinned_tools.h"
#include "pins/pin_mode.h"
#include "pins/pinned_server.h"

namespace patchbay {

class HostPins {
 public:
  using Tools = std::vector<std::shared_ptr<const Tool>>;

  // Without a directory nothing is remembered, and lock files count all the same.
  HostPins(std::string state_directory, Log log);

  // The configuration that counts from now on.
  void use(PinMode mode, KeyContext context);

  // A server listed these. Never fails: without memory, they are what they are.
  Task<PinnedTools> look(ServerConfig config, ServerDescription server, Tools listed);
  // ... and these prompts; they are remembered, and nothing of them waits.
  Task<void> look_at_prompts(ServerConfig config, std::shared_ptr<const std::vector<Prompt>> prompts);

  // Null: it may be called.
  const WaitingTool* waiting(std::string_view server, std::string_view tool) const;
  // The server and name of a tool that is not offered because it is new, by any name that Catalog::find takes.
  std::optional<std::pair<std::string, std::string>> find_new(std::string_view text) const;

  // Somebody agreed to this definition.
  Task<void> agree(ServerConfig config, std::shared_ptr<const Tool> definition);

  // Why a call is not made.
  Error refusal(const std::string& server, std::string_view shown_name, const WaitingTool& tool) const;

 private:
  struct Known {
    std::uint64_t begun = 0;   // looks at what a server of this name listed
    std::uint64_t stored = 0;  // the one that the rest is of: an older one never replaces a newer one
    std::string key;           // of the server that the rest is about: another one may get the name
    std::map<std::string, WaitingTool, std::less<>> waiting;
    std::string lock_file;                                  // where one counts
    std::optional<PinnedServer> last;                       // as it was judged last, for when the disk fails
    bool kept = false;                                      // on the disk as well
    std::map<std::string, PinnedTool, std::less<>> agreed;  // as well
  };
  void tell(const Error& failure);

  std::string directory_;
  Log log_;
  PinMode mode_ = PinMode::off;
  KeyContext context_;
  std::map<std::string, Known, std::less<>> known_;  // by name of the server
  std::shared_ptr<const Catalog> new_ = std::make_shared<const Catalog>();
  bool told_ = false;
};

}  // namespace patchbay
