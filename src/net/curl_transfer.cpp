#include "net/curl_transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <unordered_map>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/strings.h"
#include "net/fd.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

namespace patchbay {
namespace {

namespace asio = boost::asio;

// ---- the library, loaded once and never unloaded ------------------------------------------

struct Curl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_version_info) version_info;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_pause) easy_pause;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_recv) easy_recv;
  decltype(&::curl_easy_send) easy_send;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_url) url;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
};

// A kept connection that was closed before our request came shows within a round trip.
constexpr auto dead_at_once = std::chrono::milliseconds(250);
constexpr unsigned oldest_version = 0x075700;  // 7.87.0: CURLOPT_QUICK_EXIT, a cache for trusted CAs

struct Loading {
  Curl curl{};
  std::string failure;
};

Loading load() {
  Loading loading;
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loading.failure = ::dlerror();
    return loading;
  }
  auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function && loading.failure.empty()) loading.failure = fmt::format("{} is missing in libcurl.so.4", name);
  };
  auto& curl = loading.curl;
  bind(curl.global_init, "curl_global_init");
  bind(curl.version_info, "curl_version_info");
  bind(curl.easy_init, "curl_easy_init");
  bind(curl.easy_cleanup, "curl_easy_cleanup");
  bind(curl.easy_setopt, "curl_easy_setopt");
  bind(curl.easy_getinfo, "curl_easy_getinfo");
  bind(curl.easy_pause, "curl_easy_pause");
  bind(curl.easy_reset, "curl_easy_reset");
  bind(curl.easy_recv, "curl_easy_recv");
  bind(curl.easy_send, "curl_easy_send");
  bind(curl.easy_strerror, "curl_easy_strerror");
  bind(curl.url, "curl_url");
  bind(curl.url_set, "curl_url_set");
  bind(curl.url_cleanup, "curl_url_cleanup");
  bind(curl.multi_init, "curl_multi_init");
  bind(curl.multi_cleanup, "curl_multi_cleanup");
  bind(curl.multi_setopt, "curl_multi_setopt");
  bind(curl.multi_add_handle, "curl_multi_add_handle");
  bind(curl.multi_remove_handle, "curl_multi_remove_handle");
  bind(curl.multi_socket_action, "curl_multi_socket_action");
  bind(curl.multi_info_read, "curl_multi_info_read");
  if (!loading.failure.empty()) return loading;
  const auto* version = curl.version_info(CURLVERSION_NOW);
  if (version->version_num < oldest_version) {
    loading.failure = fmt::format("this is {}", version->version);
  } else if (curl.global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
    loading.failure = "it does not start";
  }
  return loading;
}

const Loading& loaded() {
  static const Loading loading = load();
  return loading;
}
const Curl& curl() { return loaded().curl; }

struct FreeUrl {
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
};
using ParsedUrl = std::unique_ptr<CURLU, FreeUrl>;

// ---- what an outcome means ----------------------------------------------------------------

template <class T>
T info(CURL* easy, CURLINFO what) {
  T value{};
  curl().easy_getinfo(easy, what, &value);
  return value;
}

// OpenSSL's numbers for why a chain was refused (X509_V_ERR_*).
HttpFault fault_of_chain(long verify_result) {
  switch (verify_result) {
    case 0:
    case 62:
      return HttpFault::wrong_name;  // a chain in order, or the mismatch itself
    case 9:
    case 10:
      return HttpFault::expired;
    case 18:
      return HttpFault::self_signed;
    default:
      return HttpFault::untrusted;
  }
}

// The last link of errors OpenSSL reports is the one worth reading.
bool speaks_of_certificate(std::string_view reason) {
  for (std::string_view alert : {"alert certificate required", "alert bad certificate", "alert unknown ca",
                                 "alert certificate unknown", "alert certificate expired"}) {
    if (reason.find(alert) != std::string_view::npos) return true;
  }
  return false;
}

bool speaks_of_name(std::string_view reason) { return reason.find("target host name") != std::string_view::npos; }

HttpFault fault_of(CURLcode code, long verify_result, std::string_view reason) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpFault::name_unknown;
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFault::proxy_name_unknown;
    case CURLE_COULDNT_CONNECT:
      return HttpFault::refused;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::connect_timeout;  // the only limit the library knows of
    case CURLE_PROXY:
      return HttpFault::proxy_failed;
    case CURLE_PEER_FAILED_VERIFICATION:
      return speaks_of_name(reason) ? HttpFault::wrong_name : fault_of_chain(verify_result);
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFault::untrusted;
    case CURLE_SSL_CACERT_BADFILE:
      return HttpFault::bad_ca_file;
    case CURLE_SSL_CERTPROBLEM:
      return HttpFault::bad_certificate_file;
    case CURLE_SSL_CLIENTCERT:
      return HttpFault::wants_certificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return speaks_of_certificate(reason) ? HttpFault::wants_certificate : HttpFault::handshake;
    case CURLE_GOT_NOTHING:
      return HttpFault::closed;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      if (speaks_of_certificate(reason)) return HttpFault::wants_certificate;
      return HttpFault::reset;
    case CURLE_PARTIAL_FILE:
      return HttpFault::truncated;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return HttpFault::reset;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
      return HttpFault::not_http;
    default:
      return HttpFault::other;
  }
}

