#include "http/client/route.h"

#include <unistd.h>

#include <fmt/format.h>

#include "http/client/named_file.h"

namespace patchbay {
namespace {

std::string variable(const HttpClientOptions& settings, std::string_view name) {
  return settings.environment ? settings.environment(name).value_or("") : std::string();
}

std::string scheme_on_the_wire(const std::string& scheme) {
  if (scheme == "ws") return "http";
  if (scheme == "wss") return "https";
  return scheme;
}

bool readable(const std::string& file) {
  return ::access(file.c_str(), R_OK) == 0 && !why_no_file(file, certificate_file_limit);
}

// The library would open it in the middle of the loop, and wait there for whoever writes into a pipe.
Result<void> check_file(std::string_view what, const std::string& file) {
  if (file.empty()) return {};
  if (auto why = why_no_file(file, certificate_file_limit)) {
    return fail(Errc::config, fmt::format("{} {} cannot be used: {}", what, file, *why));
  }
  return {};
}

Result<void> check_files(const Route& route, bool encrypted, bool encrypted_proxy) {
  const auto& [transfer, context] = route;
  if (encrypted) {
    if (auto good = check_file(context.ca_source, transfer.ca_file); !good) return good;
    const std::string whose =
        context.certificate_source.empty() ? "the server's" : context.certificate_source + ": the";
    if (auto good = check_file(whose + " certificate file", transfer.client_certificate); !good) return good;
    if (auto good = check_file(whose + " key file", transfer.client_key); !good) return good;
  }
  return encrypted_proxy ? check_file("SSL_CERT_FILE", transfer.proxy_ca_file) : Result<void>();
}

}  // namespace

Result<Route> route_to(const Url& url, const HttpClientOptions& settings) {
  auto proxy = choose_proxy(url, settings.proxy, settings.environment);
  if (!proxy) return std::unexpected(std::move(proxy).error());
  Route route;
  auto& [transfer, context] = route;
  auto wire_url = url;
  wire_url.scheme = scheme_on_the_wire(url.scheme);
  wire_url.fragment.reset();
  transfer.url = wire_url.text();
  context.url = url.text();
  transfer.proxy = context.proxy = proxy->url;
  context.proxy_source = proxy->source;

  // A server's own CA says nothing about the proxy in front of it.
  transfer.proxy_ca_file = variable(settings, "SSL_CERT_FILE");
  transfer.proxy_ca_path = variable(settings, "SSL_CERT_DIR");
  if (auto extra = variable(settings, "NODE_EXTRA_CA_CERTS"); !extra.empty() && readable(extra)) {
    transfer.extra_ca_file = std::move(extra);
  }
  if (!settings.ca_file.empty()) {
    transfer.ca_file = settings.ca_file;
    transfer.only_ca_file = true;
    context.ca_source = "the server's CA file";
  } else {
    transfer.ca_file = transfer.proxy_ca_file;
    transfer.ca_path = transfer.proxy_ca_path;
    context.ca_source = "SSL_CERT_FILE";
  }
  context.ca_file = transfer.ca_file;

  transfer.client_certificate = settings.client_certificate;
  transfer.client_key = settings.client_key;
  transfer.client_key_password = settings.client_key_password;
  if (transfer.client_certificate.empty()) {
    if (auto certificate = variable(settings, "CLAUDE_CODE_CLIENT_CERT"); !certificate.empty()) {
      transfer.client_certificate = std::move(certificate);
      transfer.client_key = variable(settings, "CLAUDE_CODE_CLIENT_KEY");
      transfer.client_key_password = Secret(variable(settings, "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE"));
      context.certificate_source = "CLAUDE_CODE_CLIENT_CERT";
    }
  }
  transfer.user_agent = settings.user_agent.empty() ? "patchbay/" PATCHBAY_VERSION : settings.user_agent;
  transfer.header_limit = settings.header_limit;
  if (transfer.proxy.empty()) transfer.may_connect = settings.may_connect;
  if (auto good = check_files(route, wire_url.scheme == "https", transfer.proxy.starts_with("https:")); !good) {
    return std::unexpected(std::move(good).error());
  }
  return route;
}

void warn_of_unread_trust(const HttpClientOptions& settings) {
  const auto extra = variable(settings, "NODE_EXTRA_CA_CERTS");
  if (extra.empty() || readable(extra)) return;
  settings.log(LogLevel::warning, "ca_file_not_read", "variable", "NODE_EXTRA_CA_CERTS", "file", extra);
}

}  // namespace patchbay
