#include "net/curl_transfer.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

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
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
};

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
  bind(curl.easy_strerror, "curl_easy_strerror");
  bind(curl.slist_append, "curl_slist_append");
  bind(curl.slist_free_all, "curl_slist_free_all");
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

// The library tells which sockets it waits for. They go into an epoll of their own, and Asio
// watches that one descriptor: the library may close and reopen sockets as it likes, and no
// Asio object ever refers to a number that means another socket by now.
class CurlLoop::State : public std::enable_shared_from_this<CurlLoop::State> {
 public:
  State(asio::any_io_executor executor, std::size_t idle_connections) : timer_(executor), ready_(executor) {
    multi_ = curl().multi_init();
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!multi_ || !epoll) {
      if (multi_) curl().multi_cleanup(multi_);
      throw Error(Errc::internal, "no descriptor or memory left for HTTP");
    }
    ready_.assign(epoll.release());
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
  CURLM* multi() const noexcept { return multi_; }
  void add(EasyTransfer& transfer);
  void remove(EasyTransfer& transfer);
  // Lets the library do what is due now. Not from inside its callbacks.
  void kick() { act(CURL_SOCKET_TIMEOUT, 0); }

  CURL* take_easy() {
    if (spare_.empty()) return curl().easy_init();
    auto* easy = spare_.back();
    spare_.pop_back();
    return easy;
  }
  // A used handle costs less than a new one; its settings are gone, its caches are in multi_.
  void give_back(CURL* easy) {
    if (!multi_ || spare_.size() >= most_spare) {
      curl().easy_cleanup(easy);
      return;
    }
    curl().easy_reset(easy);
    spare_.push_back(easy);
  }

 private:
  static constexpr std::size_t most_spare = 8;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*) {
    static_cast<State*>(self)->watch(socket, what);
    if (what != CURL_POLL_REMOVE) static_cast<State*>(self)->note_connection(easy, socket);
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<State*>(self)->set_timer(milliseconds);
    return 0;
  }

  void watch(int socket, int what) {
    const int epoll = ready_.native_handle();
    if (what == CURL_POLL_REMOVE) {
      // Fails when the socket is closed already, and then there is nothing to remove.
      ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
      watched_.erase(socket);
      return;
    }
    epoll_event event{};
    event.data.fd = socket;
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT) {
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    }
    watched_.insert(socket);
  }

  void note_connection(CURL* easy, int socket);

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
    rearm();
  }

  void finish_done();

  // One wait at a time, and none when there is nothing to wait for: an idle client does not
  // keep a loop alive.
  void rearm() {
    if (watched_.empty()) {
      if (waiting_) ready_.cancel();
      return;
    }
    if (waiting_) return;
    waiting_ = true;
    ready_.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](boost::system::error_code) {
      if (auto self = weak.lock()) {
        self->waiting_ = false;
        self->handle_ready();
      }
    });
  }

  void handle_ready() {
    if (!multi_) return;
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(ready_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count && multi_; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      // Handling one socket may have closed another.
      if (!watched_.contains(event.data.fd)) continue;
      int what = 0;
      if (event.events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP)) what |= CURL_CSELECT_IN;
      if (event.events & EPOLLOUT) what |= CURL_CSELECT_OUT;
      if (event.events & EPOLLERR) what |= CURL_CSELECT_ERR;
      int running = 0;
      curl().multi_socket_action(multi_, event.data.fd, what, &running);
    }
    finish_done();
    rearm();
  }

  CURLM* multi_ = nullptr;
  asio::steady_timer timer_;
  std::uint64_t timer_round_ = 0;
  asio::posix::stream_descriptor ready_;  // the epoll
  bool waiting_ = false;
  std::unordered_set<int> watched_;
  std::unordered_map<CURL*, EasyTransfer*> transfers_;
  std::vector<CURL*> spare_;
};

// ---- one request --------------------------------------------------------------------------

