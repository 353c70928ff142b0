#include "http/client/redirect.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/url.h"

namespace patchbay {
namespace {

bool describes_the_message(std::string_view name) {
  const auto lower = to_lower_ascii(name);
  return lower == "accept" || lower == "content-type" || lower == "mcp-protocol-version" || lower == "mcp-method" ||
         lower == "mcp-name" || lower.starts_with("mcp-param-");
}

}  // namespace

Result<std::optional<HttpRequest>> redirected(const HttpRequest& sent, const HttpHead& answer, RedirectTrail& trail) {
  const int status = answer.status;
  const bool keeps_method = status == 307 || status == 308;
  if (!keeps_method && status != 301 && status != 302 && status != 303) return std::nullopt;
  const auto* location = answer.headers.find("location");
  if (!location || trail.allowed <= 0) return std::nullopt;

  const auto from = parse_url(sent.url);
  if (!from) return std::unexpected(from.error());
  const auto here = trail.visited.empty() && !trail.shown.empty() ? trail.shown : from->redacted();
  auto refuse = [&](Errc code, std::string what) {
    return fail(code, fmt::format("{} {}: answered with redirect {} to {}, {}", sent.method, here, status,
                                  redacted_url(*location), what));
  };
  auto to = resolve_url(*from, *location);
  if (!to) return refuse(Errc::protocol, "which is not a URL");
  if (to->scheme != "http" && to->scheme != "https")
    return refuse(Errc::http, "which is neither http nor https; the redirect is not followed");
  if (from->scheme == "https" && to->scheme == "http") {
    return refuse(Errc::http, "which is not encrypted; the redirect is not followed. Configure an https URL");
  }
  if (!keeps_method && sent.method != "GET" && sent.method != "HEAD") {
    return refuse(Errc::http,
                  "which would turn the request into a GET without a body; the redirect is not followed. Configure the "
                  "URL that it leads to");
  }
  const bool stays = same_origin(*from, *to);
  const bool reads = sent.method == "GET" || sent.method == "HEAD";
  if (!stays && (trail.same_origin || !reads)) {
    // Of a stream that is led away, the place says more than the status.
    Error away(reads ? Errc::protocol : Errc::http,
               fmt::format("{} {}: redirects to another server ({}), and nothing is sent there; if that is the server "
                           "you mean, use its own url",
                           sent.method, here, to->origin()));
    return std::unexpected(reads ? std::move(away).with_http_status(status) : std::move(away));
  }
  // A fragment is not sent; it is inherited by rule and of no use to us.
  to->fragment.reset();
  auto next = to->text();
  if (trail.visited.empty()) trail.visited.push_back(from->text());
  if (std::ranges::find(trail.visited, next) != trail.visited.end()) {
    return refuse(Errc::http, "which was visited before: a redirect loop. Check the configuration of the server");
  }
  if (trail.visited.size() > static_cast<std::size_t>(trail.allowed)) {
    return refuse(
        Errc::http,
        fmt::format(
            "after {} other redirects, which is the limit; it is not followed. Configure the URL that it leads to",
            trail.allowed));
  }
  trail.visited.push_back(next);

  HttpRequest request = sent;
  request.url = std::move(next);
  if (!stays) {
    trail.left_origin = true;
    HttpHeaders kept;
    for (const auto& field : sent.headers) {
      if (describes_the_message(field.name)) kept.add(field.name, field.value);
    }
    request.headers = std::move(kept);
  }
  return request;
}

}  // namespace patchbay
