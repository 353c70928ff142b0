// The least an HTTP client can do: sockets, poll, a look for the length of the body. It is the floor
// for clients, and the load that servers are measured under; with BENCH_SERVER_PID the CPU time and
// memory it prints are those of that process instead of its own.
//
//   sequential, parallel  calls of `echo` on one connection, or on AT-ONCE of them
//   stream                the delay of each event of a stream, from write to arrival
//   sessions              COUNT sessions, each with its connection and its open stream, held at once
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "figures.h"

namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

struct Url {
  std::string host;
  std::uint16_t port = 80;
  std::string path;
};

Url url_of(std::string_view text) {
  text.remove_prefix(std::string_view("http://").size());
  const auto slash = std::min(text.find('/'), text.size());
  const auto colon = text.find(':');
  Url url;
  url.host = text.substr(0, colon);
  std::from_chars(text.data() + colon + 1, text.data() + slash, url.port);
  url.path = text.substr(slash);
  return url;
}

// One connection and, once there is one, its session.
class Connection {
 public:
  explicit Connection(const Url& url) : url_(url), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(url.port);
    inet_pton(AF_INET, url.host.c_str(), &address.sin_addr);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up("connect");
    const int yes = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    buffer_.resize(64 << 10);
    make_head();
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }

  void post(std::string_view body) {
    char length[24];
    request_.assign(post_head_);
    request_.append(length, std::to_chars(length, std::end(length), body.size()).ptr);
    request_ += "\r\n\r\n";
    request_ += body;
    write_all(request_);
  }

  void get() {
    write_all("GET " + url_.path + " HTTP/1.1\r\nHost: " + authority() + "\r\nAccept: text/event-stream\r\n" +
              session_ + "\r\n");
  }

  // Reads once; whether an answer is there as a whole. Answers come with a length, in chunks, or
  // with nothing.
  bool answered() {
    read_some();
    const std::string_view all(buffer_.data(), held_);
    const auto body = all.find("\r\n\r\n");
    if (body == std::string_view::npos) return false;
    if (const auto length = field(all.substr(0, body + 2), "\r\ncontent-length:"); !length.empty()) {
      std::size_t size = 0;
      std::from_chars(length.data(), length.data() + length.size(), size);
      if (held_ < body + 4 + size) return false;
    } else if (!field(all.substr(0, body + 2), "\r\ntransfer-encoding:").empty()) {
      if (!all.ends_with("0\r\n\r\n")) return false;
    }
    if (session_.empty()) {
      if (const auto id = field(all.substr(0, body + 2), "\r\nmcp-session-id:"); !id.empty()) {
        session_ = "Mcp-Session-Id: " + std::string(id) + "\r\n";
        make_head();
      }
    }
    held_ = 0;
    return true;
  }

  void exchange(std::string_view body) {
    post(body);
    while (!answered()) continue;
  }

  // What came of a stream since the last look.
  std::string_view stream_part() {
    held_ = 0;
    read_some();
    return {buffer_.data(), held_};
  }

  void shake_hands() {
    exchange(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}})");
    exchange(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

 private:
  std::string authority() const { return url_.host + ":" + std::to_string(url_.port); }

  void make_head() {
    post_head_ = "POST " + url_.path + " HTTP/1.1\r\nHost: " + authority() +
                 "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                 "MCP-Protocol-Version: 2025-11-25\r\n" +
                 session_ + "Content-Length: ";
  }

  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto wrote = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (wrote < 0) give_up("send");
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }

  void read_some() {
    if (held_ == buffer_.size()) buffer_.resize(2 * held_);
    const auto got = recv(fd_, buffer_.data() + held_, buffer_.size() - held_, 0);
    if (got <= 0) give_up("recv");
    held_ += static_cast<std::size_t>(got);
  }

  static std::string_view field(std::string_view head, const char* name) {
    for (std::size_t at = 0; at + std::strlen(name) < head.size(); ++at) {
      at = head.find("\r\n", at);
      if (at == std::string_view::npos) return {};
      if (strncasecmp(head.data() + at, name, std::strlen(name)) != 0) continue;
      auto value = head.substr(at + std::strlen(name));
      value = value.substr(0, value.find("\r\n"));
      while (value.starts_with(' ')) value.remove_prefix(1);
      return value;
    }
    return {};
  }

  Url url_;
  int fd_;
  std::string session_;
  std::string post_head_;
  std::string request_;
  std::vector<char> buffer_;
  std::size_t held_ = 0;
};

