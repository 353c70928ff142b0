// A TCP or TLS server that does exactly what a test writes down: bytes in, bytes out, when
// the script says so. Scripts are plain blocking code, one thread per connection, so that
// they read like the conversation they play. The server listens on loopback at a port of its
// own; destroying it ends every connection and joins every thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace patchbay::test {

// One side of a conversation. Every function throws Ended when the other side is gone
// or the test is over, which ends the script quietly.
class ScriptConnection {
 public:
  struct Ended {};

  virtual ~ScriptConnection() = default;
  // What came up to and with `mark`; what came behind it is kept for the next call.
  virtual std::string read_until(std::string_view mark) = 0;
  virtual std::string read_exactly(std::size_t bytes) = 0;
  virtual void write(std::string_view bytes) = 0;
  // Ends the sending side properly; the other side reads the end.
  virtual void finish() = 0;
  // Ends it with a reset.
  virtual void reset() = 0;
  // Returns when the other side has closed or reset the connection.
  virtual void wait_for_end() = 0;
  // How many connections came before this one.
  virtual int number() const = 0;
  virtual int fd() const = 0;

  // The head of a request and its body as Content-Length says.
  struct Request {
    std::string head;  // with the request line, without the blank line
    std::string body;
    // The value of a field, "(none)" when it is missing.
    std::string field(std::string_view name) const;
    std::string line() const { return head.substr(0, head.find("\r\n")); }
  };
  Request read_request();
  // A whole answer with Content-Length; `fields` are whole lines with their line ends.
  void answer(std::string_view status, std::string_view body, std::string_view fields = "");
};

// Something one thread waits for and another brings about.
class Signal {
 public:
  void set() {
    std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  // False when it has not come within two minutes.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(2), [&] { return set_; });
  }
  bool is_set() {
    std::lock_guard lock(mutex_);
    return set_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// Certificates made for one test run by the openssl program.
struct Certificate {
  std::string certificate;  // PEM files
  std::string key;
};
class CertificateAuthority {
 public:
  explicit CertificateAuthority(std::string directory);
  const Certificate& root() const noexcept { return root_; }
  // `names` as openssl writes them: "DNS:localhost,IP:127.0.0.1".
  Certificate issue(const std::string& file, const std::string& names) const;
  Certificate self_signed(const std::string& file, const std::string& names) const;

 private:
  std::string directory_;
  Certificate root_;
};

struct ScriptServerOptions {
  Certificate certificate;  // empty: no TLS
  std::string client_ca;    // a client certificate from this CA is required
  std::string address = "127.0.0.1";
};

class ScriptedServer {
 public:
  using Script = std::function<void(ScriptConnection&)>;
  explicit ScriptedServer(Script script, ScriptServerOptions options = {});
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer();

  std::uint16_t port() const noexcept { return port_; }
  // "http://127.0.0.1:1234" + path, or https.
  std::string url(std::string_view path = "/", std::string_view host = "127.0.0.1") const;
  int connections() const noexcept { return connections_; }

 private:
  void accept_all();
  void serve(int socket, int number);

  Script script_;
  ScriptServerOptions options_;
  void* tls_ = nullptr;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace patchbay::test