// "DNS:a.example, DNS:b.example" of the first certificate, or its common name.
std::string certificate_names(CURL* easy) {
  const auto* chain = info<curl_certinfo*>(easy, CURLINFO_CERTINFO);
  if (!chain || chain->num_of_certs < 1) return {};
  std::string subject;
  for (const auto* line = chain->certinfo[0]; line; line = line->next) {
    std::string_view text = line->data;
    if (text.starts_with("X509v3 Subject Alternative Name:")) {
      text.remove_prefix(text.find(':') + 1);
      std::vector<std::string> names;
      for (auto name : split(text, ',')) {
        const auto colon = name.find(':');
        names.emplace_back(trim(colon == std::string_view::npos ? name : name.substr(colon + 1)));
      }
      return std::string(cut_utf8(join(names, ", "), 300));
    }
    if (text.starts_with("Subject:")) {
      const auto common = text.find("CN = ");
      if (common != std::string_view::npos) subject = text.substr(common + 5, text.find(',', common) - common - 5);
    }
  }
  return subject;
}

// A request is longer than this, the farewell of TLS shorter.
constexpr std::uint64_t least_request = 64;

// What the kernel says of a connection: struct tcp_info of <linux/tcp.h>, of which the C library declares only the
// beginning.
struct ConnectionFigures {
  tcp_info beginning;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  std::uint32_t segments_out, segments_in, bytes_not_sent, least_round_trip, data_segments_in, data_segments_out;
  std::uint64_t delivery_rate, busy_time, window_limited, buffer_limited;
  std::uint32_t delivered, delivered_marked;
  std::uint64_t bytes_sent, bytes_sent_again;
};
static_assert(offsetof(ConnectionFigures, bytes_acked) == 120 && offsetof(ConnectionFigures, bytes_sent) == 200);

// Bytes that were sent and not acknowledged; known also after a reset. Nothing where the kernel does not say.
std::optional<std::uint64_t> unacknowledged(int socket) {
  ConnectionFigures told{};
  socklen_t length = sizeof told;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &told, &length) != 0 || length < sizeof told) return std::nullopt;
  const auto sent = told.bytes_sent - told.bytes_sent_again;
  const auto acknowledged = told.bytes_acked > 0 ? told.bytes_acked - 1 : 0;  // the first was for opening it
  return sent > acknowledged ? sent - acknowledged : 0;
}

bool is_https(std::string_view url) { return to_lower_ascii(url.substr(0, 6)) == "https:"; }

// CURLcode's cousins for SOCKS and the like are all told by their text.
std::string reason_of(CURLcode code, const char* buffer) {
  std::string reason = buffer[0] != '\0' ? buffer : curl().easy_strerror(code);
  // What the library says when it asks a socket about itself that is gone already.
  if (reason.starts_with("getpeername()")) reason = "Connection reset by peer";
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '\r')) reason.pop_back();
  for (std::string_view prefix : {"SSL certificate problem: ", "SSL: "}) {
    if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  }
  return reason;
}

}  // namespace

// ---- the loop -----------------------------------------------------------------------------

class EasyTransfer;

