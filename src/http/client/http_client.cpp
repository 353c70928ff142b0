#include "http/client/http_client.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/pace.h"
#include "base/timer.h"
#include "base/waiting.h"
#include "http/client/curl_transfer.h"
#include "http/client/failure.h"
#include "http/client/redirect.h"
#include "http/client/route.h"
#include "http/url.h"

namespace patchbay {
namespace {

using TimePoint = Clock::TimePoint;

// The characters of a name, by their codes.
constexpr auto token_characters = [] {
  std::array<bool, 256> table{};
  for (char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool token(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return token_characters[static_cast<unsigned char>(c)]; });
}

// A line end in a header would begin another header, or another request.
void check(const HttpRequest& request) {
  if (!token(request.method))
    throw Error(Errc::invalid_argument, fmt::format("\"{}\" is not a valid HTTP method", redacted_url(request.method)));
  for (const auto& field : request.headers) {
    if (!token(field.name)) {
      throw Error(Errc::invalid_argument,
                  fmt::format("\"{}\" is not a valid name of a header", redacted_url(field.name)));
    }
    bool control = false;
    for (char c : field.value) {
      const auto byte = static_cast<unsigned char>(c);
      control |= (byte < 0x20 && c != '\t') || byte == 0x7F;
    }
    if (control) {
      throw Error(Errc::invalid_argument,
                  fmt::format("the value of the header {} contains a control character", field.name));
    }
  }
}

}  // namespace

class HttpClient::Core {
 public:
  Core(asio::any_io_executor e, HttpClientOptions o)
      : executor(std::move(e)), clock(loop_clock(executor)), options(std::move(o)) {}
  TimePoint after(Duration limit) const {
    return limit == Duration::max() ? TimePoint::max() : time_after(clock.now(), limit);
  }

  CurlLoop& loop() {
    if (closed) throw Error(Errc::closed, "the HTTP client was closed");
    std::erase_if(retired, [](const auto& each) { return each->idle(); });
    if (!curl) {
      curl = std::make_unique<CurlLoop>(executor, options.idle_connections, options.keep_alive);
      warn_of_unread_trust(options);
    }
    return *curl;
  }

  asio::any_io_executor executor;
  Clock& clock;
  HttpClientOptions options;
  std::unique_ptr<CurlLoop> curl;
  std::vector<std::unique_ptr<CurlLoop>> retired;  // until their last transfer has ended
  bool closed = false;

  // How a URL is reached: proxy, trust and all that does not change from request to request.
  struct KeptRoute {
    std::string url;
    Duration connect_limit;
    bool away;                   // from the first request's origin, so without a certificate of ours
    HttpFailureContext context;  // but for the method
    std::shared_ptr<const TransferOptions> transfer;
  };
  // The last one is kept: nearly all requests of a client go to one URL.
  std::shared_ptr<const KeptRoute> route_to(const std::string& url, Duration connect_limit, bool away) {
    if (!last_route || last_route->url != url || last_route->connect_limit != connect_limit ||
        last_route->away != away) {
      last_route = std::make_shared<const KeptRoute>(make_route(url, connect_limit, away));
    }
    return last_route;
  }
  HttpHeaders checked;  // of the last request: most have the same
  KeptRoute make_route(const std::string& text, Duration connect_limit, bool away) const;
  std::shared_ptr<const KeptRoute> last_route;

  class Exchange;
  static Task<std::unique_ptr<HttpExchange>> send(std::unique_ptr<Exchange> exchange);
};

// Everything between one request and the end of its answer. The sink's functions run inside
// libcurl and only take notes; `changed_` wakes whoever waits, on a later turn.
class HttpClient::Core::Exchange final : public HttpExchange, private TransferSink {
 public:
  Exchange(std::shared_ptr<Core> core, HttpRequest request, const HttpRequestLimits& limits)
      : core_(std::move(core)), request_(std::move(request)), limits_(limits) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void start(TimePoint end, bool away) {
    end_ = end;
    route_ = core_->route_to(request_.url, limits_.connect, away);
    transfer_ = core_->loop().start(request_, route_->transfer, *this);
    arm();
  }

  // For whoever waits for the head: `while (!settled()) co_await changed().wait(); check_head();`
  bool settled() const noexcept { return has_head_ || failure_; }
  Event& changed() noexcept { return changed_; }
  void check_head() {
    if (!has_head_) throw Error(*failure_);
    stage_end_ = TimePoint::max();
  }

  const HttpHead& head() const noexcept override { return head_; }
  const std::shared_ptr<Core>& core() const noexcept { return core_; }
  const HttpRequest& request() const noexcept { return request_; }
  const HttpRequestLimits& limits() const noexcept { return limits_; }

