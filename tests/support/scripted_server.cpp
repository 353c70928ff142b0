#include "support/scripted_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/strings.h"
#include "http/message.h"
#include "support/command.h"

namespace patchbay::test {
namespace {

class Connection final : public ScriptConnection {
 public:
  Connection(int socket, SSL_CTX* tls, int number) : socket_(socket), number_(number) {
    if (!tls) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, socket_);
    if (SSL_accept(ssl_) != 1) {
      ERR_clear_error();
      SSL_free(std::exchange(ssl_, nullptr));
      // The alert must arrive: closing with something unread would overtake it by a reset.
      ::shutdown(socket_, SHUT_WR);
      wait_for_end();
      throw Ended{};
    }
  }
  ~Connection() override { SSL_free(ssl_); }

  std::string read_until(std::string_view mark) override {
    for (;;) {
      if (const auto at = read_.find(mark); at != std::string::npos) return take(at + mark.size());
      more();
    }
  }
  std::string read_exactly(std::size_t bytes) override {
    while (read_.size() < bytes) more();
    return take(bytes);
  }
  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto written = ssl_ ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                : static_cast<int>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (written <= 0) throw Ended{};
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void finish() override {
    if (ssl_) SSL_shutdown(ssl_);
    ::shutdown(socket_, SHUT_WR);
  }
  void reset() override {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    throw Ended{};  // closing sends it
  }
  void wait_for_end() override {
    try {
      for (;;) more();
    } catch (const Ended&) {
    }
  }
  int number() const override { return number_; }
  int fd() const override { return socket_; }

 private:
  std::string take(std::size_t bytes) {
    auto taken = read_.substr(0, bytes);
    read_.erase(0, bytes);
    return taken;
  }
  void more() {
    char buffer[16384];
    const auto count =
        ssl_ ? SSL_read(ssl_, buffer, sizeof buffer) : static_cast<int>(::recv(socket_, buffer, sizeof buffer, 0));
    if (count <= 0) throw Ended{};
    read_.append(buffer, static_cast<std::size_t>(count));
  }

  int socket_;
  int number_;
  SSL* ssl_ = nullptr;
  std::string read_;
};

[[noreturn]] void die(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

void openssl(std::vector<std::string> words) {
  words.insert(words.begin(), "/usr/bin/openssl");
  const auto result = run_program(words);
  if (result.code != 0) throw std::runtime_error("openssl: " + result.err);
}

int choose_http(SSL*, const unsigned char** out, unsigned char* length, const unsigned char* in, unsigned in_length,
                void*) {
  static const unsigned char wanted[] = "\x08http/1.1";
  return SSL_select_next_proto(const_cast<unsigned char**>(out), length, wanted, sizeof wanted - 1, in, in_length) ==
                 OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

std::string ScriptConnection::Request::field(std::string_view name) const {
  for (auto each : split(head, '\n')) {
    const auto colon = each.find(':');
    if (colon != std::string_view::npos && HttpHeaders::same_name(each.substr(0, colon), name)) {
      return std::string(trim(each.substr(colon + 1)));
    }
  }
  return "(none)";
}

ScriptConnection::Request ScriptConnection::read_request() {
  Request request;
  request.head = read_until("\r\n\r\n");
  request.head.resize(request.head.size() - 2);
  const auto length = request.field("content-length");
  if (length != "(none)") request.body = read_exactly(std::stoul(length));
  return request;
}

void ScriptConnection::answer(std::string_view status, std::string_view body, std::string_view fields) {
  write(fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), fields, body));
}

CertificateAuthority::CertificateAuthority(std::string directory) : directory_(std::move(directory)) {
  std::ofstream(directory_ + "/openssl.cnf")
      << "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\nCN = Patchbay test\n";
  root_ = {.certificate = directory_ + "/ca.pem", .key = directory_ + "/ca.key"};
  openssl({"req",
           "-x509",
           "-newkey",
           "ec",
           "-pkeyopt",
           "ec_paramgen_curve:P-256",
           "-nodes",
           "-days",
           "2",
           "-config",
           directory_ + "/openssl.cnf",
           "-subj",
           "/CN=Patchbay test CA",
           "-addext",
           "basicConstraints=critical,CA:TRUE",
           "-addext",
           "subjectKeyIdentifier=hash",
           "-keyout",
           root_.key,
           "-out",
           root_.certificate});
}

Certificate CertificateAuthority::issue(const std::string& file, const std::string& names) const {
  Certificate made{.certificate = directory_ + "/" + file + ".pem", .key = directory_ + "/" + file + ".key"};
  openssl({"req",
           "-x509",
           "-CA",
           root_.certificate,
           "-CAkey",
           root_.key,
           "-newkey",
           "ec",
           "-pkeyopt",
           "ec_paramgen_curve:P-256",
           "-nodes",
           "-days",
           "2",
           "-config",
           directory_ + "/openssl.cnf",
           "-subj",
           "/CN=" + file,
           "-addext",
           "subjectAltName=" + names,
           "-addext",
           "basicConstraints=critical,CA:FALSE",
           "-keyout",
           made.key,
           "-out",
           made.certificate});
  return made;
}

Certificate CertificateAuthority::self_signed(const std::string& file, const std::string& names) const {
  Certificate made{.certificate = directory_ + "/" + file + ".pem", .key = directory_ + "/" + file + ".key"};
  openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-config",
           directory_ + "/openssl.cnf", "-subj", "/CN=" + file, "-addext", "subjectAltName=" + names, "-keyout",
           made.key, "-out", made.certificate});
  return made;
}

