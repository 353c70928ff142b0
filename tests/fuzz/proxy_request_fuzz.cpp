// What the proxy of a sandbox reads: what it sends on is a request for the target that was judged and for no other, and
// is read again as the same; a chunked body ends at the same byte however it is cut; and a domain rule is written in
// one form.
//
// Input: a rule, a line break, a head and what follows it.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "http/host_name.h"
#include "sandbox/proxy_request.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::optional<std::size_t> end_of(std::string_view body, std::size_t piece) {
  ChunkedBody chunks;
  std::size_t taken = 0;
  while (taken < body.size() && !chunks.ended()) {
    const auto now = chunks.take(body.substr(taken, piece));
    if (!now) return std::nullopt;
    taken += *now;
  }
  return chunks.ended() ? std::optional(taken) : std::nullopt;
}

}  // namespace

FUZZ_TARGET(proxy_request) {
  if (const auto rule = read_domain_rule(fuzz::take_line(input))) {
    const auto again = read_domain_rule(to_text(*rule));
    require(again && *again == *rule, "the written form of a rule is another");
    require(common(*rule, *rule) == rule, "a rule has not all in common with itself");
  }
  const auto end = input.find("\r\n\r\n");
  if (end == input.npos) return;
  const auto body = input.substr(end + 4);
  require(end_of(body, 1) == end_of(body, 4096), "a body ends elsewhere when it is cut");
  const auto request = read_proxy_request(input.substr(0, end + 4));
  if (!request) {
    require(request.error().text.find('\n') == std::string::npos, "more than a line");
    return;
  }
  require(canonical_host(request->target.host) == request->target.host && request->target.port != 0,
          "a target that was not judged");
  if (request->tunnel) return require(request->head.empty(), "a tunnel with a head");
  // One empty line, at the end.
  require(request->head.find("\r\n\r\n") == request->head.size() - 4, "a second request");
  for (std::size_t at = 0; (at = request->head.find('\n', at)) != std::string::npos; ++at) {
    require(at > 0 && request->head[at - 1] == '\r', "a line that ends in two ways");
  }
  require(request->head.find("\r\nHost: ") == request->head.rfind("\r\nHost: "), "two hosts");
  // As a proxy behind us would get it.
  const auto space = request->head.find(' ');
  const auto next = read_proxy_request(request->head.substr(0, space + 1) + "http://" + to_text(request->target) +
                                       request->head.substr(space + 1));
  if (!next && next.error().status == 431) return;  // two headers more than there may be
  require(next && next->head == request->head && next->body == request->body && next->length == request->length,
          "what is sent on is read as another request");
}
