// ServerRecorder: keeps what a Host learns of its declared servers in the state directory: how they are and what they
// listed (server_files), what happened and what they wrote to stderr (server_log), and who refused its credentials
// (sign_in_memory). The Host tells it on the loop, where it only collects; files are written together, a moment later
// and once more when the host ends, on a helper thread. Nothing that goes wrong with that is anybody's error: the first
// time it is a warning in the log. Owned by the Host; loop thread only. Nothing in it decides about a call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/host.h>
#include <patchbay/task.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "entries/child_env.h"
#include "entries/text_secrets.h"
#include "host/kept/kept_server.h"
#include "host/kept/server_key.h"
#include "host/kept/server_log.h"
#include "host/kept/sign_in_memory.h"
#include "host/start/server_start.h"

namespace patchbay {

class ServerRecorder : public std::enable_shared_from_this<ServerRecorder> {
 public:
  using Tools = std::vector<std::shared_ptr<const Tool>>;

  ServerRecorder(std::string state_directory, Log log);

  // The loop that writes; before anything is noted.
  void begin(asio::any_io_executor executor);

  // The configuration that counts from now on.
  void use(const LoadedConfig& config, const VariableLookup& startup);

  // How this server is now. Only what was declared and may be started is kept.
  void note(const ServerConfig& config, const ServerStatus& status, const Tools& tools);
  // It is about to be started, with these secrets. Takes what it writes to stderr, in pieces of any size, and its end.
  StartWatch starting(const ServerConfig& config, TextSecrets secrets);

  // Why it is not asked at a start that nobody asked for by name; nothing when it is. Then holds_back() is true until
  // somebody starts it all the same.
  std::optional<Error> hold_back(const ServerConfig& config);
  bool holds_back(const std::string& name) const { return held_back_.contains(name); }

  // Something else could not be kept in the state directory: said once, whatever it was.
  void warn(const std::string& why);

  // Writes what is left, and takes nothing more.
  Task<void> finish();

 private:
  struct Started {
    ServerKey key;
    std::string stamp;
  };
  // The stderr of one start. What it may not tell is what that start was given: another one may get another secret.
  struct Stream {
    ServerConfig config;
    std::shared_ptr<const TextSecrets> secrets;
    std::string line = {};    // that has not ended
    bool skips_rest = false;  // of a line that was too long
  };
  struct Line {
    ServerLogLine line;
    std::shared_ptr<const TextSecrets> secrets = {};  // unset: the text is ours
    bool cut_off = false;                             // its text goes on, or would have
  };
  // Lines that are not written yet. Secrets are taken out on the helper thread: a server may write much.
  struct Unwritten {
    std::vector<Line> lines;
    std::size_t bytes = 0;
  };
  struct Work {
    std::map<std::string, std::pair<ServerKey, KeptServer>> servers;  // by the hash of the key
    std::map<std::string, Unwritten> logs;                            // by path
    std::map<std::string, std::pair<std::optional<KnownRefusal>, std::chrono::sys_seconds>> refusals;  // by key
    bool empty() const noexcept { return servers.empty() && logs.empty() && refusals.empty(); }
  };
  static std::string write(const std::string& directory, Work work);

  const Started& started(const ServerConfig& config);
  void wrote(Stream& stream, std::string_view text);
  void end_line(Stream& stream, bool cut_off);
  void ended(Stream& stream, const ProcessEnd& end);
  void add_event(const ServerConfig& config, std::string_view text);
  void add_line(const ServerConfig& config, Line line);
  const std::string& log_path(const ServerConfig& config);
  Clock::WallTime now() const;
  void write_soon();
  Task<void> write_until_done();
  Task<void> write_all();
  Task<void> written();

  std::string directory_;
  Log log_;
  KeyContext context_;
  std::string project_;
  Environment environment_;
  KeptPolicy policy_;
  std::map<std::string, Started> started_;        // by name: as it was when it was last started
  std::map<std::string, std::string> log_paths_;  // by name
  std::map<std::string, std::string> told_;       // by name: the last line about its state
  std::vector<std::weak_ptr<Stream>> streams_;    // of what runs
  std::set<std::string> held_back_;               // names
  Work work_;
  bool writing_ = false;
  bool warned_ = false;
  bool finished_ = false;
  Event wake_;  // there is no time to wait for more
  Event idle_;  // everything was written
  std::optional<Scope> scope_;
};

}  // namespace patchbay