ScriptedServer::ScriptedServer(Script script, ScriptServerOptions options)
    : script_(std::move(script)), options_(std::move(options)) {
  if (!options_.certificate.certificate.empty()) {
    auto* tls = SSL_CTX_new(TLS_server_method());
    tls_ = tls;
    if (SSL_CTX_use_certificate_file(tls, options_.certificate.certificate.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(tls, options_.certificate.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      throw std::runtime_error("the test certificate cannot be used");
    }
    SSL_CTX_set_alpn_select_cb(tls, choose_http, nullptr);
    if (!options_.client_ca.empty()) {
      SSL_CTX_load_verify_locations(tls, options_.client_ca.c_str(), nullptr);
      SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
  }
  const bool six = options_.address.find(':') != std::string::npos;
  listener_ = ::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (six) {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, options_.address.c_str(), &address.sin6_addr);
    length = sizeof address;
  } else {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, options_.address.c_str(), &address.sin_addr);
    length = sizeof address;
  }
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&storage), length) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&storage), &length) != 0 || ::pipe2(wake_, O_CLOEXEC) != 0) {
    die("no listener");
  }
  port_ = ntohs(six ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                    : reinterpret_cast<sockaddr_in&>(storage).sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  ::close(wake_[1]);
  acceptor_.join();
  {
    std::lock_guard lock(mutex_);
    for (int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  for (auto& thread : threads_) thread.join();
  ::close(listener_);
  ::close(wake_[0]);
  SSL_CTX_free(static_cast<SSL_CTX*>(tls_));
}

std::string ScriptedServer::url(std::string_view path, std::string_view host) const {
  return fmt::format("{}://{}:{}{}", tls_ ? "https" : "http", host, port_, path);
}

void ScriptedServer::accept_all() {
  for (;;) {
    pollfd both[2] = {{.fd = listener_, .events = POLLIN, .revents = 0},
                      {.fd = wake_[0], .events = POLLIN, .revents = 0}};
    ::poll(both, 2, -1);
    if (both[1].revents != 0) return;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int number = connections_++;
    std::lock_guard lock(mutex_);
    open_.push_back(socket);
    threads_.emplace_back([this, socket, number] { serve(socket, number); });
  }
}

void ScriptedServer::serve(int socket, int number) {
  // OpenSSL writes without MSG_NOSIGNAL; a client that went away must not end the test program.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  try {
    Connection connection(socket, static_cast<SSL_CTX*>(tls_), number);
    script_(connection);
  } catch (const ScriptConnection::Ended&) {
  }
  std::lock_guard lock(mutex_);
  open_.remove(socket);
  ::close(socket);
}

}  // namespace patchbay::test