  Task<std::string> read() override {
    for (;;) {
      // Before anything is taken: a read that is cancelled here loses nothing.
      if (pace_.due()) co_await pace_.turn();
      if (!buffer_.empty()) {
        auto piece = std::move(buffer_);
        buffer_.clear();
        pace_.note(piece.size());
        // It may bring the next piece at once.
        if (transfer_) transfer_->resume();
        co_return piece;
      }
      if (failure_) throw Error(*failure_);
      if (ended_) co_return std::string();
      // Only while somebody waits, and no longer: a cancelled read leaves no limit behind.
      struct Stage {
        explicit Stage(Exchange& e) : exchange(e) {
          exchange.begin_stage(HttpFault::idle_timeout, exchange.limits_.idle);
        }
        Stage(const Stage&) = delete;
        Stage& operator=(const Stage&) = delete;
        ~Stage() { exchange.stage_end_ = TimePoint::max(); }
        Exchange& exchange;
      } stage(*this);
      arm();
      pace_.rested();
      co_await changed_.wait();
    }
  }

  std::optional<std::string> take_whole(std::size_t limit) override {
    if (!ended_ || failure_ || buffer_.empty() || buffer_.size() > limit) return {};
    return std::exchange(buffer_, {});
  }

  void cancel() override { fail_with(Error(Errc::cancelled, "cancelled")); }

 private:
  void on_connected() override {
    begin_stage(HttpFault::first_byte_timeout, limits_.first_byte);
    arm();
  }
  void on_head(int status, HttpHeaders headers) override {
    head_ = {.status = status, .headers = std::move(headers), .url = request_.url};
    has_head_ = true;
    stage_end_ = TimePoint::max();
    changed_.notify_all();
  }
  Verdict on_body(std::string_view bytes) override {
    // A piece is taken whole or not at all, so the bound can be passed by one piece.
    if (buffer_.size() >= core_->options.buffer) return Verdict::pause;
    if (bytes.size() > limits_.body - received_) return Verdict::stop;
    received_ += bytes.size();
    buffer_.append(bytes);
    changed_.notify_all();
    return Verdict::taken;
  }
  void on_end(std::optional<HttpFailure> failure) override {
    if (failure) {
      failure_ = told(*failure);
    } else if (!has_head_) {
      failure_ = told(HttpFault::closed, HttpPhase::waiting);
    }
    ended_ = true;
    if (timer_) timer_->cancel();
    changed_.notify_all();
  }

  Error told(HttpFault fault, HttpPhase phase) {
    HttpFailure failure;
    failure.fault = fault;
    failure.phase = phase;
    return told(failure);
  }
  Error told(const HttpFailure& failure) {
    auto context = route_ ? route_->context : HttpFailureContext{.url = request_.url};
    context.method = request_.method;
    switch (failure.fault) {
      case HttpFault::connect_timeout:
        context.limit = limit_text(limits_.connect);
        break;
      case HttpFault::first_byte_timeout:
        context.limit = limit_text(limits_.first_byte);
        break;
      case HttpFault::idle_timeout:
        context.limit = limit_text(limits_.idle);
        break;
      case HttpFault::total_timeout:
        context.limit = limit_text(limits_.total);
        break;
      case HttpFault::headers_too_large:
        context.limit = limit_text(core_->options.header_limit);
        break;
      case HttpFault::body_too_large:
        context.limit = limit_text(limits_.body);
        break;
      default:
        break;
    }
    return http_error(failure, context);
  }

  void fail_with(Error error) {
    if (failure_ || ended_) return;
    failure_ = std::move(error);
    buffer_.clear();
    transfer_.reset();
    if (timer_) timer_->cancel();
    changed_.notify_all();
  }

  void begin_stage(HttpFault fault, Duration limit) {
    stage_ = fault;
    stage_end_ = core_->after(limit);
  }

  // One timer for every limit. It is left alone as long as it does not fire too late; what it
  // finds when it fires decides.
  void arm() {
    const auto due = std::min(end_, stage_end_);
    if (ended_ || failure_ || due == TimePoint::max() || armed_ <= due) return;
    armed_ = due;
    if (!timer_) {
      timer_.emplace(core_->executor, core_->clock);
      alive_ = std::make_shared<int>();
    }
    timer_->set(due);
    timer_->call([this, alive = std::weak_ptr<int>(alive_)](boost::system::error_code error) {
      if (error || alive.expired()) return;
      armed_ = TimePoint::max();
      check_limits();
    });
  }

  void check_limits() {
    if (ended_ || failure_) return;
    const auto now = core_->clock.now();
    if (now < std::min(end_, stage_end_)) return arm();
    const auto phase = transfer_ ? transfer_->phase() : HttpPhase::waiting;
    fail_with(told(now >= end_ ? HttpFault::total_timeout : stage_, phase));
  }