class Call {
 public:
  const std::string& next() {
    body_ = R"({"jsonrpc":"2.0","id":)" + std::to_string(++id_) +
            R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}})";
    return body_;
  }

 private:
  int id_ = 1;
  std::string body_;
};

void flood(std::vector<std::unique_ptr<Connection>>& connections, Call& call, int calls) {
  std::vector<pollfd> waiting;
  int sent = 0;
  for (auto& connection : connections) {
    if (sent == calls) break;
    connection->post(call.next());
    waiting.push_back({connection->fd(), POLLIN, 0});
    ++sent;
  }
  for (int answered = 0; answered < calls;) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) give_up("poll");
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0 || !connections[i]->answered()) continue;
      ++answered;
      if (sent == calls) continue;
      connections[i]->post(call.next());
      ++sent;
    }
  }
}

void stream(const Url& url, int count, bench::Meter* meter) {
  Connection connection(url);
  connection.shake_hands();
  for (int i = 0; i < count; ++i) {
    connection.post(
        R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stream","arguments":{},"_meta":{"progressToken":7}}})");
    std::string line;
    for (bool ended = false; !ended;) {
      const auto part = connection.stream_part();
      const double now = bench::wall_us();
      line += part;
      for (std::size_t end; (end = line.find("\n\n")) != std::string::npos; line.erase(0, end + 2)) {
        constexpr std::string_view before = R"("message":")";
        const auto at = std::string_view(line).substr(0, end).find(before);
        if (at != std::string_view::npos && meter != nullptr) {
          meter->took(now - std::strtod(line.c_str() + at + before.size(), nullptr) / 1e3);
        }
      }
      ended = line.ends_with("0\r\n\r\n");
    }
  }
}

// The CPU time in µs and the memory in KiB of another process.
double cpu_of(const std::string& pid) {
  double ns = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + pid + "/task")) {
    std::ifstream file(thread.path() / "schedstat");
    double one = 0;
    file >> one;
    ns += one;
  }
  return ns / 1e3;
}

long memory_of(const std::string& pid) {
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

void hold_sessions(const Url& url, const bench::Arguments& arguments) {
  std::vector<std::unique_ptr<Connection>> sessions;
  std::vector<std::unique_ptr<Connection>> streams;
  for (int i = 0; i < arguments.count; ++i) {
    auto& one = sessions.emplace_back(std::make_unique<Connection>(url));
    one->shake_hands();
    one->exchange(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    one->get();
  }
  // Each stream has begun once its head is there.
  for (auto& one : sessions) {
    if (one->stream_part().find("text/event-stream") == std::string_view::npos) {
      errno = EPROTO;
      give_up("no stream");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bench::arguments_of(argc, argv);
  const auto url = url_of(arguments.server);
  const char* of = std::getenv("BENCH_SERVER_PID");
  const std::string server = of != nullptr ? of : "";
  rlimit limit{8192, 8192};
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto measured = [&](int calls, auto&& work) {
    const double before = server.empty() ? 0 : cpu_of(server);
    bench::Meter meter(arguments.measure);
    work(meter);
    if (!server.empty()) meter.instead(cpu_of(server) - before, memory_of(server));
    meter.print(calls);
  };
  if (arguments.measure == "sessions") {
    measured(arguments.count, [&](bench::Meter&) { hold_sessions(url, arguments); });
  } else if (arguments.measure == "stream") {
    stream(url, 1, nullptr);
    measured(arguments.count, [&](bench::Meter& meter) { stream(url, arguments.count, &meter); });
  } else {
    Call call;
    std::vector<std::unique_ptr<Connection>> connections;
    for (int i = 0; i < arguments.at_once; ++i) {
      connections.push_back(std::make_unique<Connection>(url));
      connections.back()->shake_hands();
    }
    if (arguments.measure == "parallel") {
      flood(connections, call, arguments.warm_up());
      measured(arguments.count, [&](bench::Meter&) { flood(connections, call, arguments.count); });
    } else {
      for (int i = 0; i < arguments.warm_up(); ++i) connections[0]->exchange(call.next());
      measured(arguments.count, [&](bench::Meter& meter) {
        for (int i = 0; i < arguments.count; ++i) {
          const double began = bench::wall_us();
          connections[0]->exchange(call.next());
          meter.took(bench::wall_us() - began);
        }
      });
    }
  }
  return 0;
}
