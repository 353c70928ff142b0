// ScriptServer: a server whose every answer a test writes by hand, at the level of JSON-RPC,
// for what a well-behaved Server would never do. It keeps what it was asked, in order.
// Transports made from it open any number of connections. Loop thread only; it must outlive
// them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <patchbay/client.h>
#include <patchbay/transport.h>

#include "base/waiting.h"
#include "rpc/peer.h"
#include "rpc/transport.h"

namespace patchbay::test {

class ScriptServer {
 public:
  using Answer = std::function<Task<Payload>(Request)>;

  // Answers to either way of beginning; `capabilities` as JSON text.
  static std::unique_ptr<ScriptServer> modern(std::string capabilities);
  static std::unique_ptr<ScriptServer> legacy(std::string capabilities);
  ~ScriptServer();

  // A method without an answer is refused with -32601.
  void on(std::string method, Answer answer);
  // The same answer every time, as JSON text.
  void on(std::string method, std::string result);

  void notify(std::string_view method, Payload params);
  // A request of the server's own, on the newest connection.
  Task<Payload> ask(std::string method, Payload params, Duration limit = std::chrono::seconds(20));
  // Ends every connection, as a process that dies would.
  Task<void> die();

  std::shared_ptr<Transport> transport();

  std::vector<std::string> asked;       // methods of requests, in order
  std::vector<std::string> told;        // methods of notifications, in order
  std::vector<Payload> told_with;       // and their params
  std::vector<std::string> taken_back;  // methods of requests that were cancelled
  Event happened;                       // after each of these, and after each open and close
  int opens = 0;
  int open_now = 0;
  int most_open_at_once = 0;                 // including those that are being opened
  std::function<Task<void>()> before_open;   // what open() waits for
  std::function<Task<void>()> before_close;  // what close() waits for
  Transport::Identity identity;              // of every transport to it
  // Requests that do not get through, by method, as when nobody listens there or credentials are refused.
  std::map<std::string, Error, std::less<>> failing;

  std::size_t count(std::string_view method) const;
  Task<void> wait_asked(std::string_view method, std::size_t times = 1);
  Task<void> wait_told(std::string_view method, std::size_t times = 1);
  Task<void> wait_taken_back(std::string_view method, std::size_t times = 1);

  std::size_t connections() const noexcept { return peers_.size(); }

 private:
  friend class ScriptChannel;
  friend class ScriptTransport;
  Task<Payload> answer(Request request);

  std::map<std::string, Answer, std::less<>> answers_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

// A modern or legacy server that only has tools, listed on one page: {"name": ...} each.
std::unique_ptr<ScriptServer> tool_server(std::vector<std::string> tools);

// For ScriptServer::on: never answers, until the call is cancelled.
Task<Payload> no_answer();

// A client that begins with the newest revision, without looking for an older one.
ClientOptions modern_client();

}  // namespace patchbay::test
