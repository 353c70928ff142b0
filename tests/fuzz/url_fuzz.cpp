// URLs: what parses is written in one form that parses to the same again, resolving stays
// within what parsing allows, and what may be shown holds no user information.
//
// Input: a URL, a line break, a reference.
#include "fuzz/fuzz.h"
#include "http/url.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(url) {
  const auto text = fuzz::take_line(input);
  const auto shown = redacted_url(text);
  require(shown.size() <= 303, "too long to show");
  if (const auto read = parse_url(shown)) require(read->userinfo.empty(), "user information is shown");
  const auto url = parse_url(text);
  if (!url) return;
  const auto again = parse_url(url->text());
  require(again && *again == *url, "the written form is another URL");
  require(url->path.starts_with('/'), "a path without a slash");
  require((url->path + "/").find("/../") == std::string::npos, "a dot segment is left");
  require(!url->host.empty(), "no host");
  for (char c : url->text()) require(c > 0x20 || static_cast<unsigned char>(c) >= 0x80, "a blank or control");
  require(url->redacted().find('#') == std::string::npos, "a fragment is shown");
  const auto origin = parse_url(url->origin());
  require(origin && same_origin(*origin, *url), "the origin is another");
  require(parse_url(url->redacted())->userinfo.empty(), "user information is shown");

  const auto resolved = resolve_url(*url, input);
  if (!resolved) return;
  const auto reparsed = parse_url(resolved->text());
  require(reparsed && *reparsed == *resolved, "the written form of a resolved URL is another");
  const auto twice = resolve_url(*url, resolved->text());
  require(twice && *twice == *resolved, "an absolute URL resolves to another");
}
