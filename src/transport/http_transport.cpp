// Which channel an entry of type http is spoken to through: http.h declares it.
#include <fmt/format.h>

#include "base/crypto.h"
#include "http/url.h"
#include "transport/http.h"

namespace patchbay {

Result<void> check_server_url(std::string_view url) {
  auto parsed = parse_url(url);
  if (!parsed) return fail(Errc::config, fmt::format("{}; correct the \"url\" of its entry", parsed.error().message()));
  if (parsed->scheme != "http" && parsed->scheme != "https") {
    return fail(Errc::config, fmt::format("\"{}\": the url of an MCP server must begin with https:// or http://",
                                          parsed->redacted()));
  }
  return {};
}

namespace {

class HttpTransport final : public Transport {
 public:
  HttpTransport(HttpTarget options, std::shared_ptr<HttpAuth> auth)
      : options_(std::move(options)), auth_(std::move(auth)) {}

  Kind kind() const noexcept override { return Kind::http; }
  std::string describe() const override { return options_.shown.empty() ? redacted_url(options_.url) : options_.shown; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return [](HttpTarget options, std::shared_ptr<HttpAuth> auth, Runtime with) -> Task<std::unique_ptr<Channel>> {
      if (auto good = check_server_url(options.url); !good) throw good.error();
      auto executor = co_await asio::this_coro::executor;
      co_return std::make_unique<HttpChannel>(executor, std::move(options), std::move(auth), std::move(with));
    }(options_, auth_, runtime);
  }
  Identity identity() const override { return {sha256_hex("http " + options_.url), {}}; }
  std::unique_ptr<Transport> fallback() const override { return sse_transport_with(options_, auth_); }

 private:
  HttpTarget options_;
  std::shared_ptr<HttpAuth> auth_;
};

}  // namespace

std::unique_ptr<Transport> http_transport_with(HttpTarget options, std::shared_ptr<HttpAuth> auth) {
  return std::make_unique<HttpTransport>(std::move(options), std::move(auth));
}

std::shared_ptr<Transport> http_transport(HttpOptions options) {
  return http_transport_with(std::move(options), nullptr);
}

}  // namespace patchbay
