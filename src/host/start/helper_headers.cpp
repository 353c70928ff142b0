#include "host/start/helper_headers.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "http/url.h"

namespace patchbay {
namespace {

// What the protocol itself needs to say; no helper can change it.
bool belongs_to_protocol(std::string_view name) {
  const auto lower = to_lower_ascii(name);
  for (std::string_view own : {"accept", "content-type", "content-length", "host", "connection", "transfer-encoding",
                               "last-event-id", "upgrade"}) {
    if (lower == own) return true;
  }
  return lower.starts_with("mcp-") || lower.starts_with("sec-websocket-");
}

}  // namespace

Task<NamedTexts> HelperHeaders::fetch() {
  auto printed = co_await run_helper(command_, runtime_);
  auto headers = parse_helper_output(printed);
  if (!headers)
    throw Error(Errc::config, fmt::format("the output of {} cannot be used: {}", command_.label, headers.error()));
  std::erase_if(*headers, [](const auto& header) { return belongs_to_protocol(header.first); });
  co_return std::move(*headers);
}

Task<SentCredentials> HelperHeaders::authorize(HttpRequest& request) {
  if (generation_ == 0) {
    auto turn = co_await running_.acquire();
    if (generation_ == 0) {
      headers_ = co_await fetch();
      generation_ = 1;
    }
  }
  for (const auto& [name, value] : headers_) request.headers.set(name, value);
  SentCredentials sent;
  sent.generation = generation_;
  co_return sent;
}

Task<bool> HelperHeaders::on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) {
  // Whoever a redirect led to was not sent these headers, and is not asked again with newer ones.
  if (!answer.url.empty() && answer.url != request.url) {
    const auto asked = parse_url(request.url);
    const auto answering = parse_url(answer.url);
    if (!asked || !answering || !same_origin(*asked, *answering)) co_return false;
  }
  auto turn = co_await running_.acquire();
  // Somebody else was refused with the same headers and has new ones by now.
  if (sent.generation != generation_) co_return true;
  headers_ = co_await fetch();
  ++generation_;
  co_return true;
}

}  // namespace patchbay