// The library tells which sockets it waits for. Those of connections it opens and closes through us:
// an Asio descriptor refers to each until it is closed, so that a connection that is used again and
// again is registered once. Of others (a resolver's) the descriptor is let go when the library no
// longer waits, and none ever refers to a number that means another socket by now.
class CurlLoop::State : public std::enable_shared_from_this<CurlLoop::State> {
 public:
  State(asio::any_io_executor executor, std::size_t idle_connections, const KeepAlive& keep_alive)
      : keep_alive_(keep_alive), timer_(executor) {
    multi_ = curl().multi_init();
    if (!multi_) throw Error(Errc::internal, "no memory left for HTTP");
    const auto set = curl().multi_setopt;
    set(multi_, CURLMOPT_SOCKETFUNCTION, &State::on_socket);
    set(multi_, CURLMOPT_SOCKETDATA, this);
    set(multi_, CURLMOPT_TIMERFUNCTION, &State::on_timer);
    set(multi_, CURLMOPT_TIMERDATA, this);
    set(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(idle_connections));
    // One request at a time on a connection, also with HTTP/2. In libcurl 7.88 a stream whose
    // reader is slow stops all others of its connection, and a stream that is given up is
    // reported to the server only when something else is sent.
    set(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  }
  ~State() { close(); }

  void close();
  bool idle() const noexcept { return transfers_.empty(); }
  CURLM* multi() const noexcept { return multi_; }
  // Must be followed by kick().
  void add(EasyTransfer& transfer);
  void remove(EasyTransfer& transfer);
  // Lets the library do what is due now. Not from inside its callbacks.
  void kick() { act(CURL_SOCKET_TIMEOUT, 0); }

  // A handle, and whether it is set up for these options already.
  struct Handle {
    CURL* easy = nullptr;
    std::shared_ptr<const TransferOptions> options;  // null: nothing is set
    ParsedUrl url;                                   // theirs; `easy` refers to it
  };
  Handle take_easy(const std::shared_ptr<const TransferOptions>& options) {
    if (spare_.empty()) return {curl().easy_init(), nullptr, nullptr};
    auto found = std::ranges::find(spare_, options, &Handle::options);
    if (found == spare_.end()) found = spare_.end() - 1;
    auto handle = std::move(*found);
    spare_.erase(found);
    if (handle.options && handle.options != options) {
      curl().easy_reset(handle.easy);
      handle.options.reset();
      handle.url.reset();
    }
    return handle;
  }
  // A used handle costs less than a new one, and less still when what was set is what the next
  // request needs; its caches are in multi_.
  void give_back(Handle handle) {
    if (!multi_ || spare_.size() >= most_spare) {
      curl().easy_cleanup(handle.easy);
      return;
    }
    if (!handle.options) {
      curl().easy_reset(handle.easy);
      handle.url.reset();
    }
    spare_.push_back(std::move(handle));
  }

  // Certificates for the library to trust. It copies a text of them for every request, but of a file
  // only the name; so they are in a file, which has no other name and is gone with this object.
  struct Bundle {
    std::string path;
    Fd file;
    std::string text;  // where there can be no such file
  };
  // What a file of certificates holds (the library's own when it has no name), and behind it
  // another one. Read once per loop, and kept as long as it.
  const Bundle& certificates(const std::string& file, const std::string& extra) {
    const auto [found, fresh] = bundles_.try_emplace({file, extra});
    auto& bundle = found->second;
    if (!fresh) return bundle;
    const char* own = curl().version_info(CURLVERSION_NOW)->cainfo;
    for (const auto& name : {file.empty() ? std::string(own ? own : "") : file, extra}) {
      std::ifstream in(name, std::ios::binary);
      bundle.text.append(std::istreambuf_iterator<char>(in), {});
      bundle.text += '\n';
    }
    bundle.file = Fd(::memfd_create("certificates", MFD_CLOEXEC));
    auto path = fmt::format("/proc/self/fd/{}", bundle.file.get());
    const auto written = ::write(bundle.file.get(), bundle.text.data(), bundle.text.size());
    if (written == static_cast<ssize_t>(bundle.text.size()) && ::access(path.c_str(), R_OK) == 0) {
      bundle.path = std::move(path);
      bundle.text = {};
    }
    return bundle;
  }

 private:
  static constexpr std::size_t most_spare = 8;

  friend class EasyTransfer;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*) {
    static_cast<State*>(self)->watch(socket, what);
    if (what != CURL_POLL_REMOVE) static_cast<State*>(self)->note_connection(easy, socket);
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<State*>(self)->set_timer(milliseconds);
    return 0;
  }

  struct Watched {
    explicit Watched(const asio::any_io_executor& executor) : descriptor(executor) {}
    asio::posix::stream_descriptor descriptor;
    bool ours = false;  // opened, and so closed, by us
    int what = 0;       // CURL_POLL_* the library waits for now
    bool reading = false;
    bool writing = false;
  };

  void watch(int socket, int what) {
    const auto found = sockets_.find(socket);
    if (what == CURL_POLL_REMOVE) {
      if (found == sockets_.end()) return;
      auto& watched = *found->second;
      watched.what = 0;
      if (!watched.ours) {
        forget(found);
      } else if (watched.reading || watched.writing) {
        // An idle connection does not keep a loop alive.
        boost::system::error_code ignored;
        watched.descriptor.cancel(ignored);
      }
      return;
    }
    const auto watched = found != sockets_.end() ? found->second : add_socket(socket, false);
    if (!watched) return;  // no room in the loop's epoll; the limits of the request end it
    watched->what = what;
    wait(socket, watched);
  }

  using Sockets = std::unordered_map<int, std::shared_ptr<Watched>>;

  std::shared_ptr<Watched> add_socket(int socket, bool ours) {
    auto watched = std::make_shared<Watched>(timer_.get_executor());
    watched->ours = ours;
    boost::system::error_code failed;
    watched->descriptor.assign(socket, failed);
    if (failed) return nullptr;
    sockets_[socket] = watched;
    return watched;
  }

