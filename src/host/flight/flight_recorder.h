// FlightRecorder: the latest frames of every server of a Host (recording/frame_ring), always on, so that what led to a
// failure can be seen afterwards. Frames leave it without secrets: into a file when a server fails, or when somebody
// asks for them. The Host makes a tap of it for each connection and tells it of failures; what happens on the loop is
// short, secrets are taken out and files written on a helper thread. Nothing that goes wrong with that is anybody's
// error. Owned by the Host; loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/task.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "entries/text_secrets.h"
#include "recording/recording.h"
#include "rpc/channel_tap.h"

namespace patchbay {

class Host;

class FlightRecorder : public std::enable_shared_from_this<FlightRecorder> {
 public:
  // `not_kept`: told why a file could not be written.
  FlightRecorder(std::string state_directory, std::string program, std::function<void(const std::string&)> not_kept);

  // The loop of the host; before anything is recorded.
  void begin(asio::any_io_executor executor);
  // Off: what is there is dropped, and nothing more is taken.
  void use(bool on);

  // What a connection to this server tells; one for its whole life.
  std::shared_ptr<ChannelTap> tap(const std::string& server);
  // It is about to be started with these secrets. Those of every server are taken out of all frames: what one was given
  // may have gone on to another.
  void starting(const std::string& server, const TextSecrets& secrets);
  // It is not declared any more.
  void forget(const std::string& server);

  // It failed: what led to that is written to a file, unless that was done a moment ago.
  void failed(const ServerConfig& server, const Error& error);

  // Servers of which there are frames.
  std::vector<std::string> servers() const;
  // The frames of one, as the text of a recording. Errc::invalid_argument when there are none.
  Task<std::string> recording_of(std::string server);

  // Writes what is left, and takes nothing more.
  Task<void> finish();

 private:
  struct Server;
  class Tap;
  using Secrets = std::vector<std::shared_ptr<const TextSecrets>>;
  struct Taken {
    RecordingHeader header;
    std::vector<RecordedFrame> frames;
    std::shared_ptr<const Secrets> secrets;
  };
  static std::string text_of(Taken taken);
  std::shared_ptr<Server> server(const std::string& name);
  Taken take(const std::string& name, const Server& server, std::string reason) const;
  Task<void> write(Taken taken, std::string stem, std::string time);
  Task<void> written();
  std::int64_t now() const;

  std::string folder_;
  std::string program_;
  std::function<void(const std::string&)> not_kept_;
  std::map<std::string, std::shared_ptr<Server>, std::less<>> servers_;
  std::map<std::string, std::shared_ptr<const TextSecrets>> secrets_;  // by server
  std::shared_ptr<const TextSecrets> own_secrets_;                     // of this process
  const Clock* clock_ = nullptr;
  bool on_ = true;
  bool finished_ = false;
  std::size_t writing_ = 0;
  Event idle_;
  std::optional<Scope> scope_;
};

// Null: it keeps none, because it has no state directory.
std::shared_ptr<FlightRecorder> flight_recorder_of(Host& host);

}  // namespace patchbay