  std::shared_ptr<Core> core_;
  HttpRequest request_;
  HttpRequestLimits limits_;
  std::shared_ptr<const KeptRoute> route_;
  HttpHead head_;
  bool has_head_ = false;
  bool ended_ = false;
  std::string buffer_;
  Pace pace_;
  std::size_t received_ = 0;
  std::optional<Error> failure_;
  Event changed_;
  TimePoint end_ = TimePoint::max();            // of the whole exchange
  TimePoint stage_end_ = TimePoint::max();      // of the wait that is on now
  HttpFault stage_ = HttpFault::total_timeout;  // which one it is
  TimePoint armed_ = TimePoint::max();          // when the timer fires
  std::optional<Timer> timer_;                  // once there is a limit; with it, alive_
  std::shared_ptr<int> alive_;
  std::unique_ptr<CurlTransfer> transfer_;  // last: it refers to all the others
};

HttpClient::Core::KeptRoute HttpClient::Core::make_route(const std::string& text, Duration connect_limit,
                                                         bool away) const {
  const auto url = value_or_throw(parse_url(text));
  if (url.scheme != "http" && url.scheme != "https") {
    throw Error(Errc::invalid_argument, fmt::format("{}: the URL must begin with https:// or http://", url.redacted()));
  }
  auto way = value_or_throw(patchbay::route_to(url, options));
  way.context.url = text;
  if (text == options.entry_url) way.context.shown = options.shown;
  if (away) {
    way.transfer.client_certificate.clear();
    way.transfer.client_key.clear();
    way.transfer.client_key_password = {};
  }
  if (connect_limit != Duration::max()) {
    way.transfer.connect_limit = std::chrono::ceil<std::chrono::milliseconds>(connect_limit);
  }
  return {.url = text,
          .connect_limit = connect_limit,
          .away = away,
          .context = std::move(way.context),
          .transfer = std::make_shared<const TransferOptions>(std::move(way.transfer))};
}

HttpClient::HttpClient(asio::any_io_executor executor, HttpClientOptions options)
    : core_(std::make_shared<Core>(std::move(executor), std::move(options))) {}

HttpClient::~HttpClient() {
  core_->closed = true;
  core_->curl.reset();
  core_->retired.clear();
}

void HttpClient::use_fresh_connections() {
  if (core_->curl) core_->retired.push_back(std::move(core_->curl));
}

Task<std::unique_ptr<HttpExchange>> HttpClient::send(HttpRequest request, HttpRequestLimits limits) {
  return Core::send(std::make_unique<Core::Exchange>(core_, std::move(request), limits));
}

Task<std::unique_ptr<HttpExchange>> HttpClient::Core::send(std::unique_ptr<Exchange> exchange) {
  auto& checked = exchange->core()->checked;
  if (exchange->request().method != "POST" || !checked.is_copy_of(exchange->request().headers)) {
    check(exchange->request());
    checked = exchange->request().headers;
  }
  const auto end = exchange->core()->after(exchange->limits().total);
  RedirectTrail trail;
  trail.allowed = exchange->limits().redirects;
  trail.same_origin = exchange->limits().same_origin;
  const auto& options = exchange->core()->options;
  if (exchange->request().url == options.entry_url) trail.shown = options.shown;
  for (;;) {
    exchange->start(end, trail.left_origin);
    while (!exchange->settled()) co_await exchange->changed().wait();
    exchange->check_head();
    auto next = value_or_throw(redirected(exchange->request(), exchange->head(), trail));
    if (!next) co_return exchange;
    exchange->core()->options.log(LogLevel::debug, "http_redirect", "status", exchange->head().status, "to",
                                  redacted_url(next->url));
    exchange = std::make_unique<Exchange>(exchange->core(), std::move(*next), exchange->limits());
  }
}

Task<std::string> read_all(HttpExchange& exchange, std::size_t limit, ByteBudget::Unfinished* incoming) {
  std::string body;
  for (;;) {
    if (incoming) {
      incoming->hold(body.size());
      if (!incoming->fits(ByteBudget::small)) {
        auto room = co_await as_result(incoming->room(ByteBudget::small));
        if (!room) throw room.error().within(redacted_url(exchange.head().url));
      }
    }
    auto piece = co_await as_result(exchange.read());
    if (incoming && incoming->failed()) throw incoming->failure().within(redacted_url(exchange.head().url));
    if (!piece) throw std::move(piece).error();
    if (piece->empty()) co_return body;
    if (body.empty()) {
      body = std::move(*piece);
    } else {
      body += *piece;
    }
    if (body.size() > limit) {
      throw Error(
          Errc::limit,
          fmt::format("{}: the answer is larger than {} (while reading the body); ask the server for less at a time",
                      redacted_url(exchange.head().url), limit_text(limit)));
    }
  }
}

}  // namespace patchbay