class EasyTransfer final : public CurlTransfer {
 public:
  EasyTransfer(std::shared_ptr<CurlLoop::State> loop, const HttpRequest& request, TransferOptions options,
               TransferSink& sink)
      : loop_(std::move(loop)), options_(std::move(options)), sink_(&sink), body_size_(request.body.size()) {
    easy_ = loop_->take_easy();
    if (!easy_) throw Error(Errc::internal, "no memory left for HTTP");
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

  CURL* easy() const noexcept { return easy_; }
  bool is_connected() const noexcept { return connected_ || socket_connected_; }
  void note_connected() noexcept { socket_connected_ = true; }

  void finish(CURLcode code) {
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
  void detach() {
    if (!easy_) return;
    // Given up in the middle: the server hears of it by the end of the connection.
    if (!ended_) set(CURLOPT_FORBID_REUSE, 1L);
    loop_->remove(*this);
    loop_->give_back(std::exchange(easy_, nullptr));
    curl().slist_free_all(std::exchange(fields_, nullptr));
  }

  template <class T>
  void set(CURLoption option, T value) {
    // What a build of the library lacks (a TLS option, say) shows when it matters.
    curl().easy_setopt(easy_, option, value);
  }

  void configure(const HttpRequest& request) {
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_URL, options_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, 65536L);
    set(CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds());
    // Both always, or the library looks at the environment itself.
    set(CURLOPT_PROXY, options_.proxy.c_str());
    set(CURLOPT_NOPROXY, "");
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_CERTINFO, 1L);  // for the names to show when they do not fit
    if (!options_.ca_file.empty()) {
      set(CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    if (!options_.ca_path.empty() || options_.only_ca_file) {
      set(CURLOPT_CAPATH, options_.ca_path.empty() ? nullptr : options_.ca_path.c_str());
    }
    if (!options_.proxy_ca_file.empty()) set(CURLOPT_PROXY_CAINFO, options_.proxy_ca_file.c_str());
    if (!options_.proxy_ca_path.empty()) set(CURLOPT_PROXY_CAPATH, options_.proxy_ca_path.c_str());
    if (!options_.client_certificate.empty()) {
      set(CURLOPT_SSLCERT, options_.client_certificate.c_str());
      set(CURLOPT_SSLKEY,
          options_.client_key.empty() ? options_.client_certificate.c_str() : options_.client_key.c_str());
      if (!options_.client_key_password.empty()) {
        set(CURLOPT_KEYPASSWD, std::string(options_.client_key_password.reveal()).c_str());
      }
    }
    set(CURLOPT_USERAGENT, options_.user_agent.c_str());

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
    for (const auto& field : request.headers) {
      // The library takes "Name:" as "do not send it"; an empty value is written with a semicolon.
      add_field(field.value.empty() ? field.name + ";" : field.name + ": " + field.value);
    }
    if (has_body && !request.headers.contains("Content-Type")) add_field("Content-Type:");
    if (!request.headers.contains("Accept")) add_field("Accept: */*");
    add_field("Expect:");  // waiting for "100 Continue" costs a round trip, or a second of silence
    set(CURLOPT_HTTPHEADER, fields_);

    set(CURLOPT_HEADERFUNCTION, &EasyTransfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &EasyTransfer::on_write);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_PREREQFUNCTION, &EasyTransfer::on_request);
    set(CURLOPT_PREREQDATA, this);
  }

  void add_field(const std::string& line) {
    if (auto* longer = curl().slist_append(fields_, line.c_str())) fields_ = longer;
  }

  long connect_milliseconds() const {
    // 0 would mean the library's own default.
    constexpr std::chrono::milliseconds most{INT_MAX};
    if (!options_.connect_limit) return static_cast<long>(most.count());
    return static_cast<long>(std::clamp(*options_.connect_limit, std::chrono::milliseconds(1), most).count());
  }

  static int on_request(void* self, char*, char*, int, int) {
    auto& transfer = *static_cast<EasyTransfer*>(self);
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
  TransferOptions options_;
  TransferSink* sink_;
  CURL* easy_ = nullptr;
  curl_slist* fields_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::size_t body_size_;
  std::size_t header_bytes_ = 0;
  int status_ = 0;
  HttpHeaders headers_;
  bool socket_connected_ = false;  // to the server or the proxy
  bool connected_ = false;         // ready for the request
  bool head_done_ = false;
  bool paused_ = false;
  bool ended_ = false;
  std::optional<HttpFault> stopped_;
};

void CurlLoop::State::add(EasyTransfer& transfer) {
  transfers_.emplace(transfer.easy(), &transfer);
  curl().multi_add_handle(multi_, transfer.easy());
}

void CurlLoop::State::remove(EasyTransfer& transfer) {
  transfers_.erase(transfer.easy());
  if (!multi_) return;
  curl().multi_remove_handle(multi_, transfer.easy());
  rearm();
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
  for (auto* easy : std::exchange(spare_, {})) curl().easy_cleanup(easy);
  curl().multi_cleanup(multi);
  boost::system::error_code ignored;
  ready_.close(ignored);
}

CurlLoop::CurlLoop(asio::any_io_executor executor, std::size_t idle_connections) {
  if (!loaded().failure.empty()) {
    throw Error(Errc::unsupported,
                fmt::format("HTTP needs libcurl 7.87 or newer: {}; install it (Debian: apt-get install libcurl4)",
                            loaded().failure));
  }
  state_ = std::make_shared<State>(std::move(executor), idle_connections);
}

CurlLoop::~CurlLoop() { state_->close(); }

std::unique_ptr<CurlTransfer> CurlLoop::start(const HttpRequest& request, TransferOptions options, TransferSink& sink) {
  auto transfer = std::make_unique<EasyTransfer>(state_, request, std::move(options), sink);
  state_->kick();
  return transfer;
}

}  // namespace patchbay
