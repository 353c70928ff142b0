// CallerRoutes: which connection made which call of a Host that many connections share, so that what a server asks or
// logs while it works on a call reaches who called. A question that belongs to nobody, or to somebody who cannot be
// asked, is cancelled. Owned by whoever owns the Host; loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <patchbay/client.h>

#include "rpc/message.h"

namespace patchbay {

// Somebody who calls: one connection.
class HostCaller {
 public:
  virtual ~HostCaller() = default;
  // The server it is about; empty: all of them.
  virtual const std::string& server() const noexcept = 0;
  // A question that a server asks while it works on the caller's request `about`.
  virtual Task<ElicitResult> elicit(ElicitRequest question, RequestId about) = 0;
  virtual void log(const LogMessage& message) = 0;
  virtual void changed(const Change& change) = 0;
  // Of the host, after the servers' own changes.
  virtual void catalog_changed() = 0;
};

class CallerRoutes : public std::enable_shared_from_this<CallerRoutes> {
 public:
  // Sets the handlers of a Host's client.
  void answer_for(ClientOptions& client);

  void add(HostCaller* caller) { callers_.insert(caller); }
  void remove(HostCaller* caller) { callers_.erase(caller); }
  // Whoever owns the Host says so.
  void catalog_changed() const {
    for (auto* caller : callers_) caller->catalog_changed();
  }

  // A call that runs: whoever is asked on its behalf is `caller`, about its request.
  class Running {
   public:
    Running(std::shared_ptr<CallerRoutes> routes, std::shared_ptr<HostCaller> caller, std::string server,
            RequestId request);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { routes_->running_.erase(id_); }
    // For CallOptions::call_id.
    std::uint64_t id() const noexcept { return id_; }

   private:
    std::shared_ptr<CallerRoutes> routes_;
    std::uint64_t id_;
  };

 private:
  struct Call {
    std::weak_ptr<HostCaller> caller;
    std::string server;
    RequestId request;
  };
  // The call that is meant; null when it may be another.
  const Call* find(const CallContext& context) const;
  static Task<ElicitResult> ask(std::shared_ptr<CallerRoutes> self, ElicitRequest question, CallContext context);
  void log(const LogMessage& message, const CallContext& context) const;

  std::set<HostCaller*> callers_;
  std::map<std::uint64_t, Call> running_;
  // Other numbers than those that a Host gives by itself.
  std::uint64_t next_ = std::uint64_t{1} << 32;
};

}  // namespace patchbay