  void forget(Sockets::iterator socket) {
    socket->second->descriptor.release();
    sockets_.erase(socket);
  }

  void wait(int socket, const std::shared_ptr<Watched>& watched) {
    using Descriptor = asio::posix::stream_descriptor;
    if (!watched->descriptor.is_open()) return;
    if ((watched->what & CURL_POLL_IN) != 0 && !watched->reading) {
      watched->reading = true;
      watched->descriptor.async_wait(Descriptor::wait_read, Ready{weak_from_this(), watched, socket, CURL_CSELECT_IN});
    }
    if ((watched->what & CURL_POLL_OUT) != 0 && !watched->writing) {
      watched->writing = true;
      watched->descriptor.async_wait(Descriptor::wait_write,
                                     Ready{weak_from_this(), watched, socket, CURL_CSELECT_OUT});
    }
  }

  struct Ready {
    std::weak_ptr<State> state;
    std::weak_ptr<Watched> watched;
    int socket;
    int how;
    void operator()(boost::system::error_code error) const {
      const auto self = state.lock();
      const auto waited = watched.lock();
      if (!self || !waited) return;
      (how == CURL_CSELECT_IN ? waited->reading : waited->writing) = false;
      if (error == asio::error::operation_aborted) return self->wait(socket, waited);
      if (waited->what != 0) self->act(socket, error ? CURL_CSELECT_ERR : how);
      self->wait(socket, waited);
    }
  };

  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address) {
    const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (socket < 0) return CURL_SOCKET_BAD;
    if (address->socktype == SOCK_STREAM) keep_alive(socket, static_cast<State*>(self)->keep_alive_);
    if (!static_cast<State*>(self)->add_socket(socket, true)) {
      ::close(socket);
      return CURL_SOCKET_BAD;
    }
    return socket;
  }
  static int on_close(void* self, curl_socket_t socket) {
    auto& state = *static_cast<State*>(self);
    state.note_closing(socket);
    if (const auto found = state.sockets_.find(socket); found != state.sockets_.end()) state.forget(found);
    return ::close(socket);
  }

  void note_connection(CURL* easy, int socket);
  void note_closing(int socket);

  void set_timer(long milliseconds) {
    const auto round = ++timer_round_;
    if (milliseconds < 0) {
      timer_.cancel();
      return;
    }
    auto due = [weak = weak_from_this(), round](boost::system::error_code error) {
      auto self = weak.lock();
      if (self && !error && self->timer_round_ == round) self->kick();
    };
    if (milliseconds == 0) {
      timer_.cancel();
      if (adding_) return;
      asio::post(timer_.get_executor(), [due] { due({}); });
      return;
    }
    timer_.expires_after(std::chrono::milliseconds(milliseconds));
    timer_.async_wait(due);
  }

  void act(curl_socket_t socket, int events) {
    if (!multi_) return;
    int running = 0;
    curl().multi_socket_action(multi_, socket, events, &running);
    finish_done();
  }

  void finish_done();

  CURLM* multi_ = nullptr;
  KeepAlive keep_alive_;
  asio::steady_timer timer_;
  std::uint64_t timer_round_ = 0;
  bool adding_ = false;  // what is due at once is done by the kick() that follows
  Sockets sockets_;
  std::unordered_map<CURL*, EasyTransfer*> transfers_;
  std::vector<Handle> spare_;
  std::map<std::pair<std::string, std::string>, Bundle> bundles_;
};

// ---- one request --------------------------------------------------------------------------

class EasyTransfer final : public CurlTransfer {
 public:
  EasyTransfer(std::shared_ptr<CurlLoop::State> loop, const HttpRequest& request,
               std::shared_ptr<const TransferOptions> options, TransferSink& sink)
      : loop_(std::move(loop)),
        shared_options_(std::move(options)),
        options_(*shared_options_),
        sink_(&sink),
        body_size_(request.body.size()) {
    auto handle = loop_->take_easy(shared_options_);
    easy_ = handle.easy;
    url_ = std::move(handle.url);
    if (!easy_) throw Error(Errc::internal, "no memory left for HTTP");
    if (!handle.options) configure();
    configure(request);
    loop_->add(*this);
  }
  EasyTransfer(const EasyTransfer&) = delete;
  EasyTransfer& operator=(const EasyTransfer&) = delete;
  ~EasyTransfer() override { detach(); }

  void resume() override {
    if (!easy_ || !paused_) return;
    paused_ = false;
    curl().easy_pause(easy_, CURLPAUSE_CONT);
    loop_->kick();
  }

