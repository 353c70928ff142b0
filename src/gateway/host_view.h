// A Host that several connections share, and HostView: one such connection, which speaks MCP. A connection that names a
// server in its first request (transport/unix_socket: session_meta) sees that server as if it were connected to it:
// lists, calls, prompts, resources, progress, log messages, cancelling, and the server's questions. One that names none
// sees the tools of all servers under their full names. Every call goes through Host::call, so the rules of this side
// apply; unless the connection says that the user has typed its calls (session_meta::typed), what the user would be
// asked about is refused, and what rules hide is not listed. What fails is told in a way that a program of ours puts
// together again (rpc/error_data).
//
// The connection is of the era in which a server asks its questions as requests of its own: a call that asks something
// then simply goes on here with the answer. docs/adr/0021-session.md says why. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <patchbay/host.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/runtime.h"
#include "base/waiting.h"
#include "gateway/caller_routes.h"
#include "gateway/server_history.h"
#include "rpc/peer.h"

namespace patchbay {

// Requests about the session itself, which any connection may send at any time. Programs of other versions use them as
// well: they do not change.
namespace session_method {
inline constexpr std::string_view status = "patchbay/status";
inline constexpr std::string_view stop = "patchbay/stop";
inline constexpr std::string_view reconnect = "patchbay/reconnect";  // params: {"server": NAME}
// params: {"server": NAME}, answered with {"text": a recording}; without one, with {"servers": those that have frames}.
inline constexpr std::string_view recording = "patchbay/recording";
}  // namespace session_method

struct SharedHost {
  SharedHost(Host& h, std::shared_ptr<CallerRoutes> r) : host(h), routes(std::move(r)) {}
  Host& host;
  std::shared_ptr<CallerRoutes> routes;                     // those that answer for the client of the Host
  ServerHistory history;                                    // fed by whoever owns the Host
  std::string version;                                      // of this program: another one is refused
  std::function<Json()> status;                             // what session_method::status answers
  std::function<Task<Json>(std::string server)> recording;  // what session_method::recording answers
  std::function<void()> stop;                               // what session_method::stop does, after its answer
  std::function<Error(const Error&)> shown;                 // an error as it may leave this process
  std::size_t in_use = 0;                                   // connections that have begun to use a server
  Event use_changed = {};
};

class HostView final : public HostCaller, public std::enable_shared_from_this<HostView> {
 public:
  static std::shared_ptr<HostView> make(const asio::any_io_executor& executor, std::shared_ptr<SharedHost> shared,
                                        Fd socket, Runtime runtime);
  HostView(std::shared_ptr<SharedHost> shared, Runtime runtime)
      : shared_(std::move(shared)), runtime_(std::move(runtime)) {}
  HostView(const HostView&) = delete;
  HostView& operator=(const HostView&) = delete;
  ~HostView() override;

  // Serves until the connection ends. One that says nothing in time is ended; cancelled, it ends as well.
  static Task<void> run(std::shared_ptr<HostView> self);
  // Whether its first request has come.
  bool spoken() const noexcept { return spoken_; }
  // Ends the connection; what is left of it goes on the next turns of the loop.
  void end();
  bool ended() const noexcept { return peer_->closed(); }

  const std::string& server() const noexcept override { return server_; }
  Task<ElicitResult> elicit(ElicitRequest question, RequestId about) override;
  void log(const LogMessage& message) override;
  void changed(const Change& change) override;
  void catalog_changed() override;

 private:
  using Self = std::shared_ptr<HostView>;
  static Task<Payload> serve(Self self, Request request);
  static Task<Json> answer(Self self, RequestId id, std::string method, Json params);
  static Task<Json> initialize(Self self, Json params);
  // `limit`: how long the caller waits, since its request arrived; 0: nobody knows.
  static Task<Session> open_server(Self self, std::string server, Clock::TimePoint arrived,
                                   std::chrono::milliseconds limit);
  static Task<std::vector<Tool>> as_agreed(Host& host, std::string server, std::vector<Tool> listed);
  Json catalog_json() const;
  static Task<Json> list(Self self, std::string method, CallOptions options);
  static Task<Json> pass_on(Self self, std::string method, Json params, CallOptions options);
  static Task<Json> call_tool(Self self, Json params, CallOptions options);
  static Task<std::string> exposed_name(Self self, std::string tool);
  static Task<void> first_word(Self self);
  CallOptions options_for(const Json& params, std::uint64_t call);
  void begin_use();

  std::shared_ptr<SharedHost> shared_;
  Runtime runtime_;
  std::shared_ptr<Peer> peer_;
  std::string server_;
  ClientCapabilities capabilities_;
  bool typed_ = false;                  // by the user
  std::chrono::milliseconds limit_{0};  // how long the caller waits for a server; 0: nobody knows
  bool spoken_ = false;
  bool initialized_ = false;
  bool using_ = false;
  Event heard_;
};

}  // namespace patchbay
