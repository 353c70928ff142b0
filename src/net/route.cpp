#include "net/route.h"

#include <unistd.h>

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

bool readable(const std::string& file) { return ::access(file.c_str(), R_OK) == 0; }

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
    context.ca_source = "this server's CA file";
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
  return route;
}

void warn_of_unread_trust(const HttpClientOptions& settings) {
  const auto extra = variable(settings, "NODE_EXTRA_CA_CERTS");
  if (extra.empty() || readable(extra)) return;
  settings.log(LogLevel::warning, "event=ca_file_not_read variable=NODE_EXTRA_CA_CERTS file=\"{}\"", extra);
}

}  // namespace patchbay
