// Patterns of URLs, as policy lists and argument rules write them: scheme://host:port/path, each part
// with `*` for any characters. A URL is compared part by part and never as one text, so that no path
// can pass for a host. Pure.
//
//  - The case of scheme and host does not count, nor a dot behind the host, nor the notation of an address; the case of
//    the path does.
//  - A URL whose host different readers take differently (http/host_name.h) is unclear, also to the host `*`.
//  - A pattern without scheme means any scheme, without port the scheme's own (for the host `*` any),
//    without path any path.
//  - The query counts only when the pattern has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/url.h"

namespace patchbay {

class UrlPattern {
 public:
  enum class Match : std::uint8_t {
    no,
    unclear,  // its host cannot be judged
    yes,
  };

  // Errc::invalid_argument with the reason, without the text.
  static Result<UrlPattern> parse(std::string_view pattern);
  // The same with the host as it is written, in small letters and with its brackets.
  static Result<UrlPattern> parse_shape(std::string_view text);
  // A host as it is compared, `*` left in; nothing when it cannot be.
  static std::optional<std::string> compared_host(std::string_view host);

  Match match(const Url& url) const;

  // Why no URL is ever like this, for people; empty when one can be.
  std::string never() const;

  // The parts, as they are compared.
  const std::string& scheme() const noexcept { return scheme_; }
  const std::string& host() const noexcept { return host_; }
  const std::optional<std::string>& port() const noexcept { return port_; }
  const std::optional<std::string>& path() const noexcept { return path_; }

  bool operator==(const UrlPattern&) const = default;

 private:
  std::string scheme_ = "*";
  std::string host_;
  std::optional<std::string> port_;
  std::optional<std::string> path_;  // with the query, if there is one
};

}  // namespace patchbay
