// An MCP server of the session era over HTTP that is not well: now and then it answers 503, forgets all its sessions
// (404), resets the connection, or answers with 5 MB. Prints where it is and serves until a signal ends it.
//   shaky-http-server SEED
// Its tool is `count` (arguments {"n": number}; answers with the number).
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <string>

#include <patchbay/json.h>

#include "support/dice.h"
#include "support/scripted_server.h"

using patchbay::Json;
using patchbay::test::Dice;
using patchbay::test::ScriptConnection;
using patchbay::test::ScriptedServer;

namespace {

class Shaky {
 public:
  explicit Shaky(std::uint64_t seed) : dice_(seed) {}

  void serve(ScriptConnection& connection) {
    for (;;) {
      const auto request = connection.read_request();
      if (request.line().starts_with("POST ")) {
        if (!post(connection, request)) return;
      } else {
        connection.answer(request.line().starts_with("GET ") ? "405 Method Not Allowed" : "200 OK", "");
      }
    }
  }

 private:
  // False: the connection is over.
  bool post(ScriptConnection& connection, const ScriptConnection::Request& request) {
    const auto message = patchbay::parse_json(request.body);
    if (!message || !message->find("id")) {
      connection.answer("202 Accepted", "");
      return true;
    }
    const auto count = std::to_string(++requests_);
    const std::string method((*message)["method"].as_text());
    if (method != "initialize") {
      if (dice_.chance(count, "forgets", 2)) forget();
      if (!knows(request.field("Mcp-Session-Id"))) {
        connection.answer("404 Not Found", "");
        return true;
      }
      if (dice_.chance(count, "resets", 2)) {
        connection.reset();
        return false;
      }
    }
    if (dice_.chance(count, "503", 4)) {
      connection.answer("503 Service Unavailable", "");
      return true;
    }
    Json reply{{"jsonrpc", "2.0"}, {"id", (*message)["id"]}};
    std::string fields = "Content-Type: application/json\r\n";
    if (method == "initialize") {
      reply["result"] = Json{{"protocolVersion", (*message)["params"]["protocolVersion"]},
                             {"capabilities", {{"tools", Json::object()}}},
                             {"serverInfo", {{"name", "shaky"}, {"version", "1"}}}};
      fields += "Mcp-Session-Id: " + begin() + "\r\n";
    } else if (method == "tools/list") {
      reply["result"] = Json{{"tools", Json::array({Json{{"name", "count"}, {"inputSchema", {{"type", "object"}}}}})}};
    } else if (method == "tools/call") {
      auto text = std::to_string((*message)["params"]["arguments"]["n"].as_int());
      Json content = Json::array({Json{{"type", "text"}, {"text", std::move(text)}}});
      if (dice_.chance(count, "large", 3)) {
        content.push_back(Json{{"type", "text"}, {"text", std::string(5'000'000, 'x')}});
      }
      reply["result"] = Json{{"content", std::move(content)}};
    } else {
      reply["error"] = Json{{"code", -32601}, {"message", "no such method"}};
    }
    connection.answer("200 OK", patchbay::to_text(reply), fields);
    return true;
  }

  void forget() {
    std::lock_guard lock(mutex_);
    sessions_.clear();
  }
  bool knows(const std::string& session) {
    std::lock_guard lock(mutex_);
    return sessions_.contains(session);
  }
  std::string begin() {
    std::lock_guard lock(mutex_);
    auto session = "s" + std::to_string(++begun_);
    sessions_.insert(session);
    return session;
  }

  Dice dice_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::mutex mutex_;
  std::set<std::string> sessions_;
  int begun_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Shaky shaky(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  ScriptedServer server([&](ScriptConnection& connection) { shaky.serve(connection); });
  std::cout << "serving at " << server.url("/mcp") << "\n" << std::flush;
  for (;;) ::pause();
}