  HttpPhase phase() const override {
    if (head_done_) return HttpPhase::reading;
    if (!easy_) return HttpPhase::connecting;
    if (connected_) {
      const auto sent = info<curl_off_t>(easy_, CURLINFO_SIZE_UPLOAD_T);
      return static_cast<std::size_t>(sent) < body_size_ ? HttpPhase::sending : HttpPhase::waiting;
    }
    if (socket_connected_) {
      if (!options_.proxy.empty() && info<long>(easy_, CURLINFO_HTTP_CONNECTCODE) / 100 != 2) return HttpPhase::proxy;
      return options_.url.starts_with("https:") ? HttpPhase::tls : HttpPhase::connecting;
    }
    return info<curl_off_t>(easy_, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? HttpPhase::connecting : HttpPhase::resolving;
  }

  // The connection of this transfer closes. When the other side has acknowledged all we sent, it took the request,
  // whether it ends in good order or by a reset. What it had closed before is never acknowledged.
  void note_closing(int socket, int local_port) {
    if (head_done_ || local_port != local_port_) return;
    const auto open = unacknowledged(socket);
    if (!open || *open < least_request) delivered_ = true;
  }

  CURL* easy() const noexcept { return easy_; }
  bool is_connected() const noexcept { return connected_ || socket_connected_; }
  void note_connected() noexcept { socket_connected_ = true; }

  Moved receive(std::span<char> into) override {
    std::size_t count = 0;
    return moved([&] { return curl().easy_recv(easy_, into.data(), into.size(), &count); }, count, HttpPhase::reading);
  }
  Moved send(std::string_view bytes) override {
    std::size_t count = 0;
    return moved([&] { return curl().easy_send(easy_, bytes.data(), bytes.size(), &count); }, count,
                 HttpPhase::sending);
  }
  int socket() const override {
    return easy_ ? static_cast<int>(info<curl_socket_t>(easy_, CURLINFO_ACTIVESOCKET)) : -1;
  }

  void finish(CURLcode code) {
    if (code == CURLE_OK && options_.connect_only) {
      // The connection lives as long as the handle stays where it is.
      connected_ = true;
      sink_->on_connected();
      return;
    }
    std::optional<HttpFailure> failure;
    if (code != CURLE_OK) failure = failure_of(code);
    ended_ = true;
    detach();
    sink_->on_end(std::move(failure));
  }

  void abandon() {
    detach();
    HttpFailure failure;
    failure.fault = HttpFault::client_gone;
    failure.phase = head_done_ ? HttpPhase::reading : HttpPhase::waiting;
    sink_->on_end(std::move(failure));
  }

 private:
  template <class Move>
  Moved moved(Move move, const std::size_t& count, HttpPhase phase) {
    if (!easy_) return {.failure = HttpFailure{.fault = HttpFault::client_gone, .phase = phase}};
    error_[0] = '\0';
    const CURLcode code = move();
    if (code == CURLE_OK) return {.bytes = count};
    if (code == CURLE_AGAIN) return {.would_wait = true};
    HttpFailure failure;
    failure.phase = phase;
    failure.reason = reason_of(code, error_.data());
    failure.fault = fault_of(code, 0, failure.reason);
    // With TLS 1.3 a server says so only after the handshake.
    if (failure.fault == HttpFault::wants_certificate) failure.phase = HttpPhase::tls;
    return {.failure = std::move(failure)};
  }

  void detach() {
    if (!easy_) return;
    // Given up in the middle: the server hears of it by the end of the connection.
    if (!ended_) set(CURLOPT_FORBID_REUSE, 1L);
    loop_->remove(*this);
    // What only some requests set would be in the way of the next.
    loop_->give_back(
        {std::exchange(easy_, nullptr), ended_ && plain_post_ ? shared_options_ : nullptr, std::move(url_)});
  }

  template <class T>
  void set(CURLoption option, T value) {
    // What a build of the library lacks (a TLS option, say) shows when it matters.
    curl().easy_setopt(easy_, option, value);
  }

  // What is the same for all requests with these options.
  void configure() {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_URL, options_.url.c_str());
    // The same once more, parsed: otherwise that is done for every request.
    url_.reset(curl().url());
    if (curl().url_set(url_.get(), CURLUPART_URL, options_.url.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK) {
      set(CURLOPT_CURLU, url_.get());
    }
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION,
        static_cast<long>(options_.connect_only ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds());
    // Both always, or the library looks at the environment itself.
    set(CURLOPT_PROXY, options_.proxy.c_str());
    set(CURLOPT_NOPROXY, "");
    // A proxy that speaks HTTP itself ends connections when the server behind it does. Whether a request on such
    // a connection reached the server cannot be told, so each has a connection of its own; tunnels are kept.
    if (!options_.proxy.empty() && !options_.proxy.starts_with("socks") && !is_https(options_.url) &&
        !options_.connect_only) {
      set(CURLOPT_FORBID_REUSE, 1L);
    }
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (is_https(options_.url)) configure_tls();
    if (is_https(options_.proxy)) configure_proxy_tls();
    // To a proxy the library says it by itself; list_fields() says it to everybody else, which costs less.
    if (!options_.proxy.empty()) set(CURLOPT_USERAGENT, options_.user_agent.c_str());
    set(CURLOPT_HEADERFUNCTION, &EasyTransfer::on_header);
    set(CURLOPT_WRITEFUNCTION, &EasyTransfer::on_write);
    if (options_.connect_only) {
      set(CURLOPT_CONNECT_ONLY, 1L);
      set(CURLOPT_HTTPPROXYTUNNEL, 1L);
      set(CURLOPT_BUFFERSIZE, 65536L);  // the most that is received at once
    } else {
      set(CURLOPT_PREREQFUNCTION, &EasyTransfer::on_request);
    }
    // Kept with the connection, which may live as long as the loop.
    set(CURLOPT_OPENSOCKETFUNCTION, &CurlLoop::State::on_open);
    set(CURLOPT_OPENSOCKETDATA, loop_.get());
    set(CURLOPT_CLOSESOCKETFUNCTION, &CurlLoop::State::on_close);
    set(CURLOPT_CLOSESOCKETDATA, loop_.get());
  }

  // The library copies what is set here for every request, also for those that need none of it.
  void configure_tls() {
    set(CURLOPT_CERTINFO, 1L);  // for the names to show when they do not fit
    if (!options_.ca_path.empty() || options_.only_ca_file) {
      set(CURLOPT_CAPATH, options_.ca_path.empty() ? nullptr : options_.ca_path.c_str());
    }
    if (!options_.extra_ca_file.empty() && !options_.only_ca_file) {
      trust(CURLOPT_CAINFO, CURLOPT_CAINFO_BLOB, loop_->certificates(options_.ca_file, options_.extra_ca_file));
    } else if (!options_.ca_file.empty()) {
      set(CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    if (!options_.client_certificate.empty()) {
      set(CURLOPT_SSLCERT, options_.client_certificate.c_str());
      set(CURLOPT_SSLKEY,
          options_.client_key.empty() ? options_.client_certificate.c_str() : options_.client_key.c_str());
      if (!options_.client_key_password.empty()) {
        set(CURLOPT_KEYPASSWD, std::string(options_.client_key_password.reveal()).c_str());
      }
    }
  }
  void configure_proxy_tls() {
    if (!options_.proxy_ca_path.empty()) set(CURLOPT_PROXY_CAPATH, options_.proxy_ca_path.c_str());
    if (!options_.extra_ca_file.empty()) {
      trust(CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAINFO_BLOB,
            loop_->certificates(options_.proxy_ca_file, options_.extra_ca_file));
    } else if (!options_.proxy_ca_file.empty()) {
      set(CURLOPT_PROXY_CAINFO, options_.proxy_ca_file.c_str());
    }
  }
  void trust(CURLoption as_file, CURLoption as_text, const CurlLoop::State::Bundle& bundle) {
    if (!bundle.path.empty()) {
      set(as_file, bundle.path.c_str());
      return;
    }
    curl_blob text{.data = const_cast<char*>(bundle.text.data()), .len = bundle.text.size(), .flags = CURL_BLOB_NOCOPY};
    set(as_text, &text);
  }

  void configure(const HttpRequest& request) {
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_PREREQDATA, this);
    plain_post_ = request.method == "POST";
    const bool has_body =
        !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    if (request.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (has_body) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data());
      if (request.method != "POST") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    } else {
      set(CURLOPT_HTTPGET, 1L);
      if (request.method != "GET") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    list_fields(request.headers, has_body);
  }

  // The library reads the list while the transfer is with it. Its own functions would allocate twice for
  // every field; here all lines are one text, and the list refers to it.
  void list_fields(const HttpHeaders& headers, bool has_body) {
    constexpr std::string_view no_type = "Content-Type:", any = "Accept: */*", agent = "User-Agent: ";
    constexpr std::string_view no_wait = "Expect:";  // for "100 Continue": a round trip, or a second of silence
    constexpr std::size_t own_fields = 4;
    auto size = no_type.size() + any.size() + agent.size() + options_.user_agent.size() + no_wait.size() + own_fields;
    for (const auto& field : headers) size += field.name.size() + field.value.size() + 3;
    lines_.reserve(size);
    fields_.reserve(headers.size() + own_fields);
    auto add = [this](auto... parts) {
      fields_.push_back({.data = lines_.data() + lines_.size(), .next = nullptr});
      (lines_.append(parts), ...);
      lines_ += '\0';
    };
    if (options_.proxy.empty() && !headers.contains("User-Agent")) add(agent, std::string_view(options_.user_agent));
    for (const auto& [name, value] : headers) {
      // The library takes "Name:" as "do not send it"; an empty value is written with a semicolon.
      add(std::string_view(name), std::string_view(value.empty() ? ";" : ": "), std::string_view(value));
    }
    if (has_body && !headers.contains("Content-Type")) add(no_type);
    if (!headers.contains("Accept")) add(any);
    add(no_wait);
    for (std::size_t i = 1; i < fields_.size(); ++i) fields_[i - 1].next = &fields_[i];
    set(CURLOPT_HTTPHEADER, fields_.data());
  }

  long connect_milliseconds() const {
    // 0 would mean the library's own default.
    constexpr std::chrono::milliseconds most{INT_MAX};
    if (!options_.connect_limit) return static_cast<long>(most.count());
    return static_cast<long>(std::clamp(*options_.connect_limit, std::chrono::milliseconds(1), most).count());
  }

  static int on_request(void* self, char*, char*, int, int local_port) {
    auto& transfer = *static_cast<EasyTransfer*>(self);
    const auto now = std::chrono::steady_clock::now();
    // Once more: the library found a kept connection closed before a byte came back, however long after. A request
    // the server may have worked on is not repeated.
    if (transfer.connected_) {
      if (transfer.repeated_ || transfer.delivered_ || now - transfer.sent_ > dead_at_once) {
        transfer.stopped_ = HttpFault::closed;
        return CURL_PREREQFUNC_ABORT;
      }
      transfer.repeated_ = true;
    }
    transfer.sent_ = now;
    transfer.local_port_ = local_port;
    transfer.connected_ = true;
    transfer.sink_->on_connected();
    return CURL_PREREQFUNC_OK;
  }
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<EasyTransfer*>(self)->take_header({data, size}) ? size : 0;
  }
  static std::size_t on_write(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<EasyTransfer*>(self);
    switch (transfer.sink_->on_body({data, size})) {
      case TransferSink::Verdict::taken:
        return size;
      case TransferSink::Verdict::pause:
        transfer.paused_ = true;
        return CURL_WRITEFUNC_PAUSE;
      case TransferSink::Verdict::stop:
        transfer.stopped_ = HttpFault::body_too_large;
        return CURL_WRITEFUNC_ERROR;
    }
    return CURL_WRITEFUNC_ERROR;
  }

  bool take_header(std::string_view line) {
    if (head_done_) {  // trailers, which nothing of ours reads
      header_bytes_ += line.size();
      return header_bytes_ <= options_.header_limit || stop(HttpFault::headers_too_large);
    }
    header_bytes_ += line.size();
    if (header_bytes_ > options_.header_limit) return stop(HttpFault::headers_too_large);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      headers_.clear();
      headers_.reserve(8);
      status_ = 0;
      const auto blank = line.find(' ');
      if (blank != std::string_view::npos) {
        const char* first = line.data() + blank + 1;
        std::from_chars(first, line.data() + line.size(), status_);
      }
      return true;
    }
    if (line.starts_with(' ') || line.starts_with('\t')) return true;  // a folded line: long forbidden, nothing of ours
    if (!line.empty()) {
      const auto colon = line.find(':');
      if (colon != std::string_view::npos) {
        headers_.add(std::string(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1))));
      }
      return true;
    }
    if (status_ < 200) return true;  // "100 Continue", "103 Early Hints"
    head_done_ = true;
    sink_->on_head(status_, std::move(headers_));
    return true;
  }
  bool stop(HttpFault fault) {
    stopped_ = fault;
    return false;
  }

  HttpFailure failure_of(CURLcode code) const {
    HttpFailure failure;
    failure.phase = phase();
    failure.reason = reason_of(code, error_.data());
    if (stopped_) {
      failure.fault = *stopped_;
      if (!head_done_) failure.phase = HttpPhase::waiting;
      return failure;
    }
    failure.fault = fault_of(code, info<long>(easy_, CURLINFO_SSL_VERIFYRESULT), failure.reason);
    const long proxy_status = info<long>(easy_, CURLINFO_HTTP_CONNECTCODE);
    if (!options_.proxy.empty() && !connected_ && proxy_status != 0 && proxy_status / 100 != 2) {
      failure.fault = HttpFault::proxy_refused;
      failure.status = static_cast<int>(proxy_status);
      failure.phase = HttpPhase::proxy;
    } else if (failure.phase == HttpPhase::proxy &&
               (failure.fault == HttpFault::reset || failure.fault == HttpFault::closed)) {
      failure.fault = HttpFault::proxy_failed;
    }
    switch (failure.fault) {
      case HttpFault::name_unknown:
      case HttpFault::proxy_name_unknown:
        failure.phase = HttpPhase::resolving;
        break;
      case HttpFault::refused:
        failure.phase = HttpPhase::connecting;
        if (const long number = info<long>(easy_, CURLINFO_OS_ERRNO)) {
          failure.reason = std::generic_category().message(static_cast<int>(number));
        }
        break;
      case HttpFault::proxy_failed:
        failure.phase = HttpPhase::proxy;
        break;
      case HttpFault::wrong_name:
        failure.certificate_names = certificate_names(easy_);
        [[fallthrough]];
      case HttpFault::untrusted:
      case HttpFault::self_signed:
      case HttpFault::expired:
      case HttpFault::handshake:
      case HttpFault::bad_ca_file:
      case HttpFault::bad_certificate_file:
        failure.phase = HttpPhase::tls;
        break;
      case HttpFault::not_http:
        if (code == CURLE_UNSUPPORTED_PROTOCOL && !connected_) failure.fault = HttpFault::other;
        break;
      default:
        break;
    }
    return failure;
  }

  std::shared_ptr<CurlLoop::State> loop_;
  std::shared_ptr<const TransferOptions> shared_options_;
  const TransferOptions& options_;
  TransferSink* sink_;
  CURL* easy_ = nullptr;
  ParsedUrl url_;
  std::string lines_;
  std::vector<curl_slist> fields_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::size_t body_size_;
  std::size_t header_bytes_ = 0;
  int status_ = 0;
  HttpHeaders headers_;
  bool socket_connected_ = false;  // to the server or the proxy
  bool connected_ = false;         // ready for the request
  bool repeated_ = false;          // it went out twice
  bool delivered_ = false;         // the other side has had all of it
  int local_port_ = 0;             // of the connection it went out on
  std::chrono::steady_clock::time_point sent_;
  bool head_done_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool plain_post_ = false;  // it set nothing that another POST does not set
  std::optional<HttpFault> stopped_;
};

