#include "http/client/curl_transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <vector>

#include "base/strings.h"
#include "http/client/curl_library.h"
#include "http/client/curl_loop.h"
#include "http/client/curl_outcome.h"
#include "http/client/tcp_figures.h"

namespace patchbay {
namespace {

// A kept connection that was closed before our request came shows within a round trip.
constexpr auto dead_at_once = std::chrono::milliseconds(250);
// The library asks first ("Expect: 100-continue") for a body of more than a megabyte.
constexpr std::size_t largest_sent_at_once = 512u << 10;
// A request is longer than this, the farewell of TLS shorter.
constexpr std::uint64_t least_request = 64;

bool is_https(std::string_view url) { return to_lower_ascii(url.substr(0, 6)) == "https:"; }

std::string reason_of(CURLcode code, const char* said) { return plain_reason(said, curl().easy_strerror(code)); }

// Empty for what is not an address of the Internet.
std::string literal(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  if (address.sa_family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (bytes == nullptr || !::inet_ntop(address.sa_family, bytes, text.data(), text.size())) return {};
  return text.data();
}

// Of the first certificate of the server.
std::string names_of(CURL* easy) {
  const auto* chain = curl_info<curl_certinfo*>(easy, CURLINFO_CERTINFO);
  if (!chain || chain->num_of_certs < 1) return {};
  std::vector<std::string_view> lines;
  for (const auto* line = chain->certinfo[0]; line; line = line->next) lines.emplace_back(line->data);
  return certificate_names(lines);
}

class EasyTransfer final : public CurlTransfer, public CurlMember {
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
    place_ = std::move(handle.place);
    if (!easy_) throw Error(Errc::internal, "no memory is left for HTTP");
    if (!handle.options) configure();
    place_->member = this;
    place_->error[0] = '\0';
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
      const auto sent = curl_info<curl_off_t>(easy_, CURLINFO_SIZE_UPLOAD_T);
      return static_cast<std::size_t>(sent) < body_size_ ? HttpPhase::sending : HttpPhase::waiting;
    }
    if (socket_connected_) {
      if (!options_.proxy.empty() && curl_info<long>(easy_, CURLINFO_HTTP_CONNECTCODE) / 100 != 2)
        return HttpPhase::proxy;
      return options_.url.starts_with("https:") ? HttpPhase::tls : HttpPhase::connecting;
    }
    return curl_info<curl_off_t>(easy_, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? HttpPhase::connecting : HttpPhase::resolving;
  }

  // The connection of this transfer closes. When the other side has acknowledged all we sent, it took the request,
  // whether it ends in good order or by a reset. What it had closed before is never acknowledged.
  void note_closing(int socket, int local_port) override {
    if (head_done_ || local_port != local_port_) return;
    const auto open = unacknowledged(socket);
    if (!open || *open < least_request) {
      delivered_ = true;
    } else if (std::chrono::steady_clock::now() - sent_ <= dead_at_once) {
      untaken_ = true;
    }
  }

  CURL* easy() const noexcept override { return easy_; }
  bool is_connected() const noexcept override { return connected_ || socket_connected_; }
  void note_connected() noexcept override { socket_connected_ = true; }

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
    return easy_ ? static_cast<int>(curl_info<curl_socket_t>(easy_, CURLINFO_ACTIVESOCKET)) : -1;
  }

  void finish(CURLcode code) override {
    if (code == CURLE_OK && options_.connect_only) {
      // The connection lives as long as the handle stays where it is.
      connected_ = true;
      sink_->on_connected();
      return;
    }
    std::optional<HttpFailure> failure;
    if (code != CURLE_OK) failure = failure_after(code);
    ended_ = true;
    detach();
    sink_->on_end(std::move(failure));
  }

  void abandon() override {
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
    place_->error[0] = '\0';
    const CURLcode code = move();
    if (code == CURLE_OK) return {.bytes = count};
    if (code == CURLE_AGAIN) return {.would_wait = true};
    HttpFailure failure;
    failure.phase = phase;
    failure.reason = reason_of(code, place_->error.data());
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
    place_->member = nullptr;
    // What only some requests set would be in the way of the next.
    loop_->give_back({.easy = std::exchange(easy_, nullptr),
                      .options = ended_ && plain_post_ ? shared_options_ : nullptr,
                      .url = std::move(url_),
                      .place = std::move(place_)});
  }

  template <class T>
  void set(CURLoption option, T value) {
    // What a build of the library lacks (a TLS option, say) shows when it matters.
    curl().easy_setopt(easy_, option, value);
  }

