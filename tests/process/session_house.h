// A household whose commands may use a session: with a run-time directory of its own, and nothing left running at its
// end. And a client of the session's socket that is nothing but text.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "base/fd.h"
#include "support/household.h"
#include "support/places.h"

namespace patchbay::test {

// Until it is not there any more, for at most a minute.
inline bool ended(pid_t pid) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno == ESRCH;
  pollfd waiting{process.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 60'000) == 1;
}

class SessionHouse : public Household {
 public:
  explicit SessionHouse(const std::string& run = "run") : run_(run) {
    tree.directory(run_);
    ::chmod(run_directory().c_str(), 0700);
  }
  ~SessionHouse() {
    const auto stopped = run({"session", "stop"});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
  }

  std::string run_directory() const { return (tree.path() / run_).string(); }
  CommandOptions options(const std::string& below = {}, const std::string& input = {}) const {
    auto all = Household::options(below, input);
    all.env["XDG_RUNTIME_DIR"] = run_directory();
    for (const auto& [name, value] : more) all.env[name] = value;
    return all;
  }
  CommandResult run(std::vector<std::string> words, const std::string& below = {},
                    const std::string& input = {}) const {
    words.insert(words.begin(), built("patchbay"));
    return run_program(words, options(below, input));
  }

  // A server of the user's: tests/fakes/mode_server.cpp, or the fixture server.
  void add_mode_server(const std::string& mode, const std::string& argument = {}) const {
    std::vector<std::string> words{"add", "fake", "--", built("mode-server"), mode};
    if (!argument.empty()) words.push_back(argument);
    const auto added = run(std::move(words));
    EXPECT_EQ(added.code, 0) << added.err;
  }
  void add_fixture_server(const std::string& name = "fix") const {
    const auto added = run({"add", name, "--", built("scenario-server")});
    EXPECT_EQ(added.code, 0) << added.err;
  }

  Json status() const { return json_of(run({"session", "status", "--json"})); }
  pid_t start(std::vector<std::string> more_words = {}) const {
    more_words.insert(more_words.begin(), {"session", "start", "--json"});
    const auto started = run(std::move(more_words));
    EXPECT_EQ(started.code, 0) << started.out << started.err;
    return static_cast<pid_t>(json_of(started)["pid"].to_int().value_or(0));
  }
  std::string socket() const { return std::string(std::as_const(*status_now())["socket"].as_text()); }

  std::map<std::string, std::string> more;  // variables

 private:
  std::unique_ptr<Json> status_now() const { return std::make_unique<Json>(status()); }
  std::string run_;
};

// One line out, lines in.
class SocketClient {
 public:
  explicit SocketClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const noexcept { return connected_; }
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const auto put = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (put <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }
  // The next message; null at the end, or after a minute.
  Json next() {
    for (;;) {
      if (const auto end = held_.find('\n'); end != std::string::npos) {
        auto value = parse_json(held_.substr(0, end));
        held_.erase(0, end + 1);
        return value.value_or(Json());
      }
      pollfd waiting{fd_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 60'000) != 1) return {};
      char buffer[4096];
      const auto got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return {};
      held_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  // The answer to a request; what comes before it is kept in `told`.
  Json ask(std::string_view method, const Json& params = Json::object()) {
    const auto id = ++last_;
    send(to_text(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}) + "\n");
    for (;;) {
      auto message = next();
      if (message.is_null() || std::as_const(message)["id"] == Json(id)) return message;
      told.push_back(std::move(message));
    }
  }
  // Begins as a view of one server, or of all.
  Json open(const std::string& server = {}, const Json& capabilities = Json::object()) {
    Json meta = Json::object();
    if (!server.empty()) meta["patchbay/server"] = server;
    return open_with(std::move(meta), capabilities);
  }
  // As `patchbay call` does, where the user has typed what is called.
  Json open_for_user(const std::string& server, const Json& capabilities = Json::object()) {
    return open_with(Json{{"patchbay/server", server}, {"patchbay/typed", true}}, capabilities);
  }
  Json open_with(Json meta, const Json& capabilities = Json::object()) {
    auto answer = ask("initialize", Json{{"protocolVersion", "2025-11-25"},
                                         {"capabilities", capabilities},
                                         {"clientInfo", Json{{"name", "test"}, {"version", "1"}}},
                                         {"_meta", meta}});
    send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    return answer;
  }
  void close() { fd_.reset(); }

  std::vector<Json> told;

 private:
  Fd fd_;
  bool connected_ = false;
  std::string held_;
  int last_ = 0;
};

inline std::string text_of_call(const Json& answer) {
  const Json& first = answer["result"]["content"];
  return first.is_array() && !first.as_array().empty() ? std::string(first.as_array().front()["text"].as_text())
                                                       : to_text(answer);
}

}  // namespace patchbay::test