void CurlLoop::State::add(EasyTransfer& transfer) {
  transfers_.emplace(transfer.easy(), &transfer);
  adding_ = true;
  curl().multi_add_handle(multi_, transfer.easy());
  adding_ = false;
}

void CurlLoop::State::remove(EasyTransfer& transfer) {
  transfers_.erase(transfer.easy());
  if (!multi_) return;
  curl().multi_remove_handle(multi_, transfer.easy());
}

// How far a connection has come is asked of the socket: the library tells only when it is done.
void CurlLoop::State::note_connection(CURL* easy, int socket) {
  const auto found = transfers_.find(easy);
  if (found == transfers_.end() || found->second->is_connected()) return;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const bool connected = ::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (connected && (address.ss_family == AF_INET || address.ss_family == AF_INET6)) found->second->note_connected();
}

// The library says which port of ours a request goes out from, and not which socket.
void CurlLoop::State::note_closing(int socket) {
  if (transfers_.empty()) return;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return;
  const int port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                                       : reinterpret_cast<sockaddr_in&>(address).sin_port);
  for (const auto& [easy, transfer] : transfers_) transfer->note_closing(socket, port);
}

void CurlLoop::State::finish_done() {
  // Ended transfers leave the library before anybody hears of it.
  int left = 0;
  while (multi_) {
    const auto* message = curl().multi_info_read(multi_, &left);
    if (!message) return;
    if (message->msg != CURLMSG_DONE) continue;
    const auto code = message->data.result;
    char* self = info<char*>(message->easy_handle, CURLINFO_PRIVATE);
    reinterpret_cast<EasyTransfer*>(self)->finish(code);
  }
}