  // What is the same for all requests with these options.
  void configure() {
    place_ = std::make_unique<CurlLoop::State::Place>();
    set(CURLOPT_PRIVATE, place_.get());
    set(CURLOPT_ERRORBUFFER, place_->error.data());
    set(CURLOPT_HEADERDATA, place_.get());
    set(CURLOPT_WRITEDATA, place_.get());
    set(CURLOPT_PREREQDATA, place_.get());
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
    if (options_.may_connect) {
      set(CURLOPT_OPENSOCKETFUNCTION, &EasyTransfer::on_open);
      set(CURLOPT_OPENSOCKETDATA, place_.get());
    } else {
      set(CURLOPT_OPENSOCKETFUNCTION, &CurlLoop::State::on_open);
      set(CURLOPT_OPENSOCKETDATA, loop_.get());
    }
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
  // every field; here all lines are one text, and the list refers to it. It serves the next request with the same
  // fields as well.
  void list_fields(const HttpHeaders& headers, bool has_body) {
    // A larger body would wait for "100 Continue": a round trip, or a second of silence.
    const bool large = body_size_ > largest_sent_at_once;
    auto& place = *place_;
    if (!place.list.empty() && place.lines_of.is_copy_of(headers) && place.for_body == has_body &&
        place.for_large_body == large) {
      return;
    }
    place.lines_of = headers;
    place.for_body = has_body;
    place.for_large_body = large;
    constexpr std::string_view no_type = "Content-Type:", any = "Accept: */*", agent = "User-Agent: ";
    constexpr std::string_view no_wait = "Expect:";
    constexpr std::size_t own_fields = 4;
    auto size = no_type.size() + any.size() + agent.size() + options_.user_agent.size() + no_wait.size() + own_fields;
    for (const auto& field : headers) size += field.name.size() + field.value.size() + 3;
    place.lines.clear();
    place.lines.reserve(size);
    place.list.clear();
    place.list.reserve(headers.size() + own_fields);
    auto add = [&place](auto... parts) {
      place.list.push_back({.data = place.lines.data() + place.lines.size(), .next = nullptr});
      (place.lines.append(parts), ...);
      place.lines += '\0';
    };
    if (options_.proxy.empty() && !headers.contains("User-Agent")) add(agent, std::string_view(options_.user_agent));
    for (const auto& [name, value] : headers) {
      // The library takes "Name:" as "do not send it"; an empty value is written with a semicolon.
      add(std::string_view(name), std::string_view(value.empty() ? ";" : ": "), std::string_view(value));
    }
    if (has_body && !headers.contains("Content-Type")) add(no_type);
    if (!headers.contains("Accept")) add(any);
    if (large) add(no_wait);
    for (std::size_t i = 1; i < place.list.size(); ++i) place.list[i - 1].next = &place.list[i];
    set(CURLOPT_HTTPHEADER, place.list.data());
  }

  long connect_milliseconds() const {
    // 0 would mean the library's own default.
    constexpr std::chrono::milliseconds most{INT_MAX};
    if (!options_.connect_limit) return static_cast<long>(most.count());
    return static_cast<long>(std::clamp(*options_.connect_limit, std::chrono::milliseconds(1), most).count());
  }

  static EasyTransfer& of(void* place) {
    return *static_cast<EasyTransfer*>(static_cast<CurlLoop::State::Place*>(place)->member);
  }
  // The very address that would be connected to, so that a name cannot mean another one a moment later.
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address) {
    auto& transfer = of(self);
    if (auto good = transfer.options_.may_connect(literal(address->addr)); !good) {
      transfer.not_allowed_ = good.error().message();
      return CURL_SOCKET_BAD;
    }
    return CurlLoop::State::on_open(transfer.loop_.get(), purpose, address);
  }
  static int on_request(void* self, char*, char*, int, int local_port) {
    auto& transfer = of(self);
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
    return of(self).take_header({data, size}) ? size : 0;
  }
  static std::size_t on_write(char* data, std::size_t, std::size_t size, void* self) {
    auto& transfer = of(self);
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

  HttpFailure failure_after(CURLcode code) const {
    auto reason = reason_of(code, place_->error.data());
    const bool untaken = untaken_ && !delivered_ && !head_done_;
    if (stopped_) {
      return {.fault = *stopped_,
              .phase = head_done_ ? phase() : HttpPhase::waiting,
              .reason = std::move(reason),
              .unacknowledged = untaken};
    }
    if (code == CURLE_COULDNT_CONNECT && !connected_ && !not_allowed_.empty()) {
      return {.fault = HttpFault::not_allowed, .phase = HttpPhase::connecting, .reason = not_allowed_};
    }
    auto failure = failure_of({.code = code,
                               .reason = std::move(reason),
                               .phase = phase(),
                               .connected = connected_,
                               .through_proxy = !options_.proxy.empty(),
                               .verify_result = curl_info<long>(easy_, CURLINFO_SSL_VERIFYRESULT),
                               .proxy_status = curl_info<long>(easy_, CURLINFO_HTTP_CONNECTCODE),
                               .os_error = curl_info<long>(easy_, CURLINFO_OS_ERRNO)});
    if (failure.fault == HttpFault::wrong_name) failure.certificate_names = names_of(easy_);
    failure.unacknowledged = untaken;
    return failure;
  }

  std::shared_ptr<CurlLoop::State> loop_;
  std::shared_ptr<const TransferOptions> shared_options_;
  const TransferOptions& options_;
  TransferSink* sink_;
  CURL* easy_ = nullptr;
  ParsedUrl url_;
  std::unique_ptr<CurlLoop::State::Place> place_;
  std::size_t body_size_;
  std::size_t header_bytes_ = 0;
  int status_ = 0;
  HttpHeaders headers_;
  bool socket_connected_ = false;  // to the server or the proxy
  bool connected_ = false;         // ready for the request
  bool repeated_ = false;          // it went out twice
  bool delivered_ = false;         // the other side has had all of it
  bool untaken_ = false;           // a connection it went out on ended at once, and nobody had taken it
  int local_port_ = 0;             // of the connection it went out on
  std::chrono::steady_clock::time_point sent_;
  bool head_done_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool plain_post_ = false;  // it set nothing that another POST does not set
  std::optional<HttpFault> stopped_;
  std::string not_allowed_;  // why an address may not be connected to
};

}  // namespace

std::unique_ptr<CurlTransfer> CurlLoop::start(const HttpRequest& request,
                                              std::shared_ptr<const TransferOptions> options, TransferSink& sink) {
  auto transfer = std::make_unique<EasyTransfer>(state_, request, std::move(options), sink);
  state_->kick();
  return transfer;
}

}  // namespace patchbay
