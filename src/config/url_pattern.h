// Patterns of URLs, as policy lists and argument rules write them: scheme://host:port/path, each part
// with `*` for any characters. A URL is compared part by part and never as one text, so that no path
// can pass for a host. Pure.
//
//  - The case of scheme and host does not count, nor a dot behind the host; the case of the path does.
//  - A pattern without scheme means any scheme, without port the scheme's own (for the host `*` any),
//    without path any path.
//  - The query counts only when the pattern has one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "net/url.h"

namespace patchbay {

class UrlPattern {
 public:
  // Errc::invalid_argument with the reason, without the text.
  static Result<UrlPattern> parse(std::string_view pattern);

  bool matches(const Url& url) const;

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