void CurlLoop::State::close() {
  if (!multi_) return;
  while (!transfers_.empty()) transfers_.begin()->second->abandon();
  ++timer_round_;
  timer_.cancel();
  auto* multi = std::exchange(multi_, nullptr);
  for (auto& spare : std::exchange(spare_, {})) curl().easy_cleanup(spare.easy);
  curl().multi_cleanup(multi);
  while (!sockets_.empty()) forget(sockets_.begin());
}

CurlLoop::CurlLoop(asio::any_io_executor executor, std::size_t idle_connections, KeepAlive keep_alive) {
  if (!loaded().failure.empty()) {
    throw Error(Errc::unsupported,
                fmt::format("HTTP needs libcurl 7.87 or newer: {}; install it (Debian: apt-get install libcurl4)",
                            loaded().failure));
  }
  state_ = std::make_shared<State>(std::move(executor), idle_connections, keep_alive);
}

CurlLoop::~CurlLoop() { state_->close(); }

bool CurlLoop::idle() const noexcept { return state_->idle(); }

std::unique_ptr<CurlTransfer> CurlLoop::start(const HttpRequest& request,
                                              std::shared_ptr<const TransferOptions> options, TransferSink& sink) {
  auto transfer = std::make_unique<EasyTransfer>(state_, request, std::move(options), sink);
  state_->kick();
  return transfer;
}

}  // namespace patchbay
